package service

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A teammate that gets a line typed reads it, and may ask for its inbox before the sidecar has seen that the
// line was submitted. It does not find the line there again.
func TestTeam_WhatIsTypedIsNotReadTwice(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada", Relay: k.relay, Log: k.Log}
	k.says(`{"type":"message","from":"bob","content":"hello","timestamp":1.5}`)
	d := k.isHanded(1)
	is := func(state message.ReceiptState) {
		assert.NoError(t, k.relay.Report(t.Context(), message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: k.alice.ID, State: state, At: time.Now()}))
	}
	is(message.Typed)
	k.onDisk()
	ctx, stop := context.WithCancel(t.Context())
	done, mine := make(chan error, 1), make(chan []string, 1)
	go func() { done <- k.Run(ctx) }()
	go func() {
		owner, err := k.Inbox(ctx, api.Caller{PID: os.Getpid()}, api.InboxRequest{Dir: k.Path, Name: "alice"})
		assert.NoError(t, err)
		assert.False(t, owner.Typing)
		mine <- k.inbox()
	}()
	is(message.Submitted)
	assert.Empty(t, <-mine)

	// A line that is not seen to be submitted is not lost: it stays, and the reply says so.
	k.says(`{"type":"message","from":"bob","content":"again","timestamp":2.5}`)
	require.Eventually(t, func() bool { return len(k.pane.handed()) == 2 }, 20*time.Second, time.Millisecond)
	d = k.pane.handed()[1]
	is(message.Typed)
	k.onDisk()
	owner, err := k.Inbox(ctx, api.Caller{PID: os.Getpid()}, api.InboxRequest{Dir: k.Path, Name: "alice"})
	require.NoError(t, err)
	assert.True(t, owner.Typing)
	assert.Equal(t, []string{"again"}, k.inbox())
	stop()
	require.NoError(t, <-done)
}
