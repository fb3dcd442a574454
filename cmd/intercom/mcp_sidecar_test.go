package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// An agent that nobody has adopted calls through its own MCP client, beside an adopted one. The caller is identified by its
// processes; a pane named in the environment identifies nobody.
func TestM2_M3_M6_V15_H37_H38_callsOfAgents(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.coder("claude"), st.coder("codex")
	out, code := st.intercom("adopt", codex.pane, "--name", "bob")
	require.Zero(t, code, out)
	bystander := st.shell()

	// M2: a caller outside of the pane, with the pane's name in its environment.
	cmd := exec.Command(thisProgram(), "mcp")
	cmd.Env = append(st.environ(), "INTERCOM_TEST_MAIN=1", "INTERCOM_SERVER="+st.Socket, "TMUX_PANE="+codex.pane)
	liar := connectMCP(t, cmd, "2025-11-25", nil)
	result := calls(t, liar, "send_message", map[string]any{"computer": "local", "session_id": "bob", "message": "hello", "from": "human"})
	require.False(t, result.IsError, textOfResult(result))
	assert.Contains(t, result.Content[1].(*sdk.TextContent).Text, "You are not verified")
	held := st.held()
	require.Len(t, held, 1, "it waits for a person")
	assert.Equal(t, "AI[local:unverified] |", held[0].Form.Head)
	logged := read(t, st.paths().Log)
	assert.Regexp(t, `an MCP caller says who it is.*from=human`, logged)
	assert.Contains(t, logged, "names a pane to which it does not belong")
	result = calls(t, liar, "check_messages", nil)
	assert.True(t, result.IsError, "nothing reaches whom nobody knows")
	assert.Contains(t, textOfResult(result), `"status":"error"`)
	for name, arguments := range map[string]map[string]any{"chat_start": {"session_id": "bob"}} {
		assert.True(t, calls(t, liar, name, arguments).IsError, "%s is not for the unverified", name)
	}

	// A call makes a session of the agent's own pane, and of no other.
	own := st.mcpIn(claude)
	result = calls(t, own, "list_sessions", nil)
	require.False(t, result.IsError, textOfResult(result))
	assert.Len(t, result.Content, 1, "it is verified")
	var sessions []struct {
		ID     string `json:"session_id"`
		Status string
		Agent  string
	}
	require.NoError(t, json.Unmarshal([]byte(textOfResult(result)), &sessions))
	require.Len(t, sessions, 2)
	me := sessions[1].ID
	assert.Equal(t, "claude", sessions[1].Agent)
	adopted := map[string]bool{}
	for _, s := range st.status().Sessions {
		adopted[s.Pane] = true
	}
	assert.Equal(t, map[string]bool{codex.pane: true, claude.pane: true}, adopted, "not %s", bystander)

	// The agent sends under its own id.
	require.False(t, calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": "bob", "message": "hi"}).IsError)
	tmuxtest.WaitFor(t, "bob has it", func() bool { return len(codex.received()) == 1 })
	assert.Equal(t, "AI[local:"+me+"] | hi", codex.received()[0])

	// M3: errors say what to do next.
	result = calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": "bobb", "message": "hi"})
	assert.True(t, result.IsError)
	var failure struct{ Status, Error, Hint string }
	require.NoError(t, json.Unmarshal([]byte(textOfResult(result)), &failure))
	assert.Equal(t, "error", failure.Status)
	assert.Contains(t, failure.Error, "bob")
	assert.Contains(t, failure.Hint, "bob (codex, session_id "+sessions[0].ID+")")
	assert.Contains(t, failure.Hint, "list_sessions")
	result = calls(t, own, "send_message", map[string]any{"computer": "mars", "session_id": "bob", "message": "hi"})
	assert.Contains(t, textOfResult(result), `no computer \"mars\"`)
	assert.Contains(t, textOfResult(result), "list_computers")

	// M6: in the middle of a turn an agent waits for messages, and gets one as soon as it arrives.
	tmuxtest.WaitFor(t, "the notice that bob stopped", func() bool { return len(claude.received()) == 1 })
	var words api.SessionWords
	result = calls(t, own, "get_session_data", map[string]any{"computer": "local", "session_id": "bob"})
	require.False(t, result.IsError, textOfResult(result))
	require.NoError(t, json.Unmarshal([]byte(textOfResult(result)), &words))
	require.Len(t, words.Entries, 1, "what bob answered it, and nothing else of bob")
	assert.Equal(t, "bob", words.Entries[0].From)
	claude.do(":turn hold")
	out, code = st.intercom("send", claude.pane, "work", "--timeout", "1m")
	require.Zero(t, code, out)
	theirs := st.mcpIn(codex)
	var letters api.Messages
	waits := func() (next func()) {
		t.Helper()
		got, before := make(chan *sdk.CallToolResult, 1), st.connections()
		go func() {
			r, err := own.CallTool(t.Context(), &sdk.CallToolParams{Name: "check_messages", Arguments: map[string]any{"wait_s": 50}})
			if err != nil {
				t.Error(err)
			}
			got <- r
		}()
		st.untilACallWaits(before)
		return func() {
			t.Helper()
			select {
			case r := <-got:
				require.NotNil(t, r)
				require.False(t, r.IsError, textOfResult(r))
				require.NoError(t, json.Unmarshal([]byte(textOfResult(r)), &letters))
			case <-time.After(40 * time.Second):
				t.Fatal("the wait goes on although a message has come")
			}
		}
	}
	next := waits()
	sent := calls(t, theirs, "send_message", map[string]any{"computer": "local", "session_id": me, "message": "the answer is 42"})
	require.False(t, sent.IsError, textOfResult(sent))
	next()
	require.Len(t, letters.Messages, 1)
	assert.Equal(t, "AI[local:"+sessions[0].ID+"] | the answer is 42", letters.Messages[0].Text)

	// The agent replies to that message. The message is neither handed over again nor typed.
	result = calls(t, own, "reply", map[string]any{"message_id": string(letters.Messages[0].ID), "message": "thanks to you I know"})
	require.False(t, result.IsError, textOfResult(result))
	tmuxtest.WaitFor(t, "bob has the answer", func() bool { return len(codex.received()) == 2 })
	result = calls(t, own, "check_messages", nil)
	assert.NotContains(t, textOfResult(result), "the answer is 42") // a notice may have come
	for begun, wait := time.Now(), 300*time.Millisecond; ; begun = time.Now() {
		result = calls(t, own, "check_messages", map[string]any{"wait_s": wait.Seconds()})
		require.NoError(t, json.Unmarshal([]byte(textOfResult(result)), &letters))
		if len(letters.Messages) == 0 {
			assert.GreaterOrEqual(t, time.Since(begun), wait, "it waits so long, and has nothing then")
			break
		}
	}
	claude.do(":go")
	require.False(t, calls(t, theirs, "send_message", map[string]any{"computer": "local", "session_id": me, "message": "after"}).IsError)
	after := "AI[local:" + sessions[0].ID + "] | after"
	tmuxtest.WaitFor(t, "what came after the turn is typed", func() bool { return strings.Contains(strings.Join(claude.received(), "\n"), after) })
	for _, text := range claude.received() {
		assert.NotContains(t, text, "the answer is 42", "it was handed over, and is not typed besides")
	}

	// V15: if the awaited session ends, the waiting call gets that notice.
	claude.do(":turn hold")
	out, code = st.intercom("send", claude.pane, "more work", "--timeout", "1m")
	require.Zero(t, code, out)
	calls(t, own, "check_messages", nil) // fetches the notices of turns
	next = waits()
	st.Run("kill-pane", "-t", codex.pane)
	next()
	require.Len(t, letters.Messages, 1)
	assert.Contains(t, letters.Messages[0].Text, `[notice] "bob" stopped: session ended: `)
}

// When only a person may do something, the hint tells an agent to ask its user. A caller that cannot be identified is told how to
// change that instead.
func TestM3_whatOnlyTheUserMay(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, bystander := st.coder("claude"), st.shell()
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	own := st.mcpIn(claude)
	for name, arguments := range map[string]map[string]any{
		"chat_start":       {"session_id": bystander},
		"send_message":     {"computer": "local", "session_id": bystander, "message": "hi"},
		"get_session_data": {"computer": "local", "session_id": bystander},
	} {
		told := failureOf(t, calls(t, own, name, arguments))
		assert.Regexp(t, "^ask your user, who alone may: ", told.Hint, "%s: %s", name, told.Error)
	}
	assert.Contains(t, failureOf(t, calls(t, own, "reply", map[string]any{"message_id": string(message.NewID()), "message": "x"})).Hint, "check_messages")
	assert.Contains(t, failureOf(t, calls(t, own, "shutdown_request", map[string]any{"teammate": "zed"})).Hint, "spawn_teammate")

	stranger := st.mcpOfAStranger(t, st.home)
	here := map[string]any{"computer": "local", "session_id": claude.pane}
	for name, arguments := range map[string]map[string]any{
		"start_session":      {"computer": "local", "project_dir": st.home, "title": "t", "agent": "claude"},
		"get_session_data":   here,
		"end_session":        here,
		"stop_notifications": here,
		"chat_stop":          {"chat": "x"},
		"check_messages":     {},
		"plan_approval":      {"plan": "x"},
		"spawn_teammate":     {"name": "zed", "role": "dev", "prompt": "x", "project_dir": st.home},
	} {
		told := failureOf(t, calls(t, stranger, name, arguments))
		assert.NotContains(t, told.Error, "only a person", name)
		assert.Contains(t, told.Error, "its process belongs to no pane", name)
		assert.Contains(t, told.Hint, "ask your user to run you in a tmux pane", "%s: %s", name, told.Error)
	}
}

// An agent that sends without end gets an error with the limit that it met and when it may send again.
func TestM3_H47_whenItMaySendAgain(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.configures("intercom.configure { brakes = { own_minute = 1 } }\n")
	claude, codex := st.coder("claude"), st.coder("codex")
	out, code := st.intercom("adopt", codex.pane, "--name", "bob")
	require.Zero(t, code, out)
	own := st.mcpIn(claude)
	for n := 0; ; n++ {
		r := calls(t, own, "send_message", map[string]any{"computer": "local", "session_id": "bob", "message": "more"})
		if !r.IsError {
			require.Less(t, n, 100, "it is never refused")
			continue
		}
		told := failureOf(t, r)
		assert.Contains(t, told.Error, "own_minute limit reached")
		assert.Contains(t, told.Hint, "a minute")
		break
	}
}

// If the sidecar dies in the middle of a wait, another takes over, and the wait ends with the message, or with an error and a
// hint.
func TestM6_aSidecarRestartsInMidWait(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude := st.coder("claude")
	out, code := st.intercom("adopt", claude.pane)
	require.Zero(t, code, out)
	own := st.mcpIn(claude)
	claude.do(":turn hold")
	out, code = st.intercom("send", claude.pane, "work", "--timeout", "1m")
	require.Zero(t, code, out)
	first := st.status().PID
	got, before := make(chan *sdk.CallToolResult, 1), st.connections()
	go func() {
		r, err := own.CallTool(t.Context(), &sdk.CallToolParams{Name: "check_messages", Arguments: map[string]any{"wait_s": 45}})
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	st.untilACallWaits(before)
	require.NoError(t, syscall.Kill(first, syscall.SIGKILL))
	tmuxtest.WaitFor(t, "another sidecar runs", func() bool {
		s, err := api.Call(t.Context(), &api.Client{Socket: st.paths().Socket}, api.ShowStatus, api.None{}) // for a moment nobody answers
		return err == nil && s.PID != first && len(s.Sessions) == 1
	})
	out, code = st.intercom("send", claude.pane, "are you there", "--timeout", "0s")
	require.Contains(t, []int{0, 4, 5}, code, out)
	select {
	case r := <-got:
		require.NotNil(t, r)
		if r.IsError { // a clear error, with a hint; the message is not lost
			told := failureOf(t, r)
			assert.Contains(t, []string{string(api.CodeUncertain), string(api.CodeNoSidecar)}, told.Code)
			assert.NotEmpty(t, told.Error)
			assert.NotEmpty(t, told.Hint)
			r = calls(t, own, "check_messages", map[string]any{"wait_s": 30})
		}
		assert.Contains(t, textOfResult(r), "are you there")
	case <-time.After(60 * time.Second):
		t.Fatal("neither a message nor an error")
	}
}

// Helpers.

// connections are the inodes of the sidecar's open connections; nil if the system does not list them.
func (st *stage) connections() (open []string) {
	table, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(table)) { // Num RefCount Protocol Flags Type St Inode Path
		if f := strings.Fields(line); len(f) == 8 && f[5] == "03" && f[7] == st.paths().Socket {
			open = append(open, f[6])
		}
	}
	return open
}

// untilACallWaits waits for a new connection that outlasts other calls, as only that of a waiting call does.
func (st *stage) untilACallWaits(before []string) {
	st.t.Helper()
	if st.connections() == nil && runtime.GOOS != "linux" {
		return
	}
	tmuxtest.WaitFor(st.t, "a call waits at the sidecar", func() bool {
		lasting := slices.DeleteFunc(st.connections(), func(one string) bool { return slices.Contains(before, one) })
		for range 3 {
			st.status()
			now := st.connections()
			lasting = slices.DeleteFunc(lasting, func(one string) bool { return !slices.Contains(now, one) })
		}
		return len(lasting) > 0
	})
}

// mcpIn starts an MCP server below an agent, as the agent starts its servers, and connects a client to it.
func (st *stage) mcpIn(a *coder, args ...string) *sdk.ClientSession {
	st.t.Helper()
	return st.mcpFrom(a, ".", args...)
}

// mcpFrom is like mcpIn, with the server in another directory.
func (st *stage) mcpFrom(a *coder, dir string, args ...string) *sdk.ClientSession {
	st.t.Helper()
	in, out := filepath.Join(st.run, a.kind+".in"), filepath.Join(st.run, a.kind+".out")
	for _, pipe := range []string{in, out} {
		require.NoError(st.t, syscall.Mkfifo(pipe, 0o600))
	}
	script := filepath.Join(st.run, a.kind+".sh")
	tmuxtest.Program(st.t, script, fmt.Sprintf("#!/bin/sh\ncd %s && INTERCOM_TEST_MAIN=1 exec %s mcp %s <%s >%s 2>%s.err\n", dir, thisProgram(), strings.Join(args, " "), in, out, out))
	a.do(":run " + script)
	to, err := os.OpenFile(in, os.O_WRONLY, 0)
	require.NoError(st.t, err)
	from, err := os.OpenFile(out, os.O_RDONLY, 0)
	require.NoError(st.t, err)
	return connectOver(st.t, &sdk.IOTransport{Reader: from, Writer: to}, "2025-11-25", nil)
}

func calls(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) *sdk.CallToolResult {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	require.NoError(t, err)
	return r
}

// overSocket connects to a socket and runs a program with it as standard input and output.
func overSocket() {
	over, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: os.Args[1]})
	if err == nil {
		var file *os.File
		if file, err = over.File(); err == nil {
			cmd := exec.Command(os.Args[2], os.Args[3:]...)
			cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), "INTERCOM_TEST_MAIN=1"), file, file, os.Stderr
			if err = cmd.Start(); err == nil {
				_, _ = over.Close(), file.Close()
				err = cmd.Wait()
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
