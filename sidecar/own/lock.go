package own

import (
	"os"
	"syscall"
)

// There reports whether the name of an open file still leads to it: what is locked under a name
// that is another file's by now keeps nobody out.
func There(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, now)
}

// Unlock gives the lock (flock) on a file back. To close it is not enough: a process that is just
// being started has it open too, until it is a program of its own.
func Unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
