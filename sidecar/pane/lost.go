package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// lost is a text that was typed and never seen, which closes the pane; the zero value is none.
type lost struct {
	text string
	id   message.ID // of its delivery

	stood bool      // since it was typed, something stood in the composer
	read  uint64    // how often the terminal had been read before the last look at that; 0: not known
	empty time.Time // since when each look has found the composer empty
}

// unknownText stands for a lost text that may wait unseen, or that is not known any more: it never
// shows.
const unknownText = "\x00"

// cleared takes in a look, and reports whether a person has cleared the composer of whatever stood there. An agent reads
// keys in their order, and draws its composer from what it holds: once it has drawn what came with our text, or behind it,
// an empty composer holds nothing of our text either. A composer that is being drawn anew is no proof; but that needs no
// key, and does not take as long. At a line program an empty composer proves nothing, since it prompts again with a line
// unread; nor does it at an unknown program, which may show what somebody types and hide what it holds.
func (l *lost) cleared(f found, now time.Time, within time.Duration) bool {
	switch {
	case l.text == "", !f.tells:
		return false
	case f.reading.State == message.Draft:
		l.stood, l.read, l.empty = true, f.reads.before, time.Time{}
	case f.may != "", keysWait(f.sight), l.read != 0 && l.read == f.reads.after:
		l.empty = time.Time{}
	case l.empty.IsZero():
		l.empty = now
	}
	return l.stood && f.settled && !l.empty.IsZero() && now.Sub(l.empty) > within
}
