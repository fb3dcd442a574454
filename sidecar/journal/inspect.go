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

// Inspect says what is wrong with the journal in dir: ErrUnsafe, ErrNewer, or how it is damaged.
// Nobody may have the journal open. Inspect changes nothing. It returns nil if the journal is sound
// or there is none. It checks what an earlier run left in the write-ahead log by its checksums
// only.
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
		return nil // never written to
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
	defer db.Close() // only read from
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

// Intact returns an error if the journal's file no longer stands in its place: then writes go to a
// file that nobody will find again.
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
