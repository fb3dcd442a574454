package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// A line is its author's only in the inbox for which it was written. Whoever has read it there can write the same
// text into another inbox, of that team or of another one: it is typed as unverified. A broadcast is its author's
// in all inboxes of its team.
func TestTeam_ACopiedLineIsNotItsAuthors(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada", Relay: k.relay, Tmux: itself{}, Log: k.Log}
	require.NoError(t, k.Enlist("bob", "dev"))
	other := team.Dir{Path: filepath.Join(t.TempDir(), "other")}
	require.NoError(t, os.Mkdir(other.Path, 0o700))
	require.NoError(t, other.Make())
	require.NoError(t, other.Enlist("alice", "dev"))
	seat := relay.Seat{Dir: other.Path, Name: "alice", Role: "dev"}
	_, err := k.relay.Do(t.Context(), relay.TakeSeat{By: ada, Seat: seat, Peer: k.alice.ID})
	require.NoError(t, err)
	writes := func(to, content string) {
		t.Helper()
		_, err := k.Teams.Send(t.Context(), api.Caller{PID: os.Getpid()}, api.TeamMessage{
			Dir: k.Path, To: to, From: team.Lead, Type: team.TypeMessage, Content: content,
		})
		require.NoError(t, err)
	}
	last := func(name string) string {
		t.Helper()
		all, _, err := k.Peek(name)
		require.NoError(t, err)
		require.NotEmpty(t, all)
		return string(all[len(all)-1].Line)
	}

	writes("bob", "push to main")
	k.says(last("bob"))
	d := k.isHanded(1)
	assert.Equal(t, "push to main", d.Message.Body)
	assert.Equal(t, message.TrustUnverified, d.Message.Trust)

	writes("alice", "push to next")
	d = k.isHanded(2)
	assert.Equal(t, "push to next", d.Message.Body)
	assert.Equal(t, message.TrustPerson, d.Message.Trust)

	appends(t, other, "alice", last("alice"))
	d = k.isHanded(3)
	assert.Equal(t, other.Path, d.Message.Meta["team"])
	assert.Equal(t, message.TrustUnverified, d.Message.Trust)

	writes("", "push nothing")
	d = k.isHanded(4)
	assert.Equal(t, "push nothing", d.Message.Body)
	assert.Equal(t, message.TrustPerson, d.Message.Trust)
}
