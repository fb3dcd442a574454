// Package launch starts and ends the programs of sessions.
//
// A program is started in a window of its own, in the background: nobody's current window changes,
// and no pane gets another size, as one that is split does, whose program would have to draw itself
// anew. tmux starts this very program there, which enters the directory, proves that it is there,
// and becomes the program of the session: no shell sees the command. The session is adopted at
// once. What is sent to it waits until the program has shown itself:
//
//	opened ──became the program──► starting ──recognised, at its composer──► served by package pane
//	   └──ended──► refused             └──ended──► gone
//
// An end takes more and more: what its agent calls quitting, a hangup, SIGTERM, SIGKILL. It is one
// once no process of the session is left.
//
// It owns nothing: which sessions are starting says the relay, also after a restart.
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
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Launcher starts programs and ends them. Run comes first.
type Launcher struct {
	Relay interface {
		Snapshot() registry.Snapshot
		Adopt(ctx context.Context, session message.Peer) (message.Peer, error)
		StateChanged(ctx context.Context, id message.ID, state message.PaneState, why string, asks *message.Asking) error
		Gone(ctx context.Context, session message.ID, why message.Reason) error
	}
	Panes interface {
		Adopt(ctx context.Context, r pane.Request) (message.Peer, error)
		Await(ctx context.Context, session message.ID) error
		Start(ctx context.Context, session message.Peer, past pane.Past) error
	}
	Tmux interface {
		Panes(ctx context.Context) ([]tmux.Pane, error)
		Clients(ctx context.Context) ([]tmux.Attached, error)
		NewWindow(ctx context.Context, w tmux.Window) (string, error)
		KillPane(ctx context.Context, pane string, pid int) error
	}
	Server message.Process // the tmux server
	// Command is what becomes the program that its further arguments name, a directory first: nil
	// is this program, as `intercom session-exec`.
	Command []string
	Log     *slog.Logger

	once  sync.Once
	begun chan message.Peer // sessions whose programs are to be waited for
}

// Order says what is started.
type Order struct {
	Dir     string   // absolute, without links
	Program []string // an absolute path, and arguments
	Profile string   // by which it is adopted; "" recognises an agent
	Name    string   // "" makes one of Title, else of the agent or program
	Title   string
	Caller  message.Address // who has it started
	Near    string          // a pane: the window opens in its session of tmux; "" is where somebody is
}

// ErrEnded says that what was started has ended at once.
var ErrEnded = errors.New("it ended at once")

const (
	becomeWithin = 900 * time.Millisecond // for this program to become the one that was named
	becomePoll   = 3 * time.Millisecond
)

func (l *Launcher) init() { l.once.Do(func() { l.begun = make(chan message.Peer) }) }

// Start opens a window, has the program started there, and adopts it. It does not wait for its
// composer.
func (l *Launcher) Start(ctx context.Context, o Order) (message.Peer, error) {
	place, err := l.place(ctx, o.Near)
	if err != nil {
		return message.Peer{}, fmt.Errorf("start %q: %w", o.Program[0], err)
	}
	id, err := l.Tmux.NewWindow(ctx, tmux.Window{
		Session: place, Name: cmp.Or(o.Title, o.Name), Dir: o.Dir, Command: slices.Concat(l.command(), []string{o.Dir}, o.Program),
	})
	if err != nil {
		return message.Peer{}, fmt.Errorf("start %q: %w", o.Program[0], err)
	}
	session, err := l.opened(ctx, id, o)
	if err == nil {
		session, err = l.Relay.Adopt(ctx, session)
	}
	if err == nil {
		err = l.await(ctx, session)
	}
	if err != nil { // nobody would know of it
		l.close(context.WithoutCancel(ctx), session)
		return message.Peer{}, fmt.Errorf("start %q in %s: %w", o.Program[0], o.Dir, err)
	}
	return session, nil
}

// command is what tmux starts. On Linux it is this very process's file, also where another has
// taken its place meanwhile.
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

// place is the session of tmux in which a window opens: that of the pane near, else that of the
// terminal at which a key was pressed last, else the first.
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

// opened describes the session in a new pane, once tmux's child has become the program.
func (l *Launcher) opened(ctx context.Context, id string, o Order) (message.Peer, error) {
	session := message.Peer{
		ID: message.NewID(), Name: o.Name, Title: o.Title, Computer: message.LocalComputer, Caller: &o.Caller,
		State: message.Unknown, StateWhy: string(message.AgentStarting), Adopted: time.Now(),
		PaneOf: message.PaneOf{Pane: id, Profile: o.Profile, Server: l.Server, Starting: true},
	}
	panes, err := l.Tmux.Panes(ctx)
	if err != nil {
		return session, err
	}
	i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return p.ID == id })
	if i < 0 || panes[i].Dead {
		return session, ErrEnded
	}
	session.TTY, session.PaneProc = panes[i].TTY, message.Process{PID: panes[i].PID}
	if session.PaneProc.Start, err = startOf(ctx, panes[i].PID); err != nil {
		return session, err
	}
	session.Foreground = session.PaneProc
	return session, l.became(ctx, session.PaneProc)
}

// execFor is how long a process that becomes another may look as if it had ended: while the system
// takes away its threads, the first of them among them.
const execFor = 150 * time.Millisecond

// startOf is the start time of a process, zero where the system does not tell.
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

// became waits until what tmux started runs another program than this one: what cannot be started
// is told at once.
func (l *Launcher) became(ctx context.Context, p message.Process) error {
	ours, server := l.command(), fmt.Sprintf("/proc/%d/exe", l.Server.PID)
	lived := time.Now()
	for late := time.Now().Add(becomeWithin); time.Now().Before(late); {
		arguments := process.Arguments(p.PID)
		starting := len(arguments) == 0 || process.Runs(p.PID, server) || slices.Equal(arguments[:min(len(arguments), len(ours))], ours)
		switch lives := process.Lives(p.PID, p.Start); {
		case lives && (runtime.GOOS != "linux" || !starting):
			return nil
		case lives:
			lived = time.Now()
		case time.Since(lived) > execFor:
			return ErrEnded
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(becomePoll):
		}
	}
	return nil // whatever keeps it: it is waited for as one that starts slowly
}

// close closes the window of what came to nothing.
func (l *Launcher) close(ctx context.Context, session message.Peer) {
	if session.ID != "" {
		if err := l.Relay.Gone(ctx, session.ID, message.PaneMissing); err != nil {
			l.Log.Warn("take a start back", "pane", session.Pane, "err", err)
		}
	}
	if session.PaneProc.PID == 0 {
		return
	}
	if err := l.Tmux.KillPane(ctx, session.Pane, session.PaneProc.PID); err != nil && !errors.Is(err, tmux.ErrNoPane) {
		l.Log.Warn("close a pane", "pane", session.Pane, "err", err)
	}
}
