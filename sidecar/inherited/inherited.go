// Package inherited closes the files that the starter of this process left open in it: a shell that
// holds a lock or a pipe on descriptor 9 must not wait for our end, and a program that we start
// must not inherit the file.
package inherited

import (
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Close closes every descriptor above 2 that a program started from here would inherit. At the
// start of a process these are the inherited ones, because Go marks its own files close-on-exec.
// Call it before you let a program inherit a file on purpose.
func Close() {
	for _, fd := range open() {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			_ = unix.Close(fd)
		}
	}
}

// open lists the descriptors above 2. If the system has no list of them, it lists all possible
// ones.
func open() (fds []int) {
	entries, err := os.ReadDir("/dev/fd")
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > 2 {
			fds = append(fds, fd)
		}
	}
	// FreeBSD's list ends at 2 unless fdescfs is mounted.
	if err == nil && len(fds) > 0 {
		return fds
	}
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || uint64(limit.Cur) > most {
		limit.Cur = most
	}
	for fd := 3; fd < int(limit.Cur); fd++ {
		fds = append(fds, fd)
	}
	return fds
}

// most is the maximum number of descriptors that are tried one by one, which takes some ten
// milliseconds.
const most = 1 << 16
