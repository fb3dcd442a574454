// Package atomicfile writes files that exist whole or not at all, and that survive a crash of the
// machine. It has no goroutine and no state.
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

// Write replaces the file at path, whatever it was, by one with that content and mode. Its
// directory must exist. Nobody ever sees a part of the content. When Write returns nil, the content
// and the name are on disk. After an error the old file still stands, unless only the sync of the
// directory failed.
func Write(path string, data []byte, mode os.FileMode) error {
	return Copy(path, bytes.NewReader(data), mode)
}

// Rewrite is Write for a file of others, whose mode it keeps; mode is that of a new file.
func Rewrite(path string, data []byte, mode os.FileMode) error {
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return Write(path, data, mode)
}

// Copy is Write with the content from a reader. It also returns an error of the reader.
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

// MkdirAll is os.MkdirAll with directories that survive a crash: a file on disk is lost if the name
// of its directory is.
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

// Mkdir makes a directory that survives a crash. It is no error if the directory exists, unless its
// name belongs to something else.
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
	if err := SyncDir(filepath.Dir(path)); !errors.Is(err, fs.ErrPermission) { // a directory that may not be read cannot be synced
		return err
	}
	return nil
}

// SyncDir makes the names in a directory survive a crash.
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
