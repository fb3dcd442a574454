package ui

import (
	"testing"

	"github.com/stretchr/testify/assert"

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
