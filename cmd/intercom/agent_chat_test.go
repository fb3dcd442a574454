package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// With one tool call that runs `intercom chat start`, an agent starts a chat with another one. They then talk for twenty
// turns without another call.
func TestR5_OneCallAndTheyTalk(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.coder("claude"), st.coder("codex")
	for _, a := range []*coder{claude, codex} {
		out, code := st.intercom("adopt", a.pane)
		require.Zero(t, code, out)
	}
	script, told := filepath.Join(st.home, "call"), filepath.Join(st.home, "told")
	tmuxtest.Program(t, script, fmt.Sprintf("#!/bin/sh\n%s chat start %s %s --server=%s >%s 2>&1\necho exit $? >>%s\n",
		thisProgram(), claude.pane, codex.pane, st.Socket, told, told))
	claude.do(":exec " + script)
	tmuxtest.WaitFor(t, "the call is over", func() bool {
		data, _ := os.ReadFile(told)
		return strings.Contains(string(data), "exit ")
	})
	data, err := os.ReadFile(told)
	require.NoError(t, err)
	require.Contains(t, string(data), "exit 0")
	claude.do(":say Shall we begin?")
	const turns = 20
	tmuxtest.WaitFor(t, "twenty turns", func() bool { return len(claude.received())+len(codex.received()) >= turns })
	out, code := st.intercom("chat", "stop", "--all")
	require.Zero(t, code, out)
	assert.InDelta(t, len(claude.received()), len(codex.received()), 1, "in turn")
	assert.Equal(t, "[claude] (1):\n\nShall we begin?", codex.received()[0])
	assert.Len(t, claude.records(persona.EventChildEnd), 1, "one call")
	assert.Empty(t, codex.records(persona.EventChildEnd))
}
