// Package atomicfile writes files that are there whole or not at all, and stay so when the
// machine stops. It has no goroutine and no state.
package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// Write makes data the content of the file at path, with that mode, in place of whatever
// stood there; its directory has to exist. Nobody ever sees a part of it. It is on disk, and
// its name too, when Write returns nil. After an error the old file stands.
func Write(path string, data []byte, mode os.FileMode) error {
	return Copy(path, bytes.NewReader(data), mode)
}

// Copy is Write of what is read from a reader until its end. An error of that one is returned too.
func Copy(path string, from io.Reader, mode os.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = io.Copy(f, from)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	return SyncDir(dir)
}

// MkdirAll is os.MkdirAll, whose directories outlive a crash: a file that is on disk is lost with the name of its directory.
func MkdirAll(path string, mode os.FileMode) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if parent := filepath.Dir(path); parent != path {
		if err := MkdirAll(parent, mode); err != nil {
			return err
		}
	}
	return Mkdir(path, mode)
}

// Mkdir makes a directory that outlives a crash. One that is there already is no error, unless it is something else.
func Mkdir(path string, mode os.FileMode) error {
	err := os.Mkdir(path, mode)
	if errors.Is(err, fs.ErrExist) {
		if info, gone := os.Lstat(path); gone == nil && !info.IsDir() {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	if err := SyncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrPermission) { // where names may not be read, nobody can sync them
		return err
	}
	return nil
}

// SyncDir makes sure that the names in a directory outlive a crash.
func SyncDir(dir string) error {
	d, err := foreign.OpenDir(dir)
	if err != nil {
		return fmt.Errorf("sync %q: %w", dir, err)
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return fmt.Errorf("sync %q: %w", dir, err)
	}
	return nil
}
