package foreign

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// NotOursError says that a file belongs to somebody else, has more than one name, or was replaced
// while it was opened.
type NotOursError struct {
	Path string
	Why  string
}

func (e *NotOursError) Error() string { return fmt.Sprintf("%q %s", e.Path, e.Why) }

// ReadOurs is ReadItself of a file that belongs to this user and has no other name: it does not
// read a file that was linked from elsewhere into a directory that others may write.
func ReadOurs(path string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := openOurs(path)
	if err != nil {
		return nil, nil, err
	}
	text, err := whole(f, path, limit)
	return text, info, err
}

// openAtOnce is the maximum number of files that ReadAllOurs has open.
const openAtOnce = 32

// ReadAllOurs is ReadOurs of several files of one directory, by their names, none of which has a
// slash. It calls each for the files in their order. Reading the directory is most of the work if
// that has thousands of files; ReadAllOurs does it once for many files.
func ReadAllOurs(dir string, names []string, limit int64, each func(i int, text []byte, err error)) {
	for next := 0; next < len(names); {
		from := next
		var files [openAtOnce]*os.File
		var errs [openAtOnce]error
		d, settled := OpenDir(dir)
		for ; next < len(names) && next-from < openAtOnce; next++ {
			f, err := OpenItself(filepath.Join(dir, names[next]))
			if next > from && (errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)) {
				break // open it once these are closed
			}
			if err == nil {
				_, err = oursNow(f.Name(), f)
			}
			files[next-from], errs[next-from] = f, err
		}
		if settled == nil {
			settled = settle(d)
		}
		for i := range next - from {
			var text []byte
			f, err := files[i], errs[i]
			if err == nil {
				err = settled
			}
			if err == nil {
				_, err = oursNow(f.Name(), f)
			}
			if err == nil {
				text, err = whole(f, f.Name(), limit)
			} else if f != nil {
				_ = f.Close()
			}
			each(from+i, text, err)
		}
	}
}

// OpenOurs is OpenItself of a file that belongs to this user and has no other name.
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

// AppendOurs opens a file for appending, and makes it if it is missing. It must be a regular file
// of this user with no other name.
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

// ours checks who owns an open file, that it has only one name, and that it still stands at path:
// one of two names may have gone since it was opened. It checks twice. While a name is given to
// another file, the link count of the old file falls a moment before the name leads to the new one.
// Reading the directory between the two checks makes the system complete such a rename.
func ours(path string, f *os.File) (info fs.FileInfo, err error) {
	if _, err := oursNow(path, f); err != nil {
		return nil, err
	}
	d, err := OpenDir(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	if err := settle(d); err != nil {
		return nil, err
	}
	return oursNow(path, f)
}

// settle waits for the renames in a directory that were under way when it was called, and closes d.
func settle(d *os.File) error {
	// Reading a name or two is enough; it need not read a directory of thousands.
	_, err := syscall.ReadDirent(int(d.Fd()), make([]byte, 1024))
	_ = d.Close()
	if err != nil {
		return fmt.Errorf("directory %q: %w", d.Name(), err)
	}
	return nil
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
