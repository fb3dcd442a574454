package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// RequestShutdown asks a teammate to end, on behalf of the lead of its team.
func (s *Teams) RequestShutdown(ctx context.Context, from api.Caller, req api.ShutdownRequest) (api.HandshakeReply, error) {
	by, err := s.Callers.verified(ctx, from, "ask a teammate to end")
	if err != nil {
		return api.HandshakeReply{}, err
	}
	d, err := s.of(by, cmp.Or(req.Dir, s.ledWith(by, req.Teammate)))
	if err != nil {
		return api.HandshakeReply{}, err
	}
	h, err := s.askToEnd(ctx, by, d, req.Teammate, s.Policies.teamSettings().Timeout)
	if err != nil {
		return api.HandshakeReply{}, err
	}
	return api.HandshakeReply{
		RequestID: h.ID, Status: string(h.State), Text: fmt.Sprintf("Shutdown request %s sent to '%s' (status: %s)", h.ID, req.Teammate, h.State),
	}, nil
}

// ledWith returns the directory of the team that the caller leads and in which the teammate has its seat; "" if
// there is none, or more than one.
func (s *Teams) ledWith(by relay.By, name string) (dir string) {
	seats := s.Relay.Protocols().Seats
	for _, seat := range seats {
		if seat.Name != name || seat.Gone || !slices.ContainsFunc(seats, func(lead relay.Seat) bool {
			return lead.Dir == seat.Dir && lead.Name == team.Lead && !lead.Gone && lead.Holder.Peer == by.Peer && lead.Holder.Person == by.Person()
		}) {
			continue
		}
		if dir != "" {
			return ""
		}
		dir = seat.Dir
	}
	return dir
}

func (s *Teams) askToEnd(ctx context.Context, by relay.By, d team.Dir, name string, patience time.Duration) (handshake.Handshake, error) {
	return s.ask(ctx, relay.AskShutdown{By: by, Dir: d.Path, Name: name, Patience: patience})
}

// ask makes a request to end.
func (s *Teams) ask(ctx context.Context, r relay.AskShutdown) (handshake.Handshake, error) {
	if err := (team.Dir{Path: r.Dir}).Knows(r.Name); err != nil {
		return handshake.Handshake{}, teamWire(err)
	}
	if r.Name == team.Lead {
		return handshake.Handshake{}, api.Errorf(api.CodeUsage, "%q is the lead, who cannot ask itself", r.Name)
	}
	return s.begin(ctx, func(id string) relay.Request {
		r.ID = id
		return r
	}, r.Dir)
}

// begin starts a handshake under an id that was never used before, and writes its line.
func (s *Teams) begin(ctx context.Context, ask func(id string) relay.Request, dir string) (handshake.Handshake, error) {
	if err := s.hold(dir); err != nil {
		return handshake.Handshake{}, err
	}
	for {
		id := handshake.NewID()
		if _, used, err := s.recorded(ctx, id); err != nil {
			return handshake.Handshake{}, err
		} else if used {
			continue
		}
		a, err := s.Relay.Do(ctx, ask(id))
		if _, taken := errors.AsType[*handshake.TakenError](err); taken {
			continue
		}
		if err != nil {
			return handshake.Handshake{}, teamWire(err)
		}
		s.gap(id, "asked")
		return a.Handshake, s.write(ctx, relay.Affair{Handshake: a.Handshake, Team: a.Team}, relay.OwedRequest, false)
	}
}

// AnswerShutdown takes a teammate's answer to a request to end.
func (s *Teams) AnswerShutdown(ctx context.Context, from api.Caller, req api.ShutdownAnswer) (api.HandshakeReply, error) {
	h, err := s.answer(ctx, from, "answer a request to end", handshake.Answer{Kind: handshake.Shutdown, ID: req.RequestID, Approve: *req.Approve, Note: req.Reason})
	if err != nil {
		return api.HandshakeReply{}, err
	}
	return api.HandshakeReply{RequestID: h.ID, Status: string(h.State), Text: fmt.Sprintf("Shutdown %s", h.State)}, nil
}

// ReviewPlan takes the lead's answer to a plan.
func (s *Teams) ReviewPlan(ctx context.Context, from api.Caller, req api.PlanReview) (api.HandshakeReply, error) {
	h, err := s.answer(ctx, from, "review a plan", handshake.Answer{Kind: handshake.Plan, ID: req.RequestID, Approve: *req.Approve, Note: req.Feedback})
	if err != nil {
		return api.HandshakeReply{}, err
	}
	return api.HandshakeReply{RequestID: h.ID, Status: string(h.State), Text: fmt.Sprintf("Plan %s for '%s'", h.State, h.Asker.Name)}, nil
}

func (s *Teams) answer(ctx context.Context, from api.Caller, what string, a handshake.Answer) (handshake.Handshake, error) {
	by, err := s.Callers.verified(ctx, from, what)
	if err != nil {
		s.Log.Warn("refused an answer to a request", "request", shown(a.ID), "kind", a.Kind, "approve", a.Approve, "by", "nobody who is proven", "why", err)
		return handshake.Handshake{}, err
	}
	done, err := s.Relay.Do(ctx, relay.AnswerHandshake{By: by, Answer: a})
	if _, unknown := errors.AsType[*handshake.UnknownError](err); unknown {
		was, found, failed := s.settled(ctx, a.Kind, a.ID)
		if failed != nil {
			return handshake.Handshake{}, failed
		}
		if found {
			err = &handshake.SettledError{Handshake: was}
		}
	}
	if err != nil {
		s.Log.Warn("refused an answer to a request", "request", shown(a.ID), "kind", a.Kind, "approve", a.Approve, "by", cmp.Or(string(by.Peer), by.Name), "why", err)
		return handshake.Handshake{}, handshakeWire(err)
	}
	s.gap(a.ID, "answered")
	return done.Handshake, s.write(ctx, relay.Affair{Handshake: done.Handshake, Team: done.Team}, relay.OwedAnswer, false)
}

// shown returns a request_id for the log; it may be any text.
func shown(id string) string { return fmt.Sprintf("%.40q", id) }

func (s *Teams) gap(request, moment string) {
	if s.Gap != nil {
		s.Gap(request, moment)
	}
}

// settled looks up a handshake in the journal that the relay has forgotten.
func (s *Teams) settled(ctx context.Context, kind handshake.Kind, id string) (h handshake.Handshake, found bool, err error) {
	one, found, err := s.recorded(ctx, id)
	return one.Handshake, found && one.Handshake.Kind == kind, err
}

// recorded returns a handshake as the journal has it.
func (s *Teams) recorded(ctx context.Context, id string) (one relay.Affair, found bool, err error) {
	kind, key := relay.HandshakeRecord(id)
	r, err := s.Journal.Record(ctx, kind, key)
	if errors.Is(err, journal.ErrNotFound) {
		return one, false, nil
	}
	if err == nil {
		one, err = relay.ReadHandshake(r)
	}
	return one, err == nil, err
}

// SubmitPlan submits a teammate's plan to the lead.
func (s *Teams) SubmitPlan(ctx context.Context, from api.Caller, req api.PlanRequest) (api.HandshakeReply, error) {
	by, err := s.Callers.verified(ctx, from, "submit a plan")
	if err != nil {
		return api.HandshakeReply{}, err
	}
	d := team.Dir{}
	for _, seat := range s.Relay.Protocols().Seats {
		if by.Kind == relay.Agent && seat.Name != team.Lead && seat.Holder.Peer == by.Peer {
			d.Path = seat.Dir
		}
	}
	if d.Path == "" {
		return api.HandshakeReply{}, api.Errorf(api.CodeRefused, "submit a plan: only the session of a teammate may").
			WithHint("intercom team spawn starts one; it is a teammate that runs this, in its own pane")
	}
	h, err := s.begin(ctx, func(id string) relay.Request {
		return relay.AskPlan{By: by, ID: id, Dir: d.Path, Plan: req.Plan, Patience: s.Policies.teamSettings().Timeout}
	}, d.Path)
	if err != nil {
		return api.HandshakeReply{}, err
	}
	return api.HandshakeReply{
		RequestID: h.ID, Status: string(h.State), Text: fmt.Sprintf("Plan submitted (request_id=%s). Waiting for lead approval.", h.ID),
	}, nil
}

// PlanGate tells whether the caller's session may change something yet.
func (s *Teams) PlanGate(ctx context.Context, from api.Caller, _ api.None) (api.Gate, error) {
	seats := s.Relay.Protocols().Seats
	if !slices.ContainsFunc(seats, relay.Seat.Closed) {
		return api.Gate{}, nil // the usual case: agents outside teams ask before each use of a tool
	}
	session, ok := s.Callers.callerSession(ctx, from)
	i := slices.IndexFunc(seats, func(seat relay.Seat) bool {
		return ok && seat.Name != team.Lead && seat.Holder.Peer == session.ID && seat.Closed()
	})
	if i < 0 {
		return api.Gate{}, nil
	}
	return api.Gate{Closed: true, Plan: string(seats[i].Plan)}, nil
}

// ShutdownStatus returns what became of a request to end. Any program of this user may ask.
func (s *Teams) ShutdownStatus(ctx context.Context, _ api.Caller, q api.HandshakeQuery) (api.Tracker, error) {
	h, found, err := s.show(ctx, handshake.Shutdown, q.RequestID)
	if err == nil && !found {
		return api.Tracker{Error: "not found"}, nil
	}
	return tracker(h), err
}

// AwaitPlan waits until a plan is answered or expired, or the timeout is over.
func (s *Teams) AwaitPlan(ctx context.Context, _ api.Caller, q api.PlanQuery) (api.Tracker, error) {
	var h handshake.Handshake
	_, err := s.Bell.until(ctx, q.Timeout, func() (enough bool, err error) {
		found := false
		if h, found, err = s.show(ctx, handshake.Plan, q.RequestID); err == nil && !found {
			err = handshakeWire(&handshake.UnknownError{Kind: handshake.Plan, ID: q.RequestID})
		}
		return !h.Open(), err
	})
	return tracker(h), err
}

// show returns a handshake as it is now.
func (s *Teams) show(ctx context.Context, kind handshake.Kind, id string) (h handshake.Handshake, found bool, err error) {
	a, err := s.Relay.Do(ctx, relay.ShowHandshake{By: relay.By{Kind: relay.Unverified}, Kind: kind, ID: id})
	if _, unknown := errors.AsType[*handshake.UnknownError](err); unknown {
		return s.settled(ctx, kind, id)
	}
	return a.Handshake, err == nil, err
}

func tracker(h handshake.Handshake) api.Tracker {
	t := h.Tracker()
	return api.Tracker{Target: t.Target, From: t.From, Plan: t.Plan, Status: string(t.Status), Expired: t.Expired, Feedback: h.Note}
}

// MayEnd asks the teammate in a session whether the session may be ended, and waits up to grace for its answer;
// after a yes it waits until the session has ended. A session without a teammate may be ended, and so may one
// whose teammate does not answer in time. Otherwise the teammate has refused, for the returned reason.
func (s *Teams) MayEnd(ctx context.Context, by relay.By, session message.Peer, grace time.Duration) (may bool, reason string, err error) {
	seat, ok := s.teammateIn(session.ID)
	if !ok {
		return true, "", nil
	}
	h, err := s.ask(ctx, relay.AskShutdown{
		By: by, Dir: seat.Dir, Name: seat.Name, Patience: answerable(s.Policies.teamSettings().Timeout, grace), Ending: true,
	})
	if err != nil {
		return false, "", err
	}
	_, err = s.Bell.until(ctx, grace, func() (bool, error) {
		now, _, err := s.show(ctx, handshake.Shutdown, h.ID)
		h = now
		return !now.Open(), err
	})
	s.gap(h.ID, "waited")
	if err == nil && (h.Open() || h.State == handshake.Expired && !h.Gone) {
		h, err = s.endUnanswered(ctx, by, h)
	}
	switch {
	case err != nil:
		return false, "", err
	case h.State == handshake.Rejected:
		return false, h.Note, nil
	case h.State == handshake.Approved:
		_, err = s.Bell.until(ctx, endWithin, func() (bool, error) {
			now, ok := s.Relay.Snapshot().Peer(session.ID)
			return !ok || now.Ended != nil, nil
		})
	}
	return err == nil, "", err
}

// answerable returns for how long a request can be answered whose sender waits for grace: at least grace, if
// the team has a timeout.
func answerable(timeout, grace time.Duration) time.Duration {
	if timeout <= 0 {
		return 0
	}
	return max(timeout, grace)
}

// endUnanswered stops waiting for the answer to a request to end. An answer that came in the meantime counts.
func (s *Teams) endUnanswered(ctx context.Context, by relay.By, h handshake.Handshake) (handshake.Handshake, error) {
	a, err := s.Relay.Do(ctx, relay.EndUnanswered{By: by, ID: h.ID})
	if _, unknown := errors.AsType[*handshake.UnknownError](err); unknown { // it was settled so long ago that the relay has forgotten it
		h, _, err = s.settled(ctx, handshake.Shutdown, h.ID)
		return h, err
	}
	return a.Handshake, wire(err)
}

// Asks returns the name of the teammate in a session, "" if there is none.
func (s *Teams) Asks(session message.ID) string {
	seat, _ := s.teammateIn(session)
	return seat.Name
}

// teammateIn returns the seat of the teammate in a session.
func (s *Teams) teammateIn(session message.ID) (seat relay.Seat, ok bool) {
	all := s.Relay.Protocols().Seats
	i := slices.IndexFunc(all, func(seat relay.Seat) bool {
		return seat.Name != team.Lead && seat.Holder.Peer == session && !seat.Gone
	})
	if i < 0 {
		return relay.Seat{}, false
	}
	return all[i], true
}

// endWithin is how long MayEnd waits for the end of a teammate that has agreed to end.
const endWithin = 30 * time.Second

// Killing notes that a session is about to be ended without asking it.
func (s *Teams) Killing(ctx context.Context, session message.ID) error {
	return s.Relay.Killing(ctx, session)
}

// KillFailed notes that such a session could not be ended.
func (s *Teams) KillFailed(ctx context.Context, session message.ID) error {
	return s.Relay.KillFailed(ctx, session)
}

// handshakeWire gives an error of a handshake its code and a hint.
func handshakeWire(err error) error {
	if of, ok := errors.AsType[*handshake.UnknownError](err); ok {
		if of.Kind == handshake.Plan {
			return api.Errorf(api.CodeNotFound, "Error: Unknown plan request_id '%s'", of.ID).WithHint("intercom team inbox --peek shows the request_id of each plan that came").About(api.Worded, of.ID)
		}
		return api.Errorf(api.CodeNotFound, "%w", of).WithHint("team_inbox with peek, or intercom team inbox NAME --peek, shows the request_id of each request")
	}
	if of, ok := errors.AsType[*handshake.NotYoursError](err); ok {
		return api.Errorf(api.CodeRefused, "%w", of).WithHint("it is answered from the pane of the session that was asked")
	}
	if of, ok := errors.AsType[*handshake.SettledError](err); ok {
		hint := "the first answer counts"
		if of.Handshake.AskerGone {
			hint = "whoever is spawned in its place submits a plan of its own"
		}
		return api.Errorf(api.CodeRefused, "%w", of).WithHint("%s", hint)
	}
	return wire(err)
}
