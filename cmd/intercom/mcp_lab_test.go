package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The official clients, started by an agent as it starts its servers, list the tools and call each of them: the TypeScript SDK
// with either protocol revision, and the inspector.
func TestLab_M1_M6_T37_officialClients(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile("testdata/mcp/package-lock.json")
	require.NoError(t, err)
	labtest.New(t)
	installed, err := labtest.MCPClients(lock)
	if err != nil {
		t.Skipf("the official MCP clients are not at hand (.ci/agents mcp-clients installs them, with npm): %v", err)
	}
	for name, connect := range map[string]func(*officialStage) officialClient{
		"2025-11-25": func(st *officialStage) officialClient { return st.typescript("2025-11-25") },
		"2026-07-28": func(st *officialStage) officialClient { return st.typescript("2026-07-28") },
		"inspector":  func(st *officialStage) officialClient { return st.inspector() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := &officialStage{stage: newStage(t, tmuxtest.Versions(t)[0]), modules: filepath.Join(installed, "node_modules")}
			st.drivesAllTools(t, connect)
		})
	}
}

// officialStage has an agent that starts the official clients.
type officialStage struct {
	*stage
	modules string
	lead    *coder
	scripts int
}

// officialClient lists tools or calls one.
type officialClient interface {
	list() []byte
	call(tool string, arguments map[string]any) []byte
}

func (st *officialStage) drivesAllTools(t *testing.T, connect func(*officialStage) officialClient) {
	t.Helper()
	project, other := st.project("project"), st.project("other")
	for _, dir := range []string{project, other} {
		out, code := st.intercom("aea", "install", "--repository", dir)
		require.Zero(t, code, out)
	}
	st.startsClaudeBy(t)
	st.lead = st.coderIn("claude", project)
	st.lead.do(":reply none") // so that the chat does not reach its limit before it is stopped
	client := connect(st)

	var listed sdk.ListToolsResult
	require.NoError(t, json.Unmarshal(client.list(), &listed))
	uncalled := map[string]bool{}
	for _, tool := range listed.Tools {
		uncalled[tool.Name] = true
	}
	for _, tool := range slices.Concat(documentTools, moreTools) {
		name, _, _ := strings.Cut(tool, "(")
		assert.True(t, uncalled[name], name)
	}

	say := func(tool string, arguments map[string]any) (string, bool) {
		t.Helper()
		delete(uncalled, tool)
		var r struct {
			Content []struct{ Text string }
			IsError bool
		}
		answer := client.call(tool, arguments)
		require.NoError(t, json.Unmarshal(answer, &r), "%s: %s", tool, answer)
		require.NotEmpty(t, r.Content, "%s: %s", tool, answer)
		return r.Content[0].Text, r.IsError
	}
	does := func(tool string, arguments map[string]any, says string) string {
		t.Helper()
		text, failed := say(tool, arguments)
		assert.False(t, failed, "%s: %s", tool, text)
		assert.Contains(t, text, says, tool)
		return text
	}
	refuses := func(tool string, arguments map[string]any, says string) {
		t.Helper()
		text, failed := say(tool, arguments)
		assert.True(t, failed, "%s: %s", tool, text)
		assert.Contains(t, text, says, tool)
	}

	does("list_computers", nil, `"name":"local"`)
	var worker delegated
	require.NoError(t, json.Unmarshal([]byte(does("start_session", map[string]any{
		"computer": "local", "project_dir": project, "title": "Worker Task", "message": "/next-work",
	}, `"status":"started"`)), &worker))
	one := map[string]any{"computer": "local", "session_id": string(worker.SessionID)}
	with := func(more map[string]any) map[string]any {
		all := maps.Clone(one)
		maps.Copy(all, more)
		return all
	}
	st.started(t, worker.SessionID).gets(t, "/next-work")
	does("list_sessions", nil, `"title":"Worker Task"`)
	until(t, func() bool { // the transcript is read a moment after it was written
		text, failed := say("get_session_data", with(map[string]any{"tail_chars": 4000}))
		return !failed && strings.Contains(text, "/next-work")
	})
	does("send_message", with(map[string]any{"message": "12345678"}), `"message_id"`)
	does("chat_start", map[string]any{"session_id": string(worker.SessionID), "message": "let us talk", "name": "pair", "turns": 500}, `"chat"`)
	does("list_chats", nil, `"pair"`)
	does("chat_stop", map[string]any{"chat": "pair"}, `"pair"`)
	does("check_messages", map[string]any{"wait_s": 0}, `"messages"`)
	refuses("reply", map[string]any{"message_id": string(worker.MessageID), "message": "it was mine"}, `"hint"`)
	does("stop_notifications", one, `"status":"stopped"`)
	does("end_session", one, `"status":"ended"`)

	assert.False(t, slices.ContainsFunc(st.status().Sessions, func(p message.Peer) bool { return p.ID == worker.SessionID }), "it has ended")

	does("spawn_teammate", map[string]any{"name": "alice", "role": "frontend dev", "prompt": "build a dashboard", "project_dir": project}, "Spawned 'alice' (role: frontend dev)")
	does("list_teammates", map[string]any{"project_dir": project}, "alice")
	does("team_send", map[string]any{"to": "alice", "message": "one", "project_dir": project}, "alice")
	does("team_broadcast", map[string]any{"message": "two", "project_dir": project}, "1")
	does("team_inbox", map[string]any{"name": "lead", "peek": true, "project_dir": project}, "[")
	request := idIn(t, `request ([0-9a-f]{8}) sent`, does("shutdown_request", map[string]any{"teammate": "alice"}, "(status: pending)"))
	does("shutdown_response", map[string]any{"request_id": request}, `"target":"alice"`)
	refuses("plan_approval", map[string]any{"request_id": "zzz", "approve": true}, "Error: Unknown plan request_id 'zzz'")

	does("aea_send", map[string]any{
		"to": "claude-other", "to_path": other, "type": "question", "subject": "Rows", "message": "how many rows fit", "conversation_id": "rows", "repository": project,
	}, `"message_id"`)
	does("aea_check", map[string]any{"repository": project}, `"messages"`)
	until(t, func() bool { // the answer says that no agent works there
		text, failed := say("aea_list", map[string]any{"repository": project})
		return !failed && strings.Contains(text, "Re: Rows")
	})
	does("aea_thread", map[string]any{"conversation_id": "rows", "repository": project}, "Rows")
	assert.Empty(t, uncalled, "each tool is called")
}

// runs has the agent run a script as it runs its servers. $SERVER in the script is the program that serves MCP.
func (st *officialStage) runs(script string) {
	st.t.Helper()
	st.scripts++
	file := filepath.Join(st.run, fmt.Sprint("script", st.scripts))
	tmuxtest.Program(st.t, file+".server", fmt.Sprintf("#!/bin/sh\n. %s.env\nINTERCOM_TEST_MAIN=1 exec %s mcp\n", file, thisProgram()))
	tmuxtest.Program(st.t, file, "#!/bin/sh\nexport -p >"+file+".env\nSERVER="+file+".server\n"+script+"\n")
	st.lead.do(":run " + file)
}

// typescript is the official client with a protocol revision.
func (st *officialStage) typescript(revision string) officialClient {
	st.t.Helper()
	program, err := os.ReadFile("testdata/mcp/client.mjs")
	require.NoError(st.t, err)
	file := filepath.Join(st.run, "client.mjs") // modules are looked for beside this file
	require.NoError(st.t, os.WriteFile(file, program, 0o600))
	require.NoError(st.t, os.Symlink(st.modules, filepath.Join(st.run, "node_modules")))
	for _, pipe := range []string{".in", ".out"} {
		require.NoError(st.t, syscall.Mkfifo(file+pipe, 0o600))
	}
	node, err := exec.LookPath("node")
	require.NoError(st.t, err)
	st.runs(fmt.Sprintf("exec %[1]s %[2]s %[3]s $SERVER <%[2]s.in >%[2]s.out 2>%[2]s.err", node, file, revision))
	in, err := os.OpenFile(file+".in", os.O_WRONLY, 0)
	require.NoError(st.t, err)
	out, err := os.Open(file + ".out")
	require.NoError(st.t, err)
	st.t.Cleanup(func() {
		_ = in.Close()
		rest, _ := bufio.NewReader(out).ReadString(0)
		assert.Empty(st.t, rest, "nothing comes unasked")
		_ = out.Close()
	})
	c := &typescriptClient{st: st, in: in, out: bufio.NewReader(out), complaints: file + ".err"}
	assert.JSONEq(st.t, `{"revision":"`+revision+`"}`, string(c.line()))
	return c
}

type typescriptClient struct {
	st         *officialStage
	in         *os.File
	out        *bufio.Reader
	complaints string
}

func (c *typescriptClient) list() []byte { return c.asks(struct{}{}) }

func (c *typescriptClient) call(tool string, arguments map[string]any) []byte {
	return c.asks(map[string]any{"tool": tool, "arguments": arguments})
}

func (c *typescriptClient) asks(question any) []byte {
	c.st.t.Helper()
	require.NoError(c.st.t, json.NewEncoder(c.in).Encode(question))
	return c.line()
}

func (c *typescriptClient) line() []byte {
	c.st.t.Helper()
	line, err := c.out.ReadBytes('\n')
	told, _ := os.ReadFile(c.complaints)
	require.NoError(c.st.t, err, "%s", told)
	return line
}

// inspector is the official inspector, one process for each call.
func (st *officialStage) inspector() officialClient { return &inspector{st: st} }

type inspector struct {
	st    *officialStage
	calls int
}

func (c *inspector) list() []byte { return c.run("tools/list --strict") } // --strict: it finds no fault in the schemas

func (c *inspector) call(tool string, arguments map[string]any) []byte {
	words := "tools/call --tool-name " + tool
	for _, name := range slices.Sorted(maps.Keys(arguments)) {
		value, err := json.Marshal(arguments[name])
		require.NoError(c.st.t, err)
		words += " --tool-arg '" + name + "=" + string(value) + "'"
	}
	return c.run(words)
}

func (c *inspector) run(words string) []byte {
	c.st.t.Helper()
	c.calls++
	out := filepath.Join(c.st.run, fmt.Sprint("inspected", c.calls))
	node, err := exec.LookPath("node")
	require.NoError(c.st.t, err)
	c.st.runs(fmt.Sprintf("%[1]s %[2]s --cli $SERVER --method %[3]s >%[4]s.out 2>%[4]s.err\n: >%[4]s", node, filepath.Join(c.st.modules, ".bin", "mcp-inspector"), words, out))
	tmuxtest.WaitFor(c.st.t, words, func() bool { _, err := os.Stat(out); return err == nil })
	told, err := os.ReadFile(out + ".err")
	require.NoError(c.st.t, err)
	if bytes.Contains(told, []byte("Warning: tool")) {
		c.st.t.Errorf("%s: %s", words, told)
	}
	said, err := os.ReadFile(out + ".out")
	require.NoError(c.st.t, err)
	require.NotEmpty(c.st.t, said, "%s: %s", words, told)
	return said
}
