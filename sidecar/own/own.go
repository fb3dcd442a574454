// Package own opens files that nobody but this user writes: journal, logs, locks, what is kept
// beside them. That is not taken on trust: whatever it opens is asked, once it is open, whether
// it is a regular file, or a directory, that is ours and that nobody else may write. Links are
// not followed. It has no state.
package own

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"syscall"

	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
)

// ErrNotOurs says that something is not ours, or that others may write it.
var ErrNotOurs = errors.New("not a file that only you can write")

// Open opens a file for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, mode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if info, gone := os.Lstat(path); gone == nil && !info.Mode().IsRegular() {
			// The system says of a link that there are too many, and of a FIFO that there is no such device.
			return nil, fmt.Errorf("%q is %s: %w", path, foreign.Kind(info.Mode()), ErrNotOurs)
		}
	}
	if err != nil {
		return nil, err
	}
	if err := ours(f, fs.FileMode.IsRegular); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ours is the error of what is open and of another kind, somebody else's, or open to others.
func ours(f *os.File, kind func(fs.FileMode) bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	why, mode := "", info.Mode()
	switch stat, ok := info.Sys().(*syscall.Stat_t); {
	case !kind(mode):
		why = "is " + foreign.Kind(mode)
	case ok && int(stat.Uid) != os.Geteuid():
		why = "belongs to another user"
	case mode.Perm()&0o022 != 0:
		why = fmt.Sprintf("has mode %04o", mode.Perm())
	default:
		return nil
	}
	return fmt.Errorf("%q %s: %w", f.Name(), why, ErrNotOurs)
}

// Sole is the error of an open file that has another name besides: what is written to it, or taken out of
// it, happens to somebody's file elsewhere too. Who puts a file in place by a link asks for that later.
func Sole(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Nlink > 1 {
		return fmt.Errorf("%q has more than one name (a hard link): %w", f.Name(), ErrNotOurs)
	}
	return nil
}

// Pipe opens a FIFO of ours for reading, and for writing as well, so that it never reads as ended.
func Pipe(path string) (fd int, err error) {
	var st syscall.Stat_t
	if fd, err = syscall.Open(path, syscall.O_RDWR|syscall.O_NONBLOCK|syscall.O_CLOEXEC|syscall.O_NOFOLLOW, 0); err != nil {
		return -1, err
	}
	if err = syscall.Fstat(fd, &st); err == nil && (st.Mode&syscall.S_IFMT != syscall.S_IFIFO || st.Mode&0o022 != 0 || int(st.Uid) != os.Geteuid()) {
		err = fmt.Errorf("%q: %w", path, ErrNotOurs)
	}
	if err != nil {
		_ = syscall.Close(fd)
		return -1, err
	}
	return fd, nil
}

// Read is the content of a file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = &foreign.TooLargeError{Path: path, Limit: limit}
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// List is what is in a directory, in the order of names.
func List(dir string) ([]fs.DirEntry, error) {
	d, err := foreign.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := ours(d, fs.FileMode.IsDir); err != nil {
		return nil, err
	}
	return foreign.Entries(d)
}

// Glob are the paths of what in a directory has a name that fits a pattern, in order. A
// directory that cannot be listed has none.
func Glob(dir, pattern string) (all []string) {
	entries, _ := List(dir)
	for _, e := range entries {
		if ok, err := path.Match(pattern, e.Name()); ok && err == nil {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// SQLite is the name by which SQLite opens a database that lies in a directory of ours.
func SQLite(file string, query url.Values) (string, error) {
	d, err := foreign.OpenDir(filepath.Dir(file))
	if err != nil {
		return "", err
	}
	defer d.Close()
	if err := ours(d, fs.FileMode.IsDir); err != nil {
		return "", err
	}
	name := url.URL{Scheme: "file", Path: file, OmitHost: true, RawQuery: query.Encode()}
	return name.String(), nil
}
