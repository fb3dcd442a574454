package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// An agent starts another one, talks with it, stops its notices and ends it, all by its tools. Without a setting in init.lua it
// may start one of its own kind in its own project.
func TestT22_T27_T29_C4_M7_anAgentDelegates(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	project, outside := st.project("project"), st.project("outside")
	sub := filepath.Join(project, "a b")
	require.NoError(t, os.Mkdir(sub, 0o700))
	st.startsClaudeBy(t)
	lead, other := st.coderIn("claude", project), st.coder("codex")
	out, code := st.intercom("adopt", other.pane, "--name", "bob")
	require.Zero(t, code, out)
	own := st.mcpIn(lead)

	// T27: title, directory, header and first message.
	var first delegated
	into(t, calls(t, own, "start_session", map[string]any{
		"computer": "local", "project_dir": sub, "title": "Worker Task", "message": "/next-work", "agent": "claude", "thinking_mode": "slow",
	}), &first)
	assert.Equal(t, "started", first.Status)
	assert.Equal(t, "local", first.Computer)
	assert.NotEmpty(t, first.MessageID)
	worker := st.started(t, first.SessionID)
	var sessions []api.Session
	into(t, calls(t, own, "list_sessions", nil), &sessions)
	row := sessions[slices.IndexFunc(sessions, func(s api.Session) bool { return s.ID == first.SessionID })]
	assert.Equal(t, []string{"Worker Task", "Worker-Task", "claude", "local"}, []string{row.Title, row.Name, row.Agent, row.Computer})
	me := row.Caller
	assert.Equal(t, sub, st.Run("display-message", "-p", "-t", worker.pane, "#{pane_current_path}"))
	worker.gets(t, "AI[local:"+me+"] | /next-work")

	// T29: the directory's other argument name, and no message, agent or thinking mode.
	var second delegated
	into(t, calls(t, own, "start_session", map[string]any{"computer": "local", "project_path": project, "title": "Quiet"}), &second)
	assert.Equal(t, "started", second.Status)
	assert.Empty(t, second.MessageID)
	quiet := st.started(t, second.SessionID)
	for _, wrong := range []map[string]any{
		{"computer": "local", "project_dir": project, "title": "x", "thinking_mode": "hardest"},
		{"computer": "mars", "project_dir": project, "title": "x"},
		{"computer": "local", "project_dir": "project", "title": "x"},
		{"computer": "local", "project_dir": filepath.Join(project, "none"), "title": "x"},
		{"computer": "local", "title": "x"},
	} {
		assert.NotEmpty(t, failureOf(t, calls(t, own, "start_session", wrong)).Hint, "%v", wrong)
	}

	// The session's words can be read, or only as many of the last characters as are asked for.
	var words api.SessionWords
	tmuxtest.WaitFor(t, "what was said", func() bool {
		into(t, calls(t, own, "get_session_data", map[string]any{"computer": "local", "session_id": string(first.SessionID)}), &words)
		return strings.Contains(words.Words, "/next-work") && len(words.Entries) > 1
	})
	into(t, calls(t, own, "get_session_data", map[string]any{"computer": "local", "session_id": "Worker-Task", "tail_chars": 7}), &words)
	assert.Len(t, []rune(words.Words), 7)
	assert.True(t, words.Truncated)

	// Direct: what one says is passed to the other until the link is closed.
	var link struct {
		Status string `json:"status"`
		Chat   string `json:"chat"`
	}
	tmuxtest.WaitFor(t, "it is told that the worker stopped", func() bool { return len(lead.received()) > 0 })
	into(t, calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": string(first.SessionID), "message": "let us talk", "direct": true}), &link)
	assert.NotEmpty(t, link.Chat)
	worker.gets(t, "let us talk")
	var chats []map[string]any
	into(t, calls(t, own, "list_chats", nil), &chats)
	assert.Len(t, chats, 1)
	into(t, calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": string(first.SessionID), "message": "", "close_link": true}), &link)
	assert.Equal(t, "closed", link.Status)
	into(t, calls(t, own, "list_chats", nil), &chats)
	assert.NotContains(t, fmt.Sprint(chats), "running")

	// T22: notices stop; a second stop is an error.
	stop := map[string]any{"computer": "local", "session_id": string(first.SessionID)}
	assert.Contains(t, textOfResult(calls(t, own, "stop_notifications", stop)), `"status":"stopped"`)
	assert.NotEmpty(t, failureOf(t, calls(t, own, "stop_notifications", stop)).Error)

	// M7: anything more is held or refused, and nothing of it runs.
	trace := filepath.Join(st.home, "trace")
	for _, program := range []string{"sh -c 'touch " + trace + "'", "/bin/sh -c 'touch " + trace + "'", "../../bin/sh", "-c"} {
		failureOf(t, calls(t, own, "start_session", map[string]any{"computer": "local", "project_dir": project, "title": "x", "agent": program}))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(project, "link")))
	before := len(st.Run("list-panes", "-a", "-F", "#{pane_id}"))
	for _, much := range []map[string]any{
		{"project_dir": outside},
		{"project_dir": filepath.Join(project, "link")},
		{"project_dir": project + "/../outside"},
		{"project_dir": project, "agent": "/bin/sh"},
	} {
		much["computer"], much["title"], much["message"] = "local", "more", "touch "+trace
		var held delegated
		into(t, calls(t, own, "start_session", much), &held)
		assert.Equal(t, "held", held.Status, "%v", much)
		assert.NotEmpty(t, held.Request)
		assert.NotEmpty(t, held.Hint)
		assert.Empty(t, held.SessionID)
	}
	for _, tool := range []string{"end_session", "get_session_data"} {
		assert.Equal(t, "refused", failureOf(t, calls(t, own, tool, map[string]any{"computer": "local", "session_id": "bob"})).Code, tool)
	}
	// Nor can it read, empty or write to an inbox of a team that it is not in.
	inbox := filepath.Join(outside, ".team", "inbox", "zed.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Dir(inbox), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, ".team", "config.json"), []byte(`{"members":[{"name":"zed","role":"dev","status":"idle"}]}`), 0o600))
	line := `{"type": "message", "from": "lead", "content": "not for you", "timestamp": 1.0}` + "\n"
	require.NoError(t, os.WriteFile(inbox, []byte(line), 0o600))
	for _, reach := range []struct {
		tool string
		with map[string]any
	}{
		{"team_inbox", map[string]any{"name": "zed"}},
		{"team_inbox", map[string]any{"name": "zed", "peek": true}},
		{"list_teammates", map[string]any{}},
		{"team_send", map[string]any{"to": "zed", "message": "for zed"}},
		{"team_broadcast", map[string]any{"message": "for all"}},
	} {
		for _, dir := range []string{outside, filepath.Join(project, "link")} {
			reach.with["project_dir"] = dir
			assert.Contains(t, failureOf(t, calls(t, own, reach.tool, reach.with)).Error, "the caller is not in it", reach.tool)
		}
	}
	assert.Equal(t, line, read(t, inbox))
	assert.Len(t, st.Run("list-panes", "-a", "-F", "#{pane_id}"), before)
	assert.NoFileExists(t, trace)
	assert.Len(t, slices.DeleteFunc(st.held(), func(h api.Held) bool { return !h.Decision }), 4)
	told := read(t, st.paths().Log)
	for _, said := range []string{outside, "sh -c 'touch", "/bin/sh", "bob"} {
		assert.Contains(t, told, said, "it is logged")
	}

	// It ends the sessions that it started, and their panes are gone; a second end is an error.
	for _, one := range []*coder{worker, quiet} {
		id := string(first.SessionID)
		if one == quiet {
			id = string(second.SessionID)
		}
		assert.Contains(t, textOfResult(calls(t, own, "end_session", map[string]any{"computer": "local", "session_id": id})), `"status":"ended"`)
		assert.NotContains(t, strings.Fields(st.Run("list-panes", "-a", "-F", "#{pane_id}")), one.pane)
		failureOf(t, calls(t, own, "end_session", map[string]any{"computer": "local", "session_id": id}))
	}
}

// Both protocols of the lesson work by the tools of each side.
func TestC21_teamByItsTools(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	project := st.project("project")
	st.startsClaudeBy(t)
	lead := st.coderIn("claude", project)
	leads := st.mcpIn(lead, "--role", "lead")
	spawned := calls(t, leads, "spawn_teammate", map[string]any{"name": "alice", "role": "frontend dev", "prompt": "build a dashboard", "project_dir": project})
	require.False(t, spawned.IsError, textOfResult(spawned))
	assert.Equal(t, "Spawned 'alice' (role: frontend dev)", textOfResult(spawned))
	all := st.status().Sessions
	i := slices.IndexFunc(all, func(p message.Peer) bool { return p.Name == "alice" })
	require.GreaterOrEqual(t, i, 0)
	alice := st.started(t, all[i].ID)
	alice.kind = "alice" // names its pipes
	alice.gets(t, "build a dashboard")
	works := st.mcpIn(alice, "--role", "teammate")

	submitted := textOfResult(calls(t, works, "plan_approval", map[string]any{"plan": "draw it"}))
	plan := idIn(t, `^Plan submitted \(request_id=([0-9a-f]{8})\)\. Waiting for lead approval\.$`, submitted)
	assert.True(t, calls(t, works, "plan_approval", map[string]any{"request_id": plan, "approve": true}).IsError, "it does not review its own")
	assert.Equal(t, "Plan rejected for 'alice'", textOfResult(calls(t, leads, "plan_approval", map[string]any{"request_id": plan, "approve": false, "feedback": "twice"})))
	assert.True(t, calls(t, leads, "plan_approval", map[string]any{"request_id": plan, "approve": true}).IsError, "an answer is final")
	unknown := calls(t, leads, "plan_approval", map[string]any{"request_id": "zzz", "approve": true})
	assert.True(t, unknown.IsError)
	assert.Contains(t, textOfResult(unknown), "Error: Unknown plan request_id 'zzz'")
	plan = idIn(t, `request_id=([0-9a-f]{8})`, textOfResult(calls(t, works, "plan_approval", map[string]any{"plan": "draw it twice"})))
	assert.Equal(t, "Plan approved for 'alice'", textOfResult(calls(t, leads, "plan_approval", map[string]any{"request_id": plan, "approve": true})))

	// A message to the team comes from its caller, who cannot send as another member.
	calls(t, works, "team_send", map[string]any{"project_dir": project, "to": "lead", "message": "it is drawn"})
	lead.gets(t, "AI[local:"+string(all[i].ID)+"] | it is drawn")
	for _, tool := range []string{"team_send", "team_broadcast"} {
		as := map[string]any{"project_dir": project, "to": "lead", "message": "as the lead", "from": "lead"}
		assert.Contains(t, failureOf(t, calls(t, works, tool, as)).Error, `the caller is "alice" in this team`, tool)
	}

	ask := func() string {
		return idIn(t, `^Shutdown request ([0-9a-f]{8}) sent to 'alice' \(status: pending\)$`, textOfResult(calls(t, leads, "shutdown_request", map[string]any{"teammate": "alice"})))
	}
	status := func(request string) string {
		return textOfResult(calls(t, leads, "shutdown_response", map[string]any{"request_id": request}))
	}
	request := ask()
	assert.JSONEq(t, `{"target":"alice","status":"pending"}`, status(request))
	assert.Equal(t, "Shutdown rejected", textOfResult(calls(t, works, "shutdown_response", map[string]any{"request_id": request, "approve": false, "reason": "not yet"})))
	assert.JSONEq(t, `{"target":"alice","status":"rejected","feedback":"not yet"}`, status(request))
	request = ask()
	assert.Equal(t, "Shutdown approved", textOfResult(calls(t, works, "shutdown_response", map[string]any{"request_id": request, "approve": true})))
	assert.JSONEq(t, `{"target":"alice","status":"approved"}`, status(request))
	assert.JSONEq(t, `{"error":"not found"}`, status("00000000"))
	tmuxtest.WaitFor(t, "alice is gone", func() bool {
		return !slices.Contains(strings.Fields(st.Run("list-panes", "-a", "-F", "#{pane_id}")), alice.pane)
	})
}

// Helpers.

// project makes a working directory.
func (st *stage) project(name string) string {
	dir := filepath.Join(st.home, name)
	require.NoError(st.t, os.Mkdir(dir, 0o700))
	return dir
}

// coderIn is like coder, in a working directory.
func (st *stage) coderIn(kind, dir string) *coder {
	a := st.coderOf(kind)
	a.pane = st.NewPane("sh", append([]string{"-c", `cd "$0" && exec "$@"`, dir}, a.command()...)...)
	tmuxtest.WaitFor(st.t, kind+" reads keys", func() bool { return len(a.records(persona.EventReady)) > 0 })
	return a
}

// startsClaudeBy has new sessions of claude run a stand-in whose log and control files are named by its pane.
func (st *stage) startsClaudeBy(t *testing.T, flags ...string) {
	t.Helper()
	program := filepath.Join(st.home, "starts-claude")
	of := st.home + "/worker$TMUX_PANE"
	tmuxtest.Program(t, program, fmt.Sprintf("#!/bin/sh\nexec env HOME=%s %s/claude claude --name worker --log %s.jsonl --control %s.ctl --think 20ms %s\n", st.home, st.home, of, of, strings.Join(flags, " ")))
	config := st.paths().Config
	require.NoError(t, os.MkdirAll(config, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(config, "init.lua"), fmt.Appendf(nil, "intercom.configure { profiles = { claude = { start = { %q } } } }\n", program), 0o600))
}

// started is the stand-in of a session that was started.
func (st *stage) started(t *testing.T, id message.ID) *coder {
	t.Helper()
	all := st.status().Sessions
	i := slices.IndexFunc(all, func(p message.Peer) bool { return p.ID == id })
	require.GreaterOrEqual(t, i, 0, "%s", id)
	of := filepath.Join(st.home, "worker"+all[i].Pane)
	a := &coder{st: st, kind: "worker", pane: all[i].Pane, log: of + ".jsonl", control: of + ".ctl"}
	tmuxtest.WaitFor(t, "it reads keys", func() bool { return len(a.records(persona.EventReady)) > 0 })
	return a
}

// delegated is the result of start_session.
type delegated struct {
	Status, Computer, Hint string
	SessionID              message.ID `json:"session_id"`
	MessageID              message.ID `json:"message_id"`
	Request                message.ID
}

// into decodes a result that must be no error.
func into(t *testing.T, r *sdk.CallToolResult, value any) {
	t.Helper()
	require.False(t, r.IsError, textOfResult(r))
	require.NoError(t, json.Unmarshal([]byte(textOfResult(r)), value), textOfResult(r))
}

// failureOf is the error that a result must contain.
func failureOf(t *testing.T, r *sdk.CallToolResult) (f struct{ Status, Error, Hint, Code string }) {
	t.Helper()
	require.True(t, r.IsError, textOfResult(r))
	require.NoError(t, json.Unmarshal([]byte(textOfResult(r)), &f))
	assert.Equal(t, "error", f.Status)
	return f
}

func idIn(t *testing.T, pattern, text string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindStringSubmatch(text)
	require.Len(t, found, 2, text)
	return found[1]
}
