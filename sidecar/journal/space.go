package journal

import (
	"context"
	"errors"
	"fmt"
)

// smallEnough is how many bytes may be in use in a journal that is rewritten while a person
// waits for the sidecar: less than a second.
const smallEnough = 64 << 20

// givesBack makes a database one that can give back pages that nothing uses, if it has no
// page yet or is about to be rewritten. In one that has that already, it is a write.
const givesBack = "auto_vacuum = INCREMENTAL"

// space is what the database takes up, in bytes.
type space struct {
	file int64 // all pages
	free int64 // pages that nothing uses
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

// shrinkable reports whether pages that nothing uses can be given back one by one.
func (w *writer) shrinkable(ctx context.Context) (bool, error) {
	var mode int
	if err := w.db.QueryRowContext(ctx, `PRAGMA auto_vacuum`).Scan(&mode); err != nil {
		return false, fmt.Errorf("auto_vacuum: %w", err)
	}
	return mode == 2, nil
}

// makeShrinkable rewrites a journal of schema 1, which could not give pages back. Whether a
// database can is settled with its first page, and only VACUUM changes it afterwards. One
// that is too large to be rewritten now does not become smaller, but uses its free pages
// again, until enough was pruned.
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

// vacuum gives back so many pages that nothing uses, and reports whether there are more. A
// database that cannot give pages back keeps them, to use them again.
func (w *writer) vacuum(ctx context.Context, pages int) (more bool, err error) {
	if yes, err := w.shrinkable(ctx); err != nil || !yes {
		return false, err
	}
	// Each row of its answer is a page: it must be read to its end.
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

// mergeWords takes a step to rid the index of words of what was deleted from it, which
// until then takes up more space than before. It reports whether there is more to do.
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

// bringHomeUnlessBusy is bringHome where no read is under way that would have to be waited
// for: then the next Commit after it does it.
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
