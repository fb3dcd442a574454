package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Only a person can resume a chat that stands at a limit, or roll back the policies; every way that an agent has is refused. A
// person's y does it, in a shell and in the popup of the menu.
func TestS12_ABrakedChatAndThePolicies(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.load()
	config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	require.NoError(t, os.MkdirAll(config, 0o700))
	init := filepath.Join(config, "init.lua")
	require.NoError(t, os.WriteFile(init, []byte("-- first"), 0o600))
	claude, codex := st.coder("claude"), st.coder("codex")
	run := func(args ...string) string {
		t.Helper()
		out, code := st.intercom(args...)
		require.Zero(t, code, "%s: %s", args, out)
		return out
	}
	run("chat", "start", claude.pane, codex.pane, "--name", "pair", "--set", "depth=1", "--say", "begin")
	braked := func() bool { c := st.status().Chats[0]; return c.State == message.ChatPaused && c.Braked }
	tmuxtest.WaitFor(t, "it stands at its limit", braked)
	used := func() int { return strings.Count(run("policy", "log"), "in use") }
	tmuxtest.WaitFor(t, "the first files are in use", func() bool { return used() == 2 }) // the first set had none before it
	require.NoError(t, os.WriteFile(init, []byte("-- second"), 0o600))
	tmuxtest.WaitFor(t, "the second ones are", func() bool { return used() == 3 })
	policies := run("policy", "log")

	for i, c := range []struct{ run, does, says string }{
		{"%", "chat resume pair", "only a person may"},
		{"setsid -f %", "chat resume --all", "only a person"},
		{`setsid -f env -i PATH="$PATH" HOME="$HOME" INTERCOM_TEST_MAIN=$INTERCOM_TEST_MAIN %`, "chat resume pair", "is not verified"},
		{"tmux -S " + st.Socket + " run-shell -b %", "chat resume --all", "is not verified"},
		{"%", "policy rollback", "only a person may"},
		{`setsid -f env -i PATH="$PATH" HOME="$HOME" INTERCOM_TEST_MAIN=$INTERCOM_TEST_MAIN %`, "policy rollback", "is not verified"},
		{"tmux -S " + st.Socket + " run-shell -b %", "policy rollback", "is not verified"},
	} {
		result := filepath.Join(st.home, "result"+string(rune('0'+i)))
		tmuxtest.Program(t, result+".sh", "#!/bin/sh\n( "+thisProgram()+" "+c.does+" --server="+st.Socket+" ) >"+result+" 2>&1\necho exit $? >>"+result+"\n")
		claude.do(":exec " + strings.ReplaceAll(c.run, "%", result+".sh"))
		told := ""
		tmuxtest.WaitFor(t, c.run, func() bool {
			data, _ := os.ReadFile(result)
			told = string(data)
			return strings.Contains(told, "exit ")
		})
		assert.Contains(t, told, "exit 1", "%s: %s", c.run, c.does)
		assert.Contains(t, told, c.says, "%s: %s", c.run, c.does)
	}
	require.True(t, braked())
	require.Equal(t, policies, run("policy", "log"))

	me := st.sit("base")
	me.menu("r")
	me.sees("Resume it? [y/N]")
	me.press("n")
	me.sees("nothing was done: y was not pressed")
	me.seesNot("[y/N]")
	require.True(t, braked())
	shell := st.shell()
	for _, c := range []struct{ does, asks string }{{"chat resume pair", "Resume it?"}, {"policy rollback", "Go back to the ones before?"}} {
		st.Run("send-keys", "-R", "-t", shell, ";", "clear-history", "-t", shell)
		st.Run("send-keys", "-t", shell, "-l", thisProgram()+" "+c.does+" --server="+st.Socket+"; echo exit $?")
		st.Run("send-keys", "-t", shell, "Enter")
		st.WaitForText(shell, c.asks)
		st.Run("send-keys", "-t", shell, "y")
		st.WaitForText(shell, "exit 0")
	}
	assert.Contains(t, run("policy", "log"), "rolled back")
	tmuxtest.WaitFor(t, "it has gone on, to its limit", braked)
	me.menu("r")
	me.sees("Resume it? [y/N]")
	heard := len(claude.received()) + len(codex.received())
	me.press("y")
	tmuxtest.WaitFor(t, "they talk on", func() bool { return len(claude.received())+len(codex.received()) > heard })
}
