package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// While everything is stopped, a message is held, and send names the command that ends that. It waits only if asked to, and if
// the wait is interrupted, says that the message is held.
func TestSend_whileEverythingIsStopped(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	codex := st.coder("codex")
	st.runs("adopt", codex.pane)
	st.runs("chat", "pause", "--all")
	assert.Regexp(t, `(?m)^typing +no: everything is stopped: intercom chat resume --all$`, st.runs("explain", codex.pane))
	for range 2 { // the second waits behind the first
		out, code := st.intercom("send", "codex", "hello")
		assert.Equal(t, 5, code, out)
		assert.Contains(t, out, "intercom chat resume --all")
		assert.NotContains(t, out, "waiting")
	}
	shell := st.shell()
	typed := thisProgram() + " send codex hello --wait submitted --server=" + st.Socket
	st.Run("send-keys", "-t", shell, "-l", "sh -c 'trap : INT; "+typed+"; echo exit=$?'")
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "note: waiting")
	st.Run("send-keys", "-t", shell, "C-c")
	tmuxtest.WaitFor(t, "its end", func() bool {
		return regexp.MustCompile(`(?m)^exit=\d`).MatchString(st.Run("capture-pane", "-pJ", "-t", shell))
	})
	shown := st.Run("capture-pane", "-pJ", "-t", shell)
	assert.Contains(t, shown, "exit=5")
	assert.NotContains(t, shown, "gave up")

	require.Len(t, st.held(), 3)
	st.runs("chat", "resume", "--all")
	tmuxtest.WaitFor(t, "they are sent", func() bool { return strings.Count(strings.Join(codex.received(), "\n"), "hello") == 3 })
}
