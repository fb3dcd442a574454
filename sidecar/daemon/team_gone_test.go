package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// A teammate whose program ends by itself is listed as idle, as in the lesson on team protocols, so it looks as if
// it could be reached. A notice says that its program has ended, and so does a note on each message to it. It can
// be spawned again; a teammate whose session goes on cannot.
func TestP9_P29_AnEndByItself(t *testing.T) {
	t.Parallel()
	m := newMembers(t)
	alice := m.spawn("alice")
	send := func(to string) api.TeamSent {
		sent, err := api.Call(t.Context(), m.client.Client, api.SendToTeam, api.TeamMessage{
			Dir: m.Path, To: to, From: team.Lead, Type: message.KindMessage, Content: "how far are you?",
		})
		require.NoError(t, err)
		return sent
	}
	assert.Empty(t, send("alice").Note)
	assert.Empty(t, send(team.Lead).Note)
	again := func() error {
		_, err := api.Call(t.Context(), m.client.Client, api.SpawnMember, api.SpawnRequest{
			Dir: m.Path, Name: "alice", Role: "tester", Command: append(alice.command(), "--reply", "done"), As: "line",
		})
		return err
	}
	assert.ErrorContains(t, again(), "Error: 'alice' is currently ")
	m.Run("kill-pane", "-t", alice.pane)
	m.waitFor("the notice of its end", func() bool {
		return m.toldOf("teammate alice in "+m.Path+": its program has ended") == 1
	})
	m.stands("alice", team.Idle)
	assert.Contains(t, send("alice").Note, "'alice' has no session")
	assert.Empty(t, send(team.Lead).Note)
	require.NoError(t, again())
	assert.Empty(t, send("alice").Note)
	c, err := m.Config()
	require.NoError(t, err)
	require.Len(t, c.Members, 1)
	assert.Equal(t, "tester", c.Members[0].Role)
}
