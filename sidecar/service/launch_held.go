package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// startType is the message type under which the inbox lists a start that an agent asks for.
const startType = "start_request"

// onePlace is the hint about a start for a place in a team that is not free.
const onePlace = "there is one session for each name in a team: intercom team list shows who is there, intercom inbox which starts wait"

// hold makes a start wait for a person's yes.
func (s *Launches) hold(ctx context.Context, by relay.By, w wanted, why string) (api.StartedSession, error) {
	w.Why = why
	answer, err := s.Relay.Do(ctx, relay.AskStart{By: by, Order: w.StartOrder})
	if errors.Is(err, relay.ErrFull) {
		return api.StartedSession{}, api.AsError(wire(err)).WithHint("nothing was asked for: wait until a person has decided about one of those; you are told when they have")
	}
	if errors.Is(err, relay.ErrActive) {
		return api.StartedSession{}, api.Errorf(api.CodeRefused, "%w", err).WithHint("nothing was asked for: %s", onePlace)
	}
	if err != nil {
		return api.StartedSession{}, wire(err)
	}
	return api.StartedSession{Status: api.StartHeld, Request: answer.Message, Why: why}, nil
}

// Waiting returns the starts that wait for a person, in the form of the inbox.
func (s *Launches) Waiting() (all []api.Held) {
	for _, o := range s.Relay.Protocols().Orders {
		if !o.Waits() {
			continue
		}
		asked := message.Verdict{Message: o.ID, Decision: message.Decision{Verb: message.VerbAsk, Reason: o.Why, By: "built in"}, At: o.At}
		body := fmt.Sprintf("start %s in %s", strings.Join(o.Program, " "), o.Dir)
		if o.Message != "" {
			body += "\n\nits first message: " + o.Message
		}
		all = append(all, api.Held{
			Waiting: api.Waiting{
				Delivery: o.ID, Message: o.ID, From: o.From.Name, To: "a new session", State: message.Held, Reason: message.AwaitingApproval, Since: o.At,
			},
			Envelope: message.Envelope{
				ID: o.ID, From: o.From, Type: startType, Subject: o.Title, Body: body, Origin: message.OriginAgent, Trust: message.TrustVerified, Created: o.At,
			},
			Decision: true, Asked: &asked,
		})
	}
	return all
}

// Decided returns the error for a decision about a start that is over; nil if there never was a start with that
// id.
func (s *Launches) Decided(ctx context.Context, id string) error {
	kind, key := relay.StartRecord(id)
	found, err := s.Journal.Record(ctx, kind, key)
	if err != nil {
		return nil //nolint:nilerr // it is none of ours
	}
	o, err := relay.ReadStart(found)
	if err != nil {
		return err
	}
	how := ""
	if o.Approved != nil {
		how = ": approved by " + o.Approved.String()
	}
	return api.Errorf(api.CodeRefused, "start %s was decided about already%s", o.ID.Short(), how).WithHint("intercom log")
}

// Decide takes a person's decision about a start that waits. The caller has been checked already.
func (s *Launches) Decide(ctx context.Context, from api.Caller, req api.DecideRequest, one api.Held) (api.Decided, error) {
	d := api.Decided{Message: one.Message, Choice: req.Choice, Waiting: []api.Held{one}}
	switch {
	case req.Body != nil:
		return d, api.Errorf(api.CodeUsage, "a start cannot be edited").WithHint("intercom inbox reject %s --say WHY", one.Message.Short())
	case !req.Sure:
		return d, nil
	}
	d.By = s.Callers.person(ctx, from)
	by := s.Callers.by(ctx, from)
	answer, err := s.Relay.Do(context.WithoutCancel(ctx), relay.DecideStart{ // a decision in the journal is carried out, even if its caller is gone
		By: by, ID: one.Message, Yes: req.Choice == api.ChoiceApprove, Say: req.Say, Who: d.By,
	})
	switch {
	case errors.Is(err, relay.ErrDecided):
		return d, s.Decided(ctx, string(one.Message))
	case errors.Is(err, relay.ErrActive):
		return d, api.Errorf(api.CodeRefused, "%w", err).WithHint("it goes on waiting: intercom inbox reject %s", one.Message.Short())
	case err != nil:
		return d, wire(err)
	}
	d.At = now()
	s.Log.Info("decided by a person", "choice", req.Choice, "start", one.Message, "by", d.By.String())
	if req.Choice != api.ChoiceApprove {
		return d, nil
	}
	s.gap(one.Message, "approved")
	_, err = s.start(ctx, relay.By{Kind: relay.Agent, Peer: one.Envelope.From.Peer}, answer.Orders[0])
	return d, err
}
