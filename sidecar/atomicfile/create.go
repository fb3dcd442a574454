package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Create makes a new file at path that has data, with that mode. Nobody ever sees a part of it,
// nor does it ever take the place of another: where anything stands at path, the error is one of
// fs.ErrExist. It is on disk, and its name too, when Create returns nil.
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

// link gives a file a new name that nobody has, and takes away its old one.
func link(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}
