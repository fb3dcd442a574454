package pane

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The stages from the paste on: pasted, composed, permitting, entering, entered.

// slowest is the longest that a program may take to draw a text that it was sent.
const slowest = 30 * time.Second

// worksFor is how long Enter waits for an unknown program to rest, since it may be about to draw a
// question beside our text; a program that always turns a spinner never rests. At any program, Enter
// waits as long for unread keys to be read before the wait is reported.
const worksFor = 2 * time.Second

// lagsFor is how long after Enter an agent that has not got to our text yet may still take it: on a
// busy machine it does first what it was started with.
const lagsFor = time.Minute

func (s pasted) step(c *core, now time.Time, e event) (stage, []act) {
	seen, ok := e.(sighted)
	if !ok {
		return s, nil
	}
	f := seen.found
	if s.resizes(f, now) {
		return s, nil
	}
	s.look()
	holds, mixed := s.shown(f)
	if f.reading.State == message.Draft {
		s.stood, s.read = true, f.reads.before
	}
	why := s.obstacle(f, now, holds)
	if f.unfinished > s.drawn && now.Sub(s.typedAt) <= slowest { // more of it at each look: it is drawn slowly
		s.drawn, s.since = f.unfinished, now
	}
	switch {
	case holds:
		s.rendered, s.read = true, f.reads.before
		return composed{batch: s.batch, spell: spell{since: now}}.press(c, now, f, why)
	case why != "":
		return s, s.stand(c, s.batch, now, why)
	case mixed: // somebody typed beside it
		s.rendered, s.disturbed = true, true
		next := composed{batch: s.batch, spell: spell{since: now}}
		acts := next.stand(c, s.batch, now, message.InComposer)
		return next, acts
	case now.Sub(s.since) > c.prof.SeenWithin:
		return c.finish(s.batch, message.Uncertain, message.NotSeen, "")
	}
	return s, nil
}

func (s composed) step(c *core, now time.Time, e event) (stage, []act) {
	seen, ok := e.(sighted)
	if !ok {
		return s, nil
	}
	f := seen.found
	if s.enteredLate(f) {
		return s.entered(now, f).step(c, now, seen)
	}
	if s.resizes(f, now) {
		return s, nil
	}
	if !s.parked {
		s.look()
	}
	holds, mixed := s.shown(f)
	taken := !holds && !mixed && f.echo != screen.Absent
	why := s.obstacle(f, now, holds)
	switch {
	case holds || mixed:
		s.absent = time.Time{}
	case f.reading.MayType && s.absent.IsZero():
		s.absent = now
	}
	s.disturbed = s.disturbed || mixed || !holds && f.reading.State == message.Idle && !s.untouched(f) // a screen that covers our text does not change it
	if holds {
		s.read = f.reads.before
	} else {
		s.rested = 0
	}
	switch {
	case holds:
		return s.press(c, now, f, why)
	case why != "":
		return s.standing(c, now, why)
	case taken && (f.line == lineRead || f.line == lineWiped || f.line == lineUntold && f.reading.State == message.Working):
		// A person pressed Enter on our text, or C-c, or the program asks something below it.
		return c.finish(s.batch, message.Uncertain, message.NotTaken, withoutEnter)
	case taken: // or threw it away: an editor may leave such a line above its prompt, too
		return c.vanished(s.batch)
	case f.reading.State == message.Draft:
		return s.standing(c, now, message.InComposer)
	case (f.reading.MayType || s.vouched) && now.Sub(s.since) > c.prof.TakenWithin,
		f.reading.MayType && !s.absent.IsZero() && now.Sub(s.absent) > c.prof.TakenWithin: // a person took it away, and writes on
		if f.line == lineStands || f.line == lineMayStand || f.framed {
			return c.vanished(s.batch) // the program may still have it: an empty composer of an unknown program proves nothing
		}
		return c.finish(s.batch, message.Uncertain, message.NotTaken, "")
	}
	return s, nil
}

// enteredLate reports whether tmux has typed Enter behind our text on a late order of an earlier life.
// The program may not have read that Enter yet, and a second one would answer whatever the first one
// leads to.
func (s composed) enteredLate(f found) bool {
	was := f.mark()
	return s.enters == 0 && was.entered && slices.ContainsFunc(was.ids, s.has)
}

// entered goes on as after an Enter of this life.
func (s composed) entered(now time.Time, f found) entered {
	s.enters, s.breaks, s.marked = 1, f.breaks, "tmux: Enter was typed"
	return entered{batch: s.batch, spell: spell{since: now}, before: f.look.Facts.Mark}
}

// press asks for permission to press Enter, if nothing is in the way.
func (s composed) press(c *core, now time.Time, f found, why message.Reason) (stage, []act) {
	if s.enteredLate(f) {
		return s.entered(now, f), nil
	}
	if s.rested++; f.front.Unread > 0 || !f.front.Asleep {
		s.rested = 0
	}
	if why != "" {
		return s.standing(c, now, why)
	}
	if s.parked || now.Sub(s.since) < c.prof.Settle || s.again.waits(now) || f.ending {
		return s, nil
	}
	if f.framed && f.frontOK && s.rested < 2 && now.Sub(s.since) < worksFor {
		return s, nil // only the next look shows all that it drew before it rested
	}
	keys, why := typist(f.look, now)
	if why == "" && keysWait(f.sight) {
		if now.Sub(s.since) < worksFor { // it may be the end of our own paste
			return s, nil
		}
		why = message.SomebodyTypes
	}
	if why != "" {
		return s.standing(c, now, why)
	}
	next := permitting{composed: s, found: f, keys: keys}
	return next, next.ask()
}

func (s composed) standing(c *core, now time.Time, why message.Reason) (stage, []act) {
	acts := s.stand(c, s.batch, now, why)
	return s, acts
}

// ask asks for permission for the next part. The parts share one line: Enter is pressed only if all
// of them are permitted.
func (s permitting) ask() []act {
	says := "rendered: the composer shows our text and only it"
	switch {
	case s.enters > 0 && s.found.breaks > s.breaks:
		says += "; Enter became a line break"
	case s.repeated:
		says += "; Enter was read, and has done nothing"
	}
	return []act{ask{s.parts[s.next], says}}
}

func (s permitting) step(c *core, now time.Time, e event) (stage, []act) {
	switch e := e.(type) {
	case permitted:
		switch {
		case e.err == nil || !gate.Stands("pane:leave"):
		case errors.Is(e.err, message.ErrPaused):
			s.parked = true
			return s.composed, nil
		case unwritable(e.err):
			s.since = now // the deadline waits with it
			return s.composed, nil
		case e.ending:
			return s.composed, nil // the next life goes on here
		default:
			return c.finish(s.batch, message.Uncertain, message.ChatEnded, "our text stands in the composer, and gets no Enter")
		}
		if s.next++; s.next < len(s.parts) {
			return s, s.ask()
		}
		return s, []act{listen{}}
	case heard:
		if e.busy != "" && gate.Stands("pane:exact") || e.keys {
			return s.composed, nil // the next look decides
		}
		return entering{s.composed, s.found}, []act{press{s.batch, s.found, s.keys}}
	}
	return s, nil
}

func (s entering) step(c *core, now time.Time, e event) (stage, []act) {
	answer, ok := e.(typed)
	switch {
	case !ok:
		return s, nil
	case !answer.out.Nothing():
		s.enters, s.breaks = s.enters+1, s.found.breaks
		return entered{batch: s.batch, spell: spell{since: now}, doubted: answer.out == tmux.Unknown, before: s.found.look.Facts.Mark}, nil
	}
	if s.again.refused(now, firstPoll); s.again.n > refusals {
		return c.finish(s.batch, message.Uncertain, untyped(answer.out), "our text stands in the composer, and tmux refuses Enter")
	}
	return s.composed, nil // the next look decides anew
}

func (s entered) step(c *core, now time.Time, e event) (stage, []act) {
	seen, ok := e.(sighted)
	if !ok {
		return s, nil
	}
	f := seen.found
	s.look()
	holds, mixed := s.shown(f)
	s.left = s.left || !holds
	if was := f.mark(); was.entered && f.look.Facts.Mark != s.before && slices.ContainsFunc(was.ids, s.has) {
		s.doubted = false // the mark says that this Enter came, and not only the one before it
	}
	var acts []act
	if f.tells && !s.sought && (!f.bound || now.Sub(s.since) >= seekAfter) {
		s.sought = true
		acts = append(acts, seek{s.text, s.since})
	}
	if f.tells && f.frontOK && (f.front.Unread > 0 || !f.front.Asleep) {
		s.lagged = now
	}
	says, over := s.evidence(c, now, f, holds, mixed)
	switch {
	case !holds && !mixed && f.echo == screen.Among && f.line != lineStands: // a person's keys came between our look and our Enter
		next, more := c.finish(s.batch, message.Uncertain, message.TakenTogether, "echo: the text was taken, and more with it")
		return next, append(acts, more...)
	case says != "":
		next, more := c.finish(s.batch, message.Submitted, "", says)
		return next, append(acts, more...)
	case f.bar != "" || f.hidden: // what covers the composer proves nothing about it
		s.since, s.cleared = now, time.Time{}
	case holds && s.enters < enters && f.breaks > s.breaks:
		return composed{batch: s.batch, spell: spell{since: now}}, acts
	case holds && s.stranded(f, now):
		s.repeated = true
		return composed{batch: s.batch, spell: spell{since: now}}, acts
	case over && !holds && f.line == lineStands && f.front.Unread == 0: // Enter never came, and the screen shows nothing of the text
		next, more := c.vanished(s.batch)
		return next, append(acts, more...)
	case over:
		next, more := c.finish(s.batch, message.Uncertain, message.NotTaken, "")
		return next, append(acts, more...)
	case holds:
		s.cleared = time.Time{}
	case s.cleared.IsZero():
		s.cleared = now
	}
	return s, acts
}

// evidence returns what proves that the text was taken, "" if nothing does, and whether it is too
// late for a proof.
func (s entered) evidence(c *core, now time.Time, f found, holds, mixed bool) (says string, over bool) {
	late := now.Sub(s.since) > c.prof.TakenWithin && (now.Sub(s.lagged) > c.prof.TakenWithin || now.Sub(s.since) > lagsFor)
	switch {
	case f.consumed: // recorded late, with a date before we came
		s.witness = "transcript"
		return "consumed: the agent took the text as a prompt", false
	case unread(f.sight), f.line == lineStands: // the terminal has drawn it, and its program has not read it
		return "", late
	case s.parts[0].d.Bare: // an agent shows an unknown command as if it had taken it: only its record tells
		return "", late
	case !holds && !mixed && f.echo == screen.Whole:
		return "echo: the text was taken", false
	case f.bar != "" || f.hidden:
		return "", false
	case holds:
		return "", late
	case s.cleared.IsZero():
		return "", false
	case s.doubted: // somebody else may have emptied it
		return "", late
	case now.Sub(s.cleared) >= c.prof.Quiet && f.emptied:
		return "emptied: the composer no longer holds the text", false
	case f.tells && f.reading.Composer.Text == "" && !(f.read && now.Sub(s.cleared) < transcriptGrace):
		// Its own account comes first, and may be a little behind.
		switch {
		case f.reading.State == message.Working:
			return "emptied: the composer no longer holds the text, and the agent works", false
		case f.prompt:
			return "echo: the agent shows the text as its last prompt", false
		}
	}
	return "", late
}

// look counts a look, unless Enter is held.
func (s *spell) look() {
	if s.held == "" {
		s.looks++
	}
}

// stand holds Enter back while something is in the way. The deadline begins anew with each call.
func (s *spell) stand(c *core, b *batch, now time.Time, why message.Reason) (acts []act) {
	s.since = now
	if s.held == why {
		return nil
	}
	s.held = why
	acts = b.receipts(message.Held, why, string(message.OursInComposer))
	if why == message.InComposer && !b.warned {
		b.warned = true
		acts = append(acts, notify{fmt.Sprintf("a message for %s is in its composer next to your draft; it is sent once you clear yours", c.name)})
	}
	return acts
}
