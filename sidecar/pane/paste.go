package pane

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The stages up to the paste: resting, filing, asking, pasting.

func (s resting) step(c *core, now time.Time, e event) (stage, []act) {
	seen, ok := e.(sighted)
	if !ok || len(c.queue) == 0 {
		return s, nil
	}
	was := seen.found.mark()
	if next, ok := c.handedBefore(now); ok {
		return next.step(c, now, e)
	}
	if c.recalls(was) {
		return recalling{found: seen.found, was: was}.disclaim(c, now)
	}
	if acts := c.stray(was); len(acts) > 0 {
		return s, acts
	}
	if p, ok := c.byDoor(now, seen.found); ok {
		next := asking{plan: p}
		return next, next.ask()
	}
	p, acts := c.plan(now, seen.found)
	if len(p.parts) == 0 {
		return s, acts
	}
	return filing{p}, append(acts, lay{p.parts})
}

// plan returns what may be pasted now, without parts if nothing may. The acts say why not.
func (c *core) plan(now time.Time, f found) (p plan, acts []act) {
	if !f.prepared && gate.Stands("pane:setup") {
		if f.unreadable {
			acts = c.hold(now, c.queue[0].ID, message.SettingsUnread, "")
		}
		return plan{}, acts // otherwise the settings are read in a moment
	}
	parts, acts := c.gather(now, f)
	if len(parts) == 0 {
		return plan{}, acts
	}
	first := parts[0].d.ID
	vouched := !parts[0].d.Bare && c.onTheirWord(f, first, parts[0].text, now) // what is not recognised may be a list of commands
	if vouched {
		parts = parts[:1]
	}
	switch synchronised := f.may == message.Synchronised; {
	case synchronised && c.waitsForDoor(f):
		return plan{}, append(acts, c.hold(now, first, f.may, "")...)
	case synchronised:
		c.pop(parts...)
		return plan{}, append(acts, (&batch{parts: parts}).receipts(message.Failed, f.may, "")...)
	}
	keys, why, ready := c.ready(now, f, parts, vouched)
	if why != "" {
		says := ""
		switch {
		case why == message.PaneTooNarrow:
			says = f.enough(join(parts))
		case why == message.NotEmpty && f.pending && !f.half:
			says = pendingKey
		case why == message.UnknownScreen && !isAgent(c.prof) && pastesOff(f.sight, c.prof):
			says = message.NoPastes + ": release it, and adopt it --as line"
		}
		acts = append(acts, c.hold(now, first, why, says)...)
	}
	if !ready {
		return plan{}, acts
	}
	return plan{parts: parts, found: f, keys: keys, vouched: vouched}, acts
}

// ready reports whether the parts may be pasted now and, if not, why: "" means that they may in a moment.
func (c *core) ready(now time.Time, f found, parts []part, vouched bool) (keys tmux.Keys, why message.Reason, ready bool) {
	switch {
	case f.may != "" && !vouched:
		return keys, f.may, false
	case c.lost.text != "" && gate.Stands("pane:lost"):
		return keys, message.OursInComposer, false
	case f.tells && !f.told:
		return keys, message.TranscriptUnread, false
	case f.starting && !vouched && gate.Stands("pane:starting"):
		return keys, "", false // in a moment: see startsFor
	case c.writesOn(f, now):
		return keys, message.AgentWorking, false
	case !f.settled && !vouched || c.again.waits(now):
		return keys, "", false // the program's words come first; a look follows when it has been quiet
	case !vouched && !f.fits(join(parts)):
		return keys, tooSmall(c.prof), false
	case f.half && gate.Stands("pane:half"), f.pending && gate.Stands("pane:pending"):
		return keys, message.NotEmpty, false
	case f.ending:
		return keys, "", false
	}
	if keys, why = typist(f.look, now); why == "" && keysWait(f.sight) {
		why = message.SomebodyTypes
	}
	return keys, why, why == ""
}

// restlessFor is how long a program may keep writing beside a composer that waits before it counts
// as at work.
const restlessFor = 5 * time.Second

// writesOn reports whether an unknown program has kept writing for long beside a composer that
// waits.
func (c *core) writesOn(f found, now time.Time) bool {
	switch {
	case !f.framed:
		return false
	case f.settled:
		c.restless = time.Time{}
		return false
	case c.restless.IsZero():
		c.restless = now
	}
	return now.Sub(c.restless) > restlessFor
}

// gather returns what goes into the next paste: the first delivery that waits and, where the
// program takes a paste as one entry, as many of those behind it as fit. A delivery that can never
// be typed here fails at once. A text that would break the frame by which an unknown program's
// composer is recognised waits, and so does one for which a file has to be placed that cannot be placed now.
func (c *core) gather(now time.Time, f found) (parts []part, acts []act) {
	size := 0
	for _, d := range slices.Clone(c.queue) {
		if d.Typed || len(parts) == most || len(parts) > 0 && (d.Bare || parts[0].d.Bare) || inAnotherChat(parts, d.Chat) { // a command is pasted alone, after its note
			break
		}
		d.Bare = d.Bare && c.bares(d.Delivery)
		one, ok := c.compose(d.Delivery)
		if one.unplaced != nil {
			return parts, append(acts, c.unfiled(now, d.ID, one.unplaced)...) // what is behind it waits for its turn
		}
		why := cmp.Or(tooLong(len(one.text)+1, f.sight, c.prof), tooTall(one.text, f.sight, c.prof))
		if !ok {
			why = message.NothingToType
		}
		if why != "" {
			c.pop(one)
			acts = append(acts, receipt{one, message.Failed, why, ""})
			continue
		}
		if f.framed && !screen.Steady(one.text) && gate.Stands("pane:widths") {
			acts = append(acts, c.hold(now, d.ID, message.WidthDisputed, "")...) // nothing will change that, so what is behind it goes first
			continue
		}
		size += len(one.text) + len(between)
		together := join(append(parts[:len(parts):len(parts)], one))
		if len(parts) > 0 && cmp.Or(tooLong(size, f.sight, c.prof), tooTall(together, f.sight, c.prof)) != "" {
			break
		}
		parts = append(parts, one)
		if c.prof.Reads != profile.Bracketed {
			break
		}
	}
	return parts, acts
}

// inAnotherChat reports whether a chat's message has to wait for a paste of its own, since the parts hold a message
// of another chat: one turn would answer both.
func inAnotherChat(parts []part, chat message.ID) bool {
	return chat != "" && slices.ContainsFunc(parts, func(one part) bool { return one.d.Chat != "" && one.d.Chat != chat })
}

func (s filing) step(c *core, now time.Time, e event) (stage, []act) {
	laid, ok := e.(filed)
	switch {
	case !ok:
		return s, nil
	case len(laid.parts) > 0:
		s.parts = laid.parts
		next := asking{plan: s.plan}
		return next, next.ask()
	}
	c.again.refused(now, c.prof.Quiet)
	return resting{}, c.unfiled(now, s.parts[0].d.ID, laid.err)
}

// unfiled holds a delivery whose text cannot be put into a file, and tells a person why.
func (c *core) unfiled(now time.Time, id message.ID, err error) (acts []act) {
	if w := c.waiting(id); w != nil && w.held != message.FileUnwritten {
		acts = append(acts, notify{fmt.Sprintf("a long message for %s is waiting, since it cannot be put into a file: %v", c.name, err)})
	}
	return append(acts, c.hold(now, id, message.FileUnwritten, "")...)
}

// ask asks for permission for the next part.
func (s asking) ask() []act {
	one, says := s.parts[s.next], "composer live and empty"
	if s.offer != nil {
		says = "it says that it rests; through its " + s.offer.Name
		if s.midst() {
			says = "it works, and reads between two calls of tools; through its " + s.offer.Name
		}
	}
	if s.vouched {
		says = "a person vouched for a screen that is not recognised"
	}
	if one.d.Bare {
		says += "; bare, as a command; a note before it said who asked for it"
	}
	if one.file.path != "" {
		says += "; the text is in " + one.file.path
	}
	return []act{ask{one, says}}
}

func (s asking) step(c *core, now time.Time, e event) (stage, []act) {
	switch e := e.(type) {
	case permitted:
		one := s.parts[s.next]
		switch {
		case unwritable(e.err) && gate.Stands("pane:leave"):
			// The permission may still get recorded. So, as after the sidecar's end, it is
			// reported first that nothing was typed.
			for _, one := range append(s.granted, one) {
				c.doubt(one, true, true)
			}
			return resting{}, nil
		case errors.Is(e.err, message.ErrPaused) && gate.Stands("pane:leave"):
			// The relay is taking it back, and hands it out again once it may go on. Even if that is
			// so by now, the parts behind it must not overtake it: they stay in the queue, too.
			s.parts = s.parts[:s.next]
		case e.err != nil && gate.Stands("pane:leave"):
			c.pop(one) // the relay has it again, and hands it out anew if it is to be typed
		default:
			c.doubt(one, true, false) // in case of a panic before the end of this
			if w := c.waiting(one.d.ID); w != nil {
				w.Door, w.Bare = one.d.Door, one.d.Bare
			}
			s.granted = append(s.granted, one)
		}
		if s.next++; s.next < len(s.parts) {
			return s, s.ask()
		}
		if len(s.granted) == 0 {
			return resting{}, nil
		}
		return s, []act{listen{}}
	case heard:
		if e.busy != "" && (e.busy != message.AgentWorking || !s.midst()) && gate.Stands("pane:exact") || e.keys && s.offer == nil {
			return resting{}, c.takeBack(now, s.granted, message.TmuxRefused)
		}
		b := &batch{parts: s.granted, text: join(s.granted), typedAt: now, vouched: s.vouched}
		if s.offer != nil {
			b.byDoor, b.rendered = true, true
			return passing{b, *s.offer}, []act{pass{b, s.found, *s.offer}}
		}
		if !s.vouched {
			b.text = s.found.fitted(b.text)
		}
		c.marked = s.found.mark().ids // the mark stays like this if tmux does not paste
		for _, one := range b.parts {
			c.marked = append(c.marked, one.d.ID)
		}
		return pasting{b}, []act{paste{b, s.found, s.keys}}
	}
	return s, nil
}

func (s pasting) step(c *core, now time.Time, e event) (stage, []act) {
	answer, ok := e.(typed)
	switch {
	case !ok:
		return s, nil
	case answer.out.Nothing():
		c.marked = slices.DeleteFunc(c.marked, s.has)
		c.again.refused(now, c.prof.Quiet)
		return resting{}, append([]act{retract{s.text}}, c.takeBack(now, s.parts, untyped(answer.out))...)
	}
	c.again, c.word, c.restless, c.left = backoff{}, word{}, time.Time{}, leftover{}
	c.pop(s.parts...)
	return pasted{batch: s.batch, spell: spell{since: now}}, nil
}

// takeBack reports that nothing of these parts was typed although it was permitted. Until that is
// recorded they count as typed: otherwise the relay would go on believing that they were, and nobody
// would tell it.
func (c *core) takeBack(now time.Time, parts []part, why message.Reason) (acts []act) {
	for _, one := range parts {
		if w := c.waiting(one.d.ID); w != nil {
			w.returned, w.Door, w.held = true, "", ""
			acts = append(acts, c.hold(now, one.d.ID, why, "")...)
			w.held = ""
		}
	}
	return acts
}

// untyped returns the reason why tmux has typed nothing.
func untyped(out tmux.Outcome) message.Reason {
	if out == tmux.Robbed {
		return message.TmuxLost
	}
	return message.TmuxRefused
}
