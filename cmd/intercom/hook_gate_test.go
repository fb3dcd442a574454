package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func TestHookGate_whatChangesNothing(t *testing.T) {
	t.Parallel()
	for tool, allowed := range map[string]bool{
		"Read": true, "Grep": true, "ExitPlanMode": true,
		"view_image": false, "Edit": false, "Write": false, "MultiEdit": false, "NotebookEdit": false, "apply_patch": false, "Agent": false, "read": false, "Tomorrow": false,
		"mcp__intercom__plan_approval": true, "mcp__intercom__shutdown_response": true, "mcp__intercom__teleclaude__send_message": true,
		"mcp__intercom__start_session": false, "mcp__intercom__end_session": false, "mcp__intercom__spawn_teammate": false, "mcp__intercom__": false,
		"mcp__other__plan_approval": false, "mcp__intercomx__plan_approval": false, "plan_approval": false,
	} {
		assert.Equal(t, allowed, gateOf("claude").changesNothing(toolUse{tool: tool}), tool)
	}
	for command, allowed := range map[string]bool{
		"intercom team plan 'first; then `that` > $x\nend'": true,
		`intercom team plan "two lines
of it; fine"`: true,
		" intercom team plan-wait 0123abcd\n":         true,
		"intercom team shutdown-response 1 --approve": true,
		"intercom team send lead hi --from alice":     true,
		"ls -la *.go":      true,
		"grep -rn 'a|b' .": true,
		"cat 'it'\"s\"":    true,

		"":                                 false,
		"''":                               false,
		"rm x":                             false,
		"intercom":                         false,
		"intercom team":                    false,
		"intercom down":                    false,
		"intercom team spawn x --role y":   false,
		"intercom team plan x; rm y":       false,
		"intercom team plan x && rm y":     false,
		"intercom team plan x\nrm y":       false,
		"intercom team plan x > y":         false,
		"intercom team plan $(rm y)":       false,
		"intercom team plan \"$(rm y)\"":   false,
		"intercom team plan \"`rm y`\"":    false,
		"intercom team plan 'x":            false,
		`intercom team plan "x\" ; rm y "`: false,
		"PATH=. intercom team plan x":      false,
		"./intercom team plan x":           false,
		"cat <(rm y)":                      false,
		"cat x | sh":                       false,
		"ls & rm y":                        false,
		"cat x >y":                         false,
		"\\ls":                             false,
		"sed -n wx y":                      false,
		"find . -delete":                   false,
		"env cat x":                        false,
	} {
		assert.Equal(t, allowed, gateOf("claude").changesNothing(toolUse{tool: "Bash", command: command}), "%q", command)
	}
}

func TestHookGate_toolsOfEachAgent(t *testing.T) {
	t.Parallel()
	for agent, tools := range map[string]map[string]bool{
		"codex":    {"update_plan": true, "view_image": true, "apply_patch": false, "Read": false, "mcp__intercom__plan_approval": true, "mcp__intercom__start_session": false},
		"gemini":   {"read_file": true, "grep_search": true, "write_file": false, "replace": false, "save_memory": false, "Read": false, "mcp_intercom_plan_approval": true, "mcp_intercom_teleclaude__send_message": true, "mcp_intercom_start_session": false, "mcp_other_plan_approval": false},
		"opencode": {"read": true, "grep": true, "write": false, "edit": false, "patch": false, "task": false, "intercom_plan_approval": true, "intercom_start_session": false, "plan_approval": false},
	} {
		for tool, allowed := range tools {
			assert.Equal(t, allowed, gateOf(agent).changesNothing(toolUse{tool: tool}), "%s %s", agent, tool)
		}
		for command, allowed := range map[string]bool{"intercom team plan 'x'": true, "ls": true, "touch x": false, "ls; touch x": false} {
			assert.Equal(t, allowed, gateOf(agent).changesNothing(toolUse{tool: gateOf(agent).Shell, command: command}), "%s %s", agent, command)
		}
	}
}

func TestC42_answers(t *testing.T) {
	const edit = `{"session_id":"a","turn_id":"t","hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"/x","new_string":"y"}}`
	for _, c := range []struct {
		args, stdin string
		gate        api.Gate
		says        string // "": no output
	}{
		{"claude PreToolUse", edit, api.Gate{Closed: true}, "First submit a plan"},
		{"claude PreToolUse", edit, api.Gate{Closed: true, Plan: "pending"}, "waits for the lead's approval"},
		{"claude PreToolUse", edit, api.Gate{Closed: true, Plan: "rejected"}, "Your last plan is rejected"},
		{"claude PreToolUse", edit, api.Gate{Closed: true, Plan: "expired"}, "Your last plan is expired"},
		{"codex PreToolUse", `{"tool_name":"apply_patch","tool_input":{"command":"*** Begin Patch"}}`, api.Gate{Closed: true}, "First submit a plan"},
		{"codex PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"touch x"}}`, api.Gate{Closed: true}, "First submit a plan"},
		{"codex PreToolUse", `{"tool_name":"Bash","tool_input":{"command":"cat x"}}`, api.Gate{Closed: true}, ""},
		{"claude PreToolUse", `{"tool_name":"Bash","tool_input":{"command":["cat","x"]}}`, api.Gate{Closed: true}, "First submit a plan"},
		{"claude PreToolUse", `{"tool_name":"Write","tool_input":{"content":"` + strings.Repeat("x", maxHookInput), api.Gate{Closed: true}, "First submit a plan"},
		{"claude PreToolUse", `{"tool_name":"Read","tool_input":{}}`, api.Gate{Closed: true}, ""},
		{"claude PreToolUse", edit, api.Gate{}, ""},
		{"claude PreToolUse", `{}`, api.Gate{Closed: true}, ""},
		{"claude PreToolUse", `no JSON`, api.Gate{Closed: true}, ""},
		{"claude PreToolUse", ``, api.Gate{Closed: true}, ""},
		{"gemini PreToolUse", edit, api.Gate{Closed: true}, ""},
		{"gemini BeforeTool", `{"tool_name":"write_file","tool_input":{"file_path":"/x"}}`, api.Gate{Closed: true}, "First submit a plan"},
		{"gemini BeforeTool", `{"tool_name":"run_shell_command","tool_input":{"command":"touch x"}}`, api.Gate{Closed: true, Plan: "pending"}, "waits for the lead's approval"},
		{"gemini BeforeTool", `{"tool_name":"read_file","tool_input":{}}`, api.Gate{Closed: true}, ""},
		{"gemini BeforeTool", `{"tool_name":"write_file"}`, api.Gate{}, ""},
		{"opencode tool.execute.before", `{"tool_name":"edit","tool_input":{"filePath":"/x"}}`, api.Gate{Closed: true}, "First submit a plan"},
		{"opencode tool.execute.before", `{"tool_name":"bash","tool_input":{"command":"cat x"}}`, api.Gate{Closed: true}, ""},
		{"claude Stop", edit, api.Gate{Closed: true}, ""},
	} {
		w := newWorld(t)
		w.serve(t, &fakeBackend{gate: c.gate})
		w.stdin = c.stdin
		r := w.run(append([]string{"hook"}, strings.Fields(c.args)...)...)
		if c.says == "" {
			quiet(t, r)
			continue
		}
		assert.Zero(t, r.code)
		assert.Empty(t, r.err)
		var said struct {
			Output   map[string]string `json:"hookSpecificOutput"`
			Decision string
			Reason   string
		}
		require.NoError(t, json.Unmarshal([]byte(r.out), &said), "%s %q", c.args, r.out)
		if !strings.Contains(c.args, "PreToolUse") {
			assert.Equal(t, "deny", said.Decision)
			assert.Contains(t, said.Reason, c.says)
			continue
		}
		assert.Equal(t, "PreToolUse", said.Output["hookEventName"])
		assert.Equal(t, "deny", said.Output["permissionDecision"])
		assert.Contains(t, said.Output["permissionDecisionReason"], c.says)
	}
}

// An agent that is slow to write its request is denied all the same.
func TestC42_slowAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve(t, &fakeBackend{gate: api.Gate{Closed: true}})
	r, asks := io.Pipe()
	go func() {
		time.Sleep(hookTimeout + 100*time.Millisecond) // longer than other events may take
		_, _ = io.WriteString(asks, `{"tool_name":"Edit"}`)
		_ = asks.Close()
	}()
	var out, complaints bytes.Buffer
	code := run(t.Context(), env{Args: []string{"hook", "claude", "PreToolUse"}, Stdin: r, Stdout: &out, Stderr: &complaints, Getenv: w.getenv})
	assert.Zero(t, code, complaints.String())
	assert.Contains(t, out.String(), "First submit a plan")
}

// If the sidecar gives no answer in time, or the agent does not finish its request, the tool may be used.
func TestC42_harmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stdin = `{"tool_name":"Edit"}`
	quiet(t, w.run("hook", "claude", "PreToolUse")) // no sidecar
	b := &fakeBackend{gate: api.Gate{Closed: true}, err: api.Errorf(api.CodeFailed, "no")}
	w.serve(t, b)
	quiet(t, w.run("hook", "claude", "PreToolUse"))
	b.setSilent(true)
	quiet(t, w.run("hook", "claude", "PreToolUse"))

	r, unfinished := io.Pipe()
	defer unfinished.Close()
	var out, complaints bytes.Buffer
	code := run(t.Context(), env{Args: []string{"hook", "claude", "PreToolUse"}, Stdin: r, Stdout: &out, Stderr: &complaints, Getenv: w.getenv})
	quiet(t, result{code, out.String(), complaints.String()})
}

// The command that an agent wants to run is the argument of exactly that name. A spelling that only Go's decoder would accept
// does not count, and if the name occurs twice neither counts.
func TestHookGate_theCommandThatRuns(t *testing.T) {
	for input, want := range map[string]string{
		`{"command": "ls", "description": "x"}`:        "ls",
		`{"a": {"Command": "ls"}, "command": "pwd"}`:   "pwd",
		`{"command": "touch x", "Command": "ls"}`:      "",
		`{"Command": "ls", "command": "touch x"}`:      "",
		`{"command": "touch x", "command": "ls"}`:      "",
		`{"COMMAND": "ls"}`:                            "",
		`{"command": ["ls"]}`:                          "",
		`{"command": "ls"`:                             "ls",
		`["ls"]`:                                       "",
		``:                                             "",
		`{"command": "touch x", "\u0063ommand": "ls"}`: "",
	} {
		assert.Equal(t, want, shellCommand([]byte(input)), input)
	}
}
