package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Beside a pane that cannot be in a chat the key lists panes to pick from, as it does where there are more than two, whichever of
// the two it is pressed in. What is typed meanwhile reaches no pane.
func TestPlugin_picksBesideAShell(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude := st.agent("claude", "")
		shell := st.Run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", claude.Pane, "exec sh")
		codex := st.agent("codex", "")
		st.Run("select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
		st.load()
		me := st.sit("base")
		me.press("C-b", st.chatKey)
		me.sees("chat " + claude.Pane + " with")
		me.sees("a shell: it would run what is typed into it")
		assert.NotContains(t, me.screen(), "intercom: ")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): on")

		st.Run("select-pane", "-t", shell)
		out, code := st.intercom("chat", "stop", "--all")
		assert.Zero(t, code, out)
		out, code = st.intercom("chat", "resume", "--all")
		assert.Zero(t, code, out)
		me.press("C-b", st.chatKey)
		me.sees("start a chat between two other panes: pick the first")
		me.press("q")
		me.seesNot("q closes")
		assert.Empty(t, received(t, claude))
		assert.Empty(t, received(t, codex))
		assert.NotContains(t, strings.Join(st.processes(), "\n"), "plugin unfit")
	})
}
