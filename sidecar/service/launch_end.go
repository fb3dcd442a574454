package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Consent is what starts and ends have to do with teams: it asks their members whether they may be
// ended, and is told of those who were started.
type Consent interface {
	// MayEnd asks the member in a session, by the handshake of teams, and waits for its answer for
	// as long as grace. It is false with the member's reason where it has refused; a session that
	// is no member's, an approval and no answer in time are true.
	MayEnd(ctx context.Context, by relay.By, session message.Peer, grace time.Duration) (may bool, reason string, err error)
	// Asks is the name of the teammate in a session, "" where it is none: whom MayEnd asks.
	Asks(session message.ID) string
	// Seated has the files of a team kept, one of whose teammates was started while nobody waited
	// for it.
	Seated(seat message.StartSeat) error
	// Killing notes that a session is about to be ended which was not asked.
	Killing(ctx context.Context, session message.ID) error
}

// unlistedWithin is how long the answer to an end waits until the pane has been looked at.
const unlistedWithin = 5 * time.Second

// End ends a session.
func (s *Launches) End(ctx context.Context, from api.Caller, req api.EndSessionRequest) (api.EndedSession, error) {
	by, err := s.Callers.verified(ctx, from, "end a session")
	if err != nil {
		return api.EndedSession{}, err
	}
	token, ref, err := s.Elsewhere.where(req.Computer, req.Session)
	if err != nil {
		return api.EndedSession{}, err
	}
	if token != "" {
		return s.endElsewhere(ctx, from, token, ref, req)
	}
	req.Session = ref
	session, err := s.Names.find(ctx, s.Relay.Snapshot(), req.Session)
	switch {
	case err != nil:
		return api.EndedSession{}, err
	case session.Pane == "" || s.Launcher == nil:
		return api.EndedSession{}, api.Errorf(api.CodeRefused, "end %s: it lives in no pane", session.Name)
	case !by.Person() && (session.Caller == nil || session.Caller.Peer != by.Peer):
		s.Log.Warn("refused to an agent", "what", "end a session that it did not start", "agent", by.Peer, "session", session.Name)
		return api.EndedSession{}, api.Errorf(api.CodeRefused, "end %s: an agent may end only what it started itself", session.Name).WithHint("ask a person to do it")
	}
	ended := api.EndedSession{Status: api.EndRejected, Session: session}
	quit := s.quit(by, session)
	if req.Force {
		quit = nil
		if s.Consent != nil {
			if err := s.Consent.Killing(ctx, session.ID); err != nil {
				return ended, wire(err)
			}
		}
	} else if s.Consent != nil {
		may, reason, err := s.Consent.MayEnd(ctx, by, session, cmp.Or(req.Grace, api.EndGrace))
		if err != nil || !may {
			ended.Reason = reason
			return ended, wire(err)
		}
	}
	how, err := s.Launcher.End(ctx, session, quit, cmp.Or(req.Grace, launch.QuitWithin))
	if left, ok := errors.AsType[*launch.LeftError](err); ok {
		return ended, api.Errorf(api.CodeFailed, "%w", err).WithHint("%s", hintLeft(left))
	}
	if err != nil {
		return ended, wire(err)
	}
	ended.Status, ended.How = api.EndDone, string(how)
	s.Sessions.mark(ctx, session.Pane, message.Peer{})
	// Whoever asked may list the sessions next, or start one of the same name.
	if unlisted, err := s.Bell.until(ctx, unlistedWithin, func() (bool, error) {
		now, ok := s.Relay.Snapshot().Peer(session.ID)
		if ok {
			ended.Session = now
		}
		return !ok || now.Ended != nil, nil
	}); !unlisted || err != nil {
		s.Log.Warn("an ended session is still listed", "session", session.Name, "pane", session.Pane, "err", err)
	}
	s.Log.Info("ended", "session", session.Name, "pane", session.Pane, "how", how, "by", by.Peer)
	return ended, nil
}

// EndAsks says who is asked before a session is ended.
func (s *Launches) EndAsks(ctx context.Context, from api.Caller, req api.EndSessionRequest) (api.EndAsked, error) {
	token, ref, err := s.Elsewhere.where(req.Computer, req.Session)
	if err != nil {
		return api.EndAsked{}, err
	}
	if req.Computer, req.Session = "", ref; token != "" {
		return s.endAsksElsewhere(ctx, from, token, req)
	}
	session, err := s.Names.find(ctx, s.Relay.Snapshot(), req.Session)
	if err != nil {
		return api.EndAsked{}, err
	}
	// Who may not end it is refused by the end itself, and not asked first: an agent may have a terminal of its own.
	asked := api.EndAsked{Session: session.Name, ID: session.ID, Found: session.Pane != "" && session.Caller == nil && s.Callers.by(ctx, from).Person()}
	if s.Consent != nil && !req.Force {
		asked.Teammate = s.Consent.Asks(session.ID)
	}
	if asked.Teammate != "" {
		asked.Grace = cmp.Or(req.Grace, api.EndGrace)
	}
	return asked, nil
}

func hintLeft(e *launch.LeftError) string {
	return "kill the rest by hand: " + strings.TrimPrefix(e.Error(), "still there: ")
}

// How long a quit text may take until its Enter is pressed, and how often it is looked whether its agent has ended meanwhile.
const (
	enteredWithin = 5 * time.Second
	enteredPoll   = 50 * time.Millisecond
)

// quit has an agent told to end by itself, if its composer is live and empty by now; nil for one of
// which nothing is known that would do it. It returns once the agent was told, or certainly was not: how long it may take to
// end begins with its Enter.
func (s *Launches) quit(by relay.By, session message.Peer) func(context.Context) bool {
	p, ok := profile.Known(session.Profile)
	if !ok || p.Quit == "" || session.Starting || s.Panes == nil {
		return nil
	}
	return func(ctx context.Context) bool {
		seen, err := s.Panes.Explain(ctx, session.ID, session.Pane, "")
		if err != nil || !seen.Explanation.WouldType {
			return false
		}
		told, err := s.Relay.Do(ctx, relay.Quit{By: by, Peer: string(session.ID), Text: p.Quit})
		if err != nil {
			s.Log.Warn("tell an agent to quit", "session", session.Name, "err", err)
			return false
		}
		return s.entered(ctx, told.Message, session.Foreground)
	}
}

// entered waits until the one delivery of a message to a program was submitted or is over, or the program is, and reports
// whether that may have got it.
func (s *Launches) entered(ctx context.Context, id message.ID, program message.Process) bool {
	for late := time.Now().Add(enteredWithin); ; {
		rung := s.Bell.Wait()
		all, err := s.Journal.Receipts(ctx, id)
		state := message.Queued
		if err == nil && len(all) > 0 {
			state = taken(all, all[len(all)-1]).State
		}
		if state == message.Submitted || state.Final() || time.Now().After(late) || !process.Lives(program.PID, program.Start) {
			return !slices.Contains([]message.ReceiptState{message.Queued, message.Held, message.Failed, message.Expired}, state)
		}
		select {
		case <-ctx.Done():
			return false
		case <-rung:
		case <-time.After(enteredPoll):
		}
	}
}
