package team

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// written reports whether anybody has a file open to write in it: while somebody has, no lease to
// read it is given. Where the file system gives none, nobody knows.
func written(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
