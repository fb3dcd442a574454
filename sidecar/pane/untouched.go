package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// reads is how often the terminal of an agent had been read by anybody when a look began, and when it was there; 0 where that
// is not known. What nobody has read since changed nothing: an agent that shows an empty composer by then draws it anew.
type reads struct{ before, after uint64 }

// readSoFar is how often the terminal has been read by now, while there is something to type. Reads under the name /dev/tty
// count whosever they are.
func (p *Pane) readSoFar() uint64 {
	if !p.core.busy() { // from the look before the paste on, so that the reading of that is told
		return 0
	}
	uses, ok := process.UsageSoFar(p.session.TTY, p.session.PaneProc.PID)
	if !ok || !uses.Told { // our own paste at least was read
		return 0
	}
	return uses.Reads + uses.NamelessReads
}

// settles is how long after a look found another size of the pane what it shows tells nothing of our text: tmux has let a quarter of
// a second pass by then, and told the program, which draws anew.
const settles = 400 * time.Millisecond

// resizes takes in a look, and reports whether the pane is being resized.
func (b *batch) resizes(f found, now time.Time) bool {
	size := [2]int{f.look.Facts.Width, f.look.Facts.Height}
	if was := b.size; was != size {
		b.size = size
		if was != [2]int{} {
			b.resized = now
		}
	}
	return gate.Stands("pane:resized") && now.Sub(b.resized) < settles
}

// untouched reports whether nobody has read a key since before the last look at which our text stood alone in the composer.
func (b *batch) untouched(f found) bool { return b.read != 0 && b.read == f.reads.after }
