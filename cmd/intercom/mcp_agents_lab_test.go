package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A real Claude Code hands a task to a real Codex, by its own MCP client alone: it starts it and sends
// it more. What becomes of that comes back into its composer, which it never interrupts, and in which
// a person's draft is left alone. A check of a worker that is at work is answered from what is seen.
func TestLab_M4_C38_aRealAgentDelegates(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Claude, labtest.Codex)
	all := tmuxtest.Versions(t)
	st := &labStage{newStage(t, all[len(all)-1]), lab}
	st.Run("set-option", "-t", "base:", "default-size", "120x40")
	codex := lab.Start(st.Server, labtest.Codex) // writes its home, and how it is started
	codex.Stop()
	project := codex.Work
	st.configures(fmt.Sprintf("intercom.configure { sessions = { allow = { 'codex' }, roots = { %q } }, profiles = { codex = { start = { %q } } } }\n", project, filepath.Join(codex.Dir, "start")))
	server := filepath.Join(st.run, "server")
	tmuxtest.Program(t, server, fmt.Sprintf("#!/bin/sh\nPATH=%s:$PATH INTERCOM_TEST_MAIN=1 exec %s mcp\n", st.bin, thisProgram()))
	stalls := false
	lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		if x.Side != "" || x.Agent != codex.Name {
			return labtest.Reply{}, false
		}
		return labtest.Reply{Text: fmt.Sprintf("There are %d rows.", 40+len(x.User)), Stall: stalls}, true
	})
	st.load()
	claude := &labAgent{lab.Start(st.Server, labtest.Claude, labtest.InShell(), labtest.Configured(func(a *labtest.Agent) {
		require.NoError(t, a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(settings map[string]any) {
			settings["mcpServers"] = map[string]any{"intercom": map[string]any{"type": "stdio", "command": server, "args": []string{}, "env": map[string]any{}}}
		}))
		require.NoError(t, a.EditJSON(filepath.Join(a.Home, ".claude", "settings.json"), func(settings map[string]any) {
			settings["permissions"] = map[string]any{"defaultMode": "default", "allow": []string{"mcp__intercom"}}
		}))
	})), st}
	// calls has Claude's model call a tool, and returns what that said. What a tool says comes in an
	// exchange of its own, in which its user says nothing.
	answers := func() (all []string) {
		for _, x := range claude.Conversation() {
			for _, r := range x.Results {
				if x.Over {
					all = append(all, r.Text)
				}
			}
		}
		return all
	}
	calls := func(tool string, arguments map[string]any) string {
		t.Helper()
		text, err := json.Marshal(arguments)
		require.NoError(t, err)
		n := len(answers())
		claude.Prompt("[[tool mcp__intercom__" + tool + " " + string(text) + "]]")
		st.until(tool+" has answered", func() bool { return len(answers()) > n })
		claude.WaitForIdle()
		return answers()[n]
	}
	told := func(times int, what ...string) {
		t.Helper()
		st.until("Claude is told "+what[0], func() bool {
			n := 0
			for _, text := range claude.Received() {
				if !slices.ContainsFunc(what, func(one string) bool { return !strings.Contains(text, one) }) {
					n++
				}
			}
			return n >= times
		})
	}

	// It starts a worker, which answers; it is told so.
	text := calls("start_session", map[string]any{"computer": "local", "project_dir": project, "title": "Worker Task", "message": "count the rows", "agent": "codex"})
	var worker delegated
	require.NoError(t, json.Unmarshal([]byte(text), &worker), text)
	require.Equal(t, "started", worker.Status, text)
	id := string(worker.SessionID)
	st.until("Codex hears it", func() bool { return len(codex.Received()) == 1 })
	me := "AI[local:" + string(st.sessionIn(claude.Pane)) + "] | "
	assert.Equal(t, me+"count the rows", codex.Received()[0])
	stopped := fmt.Sprintf("AI[local:%s] | [notice] %q stopped: turn ended", id, "Worker Task")
	told(1, stopped)
	claude.WaitForIdle()
	one := map[string]any{"computer": "local", "session_id": id}
	assert.Contains(t, calls("get_session_data", one), "There are 41 rows.")

	// C38: a worker that is at work is not asked; what is seen of it is the answer.
	stalls = true
	one["message"] = "and the columns"
	calls("send_message", one)
	st.until("Codex is at work", func() bool { return len(codex.Received()) == 2 })
	one["message"] = "Status check: Are you still working on Worker Task?"
	text = calls("send_message", one)
	told(1, "[notice]", `"Worker Task" is working since`, "last words", "There are 41 rows.")
	assert.Len(t, codex.Received(), 2, "nothing is typed: %s", text)
	claude.WaitForIdle()

	// What comes while a person types waits until that is gone.
	const draft = "rm -rf what-I-have-not-sent"
	claude.Paste(draft)
	claude.WaitForText(draft)
	lab.Model.Release(codex.Name)
	st.until("the notice waits", func() bool { return len(st.held()) > 0 })
	assert.True(t, lab.Capture(claude.Agent).Contains(draft))
	claude.WaitForStill(labtest.Stillness)
	claude.Keys("C-u")
	told(2, stopped)
	claude.WaitForIdle()
	for _, x := range claude.Conversation() {
		assert.False(t, x.Cut, "no answer was cut off")
		assert.NotContains(t, strings.Join(x.User, "\n"), draft)
	}
}

// Helpers.

// configures writes init.lua.
func (st *stage) configures(text string) {
	st.t.Helper()
	config := st.paths().Config
	require.NoError(st.t, os.MkdirAll(config, 0o700))
	require.NoError(st.t, os.WriteFile(filepath.Join(config, "init.lua"), []byte(text), 0o600))
}

// sessionIn is the id of the session in a pane.
func (st *stage) sessionIn(pane string) string {
	st.t.Helper()
	for _, p := range st.status().Sessions {
		if p.Pane == pane {
			return string(p.ID)
		}
	}
	st.t.Fatalf("no session in %s", pane)
	return ""
}
