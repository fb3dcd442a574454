package pane

import "github.com/tmux-intercom/tmux-intercom/sidecar/process"

// reads is how often the terminal of an agent, or of a full-screen program that nobody knows, had been read by anybody when a look
// began, and when it was there; 0 where that is not known. What nobody has read since changed nothing: whoever shows an empty
// composer by then draws it anew, or keeps from sight what it holds.
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

// untouched reports whether nobody has read a key since before the last look at which our text stood alone in the composer.
func (b *batch) untouched(f found) bool { return b.read != 0 && b.read == f.reads.after }
