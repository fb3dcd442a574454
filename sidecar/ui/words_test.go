package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What was sent to another computer is not said to be typed before that computer says so.
func TestWords_onItsWayToAnotherComputer(t *testing.T) {
	r := message.Receipt{State: message.Typed, Door: message.DoorLink}
	assert.Equal(t, "on its way", outcome(r))
	assert.Equal(t, "on its way", waitsFor(api.Held{Waiting: api.Waiting{State: r.State, Door: r.Door}}))
	r.Door = ""
	assert.Equal(t, "typed", outcome(r))
}

// That all typing is stopped has one name, here as in receipts and errors. Until that is over no chat is resumed alone, and no key
// for that is offered.
func TestWords_everythingIsStopped(t *testing.T) {
	m := world().size(100, 30)
	paused := m.keys("2 down")
	require.Contains(t, sees(paused), "r resume")
	require.Contains(t, sees(m.keys("3 down")), "r resume")
	m.known.status.Stopped = true
	for _, at := range []string{"2 down", "3 down", "1 end"} {
		frame := sees(m.keys(at))
		assert.Contains(t, frame, string(message.Stopped), at)
		assert.Contains(t, frame, "P resume everything", at)
		assert.NotContains(t, frame, "r resume", at)
	}
	assert.NotContains(t, sees(m.keys("2 down enter")), "r resume")
}
