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

// Consent connects starts and ends with teams: members are asked whether they may be ended, and a team hears of
// teammates that were started.
type Consent interface {
	// MayEnd asks the member in a session, by the handshake of teams, and waits up to grace for its answer. It
	// returns false with the member's reason if the member refused. It returns true for a session without a
	// member, for an approval, and if no answer came in time.
	MayEnd(ctx context.Context, by relay.By, session message.Peer, grace time.Duration) (may bool, reason string, err error)
	// Asks returns the name of the teammate in a session, whom MayEnd asks; "" if there is none.
	Asks(session message.ID) string
	// Seated begins to keep the files of a team after one of its teammates was started while nobody waited for
	// that.
	Seated(seat message.StartSeat) error
	// Killing notes that a session is about to be ended without having been asked.
	Killing(ctx context.Context, session message.ID) error
	// KillFailed notes that a session could not be ended, whether it was to be killed or did not answer MayEnd.
	KillFailed(ctx context.Context, session message.ID) error
}

// unlistedWithin is how long the reply to an end waits until the ended session is no longer listed.
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
	if err != nil && ctx.Err() == nil && s.Consent != nil { // if the caller has gone, it may be ending already
		if err := s.Consent.KillFailed(context.WithoutCancel(ctx), session.ID); err != nil {
			s.Log.Warn("take back that a teammate was killed", "session", session.Name, "err", err)
		}
	}
	if left, ok := errors.AsType[*launch.LeftError](err); ok {
		return ended, api.Errorf(api.CodeFailed, "%w", err).WithHint("%s", hintLeft(left))
	}
	if err != nil {
		return ended, wire(err)
	}
	ended.Status, ended.How = api.EndDone, string(how)
	s.Sessions.mark(ctx, session.Pane, message.Peer{})
	// The caller may list the sessions next, or start one with the same name.
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
	// Found is set for a person only. An agent, which may have a terminal of its own, is not asked for a yes
	// first: the end itself refuses it.
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

// How long the Enter of a quit text may take, and how often to check meanwhile whether the agent has ended.
const (
	enteredWithin = 5 * time.Second
	enteredPoll   = 50 * time.Millisecond
)

// quit returns a function that tells an agent to end by itself if its composer is live and empty. It is nil if
// the profile has no quit text, or the agent is still starting. The function returns once the agent was told,
// or certainly was not: the time that the agent may take to end begins with Enter.
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

// entered waits until the only delivery of a message was submitted or is final, or until the program has ended.
// It reports whether the program may have got the message.
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
