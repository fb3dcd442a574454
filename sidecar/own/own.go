// Package own opens files that nobody but this user writes: the journal, logs, locks, and the files
// kept beside them. It does not take that on trust: after opening a file or directory it checks
// that it is regular, or a directory, that it is ours, and that nobody else may write it. It does
// not follow links. It has no state.
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

// ErrNotOurs says that a file is not ours, or that others may write it.
var ErrNotOurs = errors.New("not a file that only you can write")

// Open opens a file for reading.
func Open(path string) (*os.File, error) { return OpenFile(path, os.O_RDONLY, 0) }

// OpenFile is os.OpenFile with the checks of this package.
func OpenFile(path string, flags int, mode fs.FileMode) (*os.File, error) {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, mode)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if info, gone := os.Lstat(path); gone == nil && !info.Mode().IsRegular() {
			// For a link the system says that there are too many, and for a FIFO that there is no
			// such device.
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

// ours returns an error if an open file is of another kind, belongs to somebody else, or is
// writable by others.
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

// Sole returns an error if an open file has more than one name: writing to it or truncating it
// would change a file elsewhere too. If a file is put in place by a link, call Sole after that.
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

// Pipe opens a FIFO of ours for reading, and also for writing, so that reads never reach its end.
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

// Read returns the content of a file of at most limit bytes.
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

// List returns the entries of a directory, sorted by name.
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

// Glob returns the paths of the entries of a directory whose names match a pattern, in order. For a
// directory that cannot be listed it returns none.
func Glob(dir, pattern string) (all []string) {
	entries, _ := List(dir)
	for _, e := range entries {
		if ok, err := path.Match(pattern, e.Name()); ok && err == nil {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// SQLite returns the name by which SQLite opens a database in a directory of ours.
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
