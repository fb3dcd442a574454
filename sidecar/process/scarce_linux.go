package process

import (
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// enough is the number of free file descriptors with which a process can go on: it takes six to
// start another process.
const enough = 8

// Scarce says that a process has too few file descriptors left to go on. It returns "" if the
// process has enough or the system does not tell. It also works for another process that can no
// longer answer.
func Scarce(pid int) string {
	var limit unix.Rlimit
	if unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &limit) != nil {
		return ""
	}
	all, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	switch {
	case starved(err):
		return fmt.Sprintf("no file descriptor is left: the limit is %d", limit.Cur)
	case err != nil || uint64(len(all))+enough <= limit.Cur:
		return ""
	}
	return fmt.Sprintf("%d file descriptors are open; the limit is %d", len(all), limit.Cur)
}
