package service

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// startType is the type, in the inbox, of what an agent asks to have started.
const startType = "start_request"

// hold has a start wait for a person's yes.
func (s *Launches) hold(ctx context.Context, by relay.By, w wanted, why string) (api.StartedSession, error) {
	o := w.order
	answer, err := s.Relay.Do(ctx, relay.AskStart{By: by, Order: message.StartOrder{
		What: w.what, Dir: o.Dir, Program: o.Program, Profile: o.Profile, Name: o.Name, Title: o.Title, Near: o.Near, Message: w.message, Why: why,
	}})
	if err != nil {
		return api.StartedSession{}, wire(err)
	}
	return api.StartedSession{Status: api.StartHeld, Request: answer.Message, Why: why}, nil
}

// Waiting are the starts that wait for a person, as the inbox shows them.
func (s *Launches) Waiting() (all []api.Held) {
	for _, o := range s.Relay.Protocols().Orders {
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

// Decide takes a person's decision about a start that waits. Who asks has been judged.
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
	answer, err := s.Relay.Do(ctx, relay.DecideStart{By: by, ID: one.Message, Yes: req.Choice == api.ChoiceApprove, Say: req.Say, Who: d.By})
	switch {
	case errors.Is(err, relay.ErrDecided):
		return d, api.Errorf(api.CodeRefused, "start %s was decided about already", one.Message.Short()).WithHint("intercom log")
	case err != nil:
		return d, wire(err)
	}
	d.At = now()
	s.Log.Info("decided by a person", "choice", req.Choice, "start", one.Message, "by", d.By.String())
	if req.Choice != api.ChoiceApprove {
		return d, nil
	}
	o := answer.Orders[0]
	ctx = context.WithoutCancel(ctx)
	started, err := s.start(ctx, relay.By{Kind: relay.Agent, Peer: o.From.Peer}, wanted{what: o.What, message: o.Message, order: launch.Order{
		Dir: o.Dir, Program: o.Program, Profile: o.Profile, Name: o.Name, Title: o.Title, Near: o.Near, Caller: o.From,
	}})
	text := fmt.Sprintf("%s was started in %s: session %s, %q", o.What, o.Dir, started.Session.ID, started.Session.Name)
	if err != nil {
		text = fmt.Sprintf("a person approved your start of %s in %s, but: %v", o.What, o.Dir, err)
	}
	if _, told := s.Relay.Do(ctx, relay.TellAsker{By: by, Order: o, Text: text}); told != nil {
		s.Log.Warn("tell an agent of its start", "agent", o.From.Name, "err", told)
	}
	return d, err
}
