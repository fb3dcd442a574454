package labtest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadDirectives(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       directives
	}{
		{"none", "just words, a [[ and a ]] and [x]", directives{}},
		{"words", "please [[say one\n\ntwo]] thanks", directives{words: "one\n\ntwo"}},
		{"lines", "[[lines 2]]", directives{words: "Line 1 of 2, which the mock has counted.\n\nLine 2 of 2, which the mock has counted."}},
		{"several", "[[slow 1.5]] [[hold]][[stall]] [[before b]]", directives{over: 1500 * time.Millisecond, hold: true, stall: true, before: "b"}},
		{"a duration", "[[slow 20ms]]", directives{over: 20 * time.Millisecond}},
		{"an error", "[[error 529]]", directives{status: 529}},
		{"some errors", "[[error 500 3]]", directives{status: 500, times: 3}},
		{"a command", "[[bash test -n \"$x\" && ls [a]* ]]", directives{wishes: []wish{{kind: wantShell, text: `test -n "$x" && ls [a]*`}}}},
		{"a file", "[[write a.txt two words]]", directives{wishes: []wish{{kind: wantWrite, file: "a.txt", text: "two words"}}}},
		{"a question", "[[ask Which one? | the red | the blue ]]", directives{wishes: []wish{{kind: wantAnswer, text: "Which one?", options: []string{"the red", "the blue"}}}}},
		{"a plan", "[[plan First.\nThen.]]", directives{wishes: []wish{{kind: wantPlan, text: "First.\nThen."}}}},
		{"a tool", `[[tool mcp__x {"a":[[1]],"b":"[[say no]]"}]] [[say yes]]`, directives{
			words: "yes", wishes: []wish{{kind: wantTool, call: Call{"mcp__x", json.RawMessage(`{"a":[[1]],"b":"[[say no]]"}`)}}},
		}},
		{"a tool without arguments", `[[tool x]]`, directives{wishes: []wish{{kind: wantTool, call: Call{"x", json.RawMessage(`{}`)}}}}},
		{"a tool whose arguments are no JSON", `[[tool x {]] [[say yes]]`, directives{words: "yes"}},
		{"never closed", "[[say one [[lines 1]", directives{}},
		{"behind an attribution", "[Alice] (3):\n\n[[say hello]]", directives{words: "hello"}},
		{"unknown", "[[dance now]]", directives{}},
	} {
		t.Run(c.name, func(t *testing.T) { assert.Equal(t, c.want, readDirectives(c.text)) })
	}
}

func FuzzReadDirectives(f *testing.F) {
	f.Add("[[say a]] [[tool x {\"a\":[[1]]}]] [[bash ]]")
	f.Fuzz(func(t *testing.T, text string) {
		for _, w := range readDirectives(text).wishes {
			if w.kind == wantTool {
				require.True(t, json.Valid(w.call.Arguments), "%q", w.call.Arguments)
			}
		}
	})
}

// Every agent's own tools serve every wish that the agent can fulfil.
func TestResolve(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     Request
		w     wish
		tools []string
	}{
		{"Claude's shell", Request{Tools: []string{"Edit", "Bash"}}, wish{kind: wantShell, text: "ls"}, []string{"Bash"}},
		{"Codex's shell", Request{Tools: []string{"exec_command"}}, wish{kind: wantShell, text: "ls"}, []string{"exec_command"}},
		{"Codex writes by its shell", Request{Tools: []string{"exec_command"}}, wish{kind: wantWrite, file: "a", text: "b"}, []string{"exec_command"}},
		{"Codex writes by its patches", Request{Tools: []string{"exec_command", "apply_patch"}}, wish{kind: wantWrite, file: "a", text: "b"}, []string{"apply_patch"}},
		{"Claude's plan", Request{Tools: []string{"Write"}, planFile: "/h/.claude/plans/p.md"}, wish{kind: wantPlan, text: "p"}, []string{"Write", "ExitPlanMode"}},
		{"Gemini's plan", Request{Tools: []string{"write_file", "exit_plan_mode"}, planFile: "/h/plans/plan.md"}, wish{kind: wantPlan, text: "p"}, []string{"write_file", "exit_plan_mode"}},
		{"no mode for plans", Request{Tools: []string{"Write"}}, wish{kind: wantPlan, text: "p"}, nil},
		{"Codex's shell, of a model that has programs", Request{Tools: []string{"functions/exec"}}, wish{kind: wantShell, text: "ls"}, []string{"functions/exec"}},
		{"Claude's question", Request{Tools: []string{"AskUserQuestion"}}, wish{kind: wantAnswer, text: "q", options: []string{"a", "b"}}, []string{"AskUserQuestion"}},
		{"a tool by name", Request{}, wish{kind: wantTool, call: Call{"x", json.RawMessage(`{}`)}}, []string{"x"}},
		{"nothing for it", Request{Tools: []string{"Read"}}, wish{kind: wantShell, text: "ls"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tools []string
			for _, call := range c.r.resolve(c.w) {
				tools = append(tools, call.Tool)
				assert.True(t, json.Valid(call.Arguments))
			}
			assert.Equal(t, c.tools, tools)
		})
	}
	assert.Equal(t, "*** Begin Patch\n*** Add File: a\n+one\n+two\n*** End Patch\n", patch("a", "one\ntwo"))
}

func TestFromUser(t *testing.T) {
	for _, note := range []string{
		"<system-reminder>\nx\n</system-reminder>\n", "<environment_context>\n</environment_context>", "[Request interrupted by user for tool use]",
	} {
		assert.Equal(t, byClient, fromUser(note).by, "%q", note)
	}
	for _, own := range []string{
		"hello", "", "see <system-reminder>x</system-reminder>", "<system-reminder>x</system-reminder> and more", "[Request interrupted by user] they say",
	} {
		assert.Equal(t, said{by: byUser, text: own}, fromUser(own))
	}
}
