package pane

import (
	"errors"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// waiting is a delivery that waits to be typed. If it is Typed, an earlier life may have typed it, or
// it has permission to be typed.
type waiting struct {
	message.Delivery
	held      message.Reason // last reported reason why it waits; "": none
	unwritten bool           // it got no permission, since that could not be recorded
	returned  bool           // its permission is being given back
	recalled  bool           // the relay has taken it back: it leaves the queue once it is known that it was not typed
}

// reasonEvery is the time between two reported reasons for a hold, so that a screen that flickers
// between two of them floods nobody with receipts.
const reasonEvery = time.Second

// hold reports why a delivery waits, once for each reason.
func (c *core) hold(now time.Time, id message.ID, why message.Reason, says string) []act {
	w := c.waiting(id)
	if w == nil || w.held == why || now.Sub(c.heldAt) < reasonEvery && w.held != "" {
		return nil
	}
	w.held, c.heldAt = why, now
	return []act{hold{w.Delivery, why, says}}
}

// noted takes in what the relay answered to a hold.
func (c *core) noted(e noted) {
	w := c.waiting(e.id)
	returned := w != nil && w.returned
	if returned {
		w.returned = false
	}
	switch {
	case returned && e.err == nil:
		c.untyped(w)
		c.unused = append(c.unused[max(0, len(c.unused)-2*most):], e.id)
	case w == nil || e.err == nil:
	case unwritable(e.err), errors.Is(e.err, message.ErrPaused): // a delivery that is being taken back keeps its place until it has been
		w.held = "" // it is told later
	default:
		c.drop([]message.ID{e.id})
	}
}

// untyped notes that nothing of a waiting delivery was typed. If the relay has taken it back, it leaves the queue: the
// relay hands it out again in its place among the others, and here it would overtake those in front of it.
func (c *core) untyped(w *waiting) {
	w.Typed, w.unwritten = false, false
	if w.recalled {
		c.pop(part{d: w.Delivery})
	}
}

// waiting returns the delivery of that id, nil if it does not wait.
func (c *core) waiting(id message.ID) *waiting {
	if i := slices.IndexFunc(c.queue, func(w waiting) bool { return w.ID == id }); i >= 0 {
		return &c.queue[i]
	}
	return nil
}

// heldFor returns the reason why the first delivery waits, "" if none was reported.
func (c *core) heldFor() message.Reason {
	if len(c.queue) == 0 {
		return ""
	}
	return c.queue[0].held
}

// pop takes deliveries off the queue.
func (c *core) pop(parts ...part) {
	for _, one := range parts {
		c.queue = slices.DeleteFunc(c.queue, func(w waiting) bool { return w.ID == one.d.ID })
	}
}

// doubt notes whether a waiting delivery may have been typed, and whether it is known that it was
// not, but that could not be recorded (unwritten).
func (c *core) doubt(one part, typed, unwritten bool) {
	if w := c.waiting(one.d.ID); w != nil {
		w.Typed, w.unwritten = typed, w.unwritten || unwritten
		c.unused = slices.DeleteFunc(c.unused, func(id message.ID) bool { return id == w.ID })
	}
}

// busy reports whether something is under way, or waits, or may still come.
func (c *core) busy() bool { return c.batch() != nil || len(c.queue) > 0 || c.lost.text != "" }

// leaving reports whether a text has to leave the composer after Enter, or is not known to be taken after it went
// through the door.
func (c *core) leaving() bool {
	_, after := c.entered()
	return after || c.underDoor()
}

// entered reports whether Enter was pressed on the text under way, and when its stage began.
func (c *core) entered() (since time.Time, after bool) {
	switch s := c.at.(type) {
	case recalling:
		return s.since, s.was.entered && s.batch != nil
	case entered:
		return s.since, true
	}
	return time.Time{}, false
}

// underDoor reports whether a text went through the door and is not known to be taken.
func (c *core) underDoor() bool {
	_, ok := c.at.(passed)
	return ok
}

// spell returns the spell of the stage under way, and whether that stage waits for something that a
// write of the program alone will not end.
func (c *core) spell() (s spell, held bool) {
	switch s := c.at.(type) {
	case pasted:
		return s.spell, s.held != ""
	case composed:
		return s.spell, s.held != "" || s.parked
	case entered:
		return s.spell, s.held != ""
	case passed:
		return s.spell, true // its transcript will tell, and no look
	}
	return spell{}, false
}

// heldUp reports whether the stage under way waits for such a thing.
func (c *core) heldUp() bool {
	_, held := c.spell()
	return held
}

// next returns when to look again at the text under way if no trigger comes. The pause begins with
// first, and doubles with each look up to slowPoll.
func (c *core) next(now time.Time, first time.Duration) time.Time {
	s, held := c.spell()
	at := now.Add(min(first<<min(s.looks, 10), slowPoll))
	if held {
		at = now.Add(heldPoll)
	}
	if stands, ok := c.at.(composed); ok {
		if stands.rested == 1 { // the next look shows all that it drew by now, however soon that look comes
			at = earlier(at, now.Add(firstPoll))
		}
		if s.since.Add(c.prof.Settle).After(now) {
			at = earlier(at, s.since.Add(c.prof.Settle))
		}
	}
	return at
}

// doubtful reports whether a delivery waits that may have been typed.
func (c *core) doubtful() bool {
	return slices.ContainsFunc(c.queue, func(w waiting) bool { return w.Typed })
}

// revive begins anew after a panic, as after a restart of the sidecar: what may have been typed is
// looked at first.
func (c *core) revive() {
	if b := c.batch(); b != nil {
		var again []waiting
		for _, one := range b.parts {
			one.d.Typed = true
			again = append(again, waiting{Delivery: one.d})
		}
		c.queue = append(again, c.queue...)
	}
	c.at = resting{}
}

// backoff spaces out what tmux refuses again and again, so that a screen that never holds still does
// not fill the journal.
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

// unwritable reports whether the relay refused because it can record nothing for now.
func unwritable(err error) bool {
	_, ok := errors.AsType[*message.UnwritableError](err)
	return ok
}

// accept takes deliveries into the queue. A new one goes in front of those that follow it in all and
// wait already: it may have been taken back, and left the queue once it was known that it was not
// typed. A delivery that is under way and parked goes on instead.
func (c *core) accept(all []message.Delivery) {
	for i, d := range all {
		if slices.Contains(c.unused, d.ID) { // the relay handed it out before it heard that, or began again: it is told once more
			d.Door = ""
		}
		switch w := c.waiting(d.ID); {
		case c.batch().has(d.ID):
			c.batch().recalled = false
			c.unpark()
		case slices.Contains(c.over, d.ID): // a relay that began again hears of its end in a moment
		case w != nil:
			w.Typed = w.Typed || d.Typed // the relay began again, and knows no more: it is told once more
			w.recalled = false
		default:
			c.marked = slices.DeleteFunc(c.marked, func(id message.ID) bool { return id == d.ID }) // this life has not typed it
			at := slices.IndexFunc(c.queue, func(w waiting) bool {
				return slices.ContainsFunc(all[i+1:], func(later message.Delivery) bool { return later.ID == w.ID })
			})
			if at < 0 {
				at = len(c.queue)
			}
			c.queue = slices.Insert(c.queue, at, waiting{Delivery: d})
		}
	}
}

// drop takes deliveries off the queue if nothing of them was typed. One that an earlier life may have
// typed is looked at all the same: the relay refuses permission for Enter then.
func (c *core) drop(ids []message.ID) {
	c.queue = slices.DeleteFunc(c.queue, func(w waiting) bool { return !w.Typed && slices.Contains(ids, w.ID) })
	for i := range c.queue {
		if slices.Contains(ids, c.queue[i].ID) {
			c.queue[i].held, c.queue[i].recalled = "", true
		}
	}
	if b := c.batch(); slices.ContainsFunc(ids, b.has) {
		b.recalled = true
		c.unpark() // permission is asked for once more, and the answer decides about all parts
	}
}

func (c *core) unpark() {
	if s, ok := c.at.(composed); ok {
		s.parked = false
		c.at = s
	}
}
