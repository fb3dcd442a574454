package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Rename renames a file to an unused name. The file never has two names, unless the file system
// cannot do that; then it has two for a moment.
func Rename(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return link(from, to)
	}
	if err != nil {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}
