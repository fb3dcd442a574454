package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A real process offers the tools of the collaboration document on its standard streams.
func TestT37_toolsOfTheDocument(t *testing.T) {
	t.Parallel()
	listed := toolsOf(t, "--tool-prefix", "teleclaude__")
	for name, required := range map[string][]string{
		"start_session": {"computer", "project_dir", "title"}, "send_message": {"computer", "session_id", "message"},
		"get_session_data": {"computer", "session_id"}, "stop_notifications": {"computer", "session_id"}, "end_session": {"computer", "session_id"},
		"list_sessions": nil, "list_computers": nil,
	} {
		tool := listed["teleclaude__"+name]
		if assert.NotNil(t, tool, name) {
			assert.ElementsMatch(t, required, requiredOf(tool), name)
		}
	}
	for name, more := range map[string][]string{
		"start_session": {"project_path", "message", "agent", "thinking_mode"}, "send_message": {"direct", "close_link"},
		"get_session_data": {"tail_chars", "since_timestamp", "until_timestamp"},
	} {
		for _, argument := range more {
			assert.Contains(t, propertiesOf(listed["teleclaude__"+name]), argument, name)
		}
	}
	plain := toolsOf(t)
	for name, tool := range plain {
		assert.NotContains(t, name, "teleclaude")
		assert.NotNil(t, listed["teleclaude__"+name], name)
		assert.Greater(t, len(tool.Description), 20, "M3: %s says what it does", name)
		assert.LessOrEqual(t, len("mcp__intercom__teleclaude__"+name), 64, "%s: no client takes more", name)
		for argument, of := range propertiesOf(tool) {
			kind, _ := of.(map[string]any)["type"].(string)
			assert.Contains(t, []string{"string", "boolean", "integer", "number"}, kind, "%s of %s: a plain type, since Gemini knows no other", argument, name)
		}
	}
	for _, name := range []string{"check_messages", "reply", "chat_start", "chat_stop", "shutdown_request", "shutdown_response", "plan_approval", "spawn_teammate", "aea_send", "aea_check"} {
		assert.NotNil(t, plain[name], name)
	}
}

// The two tools of the team lesson that both roles have take different arguments for each role.
func TestP21_P22_toolsOfTheLesson(t *testing.T) {
	t.Parallel()
	teammate := toolsOf(t, "--role", "teammate")
	for name, want := range map[string]string{
		"shutdown_response": `{"type":"object","properties":{"request_id":{"type":"string"},"approve":{"type":"boolean"},"reason":{"type":"string"}},"required":["request_id","approve"]}`,
		"plan_approval":     `{"type":"object","properties":{"plan":{"type":"string"}},"required":["plan"]}`,
	} {
		got, err := json.Marshal(teammate[name].InputSchema)
		require.NoError(t, err)
		assert.JSONEq(t, want, string(got), name)
	}
	assert.Equal(t, "Respond to a shutdown request.", teammate["shutdown_response"].Description)
	assert.Equal(t, "Submit a plan for lead approval.", teammate["plan_approval"].Description)
	assert.Nil(t, teammate["shutdown_request"], "a teammate ends nobody")

	lead := toolsOf(t, "--role", "lead")
	assert.ElementsMatch(t, []string{"request_id", "approve"}, requiredOf(lead["plan_approval"]))
	assert.Contains(t, propertiesOf(lead["plan_approval"]), "feedback")
	assert.ElementsMatch(t, []string{"teammate"}, requiredOf(lead["shutdown_request"]))
	assert.ElementsMatch(t, []string{"request_id"}, requiredOf(lead["shutdown_response"]))
}

// With both protocol revisions the tools can be listed and called, and the server sends nothing unasked.
func TestM6_bothRevisions(t *testing.T) {
	t.Parallel()
	for _, revision := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(revision, func(t *testing.T) {
			t.Parallel()
			var unasked []string
			s := connectMCP(t, inHome(t), revision, func(what string) { unasked = append(unasked, what) })
			if init := s.InitializeResult(); init != nil && revision == "2025-11-25" {
				assert.Equal(t, revision, init.ProtocolVersion)
				//lint:ignore SA1019 the older revision has it
				assert.Nil(t, init.Capabilities.Logging)
				assert.Nil(t, init.Capabilities.Prompts)
				assert.Nil(t, init.Capabilities.Resources)
				require.NotNil(t, init.Capabilities.Tools)
				assert.False(t, init.Capabilities.Tools.ListChanged)
			}
			tools, err := s.ListTools(t.Context(), nil)
			require.NoError(t, err)
			assert.NotEmpty(t, tools.Tools)
			result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "send_message", Arguments: map[string]any{"computer": "local", "session_id": "x"}})
			require.NoError(t, err)
			assert.True(t, result.IsError)
			assert.JSONEq(t, `{"status":"error","error":"argument \"message\" is missing","hint":"send_message takes computer (string), session_id (string), message (string), direct (boolean, optional), close_link (boolean, optional)","code":"usage"}`, textOfResult(result))
			assert.Empty(t, unasked)
		})
	}
}

// Whatever a client sends, the server prints nothing but MCP, and answers the valid requests before and after.
func TestH72_hostileMCP(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10<<20)
	lines := []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"no/such/method"}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"no_such_tool","arguments":{}}}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"send_message","arguments":[1,2]}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"send_message","arguments":{"session_id":7,"message":"x","computer":"local"}}}`,
		`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":1e9}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}`,
		`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"send_message","arguments":{"computer":"local","session_id":"x","message":"` + long + `"}}}`,
	}
	out := exchange(t, inHome(t), lines, 8)
	answered := map[float64]map[string]any{}
	for line := range bytes.Lines(out) {
		var reply map[string]any
		require.NoError(t, json.Unmarshal(line, &reply), "%.200q", line)
		assert.Equal(t, "2.0", reply["jsonrpc"])
		if id, ok := reply["id"].(float64); ok {
			answered[id] = reply
		}
	}
	for _, id := range []float64{2, 3} {
		assert.Contains(t, answered[id], "error", "%v", id)
	}
	for _, id := range []float64{4, 5, 6, 8} {
		result, _ := answered[id]["result"].(map[string]any)
		assert.Equal(t, true, result["isError"], "%v: %.300v", id, answered[id])
	}
	assert.Contains(t, answered[7], "result")
}

// The server ends when its client closes the input.
func TestMCP_endsWithItsClient(t *testing.T) {
	t.Parallel()
	cmd := inHome(t)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`+"\n")
	require.NoError(t, err)
	_, err = out.Read(make([]byte, 1))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	_, _ = io.Copy(io.Discard, out)
	require.NoError(t, cmd.Wait())
}

// Helpers.

// inHome is `intercom mcp` with a home of its own and without tmux.
func inHome(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	cmd := exec.Command(thisProgram(), append([]string{"mcp"}, args...)...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "XDG_RUNTIME_DIR=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home, "TMUX=", "INTERCOM_TEST_MAIN=1"}
	cmd.Dir = home
	return cmd
}

// connectMCP connects a client with that revision to a server; unasked is called for every unsolicited message.
func connectMCP(t *testing.T, server *exec.Cmd, revision string, unasked func(what string)) *sdk.ClientSession {
	t.Helper()
	return connectOver(t, &sdk.CommandTransport{Command: server}, revision, unasked)
}

func connectOver(t testing.TB, over sdk.Transport, revision string, unasked func(what string)) *sdk.ClientSession {
	t.Helper()
	options := &sdk.ClientOptions{}
	if unasked != nil {
		options.ToolListChangedHandler = func(context.Context, *sdk.ToolListChangedRequest) { unasked("tools changed") }
		//lint:ignore SA1019 the older revision has it
		options.LoggingMessageHandler = func(context.Context, *sdk.LoggingMessageRequest) { unasked("log") }
		options.ProgressNotificationHandler = func(context.Context, *sdk.ProgressNotificationClientRequest) { unasked("progress") }
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, options)
	s, err := client.Connect(t.Context(), over, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// toolsOf are the tools of a server started with args, by name.
func toolsOf(t *testing.T, args ...string) map[string]*sdk.Tool {
	t.Helper()
	all := map[string]*sdk.Tool{}
	listed, err := connectMCP(t, inHome(t, args...), "2025-11-25", nil).ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range listed.Tools {
		all[tool.Name] = tool
	}
	return all
}

func schemaOf(tool *sdk.Tool) map[string]any {
	if tool == nil {
		return nil
	}
	schema, _ := tool.InputSchema.(map[string]any)
	return schema
}

func requiredOf(tool *sdk.Tool) (names []string) {
	all, _ := schemaOf(tool)["required"].([]any)
	for _, name := range all {
		names = append(names, fmt.Sprint(name))
	}
	return names
}

func propertiesOf(tool *sdk.Tool) map[string]any {
	all, _ := schemaOf(tool)["properties"].(map[string]any)
	return all
}

// textOfResult is the first text of a result.
func textOfResult(r *sdk.CallToolResult) string {
	for _, c := range r.Content {
		if text, ok := c.(*sdk.TextContent); ok {
			return text.Text
		}
	}
	return ""
}

// exchange writes lines to a server, and returns its output once it has answered so many times or ended.
func exchange(t *testing.T, cmd *exec.Cmd, lines []string, answers int) []byte {
	t.Helper()
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out := &watched{seen: make(chan struct{}, 1000)}
	cmd.Stdout = out
	require.NoError(t, cmd.Start())
	go func() {
		for _, line := range lines {
			if _, err := io.WriteString(in, line+"\n"); err != nil {
				return
			}
		}
	}()
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	late := time.After(30 * time.Second)
	for enough := false; !enough; {
		select {
		case <-out.seen:
			enough = bytes.Count(out.bytes(), []byte("\n")) >= answers
		case <-ended:
			enough = true
		case <-late:
			enough = true
			t.Errorf("only %d answers", bytes.Count(out.bytes(), []byte("\n")))
		}
	}
	_ = in.Close()
	select {
	case <-ended:
	case <-late:
		_ = cmd.Process.Kill()
		t.Error("it does not end with its client")
	}
	return out.bytes()
}

// watched is an output that reports each write.
type watched struct {
	mu   sync.Mutex
	all  []byte
	seen chan struct{}
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, p...)
	select {
	case w.seen <- struct{}{}:
	default:
	}
	return len(p), nil
}

func (w *watched) bytes() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.all)
}

// `mcp install` adds the tools to the agent's configuration, and `mcp uninstall` restores it to the byte, through links and with
// its mode.
func TestM5_toolsOfAnAgentComeAndGo(t *testing.T) {
	for agent, c := range map[string]struct{ name, own, says string }{
		"claude":   {".claude.json", "{\n  \"numStartups\": 3\n}\n", `"mcpServers"`},
		"codex":    {".codex/config.toml", "# mine\nmodel = \"o4\"", "[mcp_servers.intercom]"},
		"gemini":   {".gemini/settings.json", "{\n  // mine\n  \"ui\": {}\n}\n", `"mcpServers"`},
		"opencode": {".config/opencode/opencode.json", "{}", `"mcp"`},
	} {
		w := newWorld(t)
		w.env["XDG_CONFIG_HOME"] = ""
		w.executable = filepath.Join(t.TempDir(), "my bin", "intercom")
		file := filepath.Join(w.env["HOME"], c.name)

		r := w.run("mcp", "uninstall", agent)
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, "nothing to change")
		r = w.run("mcp", "install", agent, "--dry-run")
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, file+" would become:\n+ ")
		assert.NoFileExists(t, file)
		r = w.run("mcp", "install", agent, "--skill")
		require.Zero(t, r.code, r.err)
		assert.Contains(t, read(t, file), c.says)
		assert.Contains(t, read(t, file), w.executable)
		assert.Equal(t, os.FileMode(0o600), modeOf(t, file))
		skills, err := filepath.Glob(filepath.Join(w.env["HOME"], ".*", "skills", "intercom", "SKILL.md"))
		require.NoError(t, err)
		if agent == "opencode" {
			skills = append(skills, filepath.Join(w.env["HOME"], ".config/opencode/skills/intercom/SKILL.md"))
		}
		require.Len(t, skills, 1, agent)
		assert.Contains(t, read(t, skills[0]), "name: intercom\n")
		r = w.run("mcp", "install", agent, "--skill")
		assert.Equal(t, 2, strings.Count(r.out, "nothing to change"), r.out)
		text := read(t, skills[0])
		for _, option := range []string{"--skill", "--dry-run=false"} {
			require.Zero(t, w.run("mcp", "install", agent, "--skill").code)
			r = w.run("mcp", "uninstall", agent, option)
			assert.Zero(t, r.code, r.err)
			assert.NoFileExists(t, file)
			assert.NoFileExists(t, skills[0], "the skill too, since it is as it was written")
			assert.NoDirExists(t, filepath.Dir(filepath.Dir(filepath.Dir(skills[0]))), "and the directories of both")
			if filepath.Dir(file) != w.env["HOME"] {
				assert.NoDirExists(t, filepath.Dir(file))
			}
		}

		// A skill that was changed stays and is reported; --skill removes it.
		require.Zero(t, w.run("mcp", "install", agent, "--skill").code)
		require.NoError(t, os.WriteFile(skills[0], []byte(text+"mine"), 0o600))
		r = w.run("mcp", "uninstall", agent)
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, "left, since it was changed (--skill removes it): "+skills[0])
		assert.Equal(t, text+"mine", read(t, skills[0]))
		r = w.run("mcp", "uninstall", agent, "--skill")
		assert.Zero(t, r.code, r.err)
		assert.NoDirExists(t, filepath.Dir(skills[0]))

		// The configuration lies behind a link and has a mode of its own.
		target := filepath.Join(t.TempDir(), "dotfile")
		require.NoError(t, os.WriteFile(target, []byte(c.own), 0o600))
		require.NoError(t, os.Chmod(target, 0o644))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.Symlink(target, file))
		r = w.run("mcp", "install", agent)
		require.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, target)
		assert.Contains(t, read(t, target), c.says)
		r = w.run("mcp", "uninstall", agent)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, c.own, read(t, target))
		assert.Equal(t, os.FileMode(0o644), modeOf(t, target))
		link, err := os.Readlink(file)
		require.NoError(t, err)
		assert.Equal(t, target, link)

		// A linked directory of skills stays, with the skills of others.
		place, theirs := filepath.Dir(filepath.Dir(skills[0])), t.TempDir()
		require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o700))
		require.NoError(t, os.Symlink(theirs, place))
		for range 2 {
			require.Zero(t, w.run("mcp", "install", agent, "--skill").code)
			r = w.run("mcp", "uninstall", agent, "--skill")
			assert.Zero(t, r.code, r.err)
			assert.NoDirExists(t, filepath.Join(theirs, "intercom"))
			_, err = os.Readlink(place)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(theirs, "another"), nil, 0o600))
		}

		// Another skill of the same name is left alone.
		require.NoError(t, os.MkdirAll(filepath.Dir(skills[0]), 0o700))
		require.NoError(t, os.WriteFile(skills[0], []byte("mine"), 0o600))
		r = w.run("mcp", "install", agent, "--skill")
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, "another skill of that name is there")
		r = w.run("mcp", "uninstall", agent, "--skill")
		assert.Zero(t, r.code, r.err)
		assert.Equal(t, "mine", read(t, skills[0]))
		assert.NotContains(t, w.run("mcp", "uninstall", agent).out, "left", "it is nothing of ours")
	}
}

// A Codex configuration whose servers are one inline table stays as it is, and the hint says how to rewrite it.
func TestMCP_noRoomForATable(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(w.env["HOME"], ".codex", "config.toml")
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	own := "mcp_servers = { x = { command = \"y\" } }\n"
	require.NoError(t, os.WriteFile(file, []byte(own), 0o600))
	r := w.run("mcp", "install", "codex")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "hint: nothing was changed; write each server there as a table of its own, [mcp_servers.NAME], and run this again")
	assert.Equal(t, own, read(t, file))
}
