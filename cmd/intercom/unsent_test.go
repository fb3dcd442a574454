package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Whoever stops or pauses a chat is told where its text stands without an Enter, and what sends it: not of a text that is
// another chat's, or of a chat that goes on.
func TestUnsent_isNamed(t *testing.T) {
	const stands = "intercom: note: our text stands in the composer of Ben (%7), without its Enter: "
	delivery, chat := message.NewID(), message.NewID()
	over, paused := message.Chat{ID: chat, Name: "pair", State: message.ChatOver}, message.Chat{ID: chat, Name: "pair", State: message.ChatPaused}
	on := message.Chat{ID: chat, Name: "pair", State: message.ChatOn}
	for name, c := range map[string]struct {
		chat message.Chat
		of   message.ID // the chat of the text
		args []string
		want string
	}{
		"stop":             {over, chat, []string{"stop", "pair"}, stands + "press Enter there to send it, or clear it; until then nothing else is typed there\n"},
		"stop after a few": {on, chat, []string{"stop", "pair", "--after-answer"}, ""},
		"pause":            {paused, chat, []string{"pause", "pair"}, stands + "intercom chat resume pair sends it\n"},
		"pause all":        {paused, chat, []string{"pause", "--all"}, stands + "intercom chat resume --all sends it\n"},
		"another chat's":   {over, message.NewID(), []string{"stop", "pair"}, ""},
	} {
		c.chat.Participants = []message.Participant{{Peer: message.NewID(), Name: "Ada", Left: true}, {Peer: message.NewID(), Name: "Ben"}}
		b := &fakeBackend{
			chats: []message.Chat{c.chat}, log: []message.Event{{Chat: c.of, Receipt: &message.Receipt{Delivery: delivery, State: message.Uncertain}}},
			recorded: api.Recording{Explanation: message.Explanation{Pane: "%7", Unsent: []message.ID{delivery}}},
		}
		w := newWorld(t)
		w.serve(t, b)
		r := w.run(append([]string{"chat"}, c.args...)...)
		require.Zero(t, r.code, name)
		assert.Equal(t, c.want, r.err, name)
	}
}

// A chat is paused and then stopped while our text stands below a dialog: it gets no Enter, and its pane is named each time. A
// person sends it, and then the pane takes the next message.
func TestUnsent_inAPane(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.coder("claude"), st.coder("codex")
	runs := func(args ...string) string {
		t.Helper()
		out, code := st.intercom(args...)
		require.Zero(t, code, out)
		return out
	}
	runs("chat", "start", claude.pane, codex.pane, "--name", "pair")
	runs("chat", "mute", "pair", claude.pane)
	codex.do(":dialog paste true")
	runs("chat", "say", "pair", "hello")
	tmuxtest.WaitFor(t, "its Enter waits", func() bool { return strings.Contains(runs("explain", codex.pane), "our text waits for its Enter: ") })
	stands := "our text stands in the composer of codex (" + codex.pane + "), without its Enter: "
	assert.Contains(t, runs("chat", "pause", "pair"), stands+"intercom chat resume pair sends it")
	st.Run("send-keys", "-t", codex.pane, "Escape")
	tmuxtest.WaitFor(t, "it is paused", func() bool {
		return strings.Contains(runs("explain", codex.pane), "since it is paused: intercom chat resume sends it")
	})
	assert.Regexp(t, `(?m)^codex .* our text stands in the composer `, runs("session", "list"))
	assert.Contains(t, runs("chat", "stop", "pair"), stands+"press Enter there to send it, or clear it")
	tmuxtest.WaitFor(t, "it is over", func() bool {
		return strings.Contains(runs("explain", codex.pane), "gets none any more: press Enter there to send it, or clear it")
	})
	assert.Contains(t, runs("explain", codex.pane), "a live composer with our text\n")
	assert.Empty(t, codex.received(), "nobody has pressed Enter")
	assert.Regexp(t, `(?m)^codex .* our text stands in the composer `, runs("session", "list"))

	st.Run("send-keys", "-t", codex.pane, "Enter")
	runs("send", codex.pane, "next", "--timeout", "1m")
	require.Len(t, codex.received(), 2)
	assert.Contains(t, codex.received()[0], "hello", "by the person")
	assert.Contains(t, codex.received()[1], "next")
}
