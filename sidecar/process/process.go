// Package process reads what the system tells about processes and their terminals: who they are
// beyond the reuse of their numbers, whose children they are, and what they execute and have open.
// It uses /proc of Linux; elsewhere each function returns ErrUnsupported, or an answer that is safe
// to assume. It keeps only a short-lived list of processes and the counts of usage. It sends
// signals only to a Process or a Family, never to a bare number. Run and Become run programs for
// the rest of the sidecar.
package process

import (
	"errors"
	"time"
)

// Process is one process of this computer, identified beyond the reuse of its number.
type Process struct {
	PID    int
	Start  uint64 // clock ticks since boot
	Name   string // as the kernel has it: at most 15 bytes, and the process may change it
	Parent int    // at that time
}

// Identity identifies a process and the program that it runs at the moment. When the process
// executes another program in its own place, its number and start time stay the same, but Exec
// changes.
type Identity struct {
	Process
	Group int // its process group

	// Exec represents the file that the process executes and the start of its stack: no two execs
	// have the same value, not even of one program. (If the system does not place stacks at random,
	// two of one file may.) It can only be compared. It is Hidden if the process keeps it from us.
	Exec string
}

// Hidden is the Exec of a process of another user, or of one that has made itself unreadable for
// others. It becomes readable again when the process executes an ordinary program.
const Hidden = "hidden"

// FrontGroup is the foreground of a terminal: the process group that reads the keys typed there and
// receives its signals.
type FrontGroup struct {
	Leader    Process   // of the group; Start is 0 if it has ended and left others behind
	Members   []Process // the living members, including the leader, the oldest first
	Canonical bool      // the terminal itself collects lines, of at most 4,096 bytes on Linux
	Echo      bool      // the terminal echoes keys; canonical without echo is a password prompt
	Discards  bool      // at a key that sends a signal, such as C-c, the terminal discards unread input
	Asleep    bool      // set only by Front: at this instant no member runs, or waits for a processor
	Columns   int       // the size of the terminal for its programs, in cells; 0: not known
	Rows      int
	Unread    int // bytes of unread input; in canonical mode, only whole lines
}

// Uses counts the uses of a terminal, each count from a number above zero on. A count shows only
// that it has grown, not by how much.
type Uses struct {
	Reads    uint64 // reads from it, by anybody
	Writes   uint64 // writes to it; its own echo does not count
	Nameless uint64 // writes under the name /dev/tty, which may have been to it; 0 if the system does not tell

	NamelessReads uint64 // reads under that name, from any terminal
	Told          bool   // a read of it was reported, none missed since: unchanged Reads prove that none happened
	Lost          uint64 // times that reports of any terminal were lost, which then count as writes; 0 if none ever was
}

var (
	// ErrUnsupported says that this system does not tell about processes as Linux does.
	ErrUnsupported = errors.New("not supported on this system")
	// ErrNoProcess says that a process does not exist (any more).
	ErrNoProcess = errors.New("no such process")
	// ErrExecuting says that a process is about to run another program in its place. In a moment it
	// can be identified.
	ErrExecuting = errors.New("it is executing another program")
	// ErrOtherTerminal says that a terminal of that name is not the pane's: another
	// instance of the terminal file system, or the number was reused.
	ErrOtherTerminal = errors.New("not the terminal of that process")
)

// Age returns how long the process has existed, or zero if the system does not tell.
func (p Process) Age() time.Duration { return age(p.Start) }

// Began returns when a process began, computed from its start time and the clock now. It is zero if
// the system does not tell.
func Began(start uint64, now time.Time) time.Time {
	if old := age(start); old != 0 {
		return now.Add(-old)
	}
	return time.Time{}
}
