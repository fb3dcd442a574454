package main

import (
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

// The document's flow "Delegating a Task", one paragraph for each step.
func TestT39_delegatingATask(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.startsClaudeBy(t, "--turn", "'say looking for the next task | hold | say the task is done'")

	// 1: the master has a task for another.
	project := st.project("project")
	master := st.coderIn("claude", project)
	tools := st.mcpIn(master)

	// 2: start_session returns the session's id.
	var begun delegated
	into(t, calls(t, tools, "start_session", map[string]any{"computer": "local", "project_dir": project, "title": "Worker Task", "message": "/next-work"}), &begun)
	require.Equal(t, "started", begun.Status)
	me := masterOf(t, tools, begun.SessionID)
	worker := st.started(t, begun.SessionID)
	session := map[string]any{"computer": "local", "session_id": string(begun.SessionID)}

	// 3: the worker receives the command once, with the header of its master.
	worker.gets(t, "/next-work")
	assert.Equal(t, []string{"AI[local:" + me + "] | /next-work"}, worker.received())

	// 4: the worker works on its own.
	tmuxtest.WaitFor(t, "it works", func() bool { return sessionsOf(t, tools)["Worker-Task"].State == message.Working })
	assert.Empty(t, master.received(), "nothing is told before its end")

	// 5: the master reads the worker's words meanwhile; nothing is typed for that.
	keys, read := worker.keys(), api.SessionWords{}
	tmuxtest.WaitFor(t, "its words", func() bool {
		into(t, calls(t, tools, "get_session_data", session), &read)
		return strings.Contains(read.Words, "looking for the next task")
	})
	assert.Equal(t, keys, worker.keys())

	// 6: the worker has finished, and stops.
	worker.do(":go")

	// 7: the master is told once, and of nothing else.
	notice := `AI[local:` + string(begun.SessionID) + `] | [notice] "Worker Task" stopped: turn ended`
	master.gets(t, notice)
	tmuxtest.WaitFor(t, "it rests", func() bool { return sessionsOf(t, tools)["Worker-Task"].State != message.Working })
	assert.Equal(t, []string{notice}, master.received())
	into(t, calls(t, tools, "get_session_data", session), &read)
	assert.Contains(t, read.Words, "the task is done")
}

// The document's flow "Long-Running Task with Health Check", with both ends on this computer.
func TestT20_longRunningTaskWithHealthCheck(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.startsClaudeBy(t, "--turn", "'say step 3 of 5 | hold | say the task is done'")
	project := st.project("project")
	master := st.coderIn("claude", project)
	tools := st.mcpIn(master)

	// 1, 2: a long task, and a worker that works on it.
	var begun delegated
	into(t, calls(t, tools, "start_session", map[string]any{"computer": "local", "project_dir": project, "title": "X", "message": "a long task"}), &begun)
	worker := st.started(t, begun.SessionID)
	worker.gets(t, "a long task")
	me := masterOf(t, tools, begun.SessionID)
	own := st.mcpIn(worker)
	tmuxtest.WaitFor(t, "it works", func() bool { return sessionsOf(t, tools)["X"].State == message.Working })

	// 3, 4: the check. Nothing is typed into an agent at work: the master is answered from what the sidecar sees of it, and the
	// check itself waits.
	check := "Status check: Are you still working on X?"
	sent := calls(t, tools, "send_message", map[string]any{
		"computer": "local", "session_id": string(begun.SessionID), "message": "AI[local:" + me + "] | " + check,
	})
	require.False(t, sent.IsError, textOfResult(sent))
	master.gets(t, `[notice] "X" is working since`)
	assert.Len(t, worker.received(), 1)

	// 5: the worker reports its progress.
	progress := "AI[local:" + string(begun.SessionID) + "] | Progress update: Currently at step 3 of 5, ETA 5 more minutes."
	said := calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": me, "message": progress})
	require.False(t, said.IsError, textOfResult(said))
	master.gets(t, progress)
	assert.Contains(t, master.received(), progress, "one header")

	// 6: the worker goes on as before, in the same process.
	assert.Len(t, worker.records(persona.EventReady), 1)
	assert.Equal(t, message.Working, sessionsOf(t, tools)["X"].State)

	// 7: the master is told of the end, and the check is then typed with one header.
	worker.do(":go")
	worker.gets(t, check)
	assert.True(t, strings.HasPrefix(worker.received()[1], "AI[local:"+me+"] | "+check), worker.received()[1])
	master.gets(t, `"X" stopped: turn ended`)
}

// sessionsOf are the sessions of list_sessions, by name.
func sessionsOf(t *testing.T, tools *sdk.ClientSession) map[string]api.Session {
	t.Helper()
	var all []api.Session
	into(t, calls(t, tools, "list_sessions", nil), &all)
	named := map[string]api.Session{}
	for _, one := range all {
		named[one.Name] = one
	}
	return named
}

// masterOf is the id of the session that started the worker.
func masterOf(t *testing.T, tools *sdk.ClientSession, worker message.ID) string {
	t.Helper()
	for _, one := range sessionsOf(t, tools) {
		if one.ID == worker {
			return one.Caller
		}
	}
	t.Fatalf("no session %s", worker)
	return ""
}
