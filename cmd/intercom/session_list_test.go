package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// In 80 columns no heading is broken within a word, and a column without any entry is left out.
func TestSessionList_headingsInANarrowTerminal(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ada := api.Session{ID: message.NewID(), Name: "Ada", Agent: "claude", State: message.Idle, Caller: "somebody", LastOutput: &now, Computer: "local", Why: "an open turn, which began a while ago"}
	ben := ada
	ben.ID, ben.Name = message.NewID(), "Ben"
	told := []message.ID{ben.ID}
	for _, c := range []struct {
		told          []message.ID
		title         string
		width         int
		words, misses string
	}{
		{nil, "", 80, "NAME ID AGENT STATE CALLER LAST OUTPUT COMPUTER WHY", "SUBSCRIBED"},
		{told, "", 80, "NAME ID AGENT STATE CALLER LAST OUTPUT SUBSCRIBED BY COMPUTER WHY", "TITLE"},
		{told, "what it is at", 100, "NAME ID AGENT STATE CALLER LAST OUTPUT SUBSCRIBED BY COMPUTER WHY TITLE", "-"},
	} {
		ada.Subscribers, ada.Title = c.told, c.title
		var out strings.Builder
		a := &app{env: env{Stdout: &out, Width: c.width}}
		a.showSessionList([]api.Session{ada, ben})
		heading, _, found := strings.Cut(out.String(), "Ada")
		require.True(t, found, out.String())
		assert.ElementsMatch(t, strings.Fields(c.words), strings.Fields(heading), out.String())
		assert.NotContains(t, heading, c.misses)
		for line := range strings.Lines(out.String()) {
			assert.LessOrEqual(t, cellsOf(strings.TrimSuffix(line, "\n")), c.width, out.String())
		}
	}
}

// A session that may be typed into shows why its first waiting message is held; one that may not shows the reason for that.
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
