package service

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A start that needs no yes, for a place in a team that is not free, is refused with a hint like one that needs one.
func TestStart_APlaceThatIsNotFree(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	s := &Launches{Callers: k.Callers, Relay: k.relay, Settings: func() policy.Settings { return policy.Settings{} }, Log: k.Log}
	order := message.StartOrder{What: "alice", Dir: k.Path, Seat: &message.StartSeat{Dir: k.Path, Name: "alice", Role: "dev"}}
	_, err := s.start(t.Context(), ada, order)
	require.ErrorIs(t, err, relay.ErrActive)
	assert.Equal(t, api.CodeRefused, api.AsError(err).Code)
	assert.Contains(t, api.AsError(err).Hint, "intercom team list")
	order.From = message.Address{Peer: k.alice.ID}
	_, err = s.hold(t.Context(), relay.By{Kind: relay.Agent, Peer: k.alice.ID}, wanted{StartOrder: order}, "why")
	require.ErrorIs(t, err, relay.ErrActive)
	assert.Equal(t, api.CodeRefused, api.AsError(err).Code)
	assert.Contains(t, api.AsError(err).Hint, "nothing was asked for")
}
