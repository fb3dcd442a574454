// Package process reads what the system tells of processes and their terminals: who they are
// beyond the reuse of their numbers, whose children, what they execute and have open. It is
// /proc of Linux; elsewhere each function says ErrUnsupported, or what is safe to take for the
// answer. Nothing is kept. Signals go to a Process or a Family alone, never to a bare number. Run and
// Become run programs for the rest of the house.
package process

import (
	"errors"
	"time"
)

// Process is one process of this computer, named beyond the reuse of its number.
type Process struct {
	PID    int
	Start  uint64 // clock ticks since boot
	Name   string // as the kernel keeps it: at most 15 bytes, and the process may change it
	Parent int    // by then
}

// Identity is who a process is by now. Its number and its start time stay when it runs
// another program in its own place; Exec does not.
type Identity struct {
	Process
	Group int // its process group

	// Exec stands for the file that it executes and for the start of its stack: no two execs
	// have the same, not even of one program. (Where the system does not place stacks at
	// random, two of one file may.) It can be compared and says nothing else. Hidden: the
	// process keeps it from us.
	Exec string
}

// Hidden is the Exec of a process of another user, or of one that has made itself unreadable
// for others. To run an ordinary program in its place makes it readable again.
const Hidden = "hidden"

// FrontGroup is who has a terminal in front: the process group that reads what is typed
// there and gets its signals.
type FrontGroup struct {
	Leader    Process   // of the group; Start is 0 if it has ended and left others behind
	Members   []Process // those alive, the leader among them, the oldest first
	Canonical bool      // the terminal gathers lines itself, of at most 4,096 bytes on Linux
	Echo      bool      // the terminal shows what is typed; canonical without echo is a password prompt
	Discards  bool      // at a key that sends a signal, as C-c, the terminal throws away what was typed and not read
	Asleep    bool      // of Front alone: at this instant no member runs, or waits for a processor
	Columns   int       // the size that the terminal has for its programs, in cells; 0: not known
	Rows      int
	Unread    int // bytes that were typed and wait to be read; of a canonical one, whole lines alone
}

// Uses is how often a terminal was used, each from a number above zero on. What tells is that one has grown, and not by how much.
type Uses struct {
	Reads    uint64 // from it, by whomever
	Writes   uint64 // to it; what it echoes itself is none
	Nameless uint64 // under the name /dev/tty, which may have been to it; 0 where the system does not tell

	NamelessReads uint64 // under that name, from whichever terminal
	Told          bool   // a read of this one has been told of, and none was missed since: that there was none is known by Reads
}

var (
	// ErrUnsupported says that this system does not tell of processes as Linux does.
	ErrUnsupported = errors.New("not supported on this system")
	// ErrNoProcess says that a process does not exist (any more).
	ErrNoProcess = errors.New("no such process")
	// ErrExecuting says that a process is about to run another program in its place: who it is can be told
	// in a moment.
	ErrExecuting = errors.New("it is executing another program")
	// ErrOtherTerminal says that a terminal of that name is not the pane's: another
	// instance of the terminal file system, or the number was reused.
	ErrOtherTerminal = errors.New("not the terminal of that process")
)

// Age is how long a process has been there, zero where the system does not tell.
func (p Process) Age() time.Duration { return age(p.Start) }

// Began is when a process began, by its start time and the clock now; zero where the system does not tell.
func Began(start uint64, now time.Time) time.Time {
	if old := age(start); old != 0 {
		return now.Add(-old)
	}
	return time.Time{}
}
