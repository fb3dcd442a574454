package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// recognisedWithin is how long the reply to a start waits for an agent to be recognised in a command, and
// toldWithin how long it waits for the relay to hear that the program has ended meanwhile.
const (
	recognisedWithin = 500 * time.Millisecond
	recognisedPoll   = 10 * time.Millisecond
	toldWithin       = 2 * time.Second
)

// start carries out a permitted start: see relay's BeginStart for its states. It goes on whether or not anybody
// waits for it. A start that a person has approved is also retried until the journal can be written and tmux
// answers.
func (s *Launches) start(ctx context.Context, by relay.By, o message.StartOrder) (api.StartedSession, error) {
	started, err := s.begin(ctx, by, o)
	if o.Approved != nil && unwritten(err) {
		s.untilDone(func(ctx context.Context) bool {
			_, err := s.begin(ctx, by, o)
			return !unwritten(err)
		})
	}
	return started, err
}

func (s *Launches) begin(ctx context.Context, by relay.By, o message.StartOrder) (api.StartedSession, error) {
	ctx = context.WithoutCancel(ctx)
	answer, err := s.Relay.Do(ctx, relay.BeginStart{By: by, Order: o, Most: s.most()})
	if errors.Is(err, relay.ErrActive) {
		return api.StartedSession{}, api.Errorf(api.CodeRefused, "%w", err).WithHint("%s", onePlace)
	}
	if err != nil {
		return api.StartedSession{}, wire(err)
	}
	o = answer.Orders[0]
	s.gap(o.ID, "begun")
	var session message.Peer
	if err = unmoved(ctx, o.Dir); err == nil {
		session, err = s.Launcher.Open(ctx, o)
	}
	if silent, ok := errors.AsType[*launch.SilentError](err); ok && (silent.Ordered || o.Approved != nil) {
		s.goOn(by, o, silent.Ordered, "once tmux answered", "tmux did not answer, and ")
		return api.StartedSession{}, api.Errorf(api.CodeUncertain, "%w", err).WithHint("it goes on once tmux answers, and what comes of it is told")
	}
	if err != nil {
		s.failed(ctx, relay.FailStart{By: by, ID: o.ID, Why: err.Error()})
		if errors.Is(err, launch.ErrEnded) {
			return api.StartedSession{}, endedAtOnce(err)
		}
		return api.StartedSession{}, wire(err)
	}
	return s.finish(ctx, o, relay.FinishStart{By: by, Session: session})
}

// unmoved refuses a directory that has become a link to another one since it was checked.
func unmoved(ctx context.Context, dir string) error {
	now, err := directory(ctx, dir)
	if err == nil && now != dir {
		err = api.Errorf(api.CodeRefused, "directory %q has become a link to %q since the start was requested", dir, now).WithHint("name the directory that is meant")
	}
	return err
}

// finish adopts the program in the window of a start, and sends its first message.
func (s *Launches) finish(ctx context.Context, o message.StartOrder, f relay.FinishStart) (api.StartedSession, error) {
	s.gap(o.ID, "opened")
	answer, err := s.Relay.Do(ctx, f)
	unsent, _ := errors.AsType[*relay.FirstMessageError](err)
	if err != nil && unsent == nil {
		if !errors.Is(err, relay.ErrDown) { // the next life of the sidecar takes it up
			s.Launcher.Close(ctx, o.ID)
			s.failed(ctx, relay.FailStart{By: f.By, ID: o.ID, Why: err.Error(), Resumed: f.Late != ""})
		}
		return api.StartedSession{}, wire(err)
	}
	s.gap(o.ID, "adopted")
	if o.Seat != nil && s.Consent != nil && (f.Late != "" || o.Approved != nil) {
		if err := s.Consent.Seated(*o.Seat); err != nil {
			s.Log.Warn("make the team of a teammate", "team", o.Seat.Dir, "name", o.Seat.Name, "err", err)
		}
	}
	session, _ := s.Relay.Snapshot().Peer(o.ID)
	started := api.StartedSession{Status: api.StartDone, Session: session, Message: answer.Message}
	if err := s.Launcher.Resume(ctx, session); err != nil {
		return started, wire(err)
	}
	s.Sessions.mark(ctx, session.Pane, session)
	s.Log.Info("started", "session", session.Name, "pane", session.Pane, "what", o.What, "dir", o.Dir, "caller", o.From.Name)
	if unsent != nil {
		told := api.AsError(wire(unsent.Err))
		return started, api.Errorf(told.Code, "%w", unsent).WithHint("intercom send %s", session.Name)
	}
	if o.Profile == "" {
		started.Session, started.Why = s.recognised(ctx, session)
		if started.Session.Ended != nil && started.Session.Starting {
			return api.StartedSession{}, endedAtOnce(fmt.Errorf("start %q in %s: %w", o.Program[0], o.Dir, launch.ErrEnded))
		}
	}
	if started.Why != "" {
		started.Status = api.StartUnrecognised
	}
	return started, nil
}

// endedAtOnce returns the error of a start whose program ended before it was recognised.
func endedAtOnce(err error) *api.Error {
	return api.Errorf(api.CodeFailed, "%w", err).WithHint("start it by hand in a pane there: it says why")
}

// recognised waits a moment for the agent in a starting session. If none is recognised, it returns the reason.
func (s *Launches) recognised(ctx context.Context, session message.Peer) (now message.Peer, why string) {
	for late, ended := time.Now().Add(cmp.Or(s.Recognised, recognisedWithin)), false; ; {
		if !ended && !process.Lives(session.PaneProc.PID, session.PaneProc.Start) {
			ended, late = true, time.Now().Add(toldWithin)
		}
		now, ok := s.Relay.Snapshot().Peer(session.ID)
		switch {
		case !ok || !now.Starting || now.Ended != nil:
			return now, ""
		case time.Now().After(late):
			return now, strings.TrimPrefix(now.StateWhy, string(message.AgentStarting)+": ")
		}
		select {
		case <-ctx.Done():
			return now, ""
		case <-time.After(recognisedPoll):
		}
	}
}

// failed records that a start has failed. It reports false if the journal could not be written, and the record
// has to be tried again.
func (s *Launches) failed(ctx context.Context, f relay.FailStart) bool {
	_, err := s.Relay.Do(ctx, f)
	if err != nil {
		s.Log.Warn("write down that a start failed", "start", f.ID, "err", err)
	}
	return !unwritten(err)
}

// unwritten reports whether err says that the journal could not be written.
func unwritten(err error) bool {
	_, full := errors.AsType[*message.UnwritableError](err)
	return full
}

func (s *Launches) gap(id message.ID, moment string) {
	if s.Gap != nil {
		s.Gap(string(id), moment)
	}
}

// TakeUp continues the starts that an earlier life did not finish. It returns at once; later runs the slow
// part, as long as ctx lasts. Call it before any request is served.
func (s *Launches) TakeUp(ctx context.Context, later func(func())) {
	s.later = func(do func(context.Context)) { later(func() { do(ctx) }) }
	left := s.Relay.Protocols().Orders
	starting := inPanes(s.Relay.Snapshot())
	later(func() {
		for _, session := range starting {
			if session.Starting {
				s.Sessions.mark(ctx, session.Pane, session)
			}
		}
		for _, o := range left {
			if !o.Waits() && ctx.Err() == nil {
				s.takeUp(ctx, o)
			}
		}
	})
}

func (s *Launches) takeUp(ctx context.Context, o message.StartOrder) {
	by := relay.By{Kind: relay.Person, Name: o.From.Name}
	if o.From.Peer != "" {
		by = relay.By{Kind: relay.Agent, Peer: o.From.Peer}
	}
	if o.Begun {
		s.goOn(by, o, true, "after a restart of the sidecar", "the sidecar ended before it was done, and ")
	} else if _, err := s.start(ctx, by, o); err != nil {
		s.Log.Warn("take up a start", "what", o.What, "dir", o.Dir, "err", err)
	}
}

// goOn finishes a start that nobody waits for any more. If its window was ordered, it looks for that window,
// else it opens one; it retries until tmux answers. late or failed begins the notice of the outcome: why it is
// late, or why it failed.
func (s *Launches) goOn(by relay.By, o message.StartOrder, ordered bool, late, failed string) {
	s.untilDone(func(ctx context.Context) bool {
		var session message.Peer
		var err error
		if ordered {
			session, err = s.Launcher.Find(ctx, o)
		} else if err = unmoved(ctx, o.Dir); err == nil {
			session, err = s.Launcher.Open(ctx, o)
		}
		silent, hangs := errors.AsType[*launch.SilentError](err)
		none := bareStart(err)
		switch {
		case ctx.Err() != nil: // the next life of the sidecar takes it up
			return true
		case err == nil:
			if _, err := s.finish(ctx, o, relay.FinishStart{By: by, Session: session, Late: late}); err != nil {
				s.Log.Warn("take up a start", "what", o.What, "dir", o.Dir, "err", err)
			}
			return true
		case hangs:
			ordered = ordered || silent.Ordered
			return false
		case ordered && none == nil: // tmux could not tell
			s.Log.Debug("take up a start", "what", o.What, "dir", o.Dir, "err", err)
			return false
		}
		why := err.Error()
		if ordered {
			why = failed + none.Error()
		}
		return s.failed(ctx, relay.FailStart{By: by, ID: o.ID, Why: why, Resumed: true})
	})
}

// bareStart returns what is certain about a start that has no session; nil if nothing is.
func bareStart(err error) error {
	for _, why := range []error{launch.ErrEnded, launch.ErrNoWindow} {
		if errors.Is(err, why) {
			return why
		}
	}
	return nil
}

// againEvery is the interval between retries.
const againEvery = time.Second

// untilDone calls try again and again in this life of the sidecar, until it is done.
func (s *Launches) untilDone(try func(context.Context) (done bool)) {
	s.later(func(ctx context.Context) {
		for !try(ctx) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(againEvery):
			}
		}
	})
}
