package foreign

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NotOursError says that a file belongs to somebody else, or goes by more than one name.
type NotOursError struct {
	Path string
	Why  string
}

func (e *NotOursError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Why) }

// ReadOurs is ReadItself of a file that belongs to this user and has no other name: what was
// linked from elsewhere into a directory that others may write is not read.
func ReadOurs(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := openOurs(path)
	if err != nil {
		return nil, nil, err
	}
	text, err := whole(f, path, limit)
	return text, info, err
}

// OpenOurs is OpenItself of such a file.
func OpenOurs(path string) (*os.File, error) {
	f, _, err := openOurs(path)
	return f, err
}

func openOurs(path string) (*os.File, fs.FileInfo, error) {
	f, err := OpenItself(path)
	if err != nil {
		return nil, nil, err
	}
	info, err := ours(path, f)
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// AppendOurs opens a file to write at its end, and makes it where there is none: a regular file
// of this user that has no other name.
func AppendOurs(path string, mode fs.FileMode) (*os.File, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := regular(path, info); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, mode)
	if err != nil {
		return nil, err
	}
	if f, err = checked(path, f); err != nil {
		return nil, err
	}
	if _, err := ours(path, f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ours asks the open file whose it is, and whether it still is what stands there: one of two names
// may have gone since it was opened. It asks twice. While a name is given to another file, the
// count of the old one's names falls a moment before the name leads elsewhere; between the two
// questions the directory is read, for which the system lets that come to its end.
func ours(path string, f *os.File) (info fs.FileInfo, err error) {
	if _, err := oursNow(path, f); err != nil {
		return nil, err
	}
	dir, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	// A name or two are enough, and of a directory of thousands many more are not.
	_, err = syscall.ReadDirent(int(dir.Fd()), make([]byte, 1024))
	_ = dir.Close()
	if err != nil {
		return nil, fmt.Errorf("directory of %q: %w", path, err)
	}
	return oursNow(path, f)
}

func oursNow(path string, f *os.File) (fs.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	there, err := os.Lstat(path)
	if err != nil || !os.SameFile(info, there) {
		return nil, &NotOursError{path, "was replaced while it was opened"}
	}
	for _, one := range []fs.FileInfo{info, there} {
		stat, ok := one.Sys().(*syscall.Stat_t)
		switch {
		case !ok || int(stat.Uid) != os.Geteuid():
			return nil, &NotOursError{path, "belongs to another user"}
		case stat.Nlink > 1:
			return nil, &NotOursError{path, "has more than one name (a hard link)"}
		}
	}
	return info, nil
}
