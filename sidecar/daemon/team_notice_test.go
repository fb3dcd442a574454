package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// A turn's end is told, and answers nothing: neither does what the teammate says in it. What asks
// for an answer stays open until that comes.
func TestC5_ANoticeIsNoAnswer(t *testing.T) {
	t.Parallel()
	m := newMembers(t)
	alice := m.spawn("alice", "--reply", "shutdown approved: true")
	request, err := m.asksToEnd("alice")
	require.NoError(t, err)
	m.heard(alice, 0, asked)
	boss := m.adopted("Boss", bracketed...)
	boss.sendsText(alice, "and what do you say?")
	boss.hears(stoppedNotice(alice, "turn ended"))
	assert.Equal(t, "pending", m.standing(request.RequestID))
	assert.Zero(t, m.lines(request.RequestID, true))

	no := false
	_, err = m.says(alice, "shutdown-response", api.ShutdownAnswer{RequestID: request.RequestID, Approve: &no, Reason: "busy"})
	require.NoError(t, err)
	assert.Equal(t, "rejected", m.standing(request.RequestID))
	m.waitFor("the lead has the answer", func() bool { return m.lines(request.RequestID, true) == 1 })
}
