package own

import (
	"os"
	"syscall"
)

// There reports whether the name of an open file still leads to it. A lock keeps nobody out if its
// name belongs to another file by now.
func There(f *os.File) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(f.Name())
	return err == nil && os.SameFile(mine, now)
}

// Unlock releases the lock (flock) on a file. Closing the file is not enough: a process that is
// just being started has it open too, until it executes its own program.
func Unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
