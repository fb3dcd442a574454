package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// forget lets a test plan the same moment again.
func (g *gaps) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.happens = nil
}

// Enter needs permission of its own. If a chat is paused while our text stands in an agent's composer, Enter comes
// when the chat goes on; if the chat is stopped, Enter never comes.
func TestEnterOfAnAgentNeedsLeave(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: the chat is paused", "pane/core_test.go: the chat has ended")
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		chat, _ := a.inChat()
		for n, end := range []string{"pause", "stop"} {
			a.do(":dialog paste true")
			said, err := r.client.Say(t.Context(), api.SayRequest{Chat: string(chat.ID), Text: "hello " + end})
			require.NoError(t, err)
			state := func() string { return r.trails(said.Message)[a.session.ID] }
			r.waitFor("held", func() bool { return state() == dialogHeld })
			if end == "pause" {
				_, err = r.client.PauseChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			} else {
				_, err = r.client.StopChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
			}
			require.NoError(t, err)
			a.types("", "Escape")
			r.looked(func() bool { return a.enters() == n })
			if end == "pause" {
				_, err = r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID)})
				require.NoError(t, err)
				r.waitFor("delivered", func() bool { return state() == "submitted" || state() == "answered" })
				assert.Equal(t, 1, a.enters())
				assert.Equal(t, 1, a.count(persona.EventPaste), "pasted once")
				continue
			}
			r.waitFor("uncertain", func() bool { return strings.HasPrefix(state(), string(message.Uncertain)) })
			assert.Equal(t, 1, a.enters())
		}
		assert.Equal(t, []string{"[tester] (0):\n\nhello pause"}, a.received())
	}, silent...)
}

// If an agent does not read, our text may still wait in its terminal. The message is uncertain, and nothing more is
// typed until that text has appeared in the composer and left it again.
func TestDeafAgent(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: never seen", "pane/core_test.go: a text of ours is lost")
	r := newRig(t)
	ids := map[*agent]message.ID{}
	for _, kind := range inTurn(t) {
		a := r.coder(kind, kind, silent...)
		a.adopt("")
		a.do(":deaf")
		ids[a] = r.post(a, "hello")
	}
	next := map[*agent]message.ID{}
	for a, id := range ids {
		r.told(id, "uncertain: text was not seen in the composer")
		next[a] = r.post(a, "next")
	}
	for a := range ids {
		r.told(next[a], "held: our text stands in the composer")
		assert.Empty(t, a.bytes())
		a.do(":hear")
	}
	for a := range ids {
		r.told(next[a], draftHeld)
		assert.Equal(t, "\x1b[200~"+hello+"\x1b[201~", strings.ReplaceAll(string(a.bytes()), "\r", "\n"))
		a.types("", "Enter")
	}
	for a, id := range ids {
		r.told(next[a], "submitted")
		assert.Equal(t, []string{hello, "[tester] (0):\n\nnext"}, a.received(), "the first by the person")
		assert.Equal(t, "uncertain: text was not seen in the composer", r.last(id))
	}
}
