package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A turn that met a limit did not pass, and is not counted until it does. After the end of a chat, its statistics
// stay as they are, though looks at its panes go on.
func TestStats_areOfTheChatsOwnLife(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	talks := func(reply string) []string {
		return append([]string{"--reply", reply + " {n}", "--think", "1ms"}, "--bracketed")
	}
	ada, ben := r.adopted("Ada", talks("one more thing")...), r.adopted("Ben", talks("what of that")...)
	first, err := r.client.StartChat(t.Context(), api.StartChatRequest{
		Panes: []string{ada.pane, ben.pane}, Say: "go on", Set: map[string]string{"depth": "2", "stall": "off"},
	})
	require.NoError(t, err)
	r.waitFor("it met the limit", func() bool { return r.current(first).State == message.ChatPaused })
	r.waitFor("what went before was taken", func() bool { return r.stats(first).Deliveries[message.Held] == 1 })
	assert.Equal(t, 2, r.stats(first).Turns, "%+v", r.stats(first))
	_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(first.ID)})
	require.NoError(t, err)
	assert.Equal(t, 2, r.stats(first).Turns, "%+v", r.stats(first))

	var ended message.Stats
	r.waitFor("its looks are counted to the end", func() bool {
		before := ended
		ended = r.stats(first)
		return ended.Captures > 0 && ended.Captures == before.Captures
	})
	second, err := r.client.StartChat(t.Context(), api.StartChatRequest{Panes: []string{ada.pane, ben.pane}, Say: "once more", Turns: 2})
	require.NoError(t, err)
	r.waitFor("another chat was looked at", func() bool { return r.stats(second).Captures > 3 })
	assert.Equal(t, ended.Captures, r.stats(first).Captures)
	r.waitFor("it is over, too", func() bool { return r.current(second).State == message.ChatOver })
	assert.Equal(t, 2, r.stats(second).Turns)
}

// stats are a chat's statistics so far.
func (r *rig) stats(chat message.Chat) message.Stats {
	r.t.Helper()
	stats, err := r.client.Stats(r.t.Context(), string(chat.ID))
	require.NoError(r.t, err)
	return stats
}
