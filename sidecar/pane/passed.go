package pane

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/door"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The stages of a message that goes through the agent's own door: passing, passed. One message goes
// at a time. It is planned and permitted like one that is typed (paste.go), and permission says by which
// way it goes: a later life never types what it finds permitted for the door, whatever the server's mark
// says.

type (
	// passing: the door has the order to hand our text over.
	passing struct {
		*batch
		offer door.Offer
	}
	// passed: the agent has our text, or may have. Its transcript tells.
	passed struct {
		*batch
		spell
		offer door.Offer // the zero offer if an earlier life handed the text over
	}
)

// pass hands the text over.
type pass struct {
	*batch
	found found
	offer door.Offer
}

// shut lets nothing more go through the door.
type shut struct{ offer door.Offer }

type (
	// handed answers pass.
	handed struct {
		out door.Outcome
		why string
	}
	// reported: the agent says what becomes of a message that it was handed.
	reported struct {
		about  message.ID
		status door.Status
	}
)

const (
	// doorMinute is how many messages go through one door in a minute. Claude Code takes thirty at
	// once, and drops what is beyond without a word.
	doorMinute = 20
	// alikeFor is how long a text that equals the one before it is not handed over: the door would
	// drop it.
	alikeFor = 3 * time.Minute
	// shunFor is how long a door is left alone after it was found and took nothing.
	shunFor = time.Minute
	// theirDialog is a little more than the time for which an agent's own dialog stays open at most.
	theirDialog = 310 * time.Second
)

// throughput is what went through a pane's door.
type throughput struct {
	at   []time.Time // of the last ones
	text string      // of the last
	shun time.Time   // nothing goes through before
}

// crowded reports whether the door would drop a text, or has just refused one.
func (t throughput) crowded(now time.Time, text string) bool {
	n := len(t.at)
	switch {
	case now.Before(t.shun):
		return true
	case n > 0 && t.text == text && now.Sub(t.at[n-1]) < alikeFor:
		return true
	}
	return n >= doorMinute && now.Sub(t.at[n-doorMinute]) < time.Minute
}

func (t *throughput) note(now time.Time, text string) {
	t.text, t.at = text, append(t.at, now)
	t.at = slices.Clone(t.at[max(0, len(t.at)-doorMinute):])
}

// byDoor returns a plan for the first waiting delivery, if that may go through the agent's door now. In
// the midst of a turn, it considers the first delivery that may interrupt it.
func (c *core) byDoor(now time.Time, f found) (p plan, ok bool) {
	i := slices.IndexFunc(c.queue, func(w waiting) bool { return f.door.why == "" || w.Typed || w.MidTurn || !gate.Stands("pane:midst") })
	if i < 0 {
		return plan{}, false
	}
	first := c.queue[i].Delivery
	if c.enclose == nil || first.Way != message.DoorAuto || !f.door.opens(first) || f.ending || !f.tells {
		return plan{}, false
	}
	one, ok := c.enclose(first, f.door.offer.Name)
	if !ok || c.through.crowded(now, one.text) {
		return plan{}, false
	}
	return plan{parts: []part{one}, found: f, offer: &f.door.offer}, true
}

// waitsForDoor reports whether the first waiting delivery may go through the agent's door before long.
func (c *core) waitsForDoor(f found) bool {
	return c.enclose != nil && c.queue[0].Way == message.DoorAuto && (f.door.why == "" || f.door.soon)
}

// handedBefore takes up a delivery that an earlier life had permission to hand over.
func (c *core) handedBefore(now time.Time) (passed, bool) {
	i := slices.IndexFunc(c.queue, func(w waiting) bool { return w.Typed && w.Door != "" })
	if i < 0 || !gate.Stands("pane:handed") {
		return passed{}, false
	}
	d := c.queue[i].Delivery
	one := part{d: d}
	if c.enclose != nil {
		if again, ok := c.enclose(d, d.Door); ok {
			one = again
		}
	}
	c.pop(one)
	return passed{batch: &batch{parts: []part{one}, text: one.text, rendered: true, byDoor: true, marked: "journal: it was handed over, or was about to be"}, spell: spell{since: now}}, true
}

func (s passing) step(c *core, now time.Time, e event) (stage, []act) {
	answer, ok := e.(handed)
	switch {
	case !ok:
		return s, nil
	case answer.out == door.Nothing:
		c.through.shun = now.Add(shunFor)
		return resting{}, c.takeBack(now, s.parts, message.TmuxRefused)
	}
	c.through.note(now, s.text)
	c.pop(s.parts...)
	return passed{batch: s.batch, spell: spell{since: now}, offer: s.offer}, nil
}

func (s passed) step(c *core, now time.Time, e event) (stage, []act) {
	switch e := e.(type) {
	case reported:
		if s.has(e.about) {
			return s.said(c, now, e.status)
		}
	case sighted:
		f := e.found
		within := c.prof.TakenWithin
		if s.held == message.HeldByAgent {
			within = theirDialog
		}
		switch {
		case f.consumed:
			s.witness = "transcript"
			return c.finish(s.batch, message.Submitted, "", shownThere)
		case !f.told, // what it took before we came is being read
			f.busy != "" && f.busy != message.TranscriptLost: // it keeps our message until it is done, and records it then
			s.since = now
		case now.Sub(s.since) > within && s.held != "":
			return c.finish(s.batch, message.Uncertain, message.NotRecorded, "")
		case now.Sub(s.since) > within:
			next, acts := c.finish(s.batch, message.Uncertain, message.NotRecorded, "")
			if s.offer != (door.Offer{}) {
				acts = append(acts, shut{s.offer})
			}
			return next, acts
		}
	}
	return s, nil
}

// shownThere says that a message was taken.
const shownThere = "consumed: the agent's record of a prompt has the message's id"

// said returns what follows from what the agent says of our text. Nothing that it says proves that it took the text.
func (s passed) said(c *core, now time.Time, status door.Status) (stage, []act) {
	s.witness = s.parts[0].d.Door
	says := fmt.Sprintf("the agent says: %s", status)
	end := func(state message.ReceiptState, why message.Reason) (stage, []act) {
		return c.finish(s.batch, state, why, says)
	}
	switch status {
	case door.Held:
		s.since, s.held = now, message.HeldByAgent
		return s, s.receipts(message.Held, s.held, says)
	case door.Delivered:
		s.since, s.held = now, ""
		return s, nil
	case door.Denied:
		return end(message.Failed, message.DeniedThere)
	case door.Refused:
		return end(message.Failed, message.RefusedThere)
	case door.Dropped:
		return end(message.Failed, message.DroppedThere)
	case door.Expired:
		if s.held == "" { // only what was held may expire
			return end(message.Failed, message.ExpiredThere)
		}
		return end(message.Expired, message.ExpiredThere)
	}
	return s, nil
}
