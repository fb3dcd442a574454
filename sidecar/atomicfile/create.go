package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Create makes a new file at path with that content and mode. Nobody ever sees a part of the
// content, and Create never replaces anything: if anything stands at path, the error wraps
// fs.ErrExist. When Create returns nil, the content and the name are on disk.
func Create(path string, data []byte, mode os.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("create %q: %w", path, err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("create %q: %w", path, err)
	}
	return SyncDir(dir)
}

// link gives a file a new, unused name and removes its old one.
func link(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}
