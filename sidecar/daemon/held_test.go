package daemon_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// heldAt waits until an agent's first waiting message is held for that reason, and is what explain says of it. The
// list of sessions says the same.
func (a *agent) heldAt(why message.Reason) (h message.Holding) {
	a.t.Helper()
	a.waitFor(string(why), func() bool {
		e := a.explain()
		if e.Held == nil || e.Held.Reason != why {
			return false
		}
		h = *e.Held
		for _, one := range a.listed() {
			if one.ID == a.session.ID {
				assert.Equal(a.t, &h, one.Held)
			}
		}
		return true
	})
	return h
}

// An idle pane that is too narrow for a message says so, and how many columns are enough. In a pane of that width the
// message is typed.
func TestHeld_howWideIsEnough(t *testing.T) {
	t.Parallel()
	r := newRig(t, over("native"))
	ada, taken := r.readline("ada")
	first, second := r.post(ada, scripted(0)), r.post(ada, "two")
	h := ada.heldAt(message.PaneTooNarrow)
	require.Equal(t, message.Holding{Delivery: r.receiptsOf(first)[0].Delivery, Message: first, Reason: message.PaneTooNarrow, Says: h.Says}, h, "the first")
	assert.True(t, ada.explain().WouldType, "a text that fits")
	words := regexp.MustCompile(`^(\d+) columns are enough$`).FindStringSubmatch(h.Says)
	require.NotNil(t, words, h.Says)
	r.Run("resize-window", "-t", ada.pane, "-x", words[1])
	r.settled(second, "answered")
	assert.Equal(t, []string{"[tester] (0): " + scripted(0), "[tester] (0): two"}, taken())
	r.waitFor("nothing is held", func() bool { return ada.explain().Held == nil && r.listed()[0].Held == nil })
}

// A message that waits for a person's yes is shown as held at the pane to which it would go.
func TestHeld_forApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("init.lua", `intercom.on("decide", function(msg) return intercom.ask { reason = "look" } end)`))
	ada := r.adopted("Ada", silent...)
	id := r.post(ada, "hello")
	h := ada.heldAt(message.AwaitingApproval)
	assert.Equal(t, id, h.Message)
	assert.Empty(t, ada.received())
}
