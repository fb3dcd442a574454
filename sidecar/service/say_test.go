package service

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/filepeertest/ops"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A person who says something in a chat while everything is stopped is told that, and not that the chat is
// paused: resuming that chat alone is refused.
func TestSay_whileEverythingIsStopped(t *testing.T) {
	h := &headless{t: t, state: filepath.Join(t.TempDir(), "state"), runtime: filepath.Join(t.TempDir(), "run")}
	require.NoError(t, os.Mkdir(h.state, 0o700))
	h.begin()
	defer func() { h.end() }()
	ctx := t.Context()
	for _, name := range []string{"left", "right"} {
		_, err := api.Call(ctx, h.client, ops.Serve, ops.ServeRequest{Path: h.dir(name)})
		require.NoError(t, err)
	}
	chat, err := api.Call(ctx, h.client, api.StartChat, api.StartChatRequest{Panes: []string{"left", "right"}})
	require.NoError(t, err)
	say := func() message.Reason {
		said, err := api.Call(ctx, h.client, api.Say, api.SayRequest{Chat: string(chat.ID), Text: "hello"})
		require.NoError(t, err)
		assert.False(t, said.Braked)
		return said.Held
	}
	_, err = api.Call(ctx, h.client, api.PauseChat, api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	assert.Equal(t, message.Paused, say())
	_, err = api.Call(ctx, h.client, api.PauseChat, api.ChatRef{All: true})
	require.NoError(t, err)
	assert.Equal(t, message.Stopped, say())
	_, err = api.Call(ctx, h.client, api.ResumeChat, api.ChatRef{Chat: string(chat.ID)})
	assert.ErrorContains(t, err, string(message.Stopped))
}
