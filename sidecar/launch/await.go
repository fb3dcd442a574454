package launch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// How often a program that has not shown itself is looked at: first every awaitSoon, then less and less often, at
// least every awaitLate.
const (
	awaitSoon = 30 * time.Millisecond
	awaitLate = 500 * time.Millisecond
)

// Run waits for the started programs, each in a goroutine of its own, until ctx is done.
func (l *Launcher) Run(ctx context.Context) error {
	l.init()
	var waiting sync.WaitGroup
	defer waiting.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case session := <-l.begun:
			waiting.Go(func() { l.recognise(ctx, session) })
		}
	}
}

// Resume makes an adopted session, and everything sent to it, wait until its program has shown itself. The session
// may be one of an earlier life.
func (l *Launcher) Resume(ctx context.Context, session message.Peer) error {
	l.init()
	if err := l.Panes.Await(ctx, session.ID); err != nil {
		return err
	}
	select {
	case l.begun <- session:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ErrAwaited says that nobody waits for a session's program: it is served, or has ended.
var ErrAwaited = errors.New("the session is not waiting for its program: it is already served, or has ended")

// Adopt serves a session whose program is waited for, as the kind of program that a person names. The messages that
// wait for it then go to it.
func (l *Launcher) Adopt(ctx context.Context, session message.ID, r pane.Request) error {
	l.init()
	l.mu.Lock()
	one, ok := l.waiting[session]
	l.mu.Unlock()
	if !ok {
		return ErrAwaited
	}
	taken := make(chan error, 1)
	select {
	case one.word <- word{r, taken}:
		select {
		case err := <-taken:
			return err
		case <-ctx.Done(): // it may be adopted even so
			return ctx.Err()
		}
	case <-one.over:
		return ErrAwaited
	case <-ctx.Done():
		return ctx.Err()
	}
}

// await marks a session's program as waited for until over is called.
func (l *Launcher) await(session message.ID) (words <-chan word, over func()) {
	one := waiting{make(chan word), make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting[session] = one
	return one.word, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, session)
		close(one.over)
	}
}

// recognise looks at a pane until the program started there can be served, has ended, or is no longer ours.
func (l *Launcher) recognise(ctx context.Context, session message.Peer) {
	words, over := l.await(session.ID)
	defer over()
	told := session.StateWhy
	for pause := awaitSoon; ; pause = min(2*pause, awaitLate) {
		now, ok := l.Relay.Snapshot().Peer(session.ID)
		if !ok || now.Ended != nil || !now.Starting {
			return
		}
		err := l.serve(ctx, now, pane.Request{Pane: now.Pane, Profile: now.Profile, Awaited: true})
		switch {
		case err == nil || ctx.Err() != nil:
			return
		case l.over(ctx, now):
			if err := l.Relay.Gone(ctx, now.ID, message.AgentGone); err != nil {
				l.Log.Warn("end session", "session", now.Name, "err", err)
			}
			return
		}
		why := string(message.AgentStarting) + ": " + reason(err)
		if why != told {
			told = why
			if err := l.Relay.StateChanged(ctx, now.ID, message.Unknown, why, nil); err != nil {
				l.Log.Warn("tell how a start goes", "session", now.Name, "err", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case w := <-words:
			err := l.serve(ctx, now, w.request)
			w.taken <- err
			if err == nil {
				return
			}
		case <-time.After(pause):
		}
	}
}

// reason returns why a pane cannot be adopted yet, without the advice for a person.
func reason(err error) string {
	if refusal, ok := errors.AsType[*pane.Refusal](err); ok {
		return refusal.Why
	}
	return err.Error()
}

// serve adopts the pane's current program as the session that it was started as.
func (l *Launcher) serve(ctx context.Context, session message.Peer, r pane.Request) error {
	found, err := l.Panes.Adopt(ctx, r)
	if err != nil {
		return err
	}
	if found.PaneProc.PID != session.PaneProc.PID || found.PaneProc.Start != session.PaneProc.Start {
		return errors.New(string(message.PaneReplaced))
	}
	whole := found
	whole.ID, whole.Name, whole.Title, whole.Caller = session.ID, session.Name, session.Title, session.Caller
	whole.Adopted, whole.Server = session.Adopted, session.Server
	if _, err := l.Relay.Update(ctx, whole); err != nil {
		return err
	}
	if err := l.Panes.Start(ctx, whole, pane.Past{}); err != nil {
		whole.Starting = true // try again
		if _, back := l.Relay.Update(context.WithoutCancel(ctx), whole); back != nil {
			l.Log.Warn("take an adoption back", "session", session.Name, "err", back)
		}
		return err
	}
	return nil
}

// over reports whether the program of a session has ended.
func (l *Launcher) over(ctx context.Context, session message.Peer) bool {
	if !process.Lives(session.PaneProc.PID, session.PaneProc.Start) {
		return l.became(ctx, session.PaneProc, session.ID) != nil
	}
	panes, err := l.Tmux.Panes(ctx)
	if err != nil {
		return tmux.NoServer(err)
	}
	for _, p := range panes {
		if p.ID == session.Pane {
			return p.Dead || p.PID != session.PaneProc.PID
		}
	}
	return true
}
