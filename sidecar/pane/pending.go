package pane

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// pending finds keys that a line program has read at its prompt and of which its screen shows nothing. After Esc, C-v or C-], or in
// an editor's command mode, what comes next means something else: it takes the mark off a paste, whose line breaks are Enters then.
//
// What was pressed before the first look at a prompt is not found: it may be what the terminal answers to a question of the program's.
// Nor is what makes the program write, such as a bell.
type pending struct {
	at   calls // by that look; not exact where there was none yet
	read bool
}

// see takes in a look, with the calls before it and after it. It reports whether another one has to be the first at this prompt.
func (k *pending) see(s sight, before, after calls) (again bool) {
	switch {
	case !s.frontOK || s.front.Canonical || !before.exact || !after.exact:
		*k = pending{} // a terminal that gathers lines keeps such a key, or shows it
	case k.at.exact && k.at.written() == after.written():
		k.read = k.at.reads != after.reads
		return false
	case s.reading.State == message.Idle && before.written() == after.written() && after.unread == 0:
		*k = pending{at: after}
		return false
	default:
		*k, again = pending{}, s.reading.State == message.Idle && before.written() != after.written()
	}
	return again
}

// readPending is the same at this very moment: such a key calls for no look.
func (p *Pane) readPending() bool {
	if !p.pending.at.exact || !gate.Stands("pane:pending") {
		return false
	}
	uses, ok := p.used(process.UsageSoFar)
	return ok && uses.Reads != p.pending.at.reads && counted(uses).written() == p.pending.at.written()
}

// pendingKey is why nothing is typed at such a prompt, and what ends that.
const pendingKey = "a key was pressed at its prompt that shows nothing, and what comes next may mean something else by it: press Enter there"
