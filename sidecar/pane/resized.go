package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

// settles is how long the screen tells nothing of our text after a look found a new size of the pane. Within this time,
// tmux waits a quarter of a second and then tells the program, which draws anew.
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
