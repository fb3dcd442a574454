package daemon_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/clocktest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The clock is set forward and back, also between the paste and the moment when the agent writes down the prompt.
// Each message of a chat arrives once and in order, the agent's own record proves that it was taken, and nothing
// expires.
func TestD2_ClockJumps(t *testing.T) {
	t.Parallel()
	var wrong atomic.Int64
	g := &gaps{}
	r := newRig(t, g.option(), func(c *daemon.Config) { c.Now = func() time.Time { return clocktest.Ahead(time.Now(), wrong.Load()) } })
	a, b := r.coder("claude", "Ada", silent...), r.adopted("Ben", silent...)
	a.adopt("")
	r.chat([]*agent{a, b}, unlimited...)
	var words []string
	for _, c := range []struct {
		ahead  int64 // how many seconds the clock is ahead until the moment
		moment string
	}{
		{0, "none"},
		{24 * 60 * 60, "pasted"}, // the clock is right from then on: it goes back by a day
		{-24 * 60 * 60, "pasted"},
		{60 * 60, "entered"},
		{-60 * 60, "entered"},
		{60, "paste"},
	} {
		wrong.Store(c.ahead)
		g.plan(a.pane, c.moment, func() { wrong.Store(0) })
		text := fmt.Sprintf("%+d s until %s", c.ahead, c.moment)
		words = append(words, "[Ben] (2):\n\n"+text)
		b.do(":say %s", text)
		a.gets("[Ben] (2):\n\n" + text)
		id := r.idOf(text)
		r.waitFor("it is taken", func() bool { return r.open() == 0 })
		assert.Contains(t, r.trail(id), "submitted", text)
		for _, receipt := range r.receiptsOf(id) {
			if receipt.State == message.Submitted {
				assert.Contains(t, fmt.Sprint(receipt.Evidence), "the agent took the text as a prompt", text)
			}
		}
	}
	assert.Equal(t, words, partsOf(a))
}
