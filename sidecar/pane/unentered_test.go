package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Whoever finds our text without its Enter is told which deliveries it is, why, and what sends it, as long as it stands there.
func TestUnentered(t *testing.T) {
	t.Parallel()
	const (
		soon  = "our text is about to get its Enter"
		never = "our text got no Enter, and gets none any more: press Enter there to send it, or clear it"
		taken = "our text got no Enter: if its chat is paused, intercom chat resume sends it; if it has ended, press Enter there to send it, or clear it"
	)
	is := func(c *core, want string) {
		t.Helper()
		of, says := c.unentered()
		assert.Equal(t, []message.ID{"a"}, of)
		assert.Equal(t, want, says)
		assert.Equal(t, "text of a", c.ours())
	}
	c := coreOf()
	assert.Empty(t, c.ours())
	c.at = pasted{batch: ours(), spell: spell{since: noon}}
	is(c, soon)
	c.step(noon, sighted{line(dialog, barred(message.CopyMode))}) // which hides it
	is(c, "our text waits for its Enter: pane in a mode")

	c.step(noon, sighted{line(whole, barred(message.CopyMode))})
	is(c, "our text waits for its Enter: pane in a mode")
	c.step(noon, cancelled{[]message.ID{"a"}}) // its chat is paused, and the pane still in that mode
	is(c, taken)
	c.step(noon, delivered{[]message.Delivery{deliveryOf("a")}})
	is(c, "our text waits for its Enter: pane in a mode")

	c.step(noon, sighted{line(whole)}) // asks
	c.step(noon, permitted{err: message.ErrPaused})
	is(c, "our text got no Enter, since it is paused: intercom chat resume sends it")
	c.step(noon, cancelled{[]message.ID{"a"}}) // the chat is stopped
	is(c, taken)
	c.step(noon, sighted{line(whole)})
	c.step(noon, permitted{err: message.ErrEnded})
	is(c, never)

	c.accept([]message.Delivery{deliveryOf("b")}) // and once it has gone, the next one is ours
	c.step(noon, sighted{line()})
	c.step(noon, filed{parts: []part{c.at.(filing).parts[0]}})
	c.step(noon, permitted{})
	c.step(noon, heard{})
	c.step(noon, typed{})
	assert.Equal(t, "text of b", c.ours())
	assert.Equal(t, lost{}, c.left)
}
