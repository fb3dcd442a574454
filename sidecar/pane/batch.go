package pane

import (
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// batch is one delivery, or several in one paste, on the way together.
type batch struct {
	parts   []part // in the order in which they stand in the text
	text    string // of all parts
	typedAt time.Time
	marked  string // evidence of an earlier life's typing: its mark or the journal; "": this life typed it
	byDoor  bool   // it goes through the agent's own door, and is never typed
	vouched bool   // its screen is not recognised, and a person gave their word

	recalled    bool      // the relay has taken it back, and not handed it out again: its chat is paused, or has ended
	placeholder string    // what an agent showed instead of the text when it was first seen
	rendered    bool      // our text, and only it, was seen in the composer
	stood       bool      // something was seen there, since it was typed
	disturbed   bool      // after it was seen, a look found the composer otherwise
	size        [2]int    // of its pane, in the last look
	resized     time.Time // when a look first found that size; zero: it has been so for as long as the text is there
	read        uint64    // how often its terminal had been read before the last look at the text alone or, until then, at anything; 0: not known
	unclear     time.Time // since when every look has found its screen unknown or at work; zero: the last did not
	warned      bool      // a person was told that it stands beside their words

	enters   int  // how often Enter was pressed
	breaks   int  // how many of them were seen to be line breaks when the last was pressed
	left     bool // after Enter a look did not show it, alone, in the composer
	repeated bool // Enter was pressed again, since it had done nothing
	sought   bool // transcripts are searched for it

	witness    string // who tells what became of it; "" is the screen
	unanswered bool   // nobody can tell what the program said to it
}

// part is one delivery with its text, which the batch's text holds whole.
type part struct {
	d         message.Delivery
	text      string
	sanitised int    // characters that the sanitiser removed or changed
	witness   string // of evidence; "" is the screen
	file      attachment
	unplaced  error // why it is not known whether a file takes the place of its words, and which; nil: it is
}

// enters is how often Enter is pressed at most. It is pressed once more only if the one before is
// known to be used up: for a line break, or for nothing (stranded).
const enters = 3

// most is how many deliveries go into one paste at most: their ids have to fit into its mark.
const most = 64

// between separates the deliveries of one paste.
const between = "\n\n"

// join returns the text of several deliveries.
func join(parts []part) string {
	texts := make([]string, len(parts))
	for i, one := range parts {
		texts[i] = one.text
	}
	return strings.Join(texts, between)
}

// narrowest is the width of the narrowest pane for which tall counts enough rows.
const narrowest = 20

// tall returns how many lines the text takes at most, if each of its rows is a line of its own.
func (b *batch) tall() int { return strings.Count(b.text, "\n") + 1 + len(b.text)/narrowest }

// has reports whether a delivery is part of the batch. A nil batch has none.
func (b *batch) has(id message.ID) bool {
	return b != nil && slices.ContainsFunc(b.parts, func(one part) bool { return one.d.ID == id })
}

// pasted returns when the text was typed, as far as that is known.
func (b *batch) pasted() time.Time {
	if b.typedAt.IsZero() { // an older version did not say when
		return b.parts[0].d.Message.Created
	}
	return b.typedAt
}

// receipts returns the same receipt for each part.
func (b *batch) receipts(state message.ReceiptState, why message.Reason, says string) (acts []act) {
	for _, one := range b.parts {
		one.witness = b.witness
		acts = append(acts, receipt{one, state, why, says})
	}
	return acts
}

// shown reports whether the composer holds exactly the text (holds), or the text among other things
// (mixed).
func (b *batch) shown(f found) (holds, mixed bool) {
	if f.before || !gate.Stands("pane:seen") {
		return true, false
	}
	ours := b.ours(f.placeholder) // asked whatever else stands there: the first one that is seen is ours
	holds = f.own == screen.Whole && ours
	return holds, !holds && f.own != screen.Absent
}

// ours reports whether what an agent shows instead of a long paste stands for our paste. Claude Code
// numbers these: the one that was seen first, with a person's words beside it or without, is ours.
// Codex does not: once a look did not show ours alone, a person decides.
func (b *batch) ours(shown string) bool {
	switch {
	case shown == "":
		return true
	case b.placeholder == "":
		b.placeholder = shown
		return true
	}
	return shown == b.placeholder && !(b.disturbed && !numbered(shown))
}

// numbered reports whether what an agent shows instead of a paste tells that paste from any other.
func numbered(placeholder string) bool { return strings.Contains(placeholder, "#") }

// leftover is a text that was seen in the composer and got no Enter; the zero value is none.
type leftover struct {
	text    string
	instead string       // what its agent shows for it; "": the text itself, or that is not known
	of      []message.ID // its deliveries
}

func (b *batch) leftover() leftover {
	l := leftover{text: b.text, instead: b.placeholder}
	for _, one := range b.parts {
		l.of = append(l.of, one.d.ID)
	}
	return l
}

// obstacle returns what on the screen keeps Enter from the text, or "". An unknown screen may be one
// that is just being drawn, so it counts only when it lasts.
func (b *batch) obstacle(f found, now time.Time, holds bool) message.Reason {
	switch {
	case f.bar != "":
		return f.bar
	case f.unheard != "":
		return f.unheard
	case !f.tells && !f.framed: // a line program: its prompt says it all
		return ""
	case f.busy != "" && gate.Stands("pane:exact"):
		return f.busy
	case f.covered != "" && holds:
		return f.covered
	case holds && !b.vouched: // the text stands before the cursor, wherever that is
		return ""
	}
	switch f.reading.State {
	case message.Blocked, message.History:
		return f.reading.Why
	case message.Unknown, message.Working:
		if b.vouched && f.reading.State == message.Unknown {
			return ""
		}
		if b.unclear.IsZero() {
			b.unclear = now
		}
		if now.Sub(b.unclear) >= shaken {
			return f.reading.Why
		}
		return ""
	}
	b.unclear = time.Time{}
	return ""
}

// takenAs says in what way a prompt that the agent took is our text, "" if it is not. A nil batch has no text.
func (b *batch) takenAs(taken agent.Prompt, now time.Time) string {
	switch {
	case b == nil:
	case b.byDoor:
		if taken.ID == string(b.parts[0].d.ID) {
			return shownThere
		}
	case taken.ID != "": // somebody else's, through the door
	case !taken.At.IsZero() && taken.At.Before(b.typedAt.Add(-clockGrain-setBack(b.typedAt, now))): // an earlier one, written down late
	case agent.Same(b.text, taken.Text):
		return "consumed: the agent took the text as a prompt"
	case !b.parts[0].d.Bare && agent.Within(taken.Text, b.text): // any prompt may hold the name of a command
		return "consumed: the agent took the text, and more with it"
	}
	return ""
}

// setBack returns by how much the wall clock was set back between two moments: it went on by less than the time that
// passed. If one of them has no monotonic reading, that cannot be told, and setBack returns 0.
func setBack(from, to time.Time) time.Duration {
	return max(0, to.Sub(from)-to.Round(0).Sub(from.Round(0)))
}

// finish ends the batch under way with what is known of it. A text that was seen keeps others away
// by itself while it stands in the composer. A text that was never seen may still be on its way to a
// program that does not read, so nothing more is typed until it shows.
func (c *core) finish(b *batch, state message.ReceiptState, why message.Reason, says string) (stage, []act) {
	var acts []act
	for _, one := range b.parts {
		c.over = append(c.over, one.d.ID)
	}
	c.over = slices.Clone(c.over[max(0, len(c.over)-2*most):])
	switch state {
	case message.Submitted:
		c.left = leftover{}
		c.tookOwn(b)
		acts = append(acts, await{b})
		if b.marked != "" {
			says = b.marked + "; " + says
		}
	case message.Uncertain:
		if b.byDoor { // its record names the message; the words of a typed one may be anybody's
			c.doubted = append(c.doubted[max(0, len(c.doubted)-mostDoubted+1):], b)
		}
		if b.rendered && !(b.disturbed && b.placeholder != "" && !numbered(b.placeholder)) {
			c.left = b.leftover()
		}
		if !b.rendered {
			c.lost = lost{text: b.text, id: b.parts[0].d.ID, stood: b.stood, read: b.read}
			acts = append(acts, announce{}) // before the receipt: a crash in between must not open the pane
		}
	}
	return resting{}, append(append(acts, b.receipts(state, why, says)...), settle{})
}

// mostDoubted is how many uncertain messages are looked for in what the agent records afterwards.
const mostDoubted = 8

// recorded returns what follows from a prompt that is one of the doubted messages: the agent has recorded late that it
// took it.
func (c *core) recorded(now time.Time, e prompted) []act {
	for i, b := range c.doubted {
		if says := b.takenAs(e.Prompt, now); says != "" {
			c.doubted = slices.Delete(c.doubted, i, i+1)
			b.witness = e.source
			return append([]act{await{b}}, b.receipts(message.Submitted, "", "late: "+says)...)
		}
	}
	return nil
}

// vanished ends a text that was shown and is gone without an Enter of ours. A person may have sent
// it. Or the program has begun a new line and shows its prompt again, while the text still waits to
// be read, and our next one would go behind it. So the pane is closed until its terminal is known to
// have been read (ownline.go), or a person adopts it anew.
func (c *core) vanished(b *batch) (stage, []act) {
	c.lost = lost{text: unknownText, id: b.parts[0].d.ID}
	b.rendered = true
	next, acts := c.finish(b, message.Uncertain, message.NotTaken, withoutEnter)
	return next, append([]act{announce{}}, acts...)
}

// withoutEnter is what is known of a text that is neither in the composer nor known to be sent.
const withoutEnter = "the text left the composer without our Enter"

// unsent returns the batch that was pasted and for which Enter was not pressed yet, or nil.
func (c *core) unsent() *batch {
	switch s := c.at.(type) {
	case pasted:
		return s.batch
	case composed:
		if s.enters == 0 {
			return s.batch
		}
	case permitting:
		if s.enters == 0 {
			return s.batch
		}
	}
	return nil
}

// ours returns the text of ours that may stand in the composer without its Enter: the one under way, or one that was
// given up there.
func (c *core) ours() leftover {
	if b := c.unsent(); b != nil {
		return b.leftover()
	}
	return c.left
}

// unentered returns the deliveries of that text, and says why it has got no Enter and what ends that.
func (c *core) unentered() (of []message.ID, says string) {
	of = c.ours().of
	b := c.unsent()
	if b == nil {
		return of, "our text got no Enter and will not get one: press Enter there to send it, or clear it"
	}
	stands, _ := c.at.(composed)
	waits, _ := c.spell()
	switch {
	case stands.parked:
		return of, "our text got no Enter because its chat or everything is paused: intercom chat resume sends it"
	case b.recalled:
		return of, "our text got no Enter: if its chat is paused, intercom chat resume sends it; if it has ended, press Enter there to send it, or clear it"
	case waits.held != "":
		return of, "our text waits for its Enter: " + string(waits.held)
	}
	return of, "our text is about to get its Enter"
}

// batch returns the batch that is under way, or nil.
func (c *core) batch() *batch {
	switch s := c.at.(type) {
	case recalling:
		return s.batch
	case pasted:
		return s.batch
	case composed:
		return s.batch
	case permitting:
		return s.batch
	case entering:
		return s.batch
	case entered:
		return s.batch
	case passed:
		return s.batch
	}
	return nil
}
