package launch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// How says what was needed to end a program.
type How string

// The measures, in order.
const (
	Gone   How = "gone"   // nothing: it had already ended and left nothing behind
	Quit   How = "quit"   // the agent's own quit command
	Hangup How = "hangup" // a hangup, as if its terminal had gone
	Term   How = "term"   // SIGTERM to all of its processes
	Kill   How = "kill"   // SIGKILL
)

// QuitWithin is how long a program may take to quit by itself.
const QuitWithin = 5 * time.Second

// measures are applied one after the other until no process is left.
var measures = []struct {
	how    How
	signal syscall.Signal
	whole  bool // to all processes, not only to the program
	within time.Duration
}{
	{Hangup, syscall.SIGHUP, false, time.Second},
	{Term, syscall.SIGTERM, true, 3 * time.Second},
	{Kill, syscall.SIGKILL, true, 5 * time.Second},
}

const leftPoll = 15 * time.Millisecond

// LeftError says which processes of a session still exist after all measures.
type LeftError struct{ Left []process.Process }

func (e *LeftError) Error() string {
	var names []string
	for _, p := range e.Left {
		names = append(names, fmt.Sprintf("%s (%d)", p.Name, p.PID))
	}
	return "still there: " + strings.Join(names, ", ")
}

// End ends the program of a session with everything that it has started, and returns once none of it is left. It
// closes a pane that was opened for the session; any other pane keeps what it had before. quit tells the program to
// end by itself and reports whether it did so; nil skips that step. within is how long the program may take to
// quit. Nothing else is ended, whatever the error.
func (l *Launcher) End(ctx context.Context, session message.Peer, quit func(context.Context) bool, within time.Duration) (How, error) {
	how, err := l.end(ctx, session, quit, within)
	if err != nil {
		return how, fmt.Errorf("end %s: %w", session.Name, err)
	}
	if session.Caller != nil {
		if err := l.Tmux.KillPane(ctx, session.Pane, session.PaneProc.PID); err != nil && !errors.Is(err, tmux.ErrNoPane) {
			l.Log.Warn("close a pane", "pane", session.Pane, "err", err)
		}
	}
	if err := l.Relay.Gone(ctx, session.ID, message.AgentGone); err != nil {
		return how, fmt.Errorf("end %s: %w", session.Name, err)
	}
	return how, l.listed(ctx, session)
}

// listed waits until the relay's snapshot shows that the session has ended.
func (l *Launcher) listed(ctx context.Context, session message.Peer) error {
	for {
		if now, ok := l.Relay.Snapshot().Peer(session.ID); !ok || now.Ended != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leftPoll):
		}
	}
}

// EndRest ends what the program of a session started here left behind when it ended by itself, and returns once
// none of it is left.
func (l *Launcher) EndRest(ctx context.Context, session message.ID) error {
	if _, err := endRest(ctx, process.Mark(string(session))); err != nil {
		return fmt.Errorf("end what is left of session %s: %w", session.Short(), err)
	}
	return nil
}

func endRest(ctx context.Context, mark string) (How, error) {
	family := process.Remains(mark)
	if left, err := family.Left(); err != nil || len(left) == 0 {
		return Gone, err
	}
	return endFamily(ctx, family)
}

func (l *Launcher) end(ctx context.Context, session message.Peer, quit func(context.Context) bool, within time.Duration) (How, error) {
	mark := markOf(session)
	family, err := process.NewFamily(asProcess(session.Foreground), asProcess(session.PaneProc), mark)
	switch {
	case errors.Is(err, process.ErrNoProcess) && mark != "":
		return endRest(ctx, mark)
	case errors.Is(err, process.ErrNoProcess):
		return Gone, nil
	case err != nil:
		return "", err
	}
	if _, err := family.Left(); err != nil { // begin nothing whose end cannot be observed
		return "", err
	}
	if quit != nil && quit(ctx) {
		if left, err := awaitEnd(ctx, family, within); err != nil || len(left) == 0 {
			return Quit, err
		}
	}
	return endFamily(ctx, family)
}

// endFamily applies one measure after the other.
func endFamily(ctx context.Context, family *process.Family) (how How, err error) {
	var left []process.Process
	for _, m := range measures {
		if m.whole || !family.Root() {
			err = family.Signal(m.signal)
		} else {
			err = family.SignalRoot(m.signal)
		}
		if err != nil {
			return m.how, err
		}
		if left, err = awaitEnd(ctx, family, m.within); err != nil || len(left) == 0 {
			return m.how, err
		}
	}
	return Kill, &LeftError{left}
}

// awaitEnd waits until no process of a family is left, or until the time is over, and returns the processes that
// are left.
func awaitEnd(ctx context.Context, family *process.Family, within time.Duration) (left []process.Process, err error) {
	for late := time.Now().Add(within); ; {
		if left, err = family.Left(); err != nil || len(left) == 0 || time.Now().After(late) {
			return left, err
		}
		select {
		case <-ctx.Done():
			return left, ctx.Err()
		case <-time.After(leftPoll):
		}
	}
}

// markOf returns the mark that the program of a session was started with, or "" if it was not started here.
func markOf(session message.Peer) string {
	if session.Caller == nil {
		return ""
	}
	return process.Mark(string(session.ID))
}

func asProcess(p message.Process) process.Process {
	return process.Process{PID: p.PID, Start: p.Start, Name: p.Name}
}
