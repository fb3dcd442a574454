package pane

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// An earlier life is an earlier run of the sidecar, or of the pane's goroutine before a panic.
// What it may have typed is looked at before anything else is done. The server's mark says which
// deliveries were typed last, where, and whether Enter came, too. The mark is set in the same step
// as the paste, so it is never wrong:
//
//	not in the mark                   nothing was typed: it waits as if it had never been permitted
//	pasted, and stands                go on at Enter
//	pasted, and shown, and stands     was taken, and is now a person's: uncertain
//	pasted, and shown, and gone       somebody sent it, or it waits unseen: uncertain, closed
//	pasted, and never seen            wait for it as after any paste
//	entered, and gone                 submitted
//	entered, and stands               wait for it as after any Enter
//
// A paste that the earlier life ordered just before its end may still come. Its order compares the
// facts and the mark of its own look, and so does ours, so that whichever comes second is refused.
// If the delivery is taken back before that paste comes, the pasted text belongs to no delivery: it
// is a stray, and nothing is typed behind it.

// spot says where a typing happened, and which deliveries it typed.
type spot struct {
	entered bool      // Enter came, too
	row     int       // of the cursor, counted from the top of the history
	at      time.Time // to the millisecond; zero in a mark of an older version
	ids     []message.ID
}

// fate is what became of a text of an earlier life.
type fate int

const (
	underway fate = iota // its course goes on where the mark says
	answered             // the agent has taken it
	stale                // it was taken, and stands in the composer once more
	sent                 // it was shown, and is gone without an Enter of ours
)

// markOf returns the mark of a typing of these deliveries, judged by a look with these facts.
func markOf(entered bool, parts []part, f tmux.Facts, at time.Time) string {
	word := "pasted"
	if entered {
		word = "entered"
	}
	words := []string{word, strconv.Itoa(f.HistorySize + f.CursorY), strconv.FormatInt(at.UnixMilli(), 10)}
	for _, one := range parts {
		words = append(words, string(one.d.ID))
	}
	return strings.Join(words, ".")
}

// readMark is the reverse of markOf. It returns the zero spot for a mark that is not ours.
func readMark(mark string) (s spot) {
	words := strings.Split(mark, ".")
	if len(words) < 3 || words[0] != "pasted" && words[0] != "entered" {
		return spot{}
	}
	row, err := strconv.Atoi(words[1])
	if err != nil {
		return spot{}
	}
	s.row, s.entered = row, words[0] == "entered"
	ids := words[2:]
	if ms, err := strconv.ParseInt(ids[0], 10, 64); err == nil {
		s.at, ids = time.UnixMilli(ms), ids[1:]
	}
	for _, id := range ids {
		s.ids = append(s.ids, message.ID(id))
	}
	return s
}

// recalls reports whether a waiting delivery may have been typed: then nothing else is begun at this
// look.
func (c *core) recalls(was spot) bool {
	return slices.ContainsFunc(c.queue, func(w waiting) bool { return w.Typed || slices.Contains(was.ids, w.ID) })
}

// stray closes the pane if the server's mark names a paste that this life has neither made nor found.
// An earlier life ordered it, and it came after its delivery was taken back. The program may not have
// read it yet.
func (c *core) stray(was spot) []act {
	i := slices.IndexFunc(was.ids, func(id message.ID) bool { return !slices.Contains(c.marked, id) })
	if i < 0 {
		return nil
	}
	if c.marked = was.ids; was.entered {
		return nil // Enter followed, for which it was looked at: it was taken
	}
	c.lost = lost{text: unknownText, id: was.ids[i]}
	return []act{announce{}, notify{fmt.Sprintf("a cancelled message was pasted into %s all the same when an earlier sidecar ended: check the pane, then release it and adopt it again", c.name)}}
}

// disclaim reports of the deliveries that the mark does not name, one after another, that nothing of
// them was typed. Then it goes on with those that the mark names.
func (s recalling) disclaim(c *core, now time.Time) (stage, []act) {
	for i := range c.queue {
		w := &c.queue[i]
		if !w.Typed || slices.Contains(s.was.ids, w.ID) {
			continue
		}
		w.held = ""
		why, says := message.TmuxRefused, "tmux did not paste it"
		if w.unwritten {
			why, says = message.Unwritable, "nothing was typed: it could not be written down"
		}
		return s, []act{hold{w.Delivery, why, says}}
	}
	return s.claim(c, now)
}

// claim takes up the deliveries that the mark names.
func (s recalling) claim(c *core, now time.Time) (stage, []act) {
	f, parts := s.found, c.named(s.was.ids)
	switch {
	case len(parts) == 0, f.bar == "" && f.tells && !f.told: // what it took before we came is being read
		return resting{}, nil
	case f.bar == "" && !f.prepared && !f.unreadable: // it is not known yet which words were altered
		return resting{}, nil
	case slices.ContainsFunc(parts, func(one part) bool { return one.unplaced != nil }): // nobody knows what was typed
		return resting{}, nil
	case f.bar != "": // what covers the composer proves nothing about it
		return resting{}, c.hold(now, parts[0].d.ID, f.bar, "")
	}
	for _, one := range parts {
		if !one.d.Typed {
			// An order that was under way pasted it after its refusal had been reported.
			s.asked = one
			return s, []act{ask{one, "tmux has pasted it"}}
		}
	}
	c.pop(parts...)
	var acts []act
	if c.marked = s.was.ids; slices.Contains(c.marked, c.lost.id) {
		c.lost = lost{} // a stray that is wanted after all
		acts = append(acts, announce{})
	}
	s.since = now
	s.batch = &batch{parts: parts, text: f.fitted(join(parts)), typedAt: s.was.at, marked: "tmux: it was pasted"}
	if s.was.entered {
		s.batch.marked, s.batch.rendered, s.batch.enters = "tmux: it was pasted and Enter typed", true, 1
	}
	return s, append(acts, recall{s.batch, s.was, f})
}

func (s recalling) step(c *core, now time.Time, e event) (stage, []act) {
	switch e := e.(type) {
	case noted:
		switch w := c.waiting(e.id); {
		case unwritable(e.err): // until there is room
			return resting{}, nil
		case e.err != nil && w != nil && errors.Is(e.err, message.ErrPaused): // the relay knows of no permission, and takes it back
			w.Way = message.DoorType
			c.untyped(w)
			return resting{}, nil
		case e.err != nil || w == nil: // not ours any more
			c.pop(part{d: message.Delivery{ID: e.id}})
			return resting{}, nil
		default:
			// An order of the earlier life may still come. A paste of ours would keep it out; what goes
			// through the agent's door would not.
			w.Way = message.DoorType
			c.untyped(w)
		}
		return s.disclaim(c, now)
	case permitted:
		switch {
		case unwritable(e.err):
			return resting{}, nil
		case e.err != nil:
			c.pop(s.asked)
			return resting{}, nil
		}
		c.doubt(s.asked, true, false)
		return s.claim(c, now)
	case recalled:
		return s.goOn(c, now, e)
	}
	return s, nil
}

// goOn does what follows from what became of the text.
func (s recalling) goOn(c *core, now time.Time, e recalled) (stage, []act) {
	b := s.batch
	b.unanswered = e.unanswered
	switch e.fate {
	case answered:
		b.witness = "transcript"
		return c.finish(b, message.Submitted, "", "consumed: the agent has taken the text as a prompt")
	case stale: // as a draft it keeps others away by itself
		b.rendered = true
		return c.finish(b, message.Uncertain, message.NotTaken, "the text was taken, and stands in the composer once more")
	case sent:
		return c.vanished(b)
	}
	if s.was.entered {
		b.breaks = e.found.breaks
		return entered{batch: b, spell: spell{since: now}}.step(c, now, sighted{e.found})
	}
	return pasted{batch: b, spell: spell{since: now}}.step(c, now, sighted{e.found})
}

// named returns the waiting deliveries that the mark names, in its order.
func (c *core) named(ids []message.ID) []part {
	var all []message.Delivery
	for _, w := range c.queue {
		all = append(all, w.Delivery)
	}
	return named(ids, all, c.compose)
}

// named returns those of the deliveries that have these ids, in the order of the ids, as they are typed.
func named(ids []message.ID, all []message.Delivery, compose func(message.Delivery) (part, bool)) (parts []part) {
	for _, id := range ids {
		if i := slices.IndexFunc(all, func(d message.Delivery) bool { return d.ID == id }); i >= 0 {
			one, _ := compose(all[i])
			parts = append(parts, one)
		}
	}
	return parts
}
