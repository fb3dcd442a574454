package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Before a pane is given back for which messages wait, they are named: at a terminal a person is asked, and elsewhere nothing is
// done without --force. Where nothing waits nobody is asked.
func TestRelease_asksWhereSomethingWaits(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	held := st.askedAbout(claude, "the plan")
	id := held.Message.Short()

	out, code := st.intercom("release", codex.pane)
	assert.Equal(t, 1, code, out)
	assert.Contains(t, out, "1 message that waits for codex would not be delivered: "+id)
	assert.Contains(t, out, "intercom inbox show "+id+" shows it; intercom release --force "+codex.pane+" drops it")
	require.Len(t, st.held(), 1)

	asked := func(answer string) (shell string) {
		t.Helper()
		shell = st.shell()
		st.Run("send-keys", "-t", shell, "-l", thisProgram()+" release codex --server="+st.Socket+"; echo exit $?")
		st.Run("send-keys", "-t", shell, "Enter")
		st.WaitForText(shell, "1 message that waits for codex would not be delivered: "+id+". Release "+codex.pane+"? [y/N]")
		require.Len(t, st.held(), 1, "nothing is done before the answer")
		st.Run("send-keys", "-t", shell, answer)
		return shell
	}
	st.WaitForText(asked("n"), "nothing was done")
	require.Len(t, st.held(), 1)
	shell := asked("y")
	st.WaitForText(shell, "exit 0")
	assert.Contains(t, st.Run("capture-pane", "-pJ", "-t", shell), "not delivered: 1 message that waited: "+id+"; intercom log "+id)
	assert.Empty(t, st.held())
	out, code = st.intercom("log", id)
	require.Zero(t, code, out)
	assert.Contains(t, out, "the plan", "the journal keeps it")

	out, code = st.intercom("release", claude.pane)
	assert.Zero(t, code, out)
}
