package process

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// usage counts reads from and writes to terminals, by anybody. The kernel's echo, and what it
// erases for a person, do not count. inotify merges equal events that nobody has taken yet, so a
// higher count shows that something was done, but not how often.
var usage struct {
	once sync.Once
	fd   int // of the inotify instance, -1 without one
	own  int // watch of /dev/tty, the name by which each program can open its own terminal; -1 without one

	mu    sync.Mutex // guards the fields below
	now   uint64     // events of all terminals so far; a reused terminal number begins with another count
	owns  uint64     // the last write under that name
	taken uint64     // the last read under that name
	lost  uint64     // how often events were lost
	watch map[string]int32
	of    map[int32]*used
}

type used struct {
	tty           string
	device        uint64
	session       int
	reads, writes uint64
	told          bool             // a read was reported, and none was missed since
	nameless      uint64           // the last write under the name /dev/tty that may have been to this terminal
	judged        uint64           // the last of all writes under that name for which writers were compared
	writers       map[began]uint64 // the processes at this terminal then, and how often each had written anything
}

// began identifies a process for good.
type began struct {
	pid   int
	start uint64
}

// Usage returns how often a terminal was used so far. ok is false if the system does not tell. The
// terminal must have been checked to be the pane's: see CheckTerminal.
//
// The system reports writes under the name /dev/tty without their terminal. They were not to this
// terminal if none of its processes has made a write call since the last call of Usage. Usage does
// not see the write of a child that began and ended since, whose parent waits for no children.
func Usage(tty string, panePID int) (uses Uses, ok bool) {
	uses, ok = UsageSoFar(tty, panePID)
	u := &usage
	u.mu.Lock()
	one, owns := u.of[u.watch[tty]], u.owns
	u.mu.Unlock()
	if !ok || one == nil || owns == 0 {
		return uses, ok
	}
	writers, known := writersAt(one.device, one.session)
	u.mu.Lock()
	defer u.mu.Unlock()
	if one.judged != owns && (!known || wrote(one.writers, writers)) {
		one.nameless = owns
	}
	one.judged, one.writers = owns, writers
	uses.Nameless = one.nameless
	return uses, true
}

// wrote reports whether any process of a terminal may have written something. The writes of a child
// that has ended since are added to its parent's when the parent has waited for it, so that the sum
// stays the same; otherwise they are lost.
func wrote(before, now map[began]uint64) bool {
	var was, is uint64
	for _, n := range before {
		was += n
	}
	for one, n := range now {
		if _, known := before[one]; !known && n > 0 {
			return true
		}
		is += n
	}
	return was != is || before == nil
}

// writersAt returns the processes whose controlling terminal is that device, all of one session,
// and how often each has written anything, including the children that it has waited for. known is
// false if the system does not tell of one of them.
func writersAt(device uint64, session int) (writers map[began]uint64, known bool) {
	pids, err := All()
	if err != nil {
		return nil, false
	}
	writers, known = map[began]uint64{}, true
	for _, pid := range pids {
		if of, err := unix.Getsid(pid); err == nil && of != session {
			continue
		}
		s, err := readStat(pid)
		if err != nil || s.tty != device || s.over() {
			continue
		}
		reads, writes := Calls(pid)
		known = known && reads+writes > 0 // a running program has at least been read
		writers[began{pid, s.Start}] = writes
	}
	return writers, known
}

// UsageSoFar is Usage at a lower cost: for writes under the name /dev/tty it returns the result of
// the last call of Usage.
func UsageSoFar(tty string, panePID int) (uses Uses, ok bool) {
	u := &usage
	u.once.Do(func() {
		u.watch, u.of, u.now = map[string]int32{}, map[int32]*used{}, 1
		var err error
		if u.fd, err = unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC); err != nil {
			u.fd = -1
		}
		if u.own, err = unix.InotifyAddWatch(u.fd, "/dev/tty", unix.IN_ACCESS|unix.IN_MODIFY); err != nil {
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
		s, err := atTerminal(tty, panePID)
		if err != nil {
			return Uses{}, false
		}
		n, err := unix.InotifyAddWatch(u.fd, tty, unix.IN_ACCESS|unix.IN_MODIFY)
		if err != nil {
			return Uses{}, false
		}
		wd = int32(n)
		u.now++
		u.watch[tty], u.of[wd] = wd, &used{tty: tty, device: s.tty, session: s.session, reads: u.now, writes: u.now, nameless: u.owns}
	}
	one := u.of[wd]
	return Uses{one.reads, one.writes, one.nameless, u.taken, one.told, u.lost}, true
}

// Unused stops counting for a terminal.
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

// drainUsage reads the pending events. If events were lost, it counts that as writes, since then
// the screen proves nothing. Nor does the absence of a reported read prove anything then, so no
// terminal is told. The counts of reads stay, because a higher one helps to
// prove that a line was taken.
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
				u.owns, u.lost = u.now, u.lost+1
				for _, each := range u.of {
					each.writes, each.told = u.now, false
				}
			case int(wd) == u.own && mask&unix.IN_ACCESS != 0:
				u.taken = u.now
			case int(wd) == u.own:
				u.owns = u.now
			case one == nil:
			case mask&unix.IN_IGNORED != 0: // the terminal is gone; a later one of its name is another
				delete(u.of, wd)
				if u.watch[one.tty] == wd {
					delete(u.watch, one.tty)
				}
			case mask&unix.IN_ACCESS != 0:
				one.reads, one.told = u.now, true
			case mask&unix.IN_MODIFY != 0:
				one.writes = u.now
			}
		}
	}
}
