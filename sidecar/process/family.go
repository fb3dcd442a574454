package process

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Family is a program in a pane with everything that it has started: its process group, its
// children and their descendants, whatever sessions these lead. It also includes those that have
// lost their parents since they were seen, or before that if they bear the mark. Signals go to
// nobody else. A Family belongs to one goroutine.
type Family struct {
	root, pane Process
	mark       string          // see Mark; "": none
	known      map[int]Process // all members that were seen, by pid
	others     map[int]uint64  // start times of processes without the mark, by pid: they will never have it
}

// ErrNotBelow says that a process does not run in the pane.
var ErrNotBelow = errors.New("not below that pane")

// NewFamily returns the family of root, the program in a pane. pane is the process that tmux
// started there, which is the program itself or one of its ancestors. mark is the program's mark,
// or "" if it has none. If the program has ended, or its number belongs to another process by now,
// the error is ErrNoProcess.
func NewFamily(root, pane Process, mark string) (*Family, error) {
	f := &Family{root: root, pane: pane, mark: mark, known: map[int]Process{}, others: map[int]uint64{}}
	if err := f.prove(); err != nil {
		return nil, fmt.Errorf("processes of %d: %w", root.PID, err)
	}
	f.known[root.PID] = root
	return f, nil
}

// Remains returns the family that a program which has ended left behind: all processes that bear
// the mark with which it was started.
func Remains(mark string) *Family {
	return &Family{mark: mark, known: map[int]Process{}, others: map[int]uint64{}}
}

// Root reports whether the program itself still lives.
func (f *Family) Root() bool { return f.root.PID > 0 && Lives(f.root.PID, f.root.Start) }

// Left returns the living members of the family, by pid. Processes started since the last look
// become members.
func (f *Family) Left() ([]Process, error) {
	if err := f.grow(); err != nil {
		return nil, fmt.Errorf("processes of %d: %w", f.root.PID, err)
	}
	var left []Process
	for pid, p := range f.known {
		if Lives(pid, p.Start) {
			left = append(left, p)
		}
	}
	slices.SortFunc(left, func(a, b Process) int { return a.PID - b.PID })
	return left, nil
}

// Signal sends a signal to one process, but not to another that has its number by now. It is no
// error if the process has ended.
func Signal(p Process, signal syscall.Signal) error { return send(p, signal) }

// SignalRoot sends a signal to the program alone. It is no error if the program has ended.
func (f *Family) SignalRoot(signal syscall.Signal) error { return send(f.root, signal) }

// Signal sends a signal to all living members.
func (f *Family) Signal(signal syscall.Signal) error {
	left, err := f.Left()
	for _, p := range left {
		err = errors.Join(err, send(p, signal))
	}
	return err
}
