package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Codex shows a long paste as one line without a number. Between our paste and Enter, a look finds its composer empty
// although nobody has pressed a key: Codex is redrawing it, and the text that it shows afterwards is ours.
func TestLongPasteDrawnAnew(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	b := r.coder("codex", "Cora")
	b.adopt("")
	chat, ada := b.inChat()
	b.ready()
	paused := b.pausedOncePasted(g, chat)
	ada.do(":say %s", strings.Repeat("many words of a long text, ", 50))
	require.NoError(t, <-paused)
	state := func(want message.PaneState) {
		t.Helper()
		r.waitFor(string(want), func() bool { return r.sessionOf(b).State == want })
	}
	state(message.Draft)
	// That look may have come before the program's last read of the paste: only a later one vouches that no key came since.
	// The count has Ada's looks, too, but she is silent by now, and Cora is looked at four times a second.
	looks := r.stats(chat).Captures
	r.waitFor("it is looked at again", func() bool { return r.stats(chat).Captures >= looks+8 })
	b.do(":lie empty")
	state(message.Idle)
	b.do(":lie off")
	state(message.Draft)
	_, err := r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
	require.NoError(t, err)
	r.waitFor("it is taken", func() bool { return len(b.received()) > 0 })
	assert.Equal(t, 1, b.enters())
}
