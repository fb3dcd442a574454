package process

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// enough is how many file descriptors are free in a process that can go on: it takes six to start another.
const enough = 8

// Scarce says that a process has too few file descriptors left to go on, "" if it has enough or that cannot be
// told. Of another process it tells as well, one that can no longer be asked.
func Scarce(pid int) string {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit) != nil {
		return ""
	}
	all, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	switch {
	case starved(err):
		return fmt.Sprintf("no file descriptor is left: %d may be open", limit.Cur)
	case err != nil || uint64(len(all))+enough <= limit.Cur:
		return ""
	}
	return fmt.Sprintf("%d file descriptors are open, and %d may be", len(all), limit.Cur)
}
