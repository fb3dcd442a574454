package tmux

import "errors"

// Process is one process of this computer, named beyond the reuse of its number.
type Process struct {
	PID   int
	Start uint64 // clock ticks since boot
	Name  string // as the kernel keeps it: at most 15 bytes, and the process may change it
}

// FrontGroup is who has a terminal in front: the process group that reads what is typed
// there and gets its signals.
type FrontGroup struct {
	Leader    Process   // of the group; Start is 0 if it has ended and left others behind
	Members   []Process // those alive, the leader among them, by pid
	Canonical bool      // the terminal gathers lines itself, of at most 4,096 bytes on Linux
	Echo      bool      // the terminal shows what is typed; canonical without echo is a password prompt
	Asleep    bool      // of Front alone: at this instant no member runs, or waits for a processor
	Unread    int       // bytes that were typed and wait to be read; of a canonical one, whole lines alone
}

var (
	// ErrUnsupported says that this system does not tell of processes as Linux does.
	ErrUnsupported = errors.New("not supported on this system")
	// ErrNoProcess says that a process does not exist (any more).
	ErrNoProcess = errors.New("no such process")
	// ErrOtherTerminal says that a terminal of that name is not the pane's: another
	// instance of the terminal file system, or the number was reused.
	ErrOtherTerminal = errors.New("not the terminal of that process")
)
