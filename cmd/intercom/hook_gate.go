package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// toolUse is a use of a tool that an agent asks about.
type toolUse struct {
	tool    string
	command string // the command line, if the tool is a shell
}

// asksGate reports whether an agent's event asks for permission to use a tool.
func asksGate(args []string) bool {
	return len(args) > 1 && args[1] != "" && gateOf(args[0]).Event == args[1]
}

// gateOf returns the gate of an agent.
func gateOf(name string) gate {
	a, _ := profile.AgentByName(name)
	return gate{a.Settings.Hooks.Gate}
}

// gate says how an agent asks before it uses a tool, and which tools it may use.
type gate struct{ profile.Gate }

// askGate returns the answer to an agent that is about to use a tool. "" permits it, and is also the answer if anything
// goes wrong.
func (a *app) askGate(ctx context.Context, name string) string {
	of := gateOf(name)
	reading, cancel := context.WithTimeout(ctx, cmp.Or(a.HookTime, gatePatience))
	defer cancel()
	use := readToolUse(reading, a.Stdin)
	if use.tool == "" || of.changesNothing(use) {
		return ""
	}
	now, err := callFromHook(ctx, a, api.PlanGate, api.None{})
	if err != nil || !now.Closed {
		return ""
	}
	why, err := json.Marshal(denial(now.Plan))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(of.Deny, why) + "\n"
}

// denial tells a model why it may not use a tool. plan is the state of its last plan.
func denial(plan string) string {
	const submit = "submit a plan: with the tool plan_approval, or in your shell, as a command of its own and in single quotes: intercom team plan 'TEXT'"
	next := "First " + submit + ". Then wait for the lead's approval."
	switch plan {
	case "pending":
		next = "Your plan waits for the lead's approval: end your turn, the answer comes here."
	case "rejected", "expired":
		next = fmt.Sprintf("Your last plan is %s: %s.", plan, submit)
	}
	return "intercom: you may change nothing before the lead of your team has approved your plan. " + next + " Until then, tools that only read are allowed."
}

// readToolUse reads what an agent writes about a use of a tool. A command that breaks off counts as none.
func readToolUse(ctx context.Context, r io.Reader) (use toolUse) {
	for f := range hookFields(ctx, r) {
		switch f.name {
		case "tool_name":
			use.tool = f.text(maxHookField)
		case "tool_input":
			use.command = shellCommand(f.value)
		}
	}
	return use
}

// shellCommand returns the command in the input of a shell tool; "" unless the input has it exactly once. encoding/json
// takes "Command" for the same field, and the last of two, but the agent may run the other.
func shellCommand(input json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	command, found := "", false
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return ""
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return ""
		}
		if key, _ := name.(string); strings.EqualFold(key, "command") {
			if found || key != "command" || json.Unmarshal(value, &command) != nil {
				return ""
			}
			found = true
		}
	}
	return command
}

var (
	speakingTools = []string{ // ours
		"plan_approval", "shutdown_response", "send_message", "reply", "check_messages", "list_sessions", "list_chats", "list_computers", "get_session_data",
		"team_send", "team_inbox", "list_teammates",
	}
	readingCommands  = []string{"cat", "grep", "head", "ls", "pwd", "tail", "wc"}
	speakingCommands = []string{"plan", "plan-wait", "shutdown-response", "send", "inbox", "list"} // of intercom team
)

// changesNothing reports whether a tool may be used before a plan is approved.
func (g gate) changesNothing(use toolUse) bool {
	if ours, ok := strings.CutPrefix(use.tool, g.Ours); ok {
		return slices.Contains(speakingTools, afterPrefix(ours))
	}
	if use.tool != g.Shell {
		return slices.Contains(g.Reading, use.tool)
	}
	words, ok := plainCommand(use.command)
	switch {
	case !ok || len(words) == 0:
		return false
	case words[0] == "intercom":
		return len(words) > 2 && words[1] == "team" && slices.Contains(speakingCommands, words[2])
	}
	return slices.Contains(readingCommands, words[0])
}

// afterPrefix returns the name of a tool of ours without the prefix that `intercom mcp --tool-prefix` adds.
func afterPrefix(tool string) string {
	if i := strings.LastIndex(tool, "__"); i >= 0 {
		return tool[i+len("__"):]
	}
	return tool
}

// plainCommand splits a shell's command line into words. It succeeds only for a single command whose words are literal:
// nothing in it is expanded in a way that could run something else, joined to another command, or redirected.
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
