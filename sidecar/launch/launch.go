// Package launch starts and ends the programs of sessions.
//
// A program is started in a window of its own, in the background. So nobody's current window changes, and no pane
// is resized, as happens to a pane that is split and whose program must then redraw itself. tmux starts this very
// program there. It enters the directory, checks that it is in it, and becomes the program of the session; no shell
// sees the command. Its arguments contain the id of the start, by which the window can be found after a crash. The
// session is adopted at once. Whatever is sent to it waits until the program has shown itself:
//
//	opened ──became the program──► starting ──recognised, at its composer──► served by package pane
//	   └──ended──► refused             │  └─a person says what it is─────────────▲
//	                                   └──ended──► gone
//
// End escalates: the agent's own quit command, a hangup, SIGTERM, SIGKILL. It succeeds once no process of the
// session is left.
//
// A Launcher keeps no lasting state. The relay knows which starts have begun and which sessions are starting, also
// after a restart.
package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Launcher starts programs and ends them. Call Run first.
type Launcher struct {
	Relay interface {
		Snapshot() registry.Snapshot
		Update(ctx context.Context, session message.Peer) (message.Peer, error)
		StateChanged(ctx context.Context, id message.ID, state message.PaneState, why string, asks *message.Asking) error
		Gone(ctx context.Context, session message.ID, why message.Reason) error
	}
	Panes interface {
		Adopt(ctx context.Context, r pane.Request) (message.Peer, error)
		Await(ctx context.Context, session message.ID) error
		Forget(ctx context.Context, session message.ID) error
		Start(ctx context.Context, session message.Peer, past pane.Past) error
	}
	Tmux interface {
		Panes(ctx context.Context) ([]tmux.Pane, error)
		Clients(ctx context.Context) ([]tmux.Attached, error)
		NewWindow(ctx context.Context, w tmux.Window) (string, error)
		KillPane(ctx context.Context, pane string, pid int) error
	}
	Server message.Process // the tmux server
	// Command is the program that tmux starts, which becomes the program named by its further arguments; these
	// begin with an id and a directory. nil is this program, as `intercom session-exec`.
	Command []string
	Log     *slog.Logger

	once  sync.Once
	begun chan message.Peer // sessions whose programs Run is to wait for

	mu      sync.Mutex             // guards waiting
	waiting map[message.ID]waiting // sessions whose programs are waited for now
}

// waiting is a session whose program is waited for.
type waiting struct {
	word chan word     // from a person
	over chan struct{} // closed when the wait ends
}

// word is a person's statement of what a program is.
type word struct {
	request pane.Request
	taken   chan<- error // buffered
}

// The reasons why a start came to nothing.
var (
	ErrEnded    = errors.New("it ended at once")
	ErrNoWindow = errors.New("it has no window")
)

// SilentError says that tmux did not answer while a window was being opened. If the window was Ordered, it may
// still open; Find tells once tmux answers.
type SilentError struct {
	Ordered bool
	Err     error
}

func (e *SilentError) Error() string { return e.Err.Error() }

func (e *SilentError) Unwrap() error { return e.Err }

// silent wraps a timeout as a SilentError and returns any other error unchanged.
func silent(err error, ordered bool) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &SilentError{ordered, err}
	}
	return err
}

const (
	becomeWithin = 900 * time.Millisecond // for this program to become the named one
	becomePoll   = 3 * time.Millisecond
	settleWithin = 250 * time.Millisecond // for the named one to end at once, or to sleep, which means that it waits, most often for keys

	findWithin = 2 * time.Second // for tmux to open a window ordered by a process that has ended since
	findPoll   = 50 * time.Millisecond
)

func (l *Launcher) init() {
	l.once.Do(func() { l.begun, l.waiting = make(chan message.Peer), make(map[message.ID]waiting) })
}

// Open opens a window for a start that has begun, starts the program there, and describes its session. From now on
// everything sent to the session waits for Resume. The session is not adopted yet. After an error no window is
// left, except perhaps after a SilentError.
func (l *Launcher) Open(ctx context.Context, o message.StartOrder) (message.Peer, error) {
	session, err := l.open(ctx, o)
	if err != nil {
		if _, ok := errors.AsType[*SilentError](err); !ok { // otherwise nobody would know of the window
			l.Close(ctx, o.ID)
		}
		return message.Peer{}, fmt.Errorf("start %q in %s: %w", o.Program[0], o.Dir, err)
	}
	return session, nil
}

func (l *Launcher) open(ctx context.Context, o message.StartOrder) (message.Peer, error) {
	place, err := l.place(ctx, o.Near)
	if err != nil {
		return message.Peer{}, silent(err, false)
	}
	id, err := l.Tmux.NewWindow(ctx, tmux.Window{
		Session: place, Name: cmp.Or(o.Title, o.Name), Dir: o.Dir, Command: slices.Concat(l.command(), []string{string(o.ID), o.Dir}, o.Program),
	})
	if err != nil {
		return message.Peer{}, silent(err, true)
	}
	panes, err := l.Tmux.Panes(ctx)
	if err != nil {
		return message.Peer{}, silent(err, true)
	}
	i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == id })
	if i < 0 || panes[i].Dead {
		return message.Peer{}, ErrEnded
	}
	return l.opened(ctx, panes[i], o)
}

// Find describes the session in the window that an earlier run opened for a start, as Open does. ErrNoWindow says
// that there is none. ErrEnded says that the program has ended and its window is closed. A SilentError says that
// tmux cannot tell.
func (l *Launcher) Find(ctx context.Context, o message.StartOrder) (message.Peer, error) {
	for late := time.Now().Add(findWithin); ; {
		window, err := l.window(ctx, o.ID)
		switch {
		case err == nil && !window.Dead:
			session, err := l.opened(ctx, window, o)
			if errors.Is(err, ErrEnded) {
				l.Close(ctx, o.ID)
			}
			return session, err
		case err == nil:
			l.Close(ctx, o.ID)
			return message.Peer{}, fmt.Errorf("find the window of %q in %s: %w", o.Program[0], o.Dir, ErrEnded)
		case !errors.Is(err, ErrNoWindow) || time.Now().After(late):
			return message.Peer{}, fmt.Errorf("find the window of %q in %s: %w", o.Program[0], o.Dir, silent(err, true))
		}
		select {
		case <-ctx.Done():
			return message.Peer{}, ctx.Err()
		case <-time.After(findPoll):
		}
	}
}

// window returns the pane that was opened for a start, even if its program has ended and the pane remains. The
// command that tmux started there contains the id of the start, whatever has become of it.
func (l *Launcher) window(ctx context.Context, id message.ID) (tmux.Pane, error) {
	panes, err := l.Tmux.Panes(ctx)
	if err != nil {
		return tmux.Pane{}, err
	}
	words := l.command()
	ours := words[len(words)-1] + " " + string(id) + " "
	i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return strings.Contains(p.StartCommand, ours) })
	if i < 0 {
		return tmux.Pane{}, ErrNoWindow
	}
	return panes[i], nil
}

// command returns the program that tmux starts. On Linux it is this process's own executable, even if another file
// has replaced it.
func (l *Launcher) command() []string {
	if l.Command != nil {
		return l.Command
	}
	program := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	if runtime.GOOS != "linux" {
		program, _ = os.Executable()
	}
	return []string{program, "session-exec"}
}

// place returns the tmux session in which a window opens: that of the pane near, otherwise that of the client in
// which a key was pressed last, otherwise the first.
func (l *Launcher) place(ctx context.Context, near string) (string, error) {
	panes, err := l.Tmux.Panes(ctx)
	if err != nil {
		return "", err
	}
	if i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == near }); i >= 0 {
		return panes[i].Session, nil
	}
	clients, err := l.Tmux.Clients(ctx)
	if err != nil {
		return "", err
	}
	clients = slices.DeleteFunc(clients, func(c tmux.Attached) bool { return c.Control })
	if len(clients) > 0 {
		return slices.MaxFunc(clients, func(a, b tmux.Attached) int { return cmp.Compare(a.Activity, b.Activity) }).Session, nil
	}
	if len(panes) == 0 {
		return "", errors.New("tmux has no session")
	}
	return panes[0].Session, nil
}

// opened describes the session in the pane of a start, once tmux's child has become the program.
func (l *Launcher) opened(ctx context.Context, in tmux.Pane, o message.StartOrder) (session message.Peer, err error) {
	session = message.Peer{
		ID: o.ID, Name: o.Name, Title: o.Title, Computer: message.LocalComputer, Caller: &o.From,
		State: message.Unknown, StateWhy: string(message.AgentStarting), Adopted: time.Now(),
		PaneOf: message.PaneOf{Pane: in.ID, TTY: in.TTY, PaneProc: message.Process{PID: in.PID}, Profile: o.Profile, Server: l.Server, Starting: true},
	}
	if session.PaneProc.Start, err = startOf(ctx, in.PID); err != nil {
		return message.Peer{}, err
	}
	session.Foreground = session.PaneProc
	if err := l.became(ctx, session.PaneProc, o.ID); err != nil {
		return message.Peer{}, err
	}
	if err := settled(ctx, session.PaneOf); err != nil {
		return message.Peer{}, err
	}
	return session, l.Panes.Await(ctx, o.ID)
}

// execFor is how long a process may seem to be missing while it becomes another program: one of its threads then
// takes the place of the first.
const execFor = 150 * time.Millisecond

// startOf returns the start time of a process, or zero if the system does not tell.
func startOf(ctx context.Context, pid int) (uint64, error) {
	for late := time.Now().Add(execFor); ; {
		start, err := process.Start(pid)
		switch {
		case err == nil || errors.Is(err, process.ErrUnsupported):
			return start, nil
		case time.Now().After(late):
			return 0, ErrEnded
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(becomePoll):
		}
	}
}

// became waits until the process that tmux started runs another program than this one, so that a failure to start
// is reported at once. If that takes longer, the process counts as a slow start.
func (l *Launcher) became(ctx context.Context, p message.Process, id message.ID) error {
	server := fmt.Sprintf("/proc/%d/exe", l.Server.PID)
	return lives(ctx, p, becomeWithin, func() bool {
		arguments := process.Arguments(p.PID)
		return runtime.GOOS != "linux" || len(arguments) > 0 && !process.Runs(p.PID, server) && !slices.Contains(arguments, string(id))
	})
}

// settled waits until the program sleeps, as it does at its terminal, or has run for a while, so that an early end
// is reported at once.
func settled(ctx context.Context, in message.PaneOf) error {
	return lives(ctx, in.PaneProc, settleWithin, func() bool {
		front, err := process.Front(in.TTY, in.PaneProc.PID)
		return errors.Is(err, process.ErrUnsupported) || err == nil && front.Asleep
	})
}

// lives waits until so reports true, or until the process has lived for a while. It returns ErrEnded if the process
// has ended. It checks that after so, because the result of so means nothing if the process ended meanwhile.
func lives(ctx context.Context, p message.Process, within time.Duration, so func() bool) error {
	late := time.Now().Add(within)
	var missed time.Time // since when the process has been missing; zero: it was there
	for {
		is := so() || time.Now().After(late)
		switch alive := process.Lives(p.PID, p.Start); {
		case alive && is:
			return nil
		case alive:
			missed = time.Time{}
		case missed.IsZero():
			missed = time.Now()
		case time.Since(missed) > execFor:
			return ErrEnded
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(becomePoll):
		}
	}
}

// Close closes the window of a start that came to nothing, if there is one.
func (l *Launcher) Close(ctx context.Context, id message.ID) {
	ctx = context.WithoutCancel(ctx)
	if err := l.Panes.Forget(ctx, id); err != nil {
		l.Log.Debug("forget a start", "start", id, "err", err)
	}
	window, err := l.window(ctx, id)
	if err == nil {
		err = l.Tmux.KillPane(ctx, window.ID, window.PID)
	}
	if err != nil && !errors.Is(err, ErrNoWindow) && !errors.Is(err, tmux.ErrNoPane) {
		l.Log.Warn("close the window of a start", "start", id, "err", err)
	}
}
