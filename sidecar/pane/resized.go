package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
)

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
