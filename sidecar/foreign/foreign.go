// Package foreign reads files that somebody else may write: files from a git clone, files that an
// agent keeps for itself, files that a person names. Whatever stands at a path, a call of this
// package opens nothing that could make its caller wait or that reacts to being opened (a FIFO, a
// terminal, a device). It reads only regular files, and no more than the given limit.
//
// It cannot protect against a file system that does not answer, such as that of a lost network. So
// do not call it in a goroutine for which others wait. It has no state.
package foreign

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// mostEntries is the maximum number of entries that are read from a directory.
const mostEntries = 50_000

// NotRegularError says that a path leads to something other than a regular file.
type NotRegularError struct {
	Path string
	Is   string // with its article: "a FIFO"
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("%q is %s, not a regular file", e.Path, e.Is)
}

// TooLargeError says that a file has more bytes than the limit.
type TooLargeError struct {
	Path  string
	Limit int64
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%q has more than %d bytes", e.Path, e.Limit)
}

// TooManyError says that a directory has more entries than the limit.
type TooManyError struct {
	Path  string
	Limit int
}

func (e *TooManyError) Error() string {
	return fmt.Sprintf("directory %q has more than %d entries", e.Path, e.Limit)
}

// Open opens a regular file for reading; it follows links. The error is a *NotRegularError for
// anything else, and wraps fs.ErrNotExist if nothing is there. The caller must limit how much it
// reads: the file may be of any size, and grow.
func Open(path string) (*os.File, error) { return open(path, 0) }

// OpenItself is Open, but refuses a link.
func OpenItself(path string) (*os.File, error) { return open(path, syscall.O_NOFOLLOW) }

func open(path string, flags int) (*os.File, error) {
	stat := os.Stat
	if flags&syscall.O_NOFOLLOW != 0 {
		stat = os.Lstat
	}
	// Check before opening, since opening alone has an effect on some devices and wakes the process
	// at the other end of a FIFO. Check afterwards too, since something else may stand there by
	// then.
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, err
	}
	return checked(path, f)
}

// checked returns f if it is a regular file. Otherwise it closes f and returns an error.
func checked(path string, f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// regular returns an error if info is not of a regular file.
func regular(path string, info fs.FileInfo) error {
	if info.Mode().IsRegular() {
		return nil
	}
	return &NotRegularError{path, Kind(info.Mode())}
}

// Kind names the kind of file that a mode describes.
func Kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeCharDevice != 0:
		return "a character device"
	case mode&fs.ModeDevice != 0:
		return "a block device"
	}
	return "something else"
}

// Read returns the content of a regular file of at most limit bytes; it follows links. The error is
// a *TooLargeError if there are more, even if they arrive during the read.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return whole(f, path, limit)
}

// ReadItself is Read, but refuses a link.
func ReadItself(path string, limit int64) ([]byte, error) {
	f, err := OpenItself(path)
	if err != nil {
		return nil, err
	}
	return whole(f, path, limit)
}

// ReadIn is Read of a file that is named relative to a directory and lies below it. A link that
// leads out of the directory is an error.
func ReadIn(dir, name string, limit int64) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	whose := filepath.Join(dir, name)
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := regular(whose, info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if f, err = checked(whose, f); err != nil {
		return nil, err
	}
	return whole(f, whose, limit)
}

// whole reads a file to its end, and closes it.
func whole(f *os.File, path string, limit int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &TooLargeError{path, limit}
	}
	b := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead))
	if _, err := b.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(b.Len()) > limit {
		return nil, &TooLargeError{path, limit}
	}
	return b.Bytes(), nil
}

// Head returns the beginning of a regular file, at most that many bytes.
func Head(path string, most int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// OpenDir opens a directory for syncing or listing.
func OpenDir(dir string) (*os.File, error) {
	return os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
}

// List returns the entries of a directory, sorted by name. More than 50,000 entries are an error.
func List(dir string) ([]fs.DirEntry, error) {
	d, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return Entries(d)
}

// ListMany is List with a limit of a million entries, for callers with enough time to clear up a
// directory.
func ListMany(dir string) ([]fs.DirEntry, error) {
	d, err := OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return entries(d, 20*mostEntries)
}

// Entries is List of an open directory.
func Entries(d *os.File) ([]fs.DirEntry, error) { return entries(d, mostEntries) }

func entries(d *os.File, most int) ([]fs.DirEntry, error) {
	all, err := d.ReadDir(most + 1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(all) > most:
		return nil, &TooManyError{d.Name(), most}
	}
	slices.SortFunc(all, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return all, nil
}

// Glob is filepath.Glob by way of List: it returns the paths that match an absolute pattern, in
// order. It skips directories that cannot be listed.
func Glob(pattern string) []string {
	found := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range found {
			if bare := strings.ReplaceAll(part, `\`, ""); !strings.ContainsAny(unescaped(part), "*?[") {
				if _, err := os.Lstat(filepath.Join(dir, bare)); err == nil {
					next = append(next, filepath.Join(dir, bare))
				}
				continue
			}
			entries, _ := List(dir)
			for _, e := range entries {
				if ok, err := path.Match(part, e.Name()); ok && err == nil {
					next = append(next, filepath.Join(dir, e.Name()))
				}
			}
		}
		found = next
	}
	if !filepath.IsAbs(pattern) {
		return nil
	}
	return found
}

// unescaped returns a part of a pattern without the escaped characters.
func unescaped(part string) string {
	var b strings.Builder
	for i := 0; i < len(part); i++ {
		if part[i] == '\\' {
			i++
			continue
		}
		b.WriteByte(part[i])
	}
	return b.String()
}

// Terminal opens a terminal for queries about it, without becoming its owner or waiting for
// anything. The caller closes the descriptor after checking which terminal it is.
func Terminal(path string) (fd int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return -1, err
	}
	if info.Mode()&fs.ModeCharDevice == 0 {
		return -1, fmt.Errorf("%q is no terminal", path)
	}
	return syscall.Open(path, syscall.O_RDONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
}

// WriteTerminal writes text to a terminal, without becoming its owner or waiting for anything. It
// is an error if the terminal does not take all of it at once.
func WriteTerminal(path, text string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeCharDevice == 0 {
		return fmt.Errorf("%q is no terminal", path)
	}
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NOCTTY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open %q: %w", path, err)
	}
	defer syscall.Close(fd)
	n, err := syscall.Write(fd, []byte(text))
	if err == nil && n < len(text) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return fmt.Errorf("write %d bytes to %q: only %d: %w", len(text), path, max(n, 0), err)
	}
	return nil
}

// SQLite returns the name by which SQLite opens a database for reading only, if the database and
// the files beside it are regular files. SQLite opens the files itself, so this does not protect
// against files that are put in their place at that moment.
func SQLite(file string, query url.Values) (string, error) {
	for _, part := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(file + part)
		if err != nil {
			return "", err
		}
		if err := regular(file+part, info); err != nil {
			return "", err
		}
	}
	query.Set("mode", "ro")
	name := url.URL{Scheme: "file", Path: file, OmitHost: true, RawQuery: query.Encode()}
	return name.String(), nil
}
