package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// What this life has pasted itself is no stray, however often its mark is seen afterwards.
func TestCore_ourOwnPasteIsNoStray(t *testing.T) {
	one, _ := plainly(deliveryOf("a"))
	c := coreOf("a", "b") // something waits behind it
	c.queue[0].Typed = true
	c.at = asking{plan: planned(line()), granted: []part{one}, next: 1}
	c.step(noon, heard{})
	c.step(noon, typed{tmux.Typed})
	c.step(noon, gone{})
	assert.IsType(t, resting{}, c.stage())
	for _, entered := range []bool{false, true} {
		c.step(noon, sighted{line(marked(markOf(entered, []part{one}, tmux.Facts{}, noon)))})
		assert.Empty(t, c.lost.text, "the pane stays open")
		c.at = resting{}
	}
	c.step(noon, sighted{line(marked(markOf(false, []part{{d: deliveryOf("c")}}, tmux.Facts{}, noon)))})
	assert.Equal(t, unknownText, c.lost.text, "what nobody here has pasted is one")
}
