package pane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// A person adopts one process. When a process runs another program in its own place (exec), it keeps
// its number and its start time, so these do not say who reads there now. What the process executed
// at its adoption, which was recorded then, does:
//
//	present ──ends, or its number is another's──► ended   agent gone
//	   └──────────────exec, of itself too───────► became  agent gone
//
// An agent may be started by others that wait for it in front of the same terminal: npx, a shell
// with -c, a wrapper. Nothing is typed to those, and they do not count as strangers: the adopted
// process is the agent itself, which reads the keys, whoever leads the group in front.
//
// Gemini CLI starts itself once more, and starts that process anew when a person trusts the folder.
// Then the process that waits is the adopted one, and the process that reads is its reader. Who the
// reader is counts as much, but its end is not the agent's.
//
//	present ──its reader ends──► parting ──another one of the same kind reads──► present
//	   └──its reader execs──► became

// presence is what has become of an adopted process.
type presence int

const (
	present presence = iota
	ended
	became
	parting // it may be there, but nobody reads for it: it starts itself anew, or is ending, or the system does not tell
)

// presenceOf tells what has become of an adopted process, and who it is now.
func presenceOf(proc message.Process) (process.Identity, presence) {
	now, err := process.Identify(proc.PID)
	switch {
	case errors.Is(err, process.ErrUnsupported):
		return process.Identity{}, present // the pane list tells, as far as it can
	case errors.Is(err, process.ErrNoProcess), err == nil && now.Start != proc.Start:
		return now, ended
	case err != nil: // the system does not tell: no descriptor is free, say
		return now, parting
	case now.Exec != proc.Exec && gate.Stands("pane:exec"):
		return now, became
	}
	return now, present
}

// asMessage returns a process as it is recorded.
func asMessage(id process.Identity) message.Process {
	return message.Process{PID: id.PID, Start: id.Start, Name: id.Name, Exec: id.Exec}
}

// ErrAnother says that a session's process is another program than the one that was adopted.
var ErrAnother = errors.New("another program than the adopted one")

// Reverify completes a session that was adopted by an older version, which did not record what the
// session's process executes. It returns ErrAnother if that cannot be the program that was adopted.
func (ps *Panes) Reverify(session message.Peer) (message.Peer, error) {
	if session.Foreground.Exec != "" {
		return session, nil
	}
	now, err := process.Identify(session.Foreground.PID)
	if errors.Is(err, process.ErrUnsupported) {
		return session, nil
	}
	if err != nil || now.Start != session.Foreground.Start {
		return session, nil // the first look tells that it is gone
	}
	if _, ok := profile.AgentByName(session.Profile); ok {
		who, err := agent.Recognise(session.Foreground)
		if err != nil || string(who.Kind) != session.Profile {
			return session, fmt.Errorf("process %d is %q, which is not known for %s: %w", now.PID, now.Name, session.Profile, ErrAnother)
		}
	} else if _, _, refused := refused(now.Process); refused || now.Exec == process.Hidden || now.Name != session.Foreground.Name {
		return session, fmt.Errorf("process %d is %q, and was %q: %w", now.PID, now.Name, session.Foreground.Name, ErrAnother)
	}
	session.Foreground = asMessage(now)
	return session, nil
}

// refused returns profile.RefuseRun of a process.
func refused(m process.Process) (why, hint string, refused bool) {
	return profile.RefuseRun(m.Name, process.Executable(m.PID), func() []string { return process.Arguments(m.PID) })
}

// refusedIn returns the first of the processes in front that is refused, and why. A process that
// waits for another of them is considered last, since the one that it started reads the keys.
func refusedIn(front process.FrontGroup) (m process.Process, why, hint string, found bool) {
	waits := map[int]bool{}
	for _, m := range front.Members {
		waits[m.Parent] = true
	}
	all := append([]process.Process{front.Leader}, front.Members...)
	slices.SortStableFunc(all, func(a, b process.Process) int {
		return cmp.Compare(rank(waits[a.PID]), rank(waits[b.PID]))
	})
	for _, m := range all {
		if why, hint, found := refused(m); found {
			return m, why, hint, true
		}
	}
	return process.Process{}, "", "", false
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// innermost returns the process in front that is the agent itself; others in front only start it. If
// the agent has started itself once more, to read the keys, that process is its reader; else 0.
func innermost(front process.FrontGroup, who agent.Agent, tty string) (pid, reader int) {
	pid = who.Process.PID
	for range front.Members {
		inner := inside(front, pid, who.Kind, tty)
		switch {
		case inner == 0:
			return pid, 0
		case process.Executable(inner) == process.Executable(pid):
			return pid, inner
		}
		pid = inner
	}
	return pid, 0
}

// inside returns the process in front of the same kind of agent that the interpreter pid has started
// and that has the terminal, or 0.
func inside(front process.FrontGroup, pid int, kind agent.Kind, tty string) int {
	if _, _, interpreter := profile.Refuse(process.Executable(pid)); !interpreter {
		return 0
	}
	i := slices.IndexFunc(front.Members, func(m process.Process) bool {
		if m.Parent != pid || !process.Reads(m.PID, tty) {
			return false
		}
		inner, err := agent.Recognise(message.Process{PID: m.PID, Start: m.Start, Name: m.Name})
		return err == nil && inner.Kind == kind && !forked(m.PID, pid)
	})
	if i < 0 {
		return 0
	}
	return front.Members[i].PID
}

// forked reports whether a process is still a copy of its parent. It is one until it executes what it
// was made for, and what that will be is not known yet.
func forked(child, parent int) bool {
	a, err := process.Identify(child)
	if err != nil {
		return true
	}
	b, err := process.Identify(parent)
	return err == nil && a.Exec == b.Exec && a.Exec != process.Hidden
}

// reads tells whether the adopted process, which is present, still has the reader that it had. A
// reader that has ended gives way to one that was started in its place. whole says that front has
// all programs in front; if not, reads asks for them when it has to look for a reader.
func (p *Pane) reads(front process.FrontGroup, whole bool) presence {
	was := p.reader
	if was.PID != 0 {
		switch _, is := presenceOf(was); {
		case is == became && process.Leaving(was.PID):
			return parting // it is ending, and nothing tells what it executes: the next look finds the process that reads then
		case is != ended:
			return is
		}
	}
	var err error
	if was.PID != 0 && !whole {
		front, err = process.Front(p.session.TTY, p.session.PaneProc.PID)
	}
	var now process.Identity
	if pid := inside(front, p.session.Foreground.PID, agent.Kind(p.session.Profile), p.session.TTY); err == nil && pid != 0 {
		now, err = process.Identify(pid)
	}
	switch {
	case err == nil && now.PID != 0:
		if p.reader = asMessage(now); p.account != nil {
			p.account.restarted()
		}
		return present
	case was.PID != 0:
		return parting
	}
	return present // it reads for itself
}

// starts reports whether m has started the adopted agent, maybe through others, and waits for it.
func starts(m process.Process, session message.Peer) bool {
	if !profile.Starter(m.Name, process.Executable(m.PID)) {
		return false
	}
	line, _ := process.Ancestors(session.Foreground.PID) // as far up as can be seen
	return slices.ContainsFunc(line, func(a process.Process) bool { return a.PID == m.PID && a.Start == m.Start })
}

// refuseAgent says why an agent that was recognised can get no messages where it runs.
func refuseAgent(session message.Peer, front process.FrontGroup, who agent.Agent) *Refusal {
	namespace, user := process.Abroad(session.Foreground.PID)
	switch {
	case namespace:
		return &Refusal{
			session.Pane, fmt.Sprintf("its %s runs in a pid namespace of its own (unshare, bwrap, a container): what it writes down cannot be told from another's here", who.Kind),
			"start it without one, or run tmux and intercom in there",
		}
	case session.Foreground.Exec == process.Hidden && user:
		return &Refusal{session.Pane, fmt.Sprintf("its %s runs as another user: what it executes and writes down cannot be seen", who.Kind), "run intercom as that user"}
	}
	line, _ := process.Ancestors(session.Foreground.PID) // as far up as can be seen
	for _, m := range front.Members {
		above := slices.ContainsFunc(line, func(a process.Process) bool { return a.PID == m.PID })
		if why, hint, is := refused(m); above && is && !starts(m, session) {
			return &Refusal{session.Pane, fmt.Sprintf("its %s was started by %q, which is in front with it: %s", who.Kind, m.Name, why), hint}
		}
	}
	return nil
}
