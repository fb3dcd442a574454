package process

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// census is the list of all processes. It is read again only if more processes may have been added
// than can be asked for one by one: the kernel tells the number that it gave out last. The panes
// are looked at four times within some milliseconds for each message, and a computer starts few
// processes in that time.
var census counted

type counted struct {
	mu   sync.Mutex
	last int // the number given out last before the list was read; 0: there is no list
	at   time.Time
	pids []int
}

// unborn is how many of the last numbers given out before the list was read are asked for as well:
// a process that has just been given its number appears in the list a moment later.
const unborn = 64

// countedFor is how long a list may serve. It is far less than the time in which the numbers come
// round.
const countedFor = 250 * time.Millisecond

// addedSince is the maximum number of later numbers that are asked for one by one. Beyond that,
// reading the list costs less.
const addedSince = 512

// all returns the list. The caller may change it.
func (c *counted) all() ([]int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := lastGiven()
	if last > 0 && c.last > 0 && last-c.last >= 0 && last-c.last <= addedSince && time.Since(c.at) < countedFor {
		return c.grown(last), nil
	}
	at := time.Now()
	pids, err := listAll()
	if err != nil {
		c.last = 0
		return nil, err
	}
	c.last, c.at, c.pids = last, at, pids
	return slices.Clone(pids), nil
}

// grown returns the list, plus the processes that were about to begin when it was read, plus those
// whose numbers, up to last, were given out since.
func (c *counted) grown(last int) []int {
	pids := slices.Clone(c.pids)
	for pid := max(1, c.last-unborn+1); pid <= last; pid++ {
		// Only the first thread of a process has the number of the process; the numbers of other
		// threads do not count.
		if err := unix.Tgkill(pid, pid, 0); err != nil && !errors.Is(err, unix.EPERM) || slices.Contains(pids, pid) {
			continue
		}
		pids = append(pids, pid)
	}
	return pids
}

// lastGiven returns the number that the kernel last gave to a process or thread, or 0 if it does
// not tell. A file system in place of the kernel's own /proc may count by itself, and late, so it
// counts as not telling.
func lastGiven() int {
	f, err := os.Open("/proc/loadavg")
	if err != nil {
		return 0
	}
	defer f.Close()
	var fs unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &fs) != nil || fs.Type != unix.PROC_SUPER_MAGIC {
		return 0
	}
	var data [128]byte
	n, err := f.Read(data[:])
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data[:n])
	if len(fields) != 5 {
		return 0
	}
	last, err := strconv.Atoi(string(fields[4]))
	if err != nil {
		return 0
	}
	return last
}
