package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// One entry of the menu takes this pane's last answer, with a line of one's own, to a picked
// pane and brings the one answer back; then nothing goes across any more.
func TestPlugin_askAnotherPane(t *testing.T) {
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")

		me.menu("a") // nothing was said yet
		me.sees("a line of your own")
		me.press("Enter", "1")
		me.sees("nothing is known that it has said")
		assert.Empty(t, codex.keys())

		claude.do(":turn say the plan has three steps")
		me.press("g", "o", "Enter")
		tmuxtest.WaitFor(t, "it has said so", func() bool { return len(claude.records(persona.EventSaid)) == 1 })
		codex.do(":turn say four would be better")
		claude.do(":turn say then four it is")
		me.menu("a")
		me.sees("a line of your own")
		me.press("i", "s", "Space", "i", "t", "?", "Enter")
		me.sees("for " + claude.pane + ", ask")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): asked; the answer comes back here → prefix + B, l shows how far it is")
		tmuxtest.WaitFor(t, "the answer is back", func() bool { return len(claude.received()) == 2 })
		require.Len(t, codex.received(), 1)
		assert.Contains(t, codex.received()[0], "the plan has three steps")
		assert.Contains(t, codex.received()[0], "is it?")
		assert.Contains(t, claude.received()[1], "four would be better")
		tmuxtest.WaitFor(t, "the question is over", func() bool { return len(st.status().Chats) == 0 })
		tmuxtest.WaitFor(t, "it has said that", func() bool { return len(claude.records(persona.EventSaid)) == 2 })
		assert.Len(t, codex.received(), 1, "nothing further goes across")
		assert.Equal(t, 1, strings.Count(codex.keys(), "\r"))
	})
}
