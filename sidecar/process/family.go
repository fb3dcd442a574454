package process

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
)

// Family is a program in a pane with all that it has started: its process group, its children and
// theirs, whatever session these lead, and those of them that have lost their parents: since they were
// seen, or before, if they bear a mark. Signals go to nobody else. A Family belongs to one goroutine.
type Family struct {
	root, pane Process
	mark       string          // see Mark; "": none
	known      map[int]Process // all that were seen, by pid
	others     map[int]uint64  // start times of those without the mark, by pid: they will never have it
}

// ErrNotBelow says that a process is not what runs in a pane.
var ErrNotBelow = errors.New("not below that pane")

// NewFamily is that of root, the program in a pane. pane is what tmux started there, which is the
// program itself or one of its ancestors. mark is what it was started with, "" for nothing. A program that has ended, or whose number is another's
// by now, is ErrNoProcess.
func NewFamily(root, pane Process, mark string) (*Family, error) {
	f := &Family{root: root, pane: pane, mark: mark, known: map[int]Process{}, others: map[int]uint64{}}
	if err := f.prove(); err != nil {
		return nil, fmt.Errorf("processes of %d: %w", root.PID, err)
	}
	f.known[root.PID] = root
	return f, nil
}

// Remains are what a program has left behind that has ended: all that bears the mark with which it was started.
func Remains(mark string) *Family {
	return &Family{mark: mark, known: map[int]Process{}, others: map[int]uint64{}}
}

// Root reports whether the program itself still lives.
func (f *Family) Root() bool { return f.root.PID > 0 && Lives(f.root.PID, f.root.Start) }

// Left are those of the family that live, by pid. Those that were started since the last look
// belong to it from now on.
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

// Signal sends a signal to one process, and not to another that has its number by now. One that has ended is no error.
func Signal(p Process, signal syscall.Signal) error { return send(p, signal) }

// SignalRoot sends a signal to the program alone. One that has ended is no error.
func (f *Family) SignalRoot(signal syscall.Signal) error { return send(f.root, signal) }

// Signal sends a signal to all that are left.
func (f *Family) Signal(signal syscall.Signal) error {
	left, err := f.Left()
	for _, p := range left {
		err = errors.Join(err, send(p, signal))
	}
	return err
}
