package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// What a teammate says in its own pane goes to nobody: its first message tells it to send its answers, and how.
func TestWelcome_aTeammateIsToldToAnswer(t *testing.T) {
	t.Parallel()
	text := welcome(relay.Seat{Dir: "/p", Name: "alice", Role: "dev"}, "build it")
	assert.Contains(t, text, "What you say here reaches nobody: send an answer to the lead")
	assert.Contains(t, text, "team_send")
	assert.Contains(t, text, "intercom team send lead 'TEXT' --from alice")
}
