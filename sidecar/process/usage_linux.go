package process

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// usage counts what is read from and written to terminals, whoever does that. What the kernel echoes, and what
// it erases for a person, is neither. Equal events that nobody has taken yet are one, so that more tells that
// something was done, and not how often.
var usage struct {
	once sync.Once
	fd   int // of the inotify instance, -1 without one
	own  int // watch of /dev/tty, the name by which each program has its own terminal; -1 without one

	mu    sync.Mutex // guards what follows
	now   uint64     // events of all terminals so far, so that a number that serves again begins with another count
	owns  uint64     // the last of a write under that name
	watch map[string]int32
	of    map[int32]*used
}

type used struct {
	tty           string
	reads, writes uint64
}

// Usage is how often a terminal was used by now. ok is false where the system does not tell. The terminal must be proven to be
// that of the pane: see CheckTerminal.
func Usage(tty string, panePID int) (uses Uses, ok bool) {
	u := &usage
	u.once.Do(func() {
		u.watch, u.of, u.now = map[string]int32{}, map[int32]*used{}, 1
		var err error
		if u.fd, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
			u.fd = -1
		}
		if u.own, err = unix.InotifyAddWatch(u.fd, "/dev/tty", unix.IN_MODIFY); err != nil {
			u.own = -1
		} else {
			u.owns = 1
		}
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.fd < 0 {
		return Uses{}, false
	}
	drainUsage()
	wd, known := u.watch[tty]
	if !known {
		if CheckTerminal(tty, panePID) != nil {
			return Uses{}, false
		}
		n, err := unix.InotifyAddWatch(u.fd, tty, unix.IN_ACCESS|unix.IN_MODIFY)
		if err != nil {
			return Uses{}, false
		}
		wd = int32(n)
		u.now++
		u.watch[tty], u.of[wd] = wd, &used{tty, u.now, u.now}
	}
	one := u.of[wd]
	return Uses{one.reads, one.writes, u.owns}, true
}

// Unused ends the counting for a terminal.
func Unused(tty string) {
	u := &usage
	u.mu.Lock()
	defer u.mu.Unlock()
	if wd, known := u.watch[tty]; known {
		_, _ = unix.InotifyRmWatch(u.fd, uint32(wd))
		delete(u.watch, tty)
		delete(u.of, wd)
	}
}

// drainUsage takes in what has happened. Events that were lost count as writes: what is shown proves nothing by then.
func drainUsage() {
	u := &usage
	buf := make([]byte, 4096)
	for {
		n, err := unix.Read(u.fd, buf)
		if err != nil || n <= 0 {
			return
		}
		for at := 0; at+unix.SizeofInotifyEvent <= n; {
			wd, mask := int32(binary.NativeEndian.Uint32(buf[at:])), binary.NativeEndian.Uint32(buf[at+4:])
			at += unix.SizeofInotifyEvent + int(binary.NativeEndian.Uint32(buf[at+12:]))
			u.now++
			one := u.of[wd]
			switch {
			case mask&unix.IN_Q_OVERFLOW != 0:
				u.owns = u.now
				for _, each := range u.of {
					each.writes = u.now
				}
			case int(wd) == u.own:
				u.owns = u.now
			case one == nil:
			case mask&unix.IN_IGNORED != 0: // the terminal is gone; one of its name is another
				delete(u.of, wd)
				if u.watch[one.tty] == wd {
					delete(u.watch, one.tty)
				}
			case mask&unix.IN_ACCESS != 0:
				one.reads = u.now
			case mask&unix.IN_MODIFY != 0:
				one.writes = u.now
			}
		}
	}
}
