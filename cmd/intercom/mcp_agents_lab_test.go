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
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A real Claude Code hands a task to a real Codex through its own MCP client: it starts a session and sends it more. The results
// come back into its composer without interrupting an answer or touching a person's draft. A check of a worker at work is
// answered from what the sidecar sees.
func TestLab_M4_C38_aRealAgentDelegates(t *testing.T) {
	t.Parallel()
	st := newToolLab(t)
	lab, codex, project, claude := st.lab, st.codex, st.project, st.claude
	stalls := false
	lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
		if x.Side != "" || x.Agent != codex.Name {
			return labtest.Reply{}, false
		}
		return labtest.Reply{Text: fmt.Sprintf("There are %d rows.", 40+len(x.User)), Stall: stalls}, true
	})
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

	// Claude starts a worker, and is told when the worker has answered.
	text := st.calls("start_session", map[string]any{"computer": "local", "project_dir": project, "title": "Worker Task", "message": "count the rows", "agent": "codex"})
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
	assert.Contains(t, st.calls("get_session_data", one), "There are 41 rows.")

	// C38: nothing is typed into a worker at work; the check is answered from what is seen of it.
	stalls = true
	one["message"] = "and the columns"
	st.calls("send_message", one)
	st.until("Codex is at work", func() bool { return len(codex.Received()) == 2 })
	one["message"] = "Status check: Are you still working on Worker Task?"
	text = st.calls("send_message", one)
	told(1, "[notice]", `"Worker Task" is working since`, "last words", "There are 41 rows.")
	assert.Len(t, codex.Received(), 2, "nothing is typed: %s", text)
	claude.WaitForIdle()

	// A notice that arrives while a person types waits until the draft is gone.
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

// M7 with a real Claude Code and its own MCP client: what it may not start, end or read is refused or waits, and is logged. A
// start that waits happens once a person approves it by a key.
func TestLab_M7_whatARealAgentMay(t *testing.T) {
	t.Parallel()
	st := newToolLab(t)
	outside := filepath.Join(st.home, "outside")
	require.NoError(t, os.Mkdir(outside, 0o700))
	other := st.lab.Start(st.Server, labtest.Codex, labtest.InShell())
	out, code := st.intercom("adopt", other.Pane, "--name", "bob")
	require.Zero(t, code, out)
	panes := st.Run("list-panes", "-a", "-F", "#{pane_id}")
	trace := filepath.Join(st.home, "trace")
	start := func(agent, dir string) string {
		return st.calls("start_session", map[string]any{"computer": "local", "project_dir": dir, "title": "More", "message": "count the rows", "agent": agent})
	}
	assert.Contains(t, start("sh -c 'touch "+trace+"'", st.project), `"status":"error"`)
	for _, tool := range []string{"get_session_data", "end_session"} {
		assert.Contains(t, st.calls(tool, map[string]any{"computer": "local", "session_id": "bob"}), `"code":"refused"`, tool)
	}
	var held delegated
	text := start("codex", outside)
	require.NoError(t, json.Unmarshal([]byte(text), &held), text)
	require.Equal(t, "held", held.Status, text)

	logged := read(t, st.paths().Log)
	for _, said := range []string{"touch " + trace, outside, "read a session that it neither started", "end a session"} {
		assert.Contains(t, logged, said)
	}
	assert.Equal(t, panes, st.Run("list-panes", "-a", "-F", "#{pane_id}"), "nothing has started or ended")
	assert.NoFileExists(t, trace)

	shell := st.shell()
	st.Run("send-keys", "-l", "-t", shell, fmt.Sprintf("%s inbox approve %s --server=%s", thisProgram(), message.ID(held.Request).Short(), st.Socket))
	st.Run("send-keys", "-t", shell, "Enter")
	st.WaitForText(shell, "[y/N]")
	assert.Empty(t, st.codex.Received())
	st.Run("send-keys", "-t", shell, "y")
	st.until("Codex hears it", func() bool { return len(st.codex.Received()) == 1 })
	assert.Equal(t, "AI[local:"+st.sessionIn(st.claude.Pane)+"] | count the rows", st.codex.Received()[0])
}

// A session that Claude Code runs in the background belongs to no pane: neither to the one in which it was started, although its
// environment names that pane, nor to that of another Claude Code.
func TestLab_O5_aSessionInTheBackground(t *testing.T) {
	t.Parallel()
	st := newToolLab(t)
	bob := st.coder("codex")
	out, code := st.intercom("adopt", bob.pane, "--name", "bob")
	require.Zero(t, code, out)
	assert.Contains(t, st.calls("list_sessions", map[string]any{}), `"name":"claude"`)
	before := st.status().Sessions
	require.Len(t, before, 2)

	server := filepath.Join(st.run, "server") // a background session has no TMUX, so this names the sidecar's server
	tmuxtest.Program(t, server, strings.Replace(read(t, server), "PATH=", "INTERCOM_SERVER="+st.Socket+" PATH=", 1))
	start := strings.TrimRight(read(t, filepath.Join(st.claude.Dir, "start")), "\n")
	background := filepath.Join(st.claude.Dir, "background")
	tmuxtest.Program(t, background, start+` --bg '[[tool mcp__intercom__send_message {"computer":"local","session_id":"bob","message":"from the background"}]]'`+"\n")
	shell := st.shell()
	st.Run("send-keys", "-l", "-t", shell, background)
	st.Run("send-keys", "-t", shell, "Enter")
	st.until("its message waits for a person", func() bool { return len(st.held()) == 1 })
	held := st.held()[0]
	assert.Equal(t, "AI[local:unverified] |", held.Form.Head)
	assert.Equal(t, "from the background", held.Envelope.Body)
	after := st.status().Sessions
	require.Len(t, after, 2, "nobody is adopted by it")
	for i := range after {
		assert.Equal(t, before[i].ID, after[i].ID)
	}
	assert.Empty(t, bob.received())
}

// Helpers.

// toolLab has a real Claude Code whose MCP client has our tools, and a real Codex that it may start in one project.
type toolLab struct {
	*labStage
	claude  *labAgent
	codex   *labtest.Agent // tells how it is started
	project string
}

func newToolLab(t *testing.T) *toolLab {
	t.Helper()
	lab := labtest.New(t, labtest.Claude, labtest.Codex)
	st := &toolLab{labStage: newLabStage(t, lab)}
	st.codex = lab.Start(st.Server, labtest.Codex) // writes its home and start script
	st.codex.Stop()
	st.project = st.codex.Work
	st.configures("intercom.configure { " + startsCodex(st.codex) + " }\n")
	st.load()
	st.claude = st.claudeWithTools()
	return st
}

// newLabStage is a stage on the newest tmux, without the plugin.
func newLabStage(t *testing.T, lab *labtest.Lab) *labStage {
	t.Helper()
	all := tmuxtest.Versions(t)
	st := &labStage{newStage(t, all[len(all)-1]), lab}
	st.Run("set-option", "-t", "base:", "default-size", "120x40")
	return st
}

// startsCodex is the part of init.lua that lets Codex be started in the working directory of that one, by its start script.
func startsCodex(codex *labtest.Agent) string {
	return fmt.Sprintf("sessions = { allow = { 'codex' }, roots = { %q } }, profiles = { codex = { start = { %q } } }", codex.Work, filepath.Join(codex.Dir, "start"))
}

// claudeWithTools is a real Claude Code that has our tools and may use them.
func (st *labStage) claudeWithTools() *labAgent {
	st.t.Helper()
	server := filepath.Join(st.run, "server")
	tmuxtest.Program(st.t, server, fmt.Sprintf("#!/bin/sh\nPATH=%s:$PATH INTERCOM_TEST_MAIN=1 exec %s mcp\n", st.bin, thisProgram()))
	return &labAgent{st.lab.Start(st.Server, labtest.Claude, labtest.InShell(), labtest.Configured(func(a *labtest.Agent) {
		require.NoError(st.t, a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(settings map[string]any) {
			settings["mcpServers"] = map[string]any{"intercom": map[string]any{"type": "stdio", "command": server, "args": []string{}, "env": map[string]any{}}}
		}))
		require.NoError(st.t, a.EditJSON(filepath.Join(a.Home, ".claude", "settings.json"), func(settings map[string]any) {
			settings["permissions"] = map[string]any{"defaultMode": "default", "allow": []string{"mcp__intercom"}}
		}))
	})), st}
}

// answers are the results of Claude's tool calls. Each comes in an exchange of its own, without words of the user.
func (st *toolLab) answers() (all []string) {
	for _, x := range st.claude.Conversation() {
		for _, r := range x.Results {
			if x.Over {
				all = append(all, r.Text)
			}
		}
	}
	return all
}

// calls has Claude's model call a tool and returns the result.
func (st *toolLab) calls(tool string, arguments map[string]any) string {
	st.t.Helper()
	text, err := json.Marshal(arguments)
	require.NoError(st.t, err)
	n := len(st.answers())
	st.claude.Prompt("[[tool mcp__intercom__" + tool + " " + string(text) + "]]")
	st.until(tool+" has answered", func() bool { return len(st.answers()) > n })
	st.claude.WaitForIdle()
	return st.answers()[n]
}

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
