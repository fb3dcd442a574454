package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

// Inspect says what is wrong with the journal in dir, which nobody may have open, and
// changes nothing: ErrUnsafe, ErrNewer, or how it is damaged. It returns nil for a sound
// one and where there is none. What an earlier run left in the write-ahead log is checked
// by its sums only.
func Inspect(ctx context.Context, dir string) error {
	path, err := filepath.Abs(filepath.Join(dir, fileName))
	if err != nil {
		return err
	}
	if err := inspect(ctx, path); err != nil {
		return fmt.Errorf("journal %q: %w", path, err)
	}
	return nil
}

func inspect(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: it is not a plain file", ErrUnsafe)
	case owner(info) != os.Getuid():
		return fmt.Errorf("%w: it belongs to uid %d, not to %d", ErrUnsafe, owner(info), os.Getuid())
	case info.Size() == 0:
		return nil // it was never written to
	}
	if err := checkHeader(path, len(migrations())); err != nil {
		return err
	}
	if err := checkLog(path); err != nil {
		return err
	}
	db, err := openPool(ctx, path, 1, url.Values{"mode": {"ro"}, "immutable": {"1"}})
	if err != nil {
		return err
	}
	defer db.Close() // it was only read
	if err := quickCheck(ctx, db); err != nil {
		return err
	}
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("schema version: %w", err)
	}
	if known := len(migrations()); version > known {
		return newer(version, known)
	}
	return nil
}

// Intact reports what is wrong if the journal's file no longer stands in its place: what is
// written goes to a file that nobody will find again.
func (j *Journal) Intact() error {
	info, err := os.Lstat(j.path)
	if err != nil {
		return err
	}
	if j.file != nil && !os.SameFile(j.file, info) {
		return fmt.Errorf("%q: another file is there now", j.path)
	}
	return nil
}
