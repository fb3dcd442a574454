package atomicfile

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Rename renames a file to a name that nobody has. At no moment has it two names; where the
// file system cannot do that, it has for a moment.
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
