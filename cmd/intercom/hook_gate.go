package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

const (
	// preToolUse is the event at which Claude Code, and Codex in its hooks, ask whether a tool may be
	// used. See https://code.claude.com/docs/en/hooks and https://developers.openai.com/codex/hooks.
	preToolUse = "PreToolUse"

	// gateTimeout is what the hook may take there; after it the tool may be used.
	gateTimeout = 900 * time.Millisecond
	// gatePatience is how much of it the agent may take to write.
	gatePatience = 400 * time.Millisecond
)

// toolUse is a use of a tool that an agent asks about.
type toolUse struct {
	tool    string
	command string // of a shell
}

// askGate is what an agent has to hear before it uses a tool: "" where it may, which is also the
// answer to whatever goes wrong.
func (a *app) askGate(ctx context.Context, name string) string {
	if name != "claude" && name != "codex" {
		return ""
	}
	reading, cancel := context.WithTimeout(ctx, gatePatience)
	defer cancel()
	use := readToolUse(reading, a.Stdin)
	if use.tool == "" || use.changesNothing() {
		return ""
	}
	gate, err := callFromHook(ctx, a, api.PlanGate, api.None{})
	if err != nil || !gate.Closed {
		return ""
	}
	return denial(gate.Plan)
}

// denial is what denies the use of a tool, and tells the model why. plan is what became of its last
// plan.
func denial(plan string) string {
	const submit = "submit a plan: with the tool plan_approval, or in your shell, as a command of its own and in single quotes: intercom team plan 'TEXT'"
	next := "First " + submit + ". Then wait for the lead's approval."
	switch plan {
	case "pending":
		next = "Your plan waits for the lead's approval: end your turn, the answer comes here."
	case "rejected", "expired":
		next = fmt.Sprintf("Your last plan is %s: %s.", plan, submit)
	}
	said, err := json.Marshal(map[string]any{"hookSpecificOutput": map[string]string{
		"hookEventName":            preToolUse,
		"permissionDecision":       "deny",
		"permissionDecisionReason": "intercom: you may change nothing before the lead of your team has approved your plan. " + next + " Until then, tools that only read are allowed.",
	}})
	if err != nil {
		return ""
	}
	return string(said) + "\n"
}

// readToolUse reads what an agent tells. A command that breaks off is none.
func readToolUse(ctx context.Context, r io.Reader) (use toolUse) {
	for f := range hookFields(ctx, r) {
		switch f.name {
		case "tool_name":
			use.tool = f.text(maxHookField)
		case "tool_input":
			var input struct {
				Command string `json:"command"`
			}
			_ = json.Unmarshal(f.value, &input)
			use.command = input.Command
		}
	}
	return use
}

// Tools that change nothing. All others are taken to change something, also those that are not known.
var (
	readingTools = []string{
		// Claude Code
		"Read", "Glob", "Grep", "LS", "LSP", "NotebookRead", "WebFetch", "WebSearch", "ToolSearch",
		"ListMcpResourcesTool", "ReadMcpResourceTool", "BashOutput", "TaskOutput",
		"AskUserQuestion", "EnterPlanMode", "ExitPlanMode", "TodoWrite", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate",
		// Codex
		"update_plan", "view_image",
	}
	speakingTools = []string{ // ours
		"plan_approval", "shutdown_response", "send_message", "reply", "check_messages", "list_sessions", "list_chats", "list_computers", "get_session_data",
	}
	readingCommands  = []string{"cat", "grep", "head", "ls", "pwd", "tail", "wc"}
	speakingCommands = []string{"plan", "plan-wait", "shutdown-response", "send", "inbox", "list"} // of intercom team
)

// changesNothing reports whether a tool may be used before a plan is approved.
func (u toolUse) changesNothing() bool {
	if ours, ok := strings.CutPrefix(u.tool, "mcp__intercom__"); ok {
		return slices.Contains(speakingTools, afterPrefix(ours))
	}
	if u.tool != "Bash" {
		return slices.Contains(readingTools, u.tool)
	}
	words, ok := plainCommand(u.command)
	switch {
	case !ok || len(words) == 0:
		return false
	case words[0] == "intercom":
		return len(words) > 2 && words[1] == "team" && slices.Contains(speakingCommands, words[2])
	}
	return slices.Contains(readingCommands, words[0])
}

// afterPrefix is the name of a tool of ours without what `intercom mcp --tool-prefix` puts before it.
func afterPrefix(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		return tool[i+len("__"):]
	}
	return tool
}

// plainCommand takes a shell's command line apart, if it is one command whose words stand there as
// they are: nothing is expanded that could run something else, joined to it or redirected.
func plainCommand(line string) (words []string, ok bool) {
	var word strings.Builder
	inWord, quote := false, rune(0)
	for _, r := range strings.Trim(line, " \t\n") {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == '\'', quote == '"' && !strings.ContainsRune("$`\\", r):
			word.WriteRune(r)
		case quote == '"', strings.ContainsRune(";&|<>()$`\\\n\r", r):
			return nil, false
		case r == '\'' || r == '"':
			inWord, quote = true, r
		case r == ' ' || r == '\t':
			if inWord {
				words = append(words, word.String())
			}
			word.Reset()
			inWord = false
		default:
			word.WriteRune(r)
			inWord = true
		}
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, quote == 0
}
