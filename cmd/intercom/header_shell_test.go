package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The header of a message ends in a pipe, so a shell that read it would run the text behind it as a command. No shell reads it on
// any path: the pane, the notices and their command, the popup, the editor, an agent's hook, the log, and a pane in which a shell
// has replaced the agent.
func TestC45_noShellReadsTheHeader(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		config := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
		require.NoError(t, os.MkdirAll(filepath.Join(config, "policies"), 0o700))
		told, edited, trap := filepath.Join(st.home, "told"), filepath.Join(st.home, "edited"), filepath.Join(st.home, "TRAP")
		tell, editor := filepath.Join(st.home, "tell"), filepath.Join(st.home, "editor")
		tmuxtest.Program(t, tell, "#!/bin/sh\nprintf '%s\\n' \"$#\" \"$@\" >>"+told+"\n")
		tmuxtest.Program(t, editor, "#!/bin/sh\ncp \"$1\" "+edited+"\necho ' edited' >>\"$1\"\n")
		require.NoError(t, os.WriteFile(filepath.Join(config, "init.lua"), []byte(`intercom.configure { notices = { bell = true, osc9 = true, command = { "`+tell+`" } } }`), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(config, "policies", "50-ask.lua"),
			[]byte(`intercom.on("guard", function(msg) if msg.body:find("ASK") then return intercom.ask { reason = msg.body } end end)`), 0o600))
		st.load()
		me := st.sit("base")
		master, worker := st.coderIn("claude", st.home), st.coderInShell("codex")
		out, code := st.intercom("adopt", worker.pane)
		require.Zero(t, code, out)
		tools := st.mcpIn(master)
		send := func(body string) {
			t.Helper()
			r := calls(t, tools, "send_message", map[string]any{"computer": "local", "session_id": "codex", "message": body})
			require.False(t, r.IsError, textOfResult(r))
		}
		header := func(text string) bool { return strings.HasPrefix(text, "AI[local:") }

		// The pane. And the trap works: a shell that runs the typed text falls into it.
		send("touch " + trap)
		worker.gets(t, "touch "+trap)
		typed := worker.received()[0]
		require.True(t, header(typed), typed)
		_ = exec.Command("sh", "-c", typed).Run()
		require.FileExists(t, trap)
		require.NoError(t, os.Remove(trap))

		// An agent's hook gets the text as its person's prompt.
		hook := exec.Command(thisProgram(), "hook", "claude", "UserPromptSubmit")
		prompt, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "prompt": typed})
		require.NoError(t, err)
		hook.Env, hook.Stdin = st.environ(), strings.NewReader(string(prompt))
		require.NoError(t, hook.Run())

		// A message held for approval passes through the notice and its command, the editor and the popup.
		send("touch " + trap + " ASK")
		held := st.toDecide()
		tmuxtest.WaitFor(t, "the command of notices", func() bool { data, _ := os.ReadFile(told); return len(data) > 0 })
		shell := st.shell()
		st.Run("select-window", "-t", shell)
		st.Run("send-keys", "-t", shell, "-l", fmt.Sprintf("EDITOR=%s %s inbox edit %s --server=%s; echo exit $?", editor, thisProgram(), held.Delivery.Short(), st.Socket))
		st.Run("send-keys", "-t", shell, "Enter")
		st.WaitForText(shell, "[y/N]")
		st.Run("send-keys", "-t", shell, "y")
		worker.gets(t, "ASK edited")
		last := worker.received()[len(worker.received())-1]
		assert.True(t, header(last), last)
		data, err := os.ReadFile(edited)
		require.NoError(t, err)
		assert.Contains(t, string(data), "touch "+trap)
		me.types(thisProgram() + " ui log")
		me.press("Enter")
		me.sees("touch " + trap[:4])
		me.press("q")

		// Before a waiting message can be typed, a shell has replaced the agent in the pane.
		st.Run("copy-mode", "-t", worker.pane)
		send("touch " + trap + " late")
		tmuxtest.WaitFor(t, "it waits", func() bool { return len(st.held()) == 1 })
		require.NoError(t, persona.Control(worker.control, ":exit"))
		tmuxtest.WaitFor(t, "its end", func() bool {
			return strings.TrimSpace(st.Run("display-message", "-p", "-t", worker.pane, "#{pane_current_command}")) == "sh"
		})
		st.Run("send-keys", "-t", worker.pane, "-X", "cancel")
		tmuxtest.WaitFor(t, "nothing waits for it", func() bool { return len(st.held()) == 0 })
		assert.NotContains(t, st.Run("capture-pane", "-p", "-S", "-", "-t", worker.pane), "late")

		out, code = st.intercom("log", "--notices")
		require.Zero(t, code, out)
		out, code = st.intercom("down")
		require.Zero(t, code, out)
		assert.NoFileExists(t, trap)
	})
}
