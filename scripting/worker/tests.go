package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The tests of a policy are a Lua file beside it, which says how the policy must answer certain messages. The tests run
// in a machine of their own, with no access to the machine of the policy. Each message goes through the policy like a
// real one, in a fresh machine, within the limits of one message.

const (
	testInstructions = 5_000_000 // of one test, without those of the policy
	testTime         = 10 * time.Second
	maxCases         = 5000
	maxFailed        = 200 // failed cases that are reported in full
)

// testRun is the run of one file of tests.
type testRun struct {
	set      *set
	script   *script // the policy
	state    *state  // of the tests
	result   policy.Tested
	ended    map[int]string
	announce func(n int)

	fixtures []policy.Input
	pending  []pendingTest
	number   int // of the current case, from 1
	details  int // failures reported in full

	// Of the current case.
	advance time.Duration
	agents  []policy.Agent
	failed  *policy.Difference
	asked   bool // it has called expect

	lines map[int]bool    // the lines that the policy has run
	held  map[string]bool // rules that have decided, by their By
}

// pendingTest is one test that the file asks for: the rows of a table, or a function.
type pendingTest struct {
	title string
	line  int
	hook  string
	rows  []lua.LValue
	fn    *lua.LFunction
}

// runTests runs a file of tests about the only script of a set.
func runTests(of *set, q wire.Test, announce func(n int)) policy.Tested {
	t := &testRun{
		set: of, script: of.scripts[0], ended: q.Ended, announce: announce,
		lines: map[int]bool{}, held: map[string]bool{},
		result: policy.Tested{File: q.File.Name, Of: of.scripts[0].source.Name, Cases: []policy.Case{}},
	}
	of.visit = func(line int) { t.lines[line] = true }
	t.script.spare = nil // the spare machine ran the file without counting its lines
	if t.load(q.File) {
		for _, p := range t.pending {
			t.run(p)
		}
		if len(t.result.Cases) == 0 {
			t.problem(0, "no test found; write cases(title, hook, rows), or test(title, function(t) … end)")
		}
	}
	t.cover()
	return t.result
}

func (t *testRun) problem(line int, text string) {
	t.result.Problems = append(t.result.Problems, policy.Problem{File: t.result.File, Line: line, Text: text})
}

// load compiles the file of tests and runs it, which registers the tests.
func (t *testRun) load(source policy.Source) bool {
	s := &script{source: source, patterns: map[string]*pattern{}, hooks: map[policy.Hook][]int{}}
	proto, problems := compileSource(source, testLibraries())
	t.result.Problems = append(t.result.Problems, problems...)
	if proto == nil || slices.ContainsFunc(problems, func(p policy.Problem) bool { return !p.Warning }) {
		return false
	}
	s.proto = proto
	visit := t.set.visit
	t.set.visit = nil
	made, failure := newStateWith(t.set, s, t.install)
	t.set.visit = visit
	if failure != nil {
		t.problem(failure.Line, failure.Text)
		return false
	}
	t.state = made
	return true
}

// run runs one test, or one for each row of a table.
func (t *testRun) run(p pendingTest) {
	if p.fn != nil {
		t.one(p.title, p.line, func() *policy.Failure {
			_, failure := t.state.call(testInstructions, testTime, p.fn, t.state.object(testObject, 0))
			if failure == nil && !t.asked {
				failure = &policy.Failure{Line: p.line, Text: "nothing was expected: t.expect(hook, message, answer)"}
			}
			return failure
		})
		return
	}
	for i, row := range p.rows {
		t.one(fmt.Sprintf("%s, row %d", p.title, i+1), p.line, func() *policy.Failure {
			_, failure := t.state.call(testInstructions, testTime, t.state.machine.NewFunction(func(L *lua.LState) int {
				values, ok := row.(*lua.LTable)
				if !ok || values.Len() != 2 {
					L.RaiseError("a row is { message, answer }; use nothing where no answer is expected")
				}
				t.expect(L, p.hook, values.RawGetInt(1), values.RawGetInt(2))
				return 0
			}))
			return failure
		})
	}
}

// one runs one case, with fresh memories and agents.
func (t *testRun) one(title string, line int, run func() *policy.Failure) {
	if len(t.result.Cases) >= maxCases {
		if len(t.result.Cases) == maxCases && t.number == maxCases {
			t.problem(line, fmt.Sprintf("more than %d cases: the others were not run", maxCases))
			t.number++
		}
		return
	}
	t.number++
	c := policy.Case{Title: printable(title, 200), Line: line}
	if why, ok := t.ended[t.number]; ok {
		c.Failed = &policy.Difference{Text: why}
		t.result.Cases = append(t.result.Cases, c)
		return
	}
	t.set.memories = policy.Memories{}
	t.advance, t.agents, t.failed, t.asked = 0, nil, nil, false
	t.announce(t.number)
	failure := run()
	switch {
	case t.failed != nil: // even if the test has caught the error
		c.Failed = t.failed
	case failure != nil:
		c.Failed = &policy.Difference{Text: strings.TrimSpace(failure.Text)} // the failure of a row has no line
		if failure.Line > 0 {
			c.Failed.Text = fmt.Sprintf("%s:%d: %s", t.result.File, failure.Line, failure.Text)
		}
	}
	if c.Failed != nil {
		if t.details++; t.details > maxFailed {
			c.Failed = &policy.Difference{Text: c.Failed.Text}
		}
	}
	t.result.Cases = append(t.result.Cases, c)
}

// expect asks the policy about a message, and compares the answer with the expected one.
func (t *testRun) expect(L *lua.LState, hook string, msg, want lua.LValue) {
	t.asked = true
	in := t.input(L, msg)
	wanted := t.wanted(L, hook, want)
	t.announce(t.number) // each message has its own time
	e := newEvaluation(t.set, in, nil)
	v := e.run()
	t.set.memories.Apply(v.Effects)
	if t.script.spare == nil {
		t.script.spare = t.script.fresh(t.set)
	}
	got := t.answered(hook, v)
	for _, a := range v.Answers {
		if a.Hook == policy.Decide {
			t.held[a.By] = true
		}
	}
	difference := wanted.difference(got)
	if difference == "" {
		return
	}
	t.failed = &policy.Difference{
		Text: difference, Message: described(in), Hook: hook, Want: wanted.text(), Got: got.text(), By: got.by, Reason: got.decision.Reason, Log: logged(v.Log),
	}
	L.RaiseError("%s", difference)
}

// input returns the message of a fixture, at the time and with the agents of the current case.
func (t *testRun) input(L *lua.LState, msg lua.LValue) policy.Input {
	if !t.state.is(msg, fixtureObject) {
		L.RaiseError("a message of a fixture expected, not a %s: local msg = fixture { … }", msg.Type())
	}
	in := t.fixtures[held(msg)]
	in.Now = in.Now.Add(t.advance)
	in.Message.Created = in.Message.Created.Add(t.advance)
	in.Agents = append(slices.Clone(t.agents), in.Agents...)
	if in.Message.ID == "" {
		in.Message.ID = message.ID(fmt.Sprintf("00000000-0000-7000-8000-%012d", t.number))
	}
	in.Traced = true
	return in
}

// described returns a message in words.
func described(in policy.Input) string {
	m := in.Message
	text := fmt.Sprintf("%s from %s to %s, %s, origin %s", m.Type, policy.NameOf(m.From), policy.NameOf(in.To[0]), priority(m.Priority), originOf(m))
	if m.Subject != "" {
		text += fmt.Sprintf(", subject %q", clip(m.Subject, 80))
	}
	return printable(text+": "+fmt.Sprintf("%q", clip(m.Body, 200)), 500)
}

func logged(lines []policy.LogLine) string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, fmt.Sprintf("%s:%d: %s", l.Script, l.Line, l.Text))
	}
	return clip(strings.Join(texts, "\n"), 2<<10)
}

// cover reports what the tests have not run.
func (t *testRun) cover() {
	code := map[int]bool{}
	codeLines(t.script.proto, code)
	for _, line := range sortedKeys(code) {
		if !t.lines[line] {
			t.result.Coverage.Unrun = append(t.result.Coverage.Unrun, line)
		}
	}
	t.result.Coverage.Lines = len(code)
	for _, r := range t.script.registered[policy.Decide] {
		if r.rule != nil && !t.held[r.rule.decision.By] {
			t.result.Coverage.Unheld = append(t.result.Coverage.Unheld, r.rule.decision.By)
		}
	}
}

// codeLines collects the lines that have instructions. It skips the implicit return at the end of every function, which
// belongs to no line of the source.
func codeLines(p *lua.FunctionProto, lines map[int]bool) {
	for _, line := range p.DbgSourcePositions[:max(0, len(p.DbgSourcePositions)-1)] {
		if line > 0 {
			lines[line] = true
		}
	}
	for _, inner := range p.FunctionPrototypes {
		codeLines(inner, lines)
	}
}

// testLibraries are the globals of a file of tests.
var testLibraries = sync.OnceValue(func() map[string][]string {
	return globalsOf(func(s *state) { (&testRun{}).install(s) })
})
