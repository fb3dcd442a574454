package team

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// written reports whether anybody has a file open for writing: the system gives no read lease while somebody
// has. If the file system gives no leases, nobody can know.
func written(f *os.File) bool {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
	if err == nil {
		_, _ = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	}
	return errors.Is(err, unix.EAGAIN)
}
