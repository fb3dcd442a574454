package pane

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// stage is how far a delivery has come once its bytes may be in the pane.
type stage int

const (
	pasted  stage = iota // not seen yet
	seen                 // the composer shows our text and nothing else; Enter is next
	entered              // Enter was typed; it has to leave the composer
)

// attempt is the delivery that is under way.
type attempt struct {
	d         message.Delivery
	text      string
	sanitised int
	stage     stage
	since     time.Time      // when the stage's deadline began to run
	rendered  bool           // our text, and only it, was seen in the composer
	parked    bool           // leave for Enter was refused until the relay hands it out again
	why       message.Reason // last reported reason of a hold
	polls     int
	cleared   time.Time // when the composer was first seen without our text after Enter
}

// pause is how long to wait for a trigger before the next look.
func (a *attempt) pause() time.Duration {
	if a.parked || a.why != "" {
		return heldPoll
	}
	a.polls++
	return min(firstPoll<<min(a.polls-1, 10), slowPoll)
}

// enter moves the attempt to a stage, whose deadline begins to run.
func (a *attempt) enter(s stage) { a.stage, a.since, a.polls, a.why = s, time.Now(), 0, "" }

// accept takes a delivery into the queue, or, if it is the one that is under way and was
// parked, lets that go on.
func (p *Pane) accept(d message.Delivery) {
	if p.under != nil && p.under.d.ID == d.ID {
		p.under.parked = false
		return
	}
	if !slices.ContainsFunc(p.queue, func(q message.Delivery) bool { return q.ID == d.ID }) {
		p.queue = append(p.queue, d)
	}
}

// forget drops deliveries that were taken back before anything of them was typed.
func (p *Pane) forget(ids []message.ID) {
	p.queue = slices.DeleteFunc(p.queue, func(d message.Delivery) bool { return slices.Contains(ids, d.ID) })
	for _, id := range ids {
		delete(p.why, id)
	}
}

// begin types the first delivery of the queue if the composer is proven live and empty.
func (p *Pane) begin(ctx context.Context, s sight, settled bool) {
	d := p.queue[0]
	if d.Typed { // typed before, by an attempt that is no longer known: never again
		p.pop()
		p.report(ctx, d, message.Uncertain, message.NotSeen, 0, "")
		return
	}
	text, changed, ok := compose(d, p.prof)
	if !ok {
		p.pop()
		p.report(ctx, d, message.Failed, message.NothingToType, changed, "")
		return
	}
	if why := tooLong(len(text)+1, s, p.prof); why != "" {
		p.pop()
		p.report(ctx, d, message.Failed, why, changed, "")
		return
	}
	switch why, _ := mayType(s, p.session); {
	case why == message.Synchronised:
		p.pop()
		p.report(ctx, d, message.Failed, why, changed, "")
		return
	case why != "":
		p.hold(ctx, d, why)
		return
	case p.clouded:
		p.hold(ctx, d, message.OursInComposer)
		return
	case !settled:
		return // its words come first; a look follows when it has been quiet
	}
	if err := p.report(ctx, d, message.Typed, "", changed, "composer live and empty"); err != nil {
		p.pop() // the relay has it, and hands it out again if it is to be typed
		return
	}
	p.tracker.Expect(text)
	out, err := p.client.Type(ctx, tmux.Typing{
		Pane: p.session.Pane, Facts: s.look.Facts, Text: []byte(text), Bracketed: p.prof.Reads == profile.Bracketed,
	})
	switch out {
	case tmux.Refused:
		p.tracker.Unexpect(text)
		delete(p.why, d.ID)
		p.hold(ctx, d, message.TmuxRefused)
		delete(p.why, d.ID)
		p.noticed(time.Now())
		return
	case tmux.Unknown:
		p.log.Warn("type", "pane", p.session.Pane, "msg", d.Message.ID, "err", err)
	}
	p.pop()
	p.under = &attempt{d: d, text: text, sanitised: changed}
	p.under.enter(pasted)
}

// advance does what the newest look allows for the delivery that is under way.
func (p *Pane) advance(ctx context.Context, s sight) {
	a := p.under
	now := time.Now()
	why, _ := bar(s, p.session)
	holds := !s.look.Facts.Alternate && screen.Holds(screenOf(s.look), p.prompt, a.text, p.prof)
	switch a.stage {
	case pasted:
		switch {
		case holds:
			a.rendered = true
			a.enter(seen)
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case now.Sub(a.since) > p.prof.SeenWithin:
			p.finish(ctx, message.Uncertain, message.NotSeen, "")
		}
	case seen:
		switch {
		case holds:
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case p.tracker.Pending() == 0: // a person pressed Enter on our text
			p.finish(ctx, message.Submitted, "", "echo: the text was taken")
		case s.reading.State == message.Draft:
			p.stand(ctx, message.InComposer)
		case s.reading.MayType && now.Sub(a.since) > p.prof.TakenWithin:
			p.finish(ctx, message.Uncertain, message.NotTaken, "")
		}
	case entered:
		switch {
		case p.tracker.Pending() == 0:
			p.finish(ctx, message.Submitted, "", "echo: the text was taken")
		case holds:
			a.cleared = time.Time{}
			if now.Sub(a.since) > p.prof.TakenWithin {
				p.finish(ctx, message.Uncertain, message.NotTaken, "")
			}
		case a.cleared.IsZero():
			a.cleared = now
		case now.Sub(a.cleared) >= p.prof.Quiet && s.reading.State != message.Draft:
			p.finish(ctx, message.Submitted, "", "emptied: the composer no longer holds the text")
		case now.Sub(a.since) > p.prof.TakenWithin:
			p.finish(ctx, message.Uncertain, message.NotTaken, "")
		}
	}
}

// press asks for leave and types Enter, if nothing stands against it.
func (p *Pane) press(ctx context.Context, s sight, why message.Reason) {
	a := p.under
	if why != "" {
		p.stand(ctx, why)
		return
	}
	if a.parked {
		return
	}
	err := p.report(ctx, a.d, message.Typed, "", a.sanitised, "rendered: the composer shows our text and only it")
	switch {
	case errors.Is(err, message.ErrPaused):
		a.parked = true
		return
	case err != nil:
		p.finish(ctx, message.Uncertain, message.ChatEnded, "")
		return
	}
	out, err := p.client.Type(ctx, tmux.Typing{
		Pane: p.session.Pane, Facts: s.look.Facts, Text: []byte("\n"), Tail: screen.Tail(screenOf(s.look)),
	})
	switch out {
	case tmux.Refused:
		return // the next look decides anew
	case tmux.Unknown:
		p.log.Warn("press Enter", "pane", p.session.Pane, "msg", a.d.Message.ID, "err", err)
	}
	a.enter(entered)
}

// stand keeps Enter away while something is in the way; the deadline waits with it.
func (p *Pane) stand(ctx context.Context, why message.Reason) {
	a := p.under
	a.since = time.Now()
	if a.why == why {
		return
	}
	a.why = why
	p.report(ctx, a.d, message.Held, why, a.sanitised, "our text stands in the composer")
}

// finish ends the attempt with what is known of it. While text of ours may still stand in
// the composer, nothing more is typed there.
func (p *Pane) finish(ctx context.Context, state message.ReceiptState, why message.Reason, evidence string) {
	a := p.under
	p.under = nil
	switch state {
	case message.Submitted:
		p.answers = append(p.answers, a.d.ID)
	case message.Uncertain:
		p.clouded = gate("clouded")
	}
	p.report(ctx, a.d, state, why, a.sanitised, evidence)
}

// hold reports why a delivery waits, once for each reason.
func (p *Pane) hold(ctx context.Context, d message.Delivery, why message.Reason) {
	if p.why[d.ID] == why {
		return
	}
	p.why[d.ID] = why
	if err := p.report(ctx, d, message.Held, why, 0, ""); err != nil {
		p.forget([]message.ID{d.ID})
	}
}

// pop takes the first delivery off the queue.
func (p *Pane) pop() {
	delete(p.why, p.queue[0].ID)
	p.queue = slices.Delete(p.queue, 0, 1)
}

// report tells the relay a step of a delivery and waits until it is written down.
func (p *Pane) report(ctx context.Context, d message.Delivery, state message.ReceiptState, why message.Reason, changed int, evidence string) error {
	now := time.Now()
	r := message.Receipt{
		Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: state, Reason: why, Sanitised: changed, At: now,
	}
	if evidence != "" {
		r.Evidence = []message.Evidence{{Source: "screen", Says: evidence, Weight: "exact", At: now}}
	}
	err := p.relay.Report(ctx, r)
	if err != nil && ctx.Err() == nil && !errors.Is(err, message.ErrPaused) && !errors.Is(err, message.ErrEnded) {
		p.log.Warn("report", "pane", p.session.Pane, "msg", d.Message.ID, "state", string(state), "err", err)
	}
	return err
}
