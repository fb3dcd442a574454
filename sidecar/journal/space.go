package journal

import (
	"context"
	"errors"
	"fmt"
)

// smallEnough is the maximum number of bytes in use in a journal that is rewritten while a person
// waits for the sidecar. That takes less than a second.
const smallEnough = 64 << 20

// givesBack lets a database give back unused pages, if it has no page yet or is about to be
// rewritten. In a database that has this setting already, it is a write.
const givesBack = "auto_vacuum = INCREMENTAL"

// space is the size of the database, in bytes.
type space struct {
	file int64 // all pages
	free int64 // unused pages
}

func (s space) used() int64 { return s.file - s.free }

func (w *writer) space(ctx context.Context) (space, error) {
	var size, pages, free int64
	err := w.db.QueryRowContext(ctx, `SELECT page_size, page_count, freelist_count
		FROM pragma_page_size, pragma_page_count, pragma_freelist_count`).Scan(&size, &pages, &free)
	if err != nil {
		return space{}, fmt.Errorf("size: %w", err)
	}
	return space{file: size * pages, free: size * free}, nil
}

// shrinkable reports whether unused pages can be given back one by one.
func (w *writer) shrinkable(ctx context.Context) (bool, error) {
	var mode int
	if err := w.db.QueryRowContext(ctx, `PRAGMA auto_vacuum`).Scan(&mode); err != nil {
		return false, fmt.Errorf("auto_vacuum: %w", err)
	}
	return mode == 2, nil
}

// makeShrinkable rewrites a journal of schema 1, which could not give pages back. The first page of
// a database determines that, and afterwards only VACUUM changes it. A journal that is too large to
// be rewritten now does not shrink, but reuses its free pages, until enough was pruned.
func (w *writer) makeShrinkable(ctx context.Context) error {
	yes, err := w.shrinkable(ctx)
	if err != nil || yes {
		return err
	}
	s, err := w.space(ctx)
	if err != nil || s.used() > smallEnough {
		return err
	}
	if _, err := w.db.ExecContext(ctx, "PRAGMA "+givesBack); err != nil {
		return fmt.Errorf("%s: %w", givesBack, err)
	}
	if _, err := w.db.ExecContext(ctx, `VACUUM`); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	if err := w.bringHome(ctx); err != nil && !errors.Is(err, errBusy) {
		return err
	}
	return nil
}

// vacuum gives back so many unused pages, and reports whether there are more. A database that
// cannot give pages back keeps them for reuse.
func (w *writer) vacuum(ctx context.Context, pages int) (more bool, err error) {
	if yes, err := w.shrinkable(ctx); err != nil || !yes {
		return false, err
	}
	// Each row of the answer is a page, so read it to its end.
	rows, err := w.db.QueryContext(ctx, fmt.Sprintf("PRAGMA incremental_vacuum(%d)", pages))
	if err != nil {
		return false, fmt.Errorf("incremental vacuum: %w", err)
	}
	for rows.Next() {
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return false, fmt.Errorf("incremental vacuum: %w", err)
	}
	s, err := w.space(ctx)
	return s.free > 0, err
}

// mergeWords does a step of removing deleted entries from the index of words. Until then a deletion
// makes the index larger. It reports whether there is more to do.
func (w *writer) mergeWords(ctx context.Context) (more bool, err error) {
	changes := func() (n int64) {
		if err == nil {
			err = w.db.QueryRowContext(ctx, `SELECT total_changes()`).Scan(&n)
		}
		return n
	}
	before := changes()
	if err == nil {
		_, err = w.db.ExecContext(ctx, `INSERT INTO words (words, rank) VALUES ('merge', ?)`, mergePages)
	}
	after := changes()
	if err != nil {
		return false, fmt.Errorf("merge words: %w", err)
	}
	return after-before >= 2, nil // 1 is the statement itself
}

// bringHomeUnlessBusy is bringHome, except that it does not wait for a read under way: then the
// next Commit after that read does it.
func (w *writer) bringHomeUnlessBusy(ctx context.Context) error {
	if _, err := w.db.ExecContext(ctx, "PRAGMA busy_timeout = 50"); err != nil {
		return err
	}
	err := w.bringHome(ctx)
	if errors.Is(err, errBusy) {
		err = nil
	}
	_, resetErr := w.db.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", busyTimeout))
	return errors.Join(err, resetErr)
}
