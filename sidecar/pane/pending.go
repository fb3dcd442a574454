package pane

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// pending finds keys that a line program has read at its prompt without showing anything. After Esc, C-v or C-], or in
// an editor's command mode, the next keys mean something else: a paste loses its mark, and its line breaks become
// Enters. Only the end of the line ends that for certain.
//
// Keys that were read before the first look at a prompt are not found, unless they were seen to be typed ahead: they may
// be the terminal's answer to a query of the program. Nor are keys at which the program writes something, or does so
// before the next list of panes. If reports were lost since the first look, a key may have been among them.
type pending struct {
	at    calls // the calls by the first look at the prompt; not exact if there was none yet
	read  bool
	row   int   // of the prompt, counted from the top of the history
	width int   // of the pane: another one moves the rows; 0: the key was typed ahead, and its prompt is still to come
	seen  calls // the calls by which its line was not over: only a read since can have ended it
}

// see takes in a look, with the calls before it and after it. ahead says that keys were typed before this prompt and show
// nowhere any more. It reports whether another look has to be the first at this prompt.
func (k *pending) see(s sight, before, after calls, ahead bool) (again bool) {
	if !s.frontOK || s.front.Canonical || !before.exact || !after.exact {
		*k = pending{} // a terminal that gathers lines keeps such a key, or shows it
		return false
	}
	row, width := s.look.Facts.HistorySize+s.look.Facts.CursorY, s.look.Facts.Width
	prompts := s.reading.State == message.Idle || s.reading.State == message.Draft
	unread := after.told && after.reads == k.seen.reads && after.named == k.seen.named
	switch {
	case !k.read:
	case (k.width == 0 || unread) && !prompts:
	case unread, s.reading.State != message.Working && (row <= k.row || width != k.width):
		k.row, k.width = row, width // it has cleared its screen, or drawn its prompt anew below news, or was resized
	default:
		k.read = false // another line
	}
	// A read after which something was written may have been that of Enter, even if the screen does not show it yet.
	if silent := before.written() == k.seen.written(); !k.read || unread || silent {
		k.seen = before
	}
	switch {
	case k.at.exact && k.at.lost != after.lost && prompts:
		k.at, ahead = calls{}, true // what was read meanwhile counts as keys that were typed ahead
	case k.at.exact && k.at.written() == after.written():
		if !k.read && k.at.reads != after.reads {
			k.read, k.row, k.width = true, row, width
		}
		return false
	case s.reading.State == message.Idle && before.written() == after.written() && after.unread == 0:
		k.at = after
	default:
		k.at = calls{}
		again = s.reading.State == message.Idle && before.writes != after.writes
	}
	switch {
	case ahead && !k.read && prompts:
		k.read, k.row, k.width = true, row, width
	case ahead && !k.read: // a program takes the keys as they are before it shows its prompt
		k.read, k.width = true, 0
	}
	return again
}

// readPending reports whether such a key has been read by this very moment: no trigger tells of one.
func (p *Pane) readPending() bool {
	if p.pending.read || !p.pending.at.exact || !gate.Stands("pane:pending") {
		return p.pending.read
	}
	uses, ok := p.used(process.UsageSoFar)
	by, at := counted(uses), p.pending.at
	return ok && (by.lost != at.lost || by.reads != at.reads && by.written() == at.written())
}

// pendingKey says why nothing is typed at such a prompt, and what ends that.
const pendingKey = "a key that does not show seems to have been pressed at its prompt, and may change what the next keys do: press C-g there, then Enter"
