package pane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

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
	again     backoff   // of Enter, after tmux refused it
}

// backoff spaces out what tmux refuses again and again, so that a screen that never holds
// still fills no journal.
type backoff struct {
	n  int
	at time.Time // not before
}

// longestBackoff is reached after seven refusals in a row.
const longestBackoff = 4 * time.Second

func (b *backoff) refused(now time.Time, first time.Duration) {
	b.at = now.Add(min(first<<min(b.n, 10), longestBackoff))
	b.n++
}

func (b *backoff) waits(now time.Time) bool { return now.Before(b.at) }

// heldUp reports whether the attempt waits for what no write of the program alone will end.
func (a *attempt) heldUp() bool { return a.parked || a.why != "" }

// pause is how long to wait for a trigger before the next look.
func (a *attempt) pause() time.Duration {
	if a.heldUp() {
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
	switch why, _ := mayType(s, p.session, p.prof); {
	case why == message.Synchronised:
		p.pop()
		p.report(ctx, d, message.Failed, why, changed, "")
		return
	case why != "":
		p.hold(ctx, d, why)
		return
	case p.lost != "" && gate("lost"):
		p.hold(ctx, d, message.OursInComposer)
		return
	case !settled || p.again.waits(time.Now()):
		return // its words come first; a look follows when it has been quiet
	case p.half.begun && gate("half"):
		p.hold(ctx, d, message.NotEmpty)
		return
	}
	defer p.reach()()
	if err := p.report(ctx, d, message.Typed, "", changed, "composer live and empty"); err != nil && gate("leave") {
		p.pop() // the relay has it, and hands it out again if it is to be typed
		return
	}
	p.tracker.Expect(text)
	out, err := p.strike(ctx, s, tmux.Typing{Text: []byte(text), Bracketed: p.prof.Reads == profile.Bracketed}, false)
	switch out {
	case tmux.Refused:
		p.tracker.Unexpect(text)
		delete(p.why, d.ID)
		p.hold(ctx, d, message.TmuxRefused)
		delete(p.why, d.ID)
		now := time.Now()
		p.again.refused(now, p.prof.Quiet)
		p.noticed(now)
		return
	case tmux.Unknown:
		p.log.Warn("type", "pane", p.session.Pane, "msg", d.Message.ID, "err", err)
	}
	p.again = backoff{}
	p.pop()
	p.under = &attempt{d: d, text: text, sanitised: changed}
	p.under.enter(pasted)
}

// reach takes the pane's hands, from before leave is asked for until the typing is over;
// what it returns lets go of them. Panes.Still waits for that.
func (p *Pane) reach() func() {
	p.hands <- struct{}{}
	return func() { <-p.hands }
}

// strike types what was judged at sight s. Leave takes as long as the journal does, and
// tmux compares only what it knows itself, so the processes and the terminal's modes are
// looked at once more just before.
func (p *Pane) strike(ctx context.Context, s sight, t tmux.Typing, enter bool) (tmux.Outcome, error) {
	if p.gap != nil {
		p.gap(p.session.Pane, enter, false)
	}
	if why, _ := bar(p.sightOf(s.look), p.session, p.prof); why != "" && gate("again") {
		return tmux.Refused, nil // the next look tells why
	}
	if p.gap != nil {
		p.gap(p.session.Pane, enter, true)
	}
	t.Pane, t.Facts = p.session.Pane, s.look.Facts
	return p.client.Type(ctx, t)
}

// advance does what the newest look allows for the delivery that is under way.
func (p *Pane) advance(ctx context.Context, s sight) {
	a := p.under
	now := time.Now()
	why, _ := bar(s, p.session, p.prof)
	holds := !s.look.Facts.Alternate && screen.Holds(screenOf(s.look), p.prompt, a.text, p.prof) || !gate("seen")
	mixed := !holds && within(s, a.text)
	taken := !holds && !mixed && p.tracker.Pending() == 0
	switch a.stage {
	case pasted:
		switch {
		case holds:
			a.rendered = true
			a.enter(seen)
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case mixed: // somebody typed beside it
			a.rendered = true
			a.enter(seen)
			p.stand(ctx, message.InComposer)
		case now.Sub(a.since) > p.prof.SeenWithin:
			p.finish(ctx, message.Uncertain, message.NotSeen, "")
		}
	case seen:
		switch {
		case holds:
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case taken && s.reading.State == message.Working: // a person pressed Enter on our text
			p.finish(ctx, message.Submitted, "", "echo: the text was taken, and the program works")
		case taken: // or threw it away: an editor may leave such a line above its prompt too
			p.finish(ctx, message.Uncertain, message.NotTaken, "the text left the composer without our Enter")
		case s.reading.State == message.Draft:
			p.stand(ctx, message.InComposer)
		case s.reading.MayType && now.Sub(a.since) > p.prof.TakenWithin:
			p.finish(ctx, message.Uncertain, message.NotTaken, "")
		}
	case entered:
		switch {
		case taken:
			p.finish(ctx, message.Submitted, "", "echo: the text was taken")
		case why != "": // what covers the composer proves nothing of it
			a.since, a.cleared = now, time.Time{}
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

// within reports whether our text stands in the composer, among whatever else.
func within(s sight, text string) bool {
	return s.reading.State == message.Draft && strings.Contains(unspaced(s.reading.Composer.Text), unspaced(text))
}

// unspaced is text without its blanks, which come and go where it wraps.
func unspaced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// press asks for leave and types Enter, if nothing stands against it.
func (p *Pane) press(ctx context.Context, s sight, why message.Reason) {
	a := p.under
	if why != "" {
		p.stand(ctx, why)
		return
	}
	if a.parked || a.again.waits(time.Now()) {
		return
	}
	defer p.reach()()
	err := p.report(ctx, a.d, message.Typed, "", a.sanitised, "rendered: the composer shows our text and only it")
	switch {
	case !gate("leave"):
	case errors.Is(err, message.ErrPaused):
		a.parked = true
		return
	case err != nil:
		p.finish(ctx, message.Uncertain, message.ChatEnded, "")
		return
	}
	out, err := p.strike(ctx, s, tmux.Typing{Text: []byte("\n"), Tail: p.tail(s.look)}, true)
	switch out {
	case tmux.Refused:
		a.again.refused(time.Now(), firstPoll)
		p.log.Debug("Enter refused", "pane", p.session.Pane, "msg", a.d.Message.ID, "err", err)
		return // the next look decides anew
	case tmux.Unknown:
		p.log.Warn("press Enter", "pane", p.session.Pane, "msg", a.d.Message.ID, "err", err)
	}
	a.enter(entered)
}

// tailEnough is how long a piece of our text is to be, in bytes, so that hardly anything
// else on a screen looks like it.
const tailEnough = 6

// tail is a piece of our own text that must still be on the screen when Enter comes: from
// the row of the cursor, or, where that has too little that tmux can look for, from those
// above it, up to the prompt. Our text begins with a head that has letters or digits.
func (p *Pane) tail(l tmux.Look) (best string) {
	s := screenOf(l)
	for s.CursorY = min(s.CursorY, len(s.Rows)-1); s.CursorY >= 0 && len(best) < tailEnough; s.CursorY-- {
		piece := screen.Tail(s)
		if len(piece) > len(best) && strings.ContainsFunc(piece, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			best = piece
		}
		if _, first := p.prompt.Rest(screen.Plain(s.Rows[s.CursorY])); first {
			break
		}
		s.CursorX = s.Width
	}
	return best
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

// finish ends the attempt with what is known of it. Text that was seen keeps others away
// by itself for as long as it stands in the composer. Text that was never seen may still
// be on its way to a program that does not read: nothing more is typed until it shows.
func (p *Pane) finish(ctx context.Context, state message.ReceiptState, why message.Reason, evidence string) {
	a := p.under
	p.under = nil
	switch state {
	case message.Submitted:
		p.answers = append(p.answers, a.d.ID)
	case message.Uncertain:
		if !a.rendered {
			p.lost = a.text
		}
	}
	p.report(ctx, a.d, state, why, a.sanitised, evidence)
}

// reasonEvery is how often the reason of a hold may change for those who read receipts: a
// screen that flickers between two of them floods nobody.
const reasonEvery = time.Second

// hold reports why a delivery waits, once for each reason.
func (p *Pane) hold(ctx context.Context, d message.Delivery, why message.Reason) {
	now := time.Now()
	if p.why[d.ID] == why || now.Sub(p.toldWhy) < reasonEvery && p.why[d.ID] != "" {
		return
	}
	p.why[d.ID], p.toldWhy = why, now
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
