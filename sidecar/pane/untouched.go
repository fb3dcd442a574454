package pane

import "github.com/tmux-intercom/tmux-intercom/sidecar/process"

// reads is how often the terminal of an agent, or of an unknown full-screen program, had been read by any process before
// a look and after it; 0: not known. Where nobody has read it since, no key has changed anything: a program that shows
// an empty composer all the same is drawing it anew, or hides what it holds.
type reads struct{ before, after uint64 }

// readSoFar returns how often the terminal has been read by now, 0 if there is nothing to type. Reads under the name
// /dev/tty count, too, though they may have been of another terminal.
func (p *Pane) readSoFar() uint64 {
	if !p.core.busy() { // it is busy from the look before the paste on, so that the reading of the paste counts
		return 0
	}
	uses, ok := process.UsageSoFar(p.session.TTY, p.session.PaneProc.PID)
	if !ok || !uses.Told { // the reads are not told: our own paste at least was read
		return 0
	}
	return uses.Reads + uses.NamelessReads
}

// untouched reports whether no key has been read since before the last look at which our text stood alone in the composer.
func (b *batch) untouched(f found) bool { return b.read != 0 && b.read == f.reads.after }
