package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A session that would be typed into says what holds the message that waits for it; one that would not, why.
func TestSessionList_whatHoldsTheFirst(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := &app{env: env{Stdout: &out}}
	held := &message.Holding{Reason: message.PaneTooNarrow, Says: "84 columns are enough"}
	a.showSessionList([]api.Session{
		{ID: message.NewID(), Name: "Ada", State: message.Idle, Held: held},
		{ID: message.NewID(), Name: "Ben", State: message.Idle, Held: &message.Holding{Reason: message.AwaitingApproval}},
		{ID: message.NewID(), Name: "Cyd", State: message.Draft, Why: string(message.InComposer), Held: held},
		{ID: message.NewID(), Name: "Dan", State: message.Idle},
	})
	rows := strings.Split(out.String(), "\n")
	for i, want := range []string{"waiting: " + string(message.PaneTooNarrow) + ": 84 columns are enough", "waiting for approval", "  " + string(message.InComposer)} {
		assert.Contains(t, rows[i+1], want)
	}
	assert.NotContains(t, rows[3], "narrow")
	assert.NotContains(t, rows[4], "waiting")
}
