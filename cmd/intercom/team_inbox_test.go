package main

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Reading another member's inbox takes its messages, as the document says. A person at a terminal is told so, and how to look
// without taking.
func TestTeamInbox_whoTakesAnothersIsTold(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	dir := teamIn(t, filepath.Join(k.env["HOME"], "project"))
	atTerminal := func(words ...string) string {
		cmd := k.command(thisProgram(), append([]string{"team", "inbox"}, words...)...)
		cmd.Dir = dir
		terminal, err := pty.Start(cmd)
		require.NoError(t, err)
		defer terminal.Close()
		shown, _ := io.ReadAll(terminal) // reading ends with an error when the program ends
		require.NoError(t, cmd.Wait())
		return string(shown)
	}
	looked := atTerminal("zed", "--peek")
	assert.Contains(t, looked, "between us")
	assert.NotContains(t, looked, "note:")
	took := atTerminal("zed")
	assert.Contains(t, took, "between us")
	assert.Contains(t, took, "intercom: note: took 1 message out of the inbox of zed; --peek looks without taking")
	assert.NotContains(t, atTerminal("zed"), "note:", "nothing is left to take")
}
