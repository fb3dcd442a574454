package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prove checks that the program runs below its pane, and that it is neither us nor one of our
// ancestors.
func (f *Family) prove() error {
	if f.root.PID <= 1 || f.root.Start == 0 || !Lives(f.root.PID, f.root.Start) {
		return ErrNoProcess
	}
	line, err := Ancestors(f.root.PID)
	if err != nil {
		return err
	}
	same := func(p Process) bool { return p.PID == f.pane.PID && p.Start == f.pane.Start }
	if !same(f.root) && !slices.ContainsFunc(line, same) {
		return ErrNotBelow
	}
	ours, err := Ancestors(os.Getpid())
	if err != nil {
		return err
	}
	if f.root.PID == os.Getpid() || slices.ContainsFunc(ours, func(p Process) bool { return p.PID == f.root.PID }) {
		return fmt.Errorf("%w: it started this sidecar", ErrNotBelow)
	}
	return nil
}

// grow adds the processes that the family has started since the last look. The process that tmux
// started in the pane is not a member unless it is the program itself, and neither are that
// process's other children.
func (f *Family) grow() error {
	pids, err := All()
	if err != nil {
		return err
	}
	all := make(map[int]stat, len(pids))
	for _, pid := range pids {
		if s, err := readStat(pid); err == nil {
			all[pid] = s
		}
	}
	root, top := all[f.root.PID], all[f.pane.PID]
	group := 0
	if root.Start == f.root.Start && root.group != top.group {
		group = root.group // a shell with job control made it for the program
	}
	// If tmux started the program itself, the whole session is the program's, as long as nobody
	// else leads it.
	session := 0
	if f.root.PID == f.pane.PID && (top.PID == 0 || top.Start == f.pane.Start) {
		session = f.pane.PID
	}
	for grew := true; grew; {
		grew = false
		for pid, s := range all {
			if _, known := f.known[pid]; known || pid <= 1 || pid == f.pane.PID {
				continue
			}
			parent, child := f.known[s.Parent]
			child = child && all[s.Parent].Start == parent.Start
			if child || group != 0 && s.group == group || session != 0 && s.session == session || f.marked(s, all) {
				f.known[pid], grew = s.Process, true
			}
		}
	}
	return nil
}

// marked reports whether a process bears the family's mark. It leaves alone a tmux server that the
// program has started, and everything in it: people may be at its terminals.
func (f *Family) marked(s stat, all map[int]stat) bool {
	if f.mark == "" || s.PID == os.Getpid() || f.others[s.PID] == s.Start {
		return false
	}
	is, told := bears(s.PID, f.mark)
	if !is {
		if told && Lives(s.PID, s.Start) {
			f.others[s.PID] = s.Start
		}
		return false
	}
	for up := s; up.PID > 1; up = all[up.Parent] {
		if strings.HasPrefix(up.Name, tmuxServer) {
			return false
		}
	}
	return true
}

// executesFor is how long to wait for a process that is executing a program. A process that takes
// longer is asked again at the next look.
const executesFor = 200 * time.Millisecond

// bears reports whether a process was started with a mark; told is false if that cannot be told
// yet. While a process executes a program, its environment is visible in part or not at all, and
// its command line is not visible either. So bears looks again until two looks agree.
func bears(pid int, mark string) (is, told bool) {
	var before []byte
	for seen, end := false, time.Now().Add(executesFor); ; {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		switch {
		case err != nil:
			return false, true // another user's
		case slices.Contains(strings.Split(string(env), "\x00"), mark):
			return true, true
		case seen && bytes.Equal(env, before):
			return false, true
		case len(env) == 0 && Program(pid) == "":
			return false, true // the kernel's own
		case time.Now().After(end):
			return false, false
		}
		before, seen = env, len(env) > 0 || Arguments(pid) != nil
		if !seen {
			time.Sleep(time.Millisecond)
		}
	}
}

// tmuxServer is how a tmux server calls itself.
const tmuxServer = "tmux: server"

// send sends a signal to a process if it is still the same one. A descriptor prevents that its
// number becomes another's in between.
func send(p Process, signal syscall.Signal) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) || errors.Is(err, unix.EINVAL) && !Lives(p.PID, p.Start) {
		return nil
	}
	if err != nil && !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("signal %d: %w", p.PID, err)
	}
	if err == nil {
		defer func() { _ = unix.Close(fd) }()
	}
	if !Lives(p.PID, p.Start) {
		return nil
	}
	if err == nil {
		err = unix.PidfdSendSignal(fd, signal, nil, 0)
	} else {
		err = unix.Kill(p.PID, signal)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal %d: %w", p.PID, err)
	}
	return nil
}
