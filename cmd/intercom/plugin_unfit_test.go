package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Beside a pane that cannot be in a chat the key opens the list, as with more than two panes, in whichever of the two it is
// pressed. What is typed meanwhile reaches no pane.
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

// On a busy machine it may take a while to find out what the key should start. That still counts as the person's doing.
func TestPlugin_aKeyWhoseFirstProgramIsSlow(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	slow := filepath.Join(st.bin, "intercom-slow")
	require.NoError(t, os.WriteFile(slow, []byte(`#!/bin/sh
[ "$1 $2" = "plugin unfit" ] || exec '`+thisProgram()+`' "$@"
'`+thisProgram()+`' "$@"
rc=$?
sleep 4 # longer than a key proves what begins by itself
exit $rc
`), 0o700))
	st.Run("set-option", "-g", "@intercom-bin", slow)
	claude, codex := st.agent("claude", ""), st.agent("codex", "")
	st.load()
	me := st.sit("base")
	st.Run("join-pane", "-d", "-s", codex.Pane, "-t", claude.Pane, ";", "select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
	me.press("C-b", st.chatKey)
	me.sees("claude (1) ↔ codex (2): on")
}
