package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// verbs maps a person's choices to the relay's verbs.
var verbs = map[api.Choice]message.Verb{
	api.ChoiceApprove: message.VerbDeliver, api.ChoiceReject: message.VerbDrop, api.ChoiceReply: message.VerbBounce,
}

// chosen has the past participle of each choice.
var chosen = map[message.Verb]string{
	message.VerbDeliver: "approved", message.VerbDrop: "rejected", message.VerbBounce: "answered",
}

// Decide takes a person's decision about a message that waits for one.
func (s *Inbox) Decide(ctx context.Context, from api.Caller, req api.DecideRequest) (api.Decided, error) {
	if err := s.Callers.atTerminal(ctx, from, string(req.Choice)+" a held message", "inbox "+string(req.Choice)+" "+req.ID); err != nil {
		return api.Decided{}, err
	}
	all, err := s.list(ctx)
	if err != nil {
		return api.Decided{}, err
	}
	d := api.Decided{Choice: req.Choice, Edited: req.Body != nil}
	for _, one := range all {
		if !one.Delivery.Is(req.ID) && !one.Message.Is(req.ID) {
			continue
		}
		if d.Message != "" && d.Message != one.Message {
			return d, api.Errorf(api.CodeUsage, "%q may be message %s or %s", req.ID, d.Message, one.Message).WithHint("give the whole id")
		}
		d.Message = one.Message
		if one.Start() {
			return s.Starts.Decide(ctx, from, req, one)
		}
	}
	for _, one := range all {
		if one.Message == d.Message && one.Decision {
			d.Waiting = append(d.Waiting, one)
		}
	}
	if len(d.Waiting) == 0 && s.Starts != nil {
		if err := s.Starts.Decided(ctx, req.ID); err != nil {
			return d, err
		}
	}
	var trash []message.Delivery
	if len(d.Waiting) == 0 && req.Choice == api.ChoiceApprove {
		if trash, d.Waiting, err = s.trash(ctx, req.ID); err != nil {
			return d, err
		}
	}
	if len(d.Waiting) == 0 && d.Message != "" && req.Choice != api.ChoiceApprove {
		if trash, d.Waiting, err = s.discarded(ctx, d.Message, all); err != nil {
			return d, err
		}
	}
	if len(d.Waiting) == 0 {
		return s.decidedBefore(ctx, req, d)
	}
	d.Message = d.Waiting[0].Message
	if req.Say != "" { // check it before the person is asked
		e := d.Waiting[0].Envelope
		author, ok := s.Relay.Snapshot().Peer(e.From.Peer)
		if err := relay.CheckSay(ok && author.Ended == nil, e, req.Say); err != nil {
			told := api.AsError(wire(fmt.Errorf("decide about message %s: %w", d.Message.Short(), err)))
			if req.Choice == api.ChoiceReject {
				told = told.WithHint("without --say it is rejected, and nobody is told")
			}
			return d, told
		}
	}
	if !req.Sure {
		return d, nil
	}
	d.By = s.Callers.person(ctx, from)
	return s.carryOut(ctx, s.Callers.by(ctx, from), req, d, trash)
}

// carryOut carries out what a person has decided.
func (s *Inbox) carryOut(ctx context.Context, by relay.By, req api.DecideRequest, d api.Decided, trash []message.Delivery) (api.Decided, error) {
	earlier, err := s.Files.TakeWord(ctx, d.Waiting[0].Envelope, verbs[req.Choice], d.By)
	switch {
	case err != nil:
		return d, wire(err)
	case earlier != nil:
		d.By, d.At, d.Already, d.Waiting = earlier.Person, earlier.At, earlier.Verb == verbs[req.Choice], nil
		if d.Already {
			return d, nil
		}
		return d, api.Errorf(api.CodeRefused, "message %s was already %s, by %s", d.Message.Short(), chosen[earlier.Verb], earlier.Person).
			WithHint("it waited in another tmux server too; agent.log of its repository says what became of it")
	}
	answer, err := s.Relay.Do(context.WithoutCancel(ctx), relay.DecideHeld{ // the repository has the word already
		By: by, Message: d.Message, Verb: verbs[req.Choice], Body: req.Body, Say: req.Say, Who: d.By, Trash: trash,
	})
	switch {
	case errors.Is(err, relay.ErrDecided): // somebody else was faster
		return s.decidedBefore(ctx, req, d)
	case err != nil:
		return d, wire(err)
	}
	d.At, d.Deliveries = now(), answer.Receipts
	s.Log.Info("decided by a person", "choice", req.Choice, "edited", d.Edited, "msg", d.Message, "by", d.By.String())
	return d, nil
}

// discarded returns the parts of a message that a person may throw away although it waits for something other
// than a decision. kept are its deliveries that are kept for an agent that is gone. If a person has decided
// about the message before, there are none.
func (s *Inbox) discarded(ctx context.Context, id message.ID, all []api.Held) (kept []message.Delivery, shown []api.Held, err error) {
	verdicts, err := s.Journal.Verdicts(ctx, id)
	if err != nil || slices.ContainsFunc(verdicts, func(v message.Verdict) bool { return v.Person.Name != "" }) {
		return nil, nil, err
	}
	deliveries, err := s.Journal.Deliveries(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	for _, one := range all {
		if one.Message != id || one.State != message.Queued && one.State != message.Held {
			continue
		}
		shown = append(shown, one)
		if i := slices.IndexFunc(deliveries, func(d message.Delivery) bool { return d.ID == one.Delivery }); i >= 0 && one.Reason == message.AgentGone {
			kept = append(kept, deliveries[i])
		}
	}
	return kept, shown, nil
}

// trash returns the deliveries of a message that a policy dropped or bounced, if no person has decided about it
// since.
func (s *Inbox) trash(ctx context.Context, ref string) (trash []message.Delivery, shown []api.Held, err error) {
	id, err := s.Names.messageOf(ctx, ref)
	if err != nil {
		return nil, nil, err
	}
	verdicts, err := s.Journal.Verdicts(ctx, id)
	if n := len(verdicts); err != nil || n == 0 || verdicts[n-1].Person.Name != "" {
		return nil, nil, err
	}
	deliveries, err := s.Journal.Deliveries(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	receipts, err := s.Journal.Receipts(ctx, id)
	snap := s.Relay.Snapshot()
	for _, r := range receipts {
		i := slices.IndexFunc(deliveries, func(d message.Delivery) bool { return d.ID == r.Delivery })
		if i < 0 || !slices.ContainsFunc(verdicts, func(v message.Verdict) bool { return thrownAway(r, v) }) {
			continue
		}
		d := deliveries[i]
		one := api.Held{Chat: d.Chat, Envelope: d.Message, Form: d.Form, Waiting: api.Waiting{
			Delivery: d.ID, Message: id, From: d.Message.From.Name, State: r.State, Reason: r.Reason, Since: r.At,
		}}
		if session, ok := s.Names.Ended.SessionOf(snap, d.Target); ok {
			one.To, one.Pane = session.Name, session.Pane
		}
		trash, shown = append(trash, d), append(shown, one)
	}
	return trash, shown, err
}

// thrownAway reports whether a policy dropped or bounced a delivery: at once, or because no person decided in
// time.
func thrownAway(r message.Receipt, v message.Verdict) bool {
	otherwise := v.For(r.Target).Otherwise
	return r.Reason == message.Dropped || r.Reason == message.Bounced ||
		r.State == message.Expired && (otherwise == message.VerbDrop || otherwise == message.VerbBounce)
}

// decidedBefore returns the answer to a decision about a message that does not wait for one: the earlier
// decision, if it was the same, or the reason why this one is refused.
func (s *Inbox) decidedBefore(ctx context.Context, req api.DecideRequest, d api.Decided) (api.Decided, error) {
	d.Waiting, d.By = nil, message.Person{}
	id, err := s.Names.messageOf(ctx, req.ID)
	if err != nil {
		return d, err
	}
	d.Message = id
	verdicts, err := s.Journal.Verdicts(ctx, id)
	if err != nil {
		return d, err
	}
	for _, v := range verdicts {
		if v.Person.Name == "" {
			continue
		}
		d.By, d.At = v.Person, v.At
		same := v.Body == req.Body || v.Body != nil && req.Body != nil && render.Words(message.Form{}, v.Patched(message.Envelope{})) == *req.Body
		if v.Verb != verbs[req.Choice] || !same {
			how := chosen[v.Verb]
			if v.Body != nil {
				how = "edited and " + how
			}
			return d, api.Errorf(api.CodeRefused, "message %s was already %s, by %s", id.Short(), how, v.Person).
				WithHint("intercom log %s shows what happened to it", id.Short())
		}
		d.Already = true
		receipts, err := s.Journal.Receipts(ctx, id)
		last := map[message.ID]int{}
		for _, r := range receipts {
			if i, ok := last[r.Delivery]; ok {
				d.Deliveries[i] = r
				continue
			}
			last[r.Delivery], d.Deliveries = len(d.Deliveries), append(d.Deliveries, r)
		}
		return d, err
	}
	return d, api.Errorf(api.CodeRefused, "message %s does not await a decision", id.Short()).
		WithHint("intercom inbox list shows what each message is waiting for; intercom log %s, what happened to this one", id.Short())
}
