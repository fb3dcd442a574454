package labtest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// wish is what a directive wants done with a tool. The tools on offer decide which tool that is.
type wish struct {
	kind    wishKind
	text    string // command, text, question, plan
	file    string
	options []string
	call    Call // for wantTool
}

type wishKind int

const (
	wantTool wishKind = iota
	wantShell
	wantRead
	wantWrite
	wantAnswer
	wantPlan
)

type object = map[string]any

// resolve returns the calls that fulfil a wish with the offered tools, or none if there are no such tools.
func (r Request) resolve(w wish) []Call {
	if w.kind == wantTool {
		return []Call{w.call}
	}
	if w.kind == wantPlan && r.planFile != "" {
		// The agent shows the content of this file as the plan.
		if slices.Contains(r.Tools, "exit_plan_mode") {
			return []Call{
				call("write_file", object{"file_path": r.planFile, "content": w.text}),
				call("exit_plan_mode", object{"plan_filename": filepath.Base(r.planFile)}),
			}
		}
		return []Call{
			call("Write", object{"file_path": r.planFile, "content": w.text}),
			call("ExitPlanMode", object{"plan": w.text}), // Claude Code accepts it without offering it
		}
	}
	var options []object
	for _, label := range w.options {
		options = append(options, object{"label": label, "description": "One of the answers."})
	}
	question := object{"id": "choice", "header": "Choice", "question": w.text, "options": options}
	const why = "The user asked for it."
	// The first tool that is offered is used.
	for _, known := range []struct {
		kind      wishKind
		tool      string
		arguments object
	}{
		{wantShell, "Bash", object{"command": w.text, "description": why}},
		{wantShell, "exec_command", object{"cmd": w.text, "sandbox_permissions": "require_escalated", "justification": why}},
		{wantShell, "functions/exec", object{"input": script("exec_command", object{"cmd": w.text, "sandbox_permissions": "require_escalated", "justification": why})}},
		{wantShell, "bash", object{"command": w.text, "description": why}},
		{wantShell, "run_shell_command", object{"command": w.text, "description": why}},

		{wantRead, "Read", object{"file_path": w.file}},
		{wantRead, "exec_command", object{"cmd": "cat '" + w.file + "'"}},
		{wantRead, "functions/exec", object{"input": script("exec_command", object{"cmd": "cat '" + w.file + "'"})}},
		{wantRead, "read", object{"filePath": w.file}},
		{wantRead, "read_file", object{"file_path": w.file}},

		{wantWrite, "Write", object{"file_path": w.file, "content": w.text}},
		{wantWrite, "apply_patch", object{"input": patch(w.file, w.text)}},
		{wantWrite, "functions/exec", object{"input": script("apply_patch", patch(w.file, w.text))}},
		{wantWrite, "exec_command", object{"cmd": "apply_patch <<'END'\n" + patch(w.file, w.text) + "END\n"}},
		{wantWrite, "write", object{"filePath": w.file, "content": w.text}},
		{wantWrite, "write_file", object{"file_path": w.file, "content": w.text}},

		{wantAnswer, "AskUserQuestion", object{"questions": []object{with(question, "multiSelect", false)}}},
		{wantAnswer, "request_user_input", object{"questions": []object{question}}},
		{wantAnswer, "functions/request_user_input", object{"questions": []object{question}}},
		{wantAnswer, "question", object{"questions": []object{question}}},
		{wantAnswer, "ask_user", object{"questions": []object{with(question, "type", "choice")}}},
	} {
		if known.kind == w.kind && slices.Contains(r.Tools, known.tool) {
			return []Call{call(known.tool, known.arguments)}
		}
	}
	return nil
}

func call(tool string, arguments object) Call {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // strings have a JSON form
	}
	return Call{tool, data}
}

// script returns a program that calls a tool. For some models Codex offers only one tool, which takes a program.
func script(tool string, argument any) string {
	data, err := json.Marshal(argument)
	if err != nil {
		panic(err) // strings have a JSON form
	}
	return fmt.Sprintf("text(await tools.%s(%s))\n", tool, data)
}

// with returns a copy of o with one more member.
func with(o object, name string, value any) object {
	more := object{name: value}
	for k, v := range o {
		more[k] = v
	}
	return more
}

// patch returns a patch that adds a file, in Codex's format.
func patch(file, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*** Begin Patch\n*** Add File: %s\n", file)
	for line := range strings.Lines(text + "\n") {
		b.WriteString("+" + line)
	}
	b.WriteString("*** End Patch\n")
	return b.String()
}
