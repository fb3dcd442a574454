package pane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// attempt is what is under way: one delivery, or several in one paste.
type attempt struct {
	parts       []part // in the order in which they stand in the text
	text        string // of all of them
	stage       stage
	since       time.Time      // when the stage's deadline began to run
	rendered    bool           // our text, and only it, was seen in the composer
	drawn       int            // how much of it was seen there when it was not all yet
	parked      bool           // leave for Enter was refused until the relay hands it out again
	why         message.Reason // last reported reason of a hold
	polls       int
	cleared     time.Time // when the composer was first seen without our text after Enter
	absent      time.Time // since when, before Enter, each look at an empty composer found it without our text; whatever stood there in between
	again       backoff   // of Enter, after tmux refused it
	marked      string    // what the mark of an earlier life said, if it came from there
	typedAt     time.Time // when its paste was asked for
	placeholder string    // that an agent showed instead of the text when it was first seen
	disturbed   bool      // once it was seen, a look found it otherwise
	witness     string    // who tells what became of it; "" is the screen
	unclear     time.Time // since when every look found an agent's screen in no state to be sure of; zero: the last did not

	enters     int  // how often Enter was pressed
	breaks     int  // of them, when the last was pressed, were seen to have become line breaks
	left       bool // after Enter a look did not show it, alone, in the composer
	repeated   bool // Enter was pressed again, since it had done nothing
	warned     bool // a person was told that it stands beside their words
	vouched    bool // its screen is not recognised, and a person gave their word
	unanswered bool // nobody can tell what the program said to it
}

// part is one delivery with its text, which the attempt's text holds whole.
type part struct {
	d         message.Delivery
	text      string
	sanitised int    // characters that the sanitiser removed or changed
	witness   string // of evidence; "" is the screen
	file      attachment
}

// enters is how often Enter is pressed at most: once more only where it is known that the one
// before was used up: for a line break, or for nothing (stranded).
const enters = 3

// most is how many deliveries go into one paste: their ids have to fit into its mark.
const most = 64

// between parts the deliveries of one paste.
const between = "\n\n"

// join is the text of several deliveries.
func join(parts []part) string {
	texts := make([]string, len(parts))
	for i, one := range parts {
		texts[i] = one.text
	}
	return strings.Join(texts, between)
}

// backoff spaces out what tmux refuses again and again, so that a screen that never holds
// still fills no journal.
type backoff struct {
	n  int
	at time.Time // not before
}

// refusals is how often in a row Enter may be refused: for about a minute.
const refusals = 24

// longestBackoff is reached after seven refusals in a row.
const longestBackoff = 4 * time.Second

func (b *backoff) refused(now time.Time, first time.Duration) {
	b.at = now.Add(min(first<<min(b.n, 10), longestBackoff))
	b.n++
}

func (b *backoff) waits(now time.Time) bool { return now.Before(b.at) }

// tall is how many lines the text takes at most, each row of it in a line of its own.
func (a *attempt) tall() int { return strings.Count(a.text, "\n") + 1 + len(a.text)/narrowest }

// narrowest is the width of a pane below which long lines count for fewer than they are.
const narrowest = 20

// heldUp reports whether the attempt waits for what no write of the program alone will end.
func (a *attempt) heldUp() bool { return a.parked || a.why != "" }

// pause is how long to wait for a trigger before the next look, first after the first one.
func (a *attempt) pause(first time.Duration) time.Duration {
	if a.heldUp() {
		return heldPoll
	}
	a.polls++
	return min(first<<min(a.polls-1, 10), slowPoll)
}

// pasted is when its text was typed, as far as that is known.
func (a *attempt) pasted() time.Time {
	if a.typedAt.IsZero() { // an older version did not say when
		return a.parts[0].d.Message.Created
	}
	return a.typedAt
}

// enter moves the attempt to a stage, whose deadline begins to run.
func (a *attempt) enter(s stage, now time.Time) { a.stage, a.since, a.polls, a.why = s, now, 0, "" }

// accept takes a delivery into the queue, or, if it is the one that is under way and was
// parked, lets that go on.
func (p *Pane) accept(d message.Delivery) {
	if p.under != nil && slices.ContainsFunc(p.under.parts, func(one part) bool { return one.d.ID == d.ID }) {
		p.under.parked = false
		return
	}
	if !slices.ContainsFunc(p.queue, func(q message.Delivery) bool { return q.ID == d.ID }) {
		p.queue = append(p.queue, d)
	}
}

// forget drops deliveries that were taken back before anything of them was typed. What an
// earlier life may have typed is looked at all the same: leave for Enter is refused then.
func (p *Pane) forget(ids []message.ID) {
	p.queue = slices.DeleteFunc(p.queue, func(d message.Delivery) bool { return !d.Typed && slices.Contains(ids, d.ID) })
	for _, id := range ids {
		delete(p.why, id)
	}
	if a := p.under; a != nil && slices.ContainsFunc(a.parts, func(one part) bool { return slices.Contains(ids, one.d.ID) }) {
		a.parked = false // leave is asked for once more, and what becomes of all of them with it
	}
}

// begin types what waits if the composer is proven live and empty.
func (p *Pane) begin(ctx context.Context, s sight, settled bool) {
	if p.resume(ctx, s) {
		return
	}
	if p.account != nil && !p.account.setup.ready(p.clock.now()) && gate("setup") {
		if p.account.setup.lost(p.clock.now()) {
			p.hold(ctx, p.queue[0], message.SettingsUnread)
		}
		return // else they are here in a moment
	}
	parts := p.gather(ctx, s)
	if len(parts) == 0 {
		return
	}
	first := parts[0].d
	vouched := p.onTheirWord(s, first.ID, parts[0].text, p.clock.now())
	if vouched {
		parts = parts[:1]
	}
	switch why, _ := mayType(s, p.session, p.prof); {
	case why == message.Synchronised:
		for _, one := range parts {
			p.pop(one.d.ID)
			p.report(ctx, one, message.Failed, why, "")
		}
		return
	case why != "" && !vouched:
		p.hold(ctx, first, why)
		return
	case p.lost != "" && gate("lost"):
		p.hold(ctx, first, message.OursInComposer)
		return
	case p.account != nil && !p.account.told:
		p.hold(ctx, first, message.TranscriptUnread)
		return
	case p.restless(settled, p.clock.now()):
		p.hold(ctx, first, message.AgentWorking)
		return
	case !settled && !vouched || p.again.waits(p.clock.now()):
		return // its words come first; a look follows when it has been quiet
	case !vouched && !p.fits(s.look, join(parts)):
		p.hold(ctx, first, message.PaneTooSmall)
		return
	case p.half.begun && gate("half"):
		p.hold(ctx, first, message.NotEmpty)
		return
	case p.ending():
		return
	}
	keys, why := typist(s.look, p.clock.now())
	if why != "" {
		p.hold(ctx, first, why)
		return
	}
	defer p.reach()()
	parts, err := p.lay(parts)
	if err != nil {
		p.log.Warn("write file", "pane", p.session.Pane, "err", err)
	}
	if len(parts) == 0 {
		if p.why[first.ID] != message.FileUnwritten {
			p.notify(ctx, fmt.Sprintf("a long message for %s (%s) is waiting, since it cannot be put into a file: %v", p.session.Name, p.session.Pane, err))
		}
		p.again.refused(p.clock.now(), p.prof.Quiet)
		p.hold(ctx, first, message.FileUnwritten)
		return
	}
	granted := parts[:0]
	for _, one := range parts {
		evidence := "composer live and empty"
		if vouched {
			evidence = "a person vouched for a screen that is not recognised"
		}
		if one.file.path != "" {
			evidence += "; the text is in " + one.file.path
		}
		err := p.report(ctx, one, message.Typed, "", evidence)
		if unwritable(err) && gate("leave") {
			// Perhaps it is written down yet that it had leave: as after an end of ours, it is said
			// first that nothing was typed.
			for _, one := range append(granted, one) {
				p.typed(one.d.ID, true)
				p.unwritten[one.d.ID] = true
			}
			return
		}
		if err != nil && gate("leave") {
			p.pop(one.d.ID) // the relay has it, and hands it out again if it is to be typed
			continue
		}
		p.typed(one.d.ID, true) // should this goroutine break down before the end of this
		granted = append(granted, one)
	}
	if len(granted) == 0 {
		return
	}
	text := join(granted)
	if !vouched {
		text, _ = p.fitted(s.look, text)
	}
	if p.drain(ctx); p.exactlyBusy() != "" && gate("exact") {
		p.takeBack(ctx, granted)
		return
	}
	typedAt := p.clock.now()
	p.noteTyped(text, typedAt)
	p.expect(text)
	out, err := p.strike(ctx, s, tmux.Typing{
		Text: []byte(text), Bracketed: p.prof.Reads != profile.Joined, Keys: keys,
		Mark: markOf(pasted, granted, s.look.Facts, typedAt),
	}, false)
	switch out {
	case tmux.Refused:
		p.unexpect(text)
		p.takeBack(ctx, granted)
		now := p.clock.now()
		p.again.refused(now, p.prof.Quiet)
		p.noticed(now)
		return
	case tmux.Unknown:
		p.log.Warn("type", "pane", p.session.Pane, "msg", granted[0].d.Message.ID, "err", err)
	}
	p.again = backoff{}
	for _, one := range granted {
		p.pop(one.d.ID)
	}
	p.under = &attempt{parts: granted, text: text, typedAt: typedAt, vouched: vouched}
	p.remember(s.look)
	p.word = word{}
	if p.account != nil {
		p.account.sought = false
	}
	p.under.enter(pasted, typedAt)
}

// takeBack reports that nothing of these was typed, for all that leave was given.
func (p *Pane) takeBack(ctx context.Context, parts []part) {
	for _, one := range parts {
		p.typed(one.d.ID, false)
		delete(p.why, one.d.ID)
		p.hold(ctx, one.d, message.TmuxRefused)
		delete(p.why, one.d.ID)
	}
}

// typed notes in the queue that a delivery may have been typed, or that it was not.
func (p *Pane) typed(id message.ID, may bool) {
	for i := range p.queue {
		if p.queue[i].ID == id {
			p.queue[i].Typed = may
		}
	}
}

// gather is what goes into the next paste: the first delivery that waits, and, where the
// program takes a paste as one entry, all behind it as far as they fit. What can never be
// typed here ends at once, and what would break the frame by which its composer is known waits.
func (p *Pane) gather(ctx context.Context, s sight) (parts []part) {
	size := 0
	for _, d := range slices.Clone(p.queue) {
		if d.Typed || len(parts) == most {
			break
		}
		one, ok := p.compose(d)
		why := tooLong(len(one.text)+1, s, p.prof)
		if !ok {
			why = message.NothingToType
		}
		if why != "" {
			p.pop(d.ID)
			p.report(ctx, one, message.Failed, why, "")
			continue
		}
		if p.generic != nil && !screen.Steady(one.text) && gate("widths") {
			p.hold(ctx, d, message.WidthDisputed) // nothing will change that: what is behind it goes first
			continue
		}
		if size += len(one.text) + len(between); len(parts) > 0 && tooLong(size, s, p.prof) != "" {
			break
		}
		parts = append(parts, one)
		if p.prof.Reads != profile.Bracketed {
			break
		}
	}
	return parts
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
	before, after := "paste", "pasted"
	if enter {
		before, after = "enter", "entered"
	}
	p.moment(before + " unchecked")
	if why, _ := bar(p.sightOf(s.look), p.session, p.prof); why != "" && gate("again") {
		return tmux.Refused, nil // the next look tells why
	}
	p.moment(before)
	t.Pane, t.Facts = p.session.Pane, s.look.Facts
	out, err := p.client.Type(ctx, t)
	p.moment(after)
	return out, err
}

// moment lets a test do something here.
func (p *Pane) moment(at string) {
	if p.gap != nil {
		p.gap(p.session.Pane, at)
	}
}

// advance does what the newest look allows for the delivery that is under way.
func (p *Pane) advance(ctx context.Context, s sight) {
	a := p.under
	now := p.clock.now()
	why, _ := bar(s, p.session, p.prof)
	holds := p.holds(s.look, a.text) || !gate("seen")
	mixed := !holds && p.among(s, a.text)
	taken := !holds && !mixed && p.echoed()
	if why == "" && a.stage != entered {
		why = p.obstacle(s, a, now, holds)
	}
	switch a.stage {
	case pasted:
		p.slow(a, now)
		switch {
		case holds:
			a.rendered = true
			a.enter(seen, p.clock.now())
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case mixed: // somebody typed beside it
			a.rendered, a.disturbed = true, true
			a.enter(seen, p.clock.now())
			p.stand(ctx, message.InComposer)
		case now.Sub(a.since) > p.prof.SeenWithin:
			p.finish(ctx, message.Uncertain, message.NotSeen, "")
		}
	case seen:
		switch {
		case holds || mixed:
			a.absent = time.Time{}
		case s.reading.MayType && a.absent.IsZero():
			a.absent = now
		}
		a.disturbed = a.disturbed || mixed || !holds && s.reading.State == message.Idle // what covers it changes nothing in it
		switch {
		case holds:
			p.press(ctx, s, why)
		case why != "":
			p.stand(ctx, why)
		case taken && s.reading.State == message.Working: // a person pressed Enter on our text
			p.finish(ctx, message.Submitted, "", "echo: the text was taken, and the program works")
		case taken: // or threw it away: an editor may leave such a line above its prompt too
			p.vanished(ctx)
		case s.reading.State == message.Draft:
			p.stand(ctx, message.InComposer)
		case (s.reading.MayType || a.vouched) && now.Sub(a.since) > p.prof.TakenWithin,
			s.reading.MayType && !a.absent.IsZero() && now.Sub(a.absent) > p.prof.TakenWithin: // a person took it away, and writes on
			p.finish(ctx, message.Uncertain, message.NotTaken, "")
		}
	case entered:
		a.left = a.left || !holds
		p.seek(a, now)
		switch {
		case p.account != nil && p.account.tookBefore(a.text, a.since): // written down late, and so dated before we came
			a.witness = "transcript"
			p.finish(ctx, message.Submitted, "", "consumed: the agent took the text as a prompt")
		case taken:
			p.finish(ctx, message.Submitted, "", "echo: the text was taken")
		case why != "" || p.unseenComposer(s): // what covers the composer proves nothing of it
			a.since, a.cleared = now, time.Time{}
		case holds && a.enters < enters && p.breaks(s.look, a.text) > a.breaks:
			a.enter(seen, p.clock.now())
		case holds && p.stranded(s, a, now):
			a.repeated = true
			a.enter(seen, p.clock.now())
		case holds:
			a.cleared = time.Time{}
			if now.Sub(a.since) > p.prof.TakenWithin {
				p.finish(ctx, message.Uncertain, message.NotTaken, "")
			}
		case a.cleared.IsZero():
			a.cleared = now
		case now.Sub(a.cleared) >= p.prof.Quiet && p.emptied(s):
			p.finish(ctx, message.Submitted, "", "emptied: the composer no longer holds the text")
		case p.took(s, a, now) != "":
			p.finish(ctx, message.Submitted, "", p.took(s, a, now))
		case now.Sub(a.since) > p.prof.TakenWithin:
			p.finish(ctx, message.Uncertain, message.NotTaken, "")
		}
	}
}

// slowest is how long a program may take at most to draw a text that it was sent.
const slowest = 30 * time.Second

// slow lets the deadline wait for a program that draws the text slowly, for as long as each
// look finds more of it.
func (p *Pane) slow(a *attempt, now time.Time) {
	if p.account != nil || p.generic != nil || now.Sub(a.typedAt) > slowest {
		return
	}
	if n := p.tracker.Unfinished(); n > a.drawn {
		a.drawn, a.since = n, now
	}
}

// within reports whether our text stands in the composer, among whatever else.
func within(s sight, text string) bool {
	return s.reading.State == message.Draft && contains([]string{s.reading.Composer.Text}, text)
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
	settles := a.stage == seen && p.clock.now().Sub(a.since) < p.prof.Settle
	if a.parked || settles || a.again.waits(p.clock.now()) || p.ending() {
		return
	}
	keys, why := typist(s.look, p.clock.now())
	if why != "" {
		p.stand(ctx, why)
		return
	}
	defer p.reach()()
	says := "rendered: the composer shows our text and only it"
	if a.repeated {
		says += "; Enter was read, and has done nothing"
	}
	for _, one := range a.parts { // they share the line: all of them have leave, or none is entered
		err := p.report(ctx, one, message.Typed, "", says)
		switch {
		case !gate("leave"):
		case errors.Is(err, message.ErrPaused):
			a.parked = true
			return
		case unwritable(err):
			a.since = p.clock.now() // the deadline waits with it
			return
		case err != nil && p.ending():
			return // the next life goes on here
		case err != nil:
			p.finish(ctx, message.Uncertain, message.ChatEnded, "")
			return
		}
	}
	if p.drain(ctx); p.under != a || p.exactlyBusy() != "" && gate("exact") {
		return // a person has sent it meanwhile, or the agent is at work: the next look decides
	}
	out, err := p.strike(ctx, s, tmux.Typing{
		Text: []byte("\n"), Tail: p.piece(s.look), Keys: keys, Mark: markOf(entered, a.parts, s.look.Facts, p.clock.now()),
	}, true)
	switch out {
	case tmux.Refused:
		if a.again.refused(p.clock.now(), firstPoll); a.again.n > refusals {
			p.finish(ctx, message.Uncertain, message.TmuxRefused, "our text stands in the composer, and tmux refuses Enter")
			return
		}
		p.log.Debug("Enter refused", "pane", p.session.Pane, "msg", a.parts[0].d.Message.ID, "err", err)
		return // the next look decides anew
	case tmux.Unknown:
		p.log.Warn("press Enter", "pane", p.session.Pane, "msg", a.parts[0].d.Message.ID, "err", err)
	}
	p.pressed, p.struckAt = true, p.clock.now()
	a.enters, a.breaks = a.enters+1, p.breaks(s.look, a.text)
	a.enter(entered, p.clock.now())
	if p.generic != nil {
		p.generic.vigil.entered(a.text)
	}
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
	a.since = p.clock.now()
	if a.why == why {
		return
	}
	a.why = why
	for _, one := range a.parts {
		p.report(ctx, one, message.Held, why, "our text stands in the composer")
	}
	if why == message.InComposer && !a.warned {
		a.warned = true
		p.notify(ctx, fmt.Sprintf("a message for %s (%s) stands in its composer beside what you type: it is sent once your words are gone", p.session.Name, p.session.Pane))
	}
}

// notify tells a person something about the session.
func (p *Pane) notify(ctx context.Context, text string) {
	if err := p.relay.Notify(ctx, p.session.ID, text); err != nil {
		p.log.Warn("notify", "pane", p.session.Pane, "err", err)
	}
}

// finish ends the attempt with what is known of it. Text that was seen keeps others away
// by itself for as long as it stands in the composer. Text that was never seen may still
// be on its way to a program that does not read: nothing more is typed until it shows.
func (p *Pane) finish(ctx context.Context, state message.ReceiptState, why message.Reason, evidence string) {
	a := p.under
	p.under = nil
	switch state {
	case message.Submitted:
		p.submitted(a.text)
		known := p.answeredLate(a)
		for _, one := range a.parts {
			if a.unanswered || known {
				continue
			}
			of := asked{id: one.d.ID, at: p.clock.now()}
			if p.account != nil {
				of.text = a.text
			}
			if p.account != nil && a.marked != "" {
				of.typed = a.pasted()
			}
			p.answers = append(p.answers, of)
		}
		if a.marked != "" {
			evidence = a.marked + "; " + evidence
		}
	case message.Uncertain:
		if !a.rendered {
			p.lost, p.lostID = a.text, a.parts[0].d.ID
			p.tellClosed(ctx) // before the receipt: a crash in between must not open the pane
		}
	}
	for _, one := range a.parts {
		one.witness = a.witness
		p.report(ctx, one, state, why, evidence)
	}
	if p.tellLate(ctx); p.account != nil {
		p.catchUp(ctx)
	}
}

// reasonEvery is how often the reason of a hold may change for those who read receipts: a
// screen that flickers between two of them floods nobody.
const reasonEvery = time.Second

// hold reports why a delivery waits, once for each reason.
func (p *Pane) hold(ctx context.Context, d message.Delivery, why message.Reason) {
	now := p.clock.now()
	if p.why[d.ID] == why || now.Sub(p.toldWhy) < reasonEvery && p.why[d.ID] != "" {
		return
	}
	p.why[d.ID], p.toldWhy = why, now
	switch err := p.report(ctx, part{d: d}, message.Held, why, ""); {
	case unwritable(err):
		delete(p.why, d.ID) // it is told later
	case err != nil:
		p.forget([]message.ID{d.ID})
	}
}

// unwritable reports whether leave was refused since nothing can be written down for now.
func unwritable(err error) bool {
	_, ok := errors.AsType[*message.UnwritableError](err)
	return ok
}

// pop takes a delivery off the queue.
func (p *Pane) pop(id message.ID) {
	delete(p.why, id)
	delete(p.unwritten, id)
	p.queue = slices.DeleteFunc(p.queue, func(d message.Delivery) bool { return d.ID == id })
}

// report tells the relay a step of a delivery and waits until it is written down.
func (p *Pane) report(ctx context.Context, one part, state message.ReceiptState, why message.Reason, evidence string) error {
	d := one.d
	now := p.clock.now()
	r := message.Receipt{
		Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: state, Reason: why, Sanitised: one.sanitised, At: now,
	}
	if evidence != "" {
		r.Evidence = []message.Evidence{{Source: cmp.Or(one.witness, "screen"), Says: evidence, Weight: "exact", At: now}}
	}
	err := p.relay.Report(ctx, r)
	if err != nil && ctx.Err() == nil && !errors.Is(err, message.ErrPaused) && !errors.Is(err, message.ErrEnded) && !unwritable(err) {
		p.log.Warn("report", "pane", p.session.Pane, "msg", d.Message.ID, "state", string(state), "err", err)
	}
	return err
}
