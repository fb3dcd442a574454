package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Each payload is one that the agents' versions in the lab write, or one that is cut or invalid.
func TestHook_whatAgentsTell(t *testing.T) {
	const thread, path = "f4bd5a88-a4e5-41c9-bcc8-fb453eb6b16c", "/home/me/.claude/projects/-src/f4bd5a88.jsonl"
	for _, c := range []struct {
		args, stdin string
		argument    string
		want        message.Hook
	}{
		{
			args:  "claude SessionStart",
			stdin: `{"session_id":"` + thread + `","transcript_path":"` + path + `","cwd":"/src","hook_event_name":"SessionStart","source":"startup","model":"claude-opus-5-5"}`,
			want:  message.Hook{Agent: "claude", Event: "SessionStart", Thread: thread, Transcript: path, Detail: "startup"},
		},
		{
			args:  "claude UserPromptSubmit",
			stdin: `{"session_id":"` + thread + `","transcript_path":"` + path + `","cwd":"/src","prompt_id":"daa98b04","permission_mode":"default","hook_event_name":"UserPromptSubmit","prompt":"hello there\nsecond é"}`,
			want:  message.Hook{Agent: "claude", Event: "UserPromptSubmit", Thread: thread, Turn: "daa98b04", Transcript: path, Prompt: "hello there\nsecond é"},
		},
		{
			args:  "claude PermissionRequest",
			stdin: `{"session_id":"` + thread + `","prompt_id":"37d2","effort":{"level":"medium"},"hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"touch proof","session_id":"no"},"permission_suggestions":[{"type":"addDirectories","directories":["/src"]}]}`,
			want:  message.Hook{Agent: "claude", Event: "PermissionRequest", Thread: thread, Turn: "37d2", Detail: "Bash"},
		},
		{
			args:  "claude Notification",
			stdin: `{"session_id":"` + thread + `","hook_event_name":"Notification","message":"Claude needs your permission","notification_type":"permission_prompt"}`,
			want:  message.Hook{Agent: "claude", Event: "Notification", Thread: thread, Detail: "permission_prompt"},
		},
		{
			args:  "claude Notification",
			stdin: `{"session_id":"` + thread + `","message":"Claude is waiting"}`,
			want:  message.Hook{Agent: "claude", Event: "Notification", Thread: thread, Detail: "Claude is waiting"},
		},
		{
			args:  "claude Stop",
			stdin: `{"session_id":"` + thread + `","prompt_id":"daa98b04","effort":{"level":"medium"},"hook_event_name":"Stop","stop_hook_active":false,"last_assistant_message":"the **words**\n","background_tasks":[],"session_crons":[]}`,
			want:  message.Hook{Agent: "claude", Event: "Stop", Thread: thread, Turn: "daa98b04", Words: "the **words**\n"},
		},
		{
			args:  "claude SessionEnd",
			stdin: `{"session_id":"` + thread + `","hook_event_name":"SessionEnd","reason":"clear"}`,
			want:  message.Hook{Agent: "claude", Event: "SessionEnd", Thread: thread, Detail: "clear"},
		},
		{
			args:     "codex notify",
			stdin:    `{"thread-id":"of nobody"}`,
			argument: `{"type":"agent-turn-complete","thread-id":"01a1ff79","turn-id":"01a1ff79-ac35","cwd":"/src","client":"codex-tui","input-messages":["an earlier one","hello there\nsecond"],"last-assistant-message":"the words"}`,
			want:     message.Hook{Agent: "codex", Event: "notify", Thread: "01a1ff79", Turn: "01a1ff79-ac35", Prompt: "hello there\nsecond", Words: "the words", Detail: "agent-turn-complete"},
		},
		{
			args:     "codex notify",
			argument: `{"type":"agent-turn-complete","thread-id":"01a1ff79","last-assistant-message":null}`,
			want:     message.Hook{Agent: "codex", Event: "notify", Thread: "01a1ff79", Detail: "agent-turn-complete"},
		},
		{ // the hooks of Codex, which a person installed and trusted
			args:  "codex Stop",
			stdin: `{"session_id":"01a1ff79","turn_id":"7","transcript_path":"/r.jsonl","hook_event_name":"Stop","last_assistant_message":"x"}`,
			want:  message.Hook{Agent: "codex", Event: "Stop", Thread: "01a1ff79", Turn: "7", Transcript: "/r.jsonl", Words: "x"},
		},
		{args: "claude Stop", stdin: `{"session_id":"a","prompt_id":"b","last_assista`, want: message.Hook{Agent: "claude", Event: "Stop", Thread: "a", Turn: "b"}},
		{args: "claude Stop", stdin: `{"session_id":7,"prompt":["x"]}`, want: message.Hook{Agent: "claude", Event: "Stop"}},
		{args: "claude Stop", stdin: `no JSON`, want: message.Hook{Agent: "claude", Event: "Stop"}},
		{args: "claude Stop", stdin: ``, want: message.Hook{Agent: "claude", Event: "Stop"}},
		{args: "claude Stop", stdin: `["session_id"]`, want: message.Hook{Agent: "claude", Event: "Stop"}},
		{args: "claude Tomorrow --new-flag", stdin: `{"session_id":"a"}`, argument: "", want: message.Hook{Agent: "claude", Event: "Tomorrow"}},
	} {
		b := &fakeBackend{}
		w := newWorld(t)
		w.serve(t, b)
		w.env["TMUX_PANE"] = "%3"
		w.hookTime = tmuxtest.Patience // this test is about the content, not about speed
		w.stdin = c.stdin
		args := append([]string{"hook"}, strings.Fields(c.args)...)
		if c.argument != "" {
			args = append(args, c.argument)
		}
		quiet(t, w.run(args...))
		require.Len(t, b.told(), 1, "%s %s", c.args, c.stdin)
		assert.Equal(t, api.HookRequest{Hook: c.want, Pane: "%3"}, b.told()[0].HookRequest, c.args)
	}
}

func TestHook_longWordsAreCut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words string
		want  int
	}{
		{strings.Repeat("x", message.MaxBody), message.MaxBody},
		{strings.Repeat("x", message.MaxBody+100), message.MaxBody + 4},
		{strings.Repeat("日", message.MaxBody/2), message.MaxBody + 2}, // cut at a whole character
		{strings.Repeat("\x01", message.MaxBody), 0},                  // six bytes each in JSON: too large a request
		{strings.Repeat("x", maxHookInput), 0},
	} {
		b := &fakeBackend{}
		w := newWorld(t)
		w.serve(t, b)
		payload, err := json.Marshal(map[string]any{"a_session_id": "", "last_assistant_message": c.words, "session_id": "a"})
		require.NoError(t, err)
		// Reading directly, without the time limit of the hook.
		var hook message.Hook
		readHook(context.Background(), bytes.NewReader(payload), &hook)
		if c.want > 0 {
			assert.Len(t, hook.Words, c.want)
			assert.True(t, strings.HasPrefix(c.words, hook.Words))
		}
		w.stdin = string(payload)
		w.hookTime = tmuxtest.Patience
		quiet(t, w.run("hook", "claude", "Stop"))
		if c.want > 0 {
			require.Len(t, b.told(), 1)
			assert.Equal(t, hook.Words, b.told()[0].Hook.Words)
		}
		if told := b.told(); assert.LessOrEqual(t, len(told), 1) && len(told) == 1 && c.want == 0 {
			assert.Empty(t, told[0].Hook.Words)
		}
	}
}

func TestHook_nothingWithoutTmux(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.env["INTERCOM_SERVER"] = ""
	w.serve(t, b) // the sidecar for headless use
	w.published = func(context.Context, string) (string, error) {
		t.Error("nobody is asked")
		return "", nil
	}
	quiet(t, w.run("hook", "claude", "Stop"))
	assert.Empty(t, b.told())
}

// The environment of an agent may differ from that of the sidecar.
func TestHook_findsThePublishedSocket(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	for _, environ := range []map[string]string{
		{"TMUX": w.env["INTERCOM_SERVER"] + ",123,0"},
		{"TMUX": w.env["INTERCOM_SERVER"] + ",123,0", "HOME": t.TempDir(), "XDG_RUNTIME_DIR": t.TempDir()},
		{"TMUX": w.env["INTERCOM_SERVER"] + ",123,0", "HOME": t.TempDir(), "XDG_RUNTIME_DIR": "/" + strings.Repeat("x", 200)},
	} {
		agent := newWorld(t)
		agent.env, agent.stdin = environ, `{"session_id":"a"}`
		agent.published = func(_ context.Context, server string) (string, error) {
			assert.Equal(t, p.Server, server)
			return p.Socket, nil
		}
		before := len(b.told())
		quiet(t, agent.run("hook", "claude", "Stop"))
		require.Len(t, b.told(), before+1, "%v", environ)
		assert.Equal(t, "a", b.told()[before].Hook.Thread)
		assert.Empty(t, b.told()[before].Pane, "none is named")
	}
}

// A hook gives its agent no output and no exit code, and ends in time, whatever goes wrong.
func TestHook_harmless(t *testing.T) {
	t.Parallel()
	assert.Less(t, hookTimeout, time.Second, "of which something is for the process itself")
	w := newWorld(t)
	for _, args := range [][]string{
		{},
		{"claude"},
		{"nobody", "Stop"},
		{"claude", "Stop"},
		{"--bogus"},
		{"--json", "claude", "Stop"},
		{"claude", "Stop", "--server"},
		{"codex", "notify", "no JSON"},
		{"codex", "notify", "{"},
		{"", ""},
		{"claude", "\x00\xff"},
	} {
		w.published = nil
		quiet(t, w.run(append([]string{"hook"}, args...)...))
		w.published = func(context.Context, string) (string, error) { return "/nonexistent/socket", nil }
		quiet(t, w.run(append([]string{"hook"}, args...)...))
		w.published = func(context.Context, string) (string, error) { panic("a defect") }
		quiet(t, w.run(append([]string{"hook"}, args...)...))
	}
	assert.NoDirExists(t, w.env["XDG_RUNTIME_DIR"]+"/intercom", "no sidecar is started")

	b := &fakeBackend{err: api.Errorf(api.CodeRefused, "no")}
	w.serve(t, b)
	quiet(t, w.run("hook", "claude", "Stop"))
	require.Len(t, b.told(), 1)

	// A sidecar that does not answer, an agent that does not finish its payload, a tmux that hangs.
	b.setSilent(true)
	quiet(t, w.run("hook", "claude", "Stop")) // ends without an answer
	require.Len(t, b.told(), 2)
	b.setSilent(false)

	for range 20 { // on a busy machine the time may be over before anything is reported
		r, unfinished := io.Pipe()
		defer unfinished.Close()
		go func() { _, _ = io.WriteString(unfinished, `{"session_id":"a","prompt":"never en`) }()
		var out, complaints bytes.Buffer
		code := run(t.Context(), env{Args: []string{"hook", "claude", "Stop"}, Stdin: r, Stdout: &out, Stderr: &complaints, Getenv: w.getenv})
		quiet(t, result{code, out.String(), complaints.String()})
		if len(b.told()) > 2 {
			break
		}
	}
	require.Len(t, b.told(), 3, "the event itself is worth telling")
	assert.Equal(t, "a", b.told()[2].Hook.Thread)

	w = newWorld(t)
	released := make(chan struct{})
	defer close(released)
	w.published = func(context.Context, string) (string, error) {
		<-released
		return "", nil
	}
	quiet(t, w.run("hook", "claude", "Stop")) // ends before tmux answers
}

func TestHook_help(t *testing.T) {
	r := newWorld(t).run("hook", "--help")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "It starts no sidecar")
}

// Helpers.

func quiet(t *testing.T, r result) {
	t.Helper()
	assert.Equal(t, result{}, r)
}
