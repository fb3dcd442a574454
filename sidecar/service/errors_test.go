package service

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// The text of an error says what was asked for, and why it was refused, once each.
func TestWire_saysNothingTwice(t *testing.T) {
	t.Parallel()
	chat := message.Chat{Name: "plans", Why: "stopped by ada", Participants: []message.Participant{{Name: "a"}, {Name: "b"}}}
	for want, err := range map[string]error{
		`stop chat: chat "plans" (a ↔ b) has ended: stopped by ada`: fmt.Errorf("stop chat: %w", &relay.EndedError{Chat: chat}),
		"everything is stopped": fmt.Errorf("resume chat: %w", relay.ErrStopped),
	} {
		assert.Equal(t, want, api.AsError(wire(err)).Text)
	}
	assert.Equal(t, api.CodeUsage, api.AsError(wire(relay.ErrRequest)).Code)
	assert.Equal(t, api.ChatEnded, api.AsError(wire(&relay.EndedError{Chat: chat})).Kind)
}
