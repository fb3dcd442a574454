package worker

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// verdictHook is the name that tests use for the final decision, after the guards.
const verdictHook = "verdict"

// nothingObject is the answer of a policy that says nothing.
var nothingObject = &class{name: "intercom.Nothing", noun: "nothing", doc: "The answer of a policy that says nothing."}

// testObject is the argument of a test function.
var testObject = &class{
	name: "intercom.Test", noun: "t", doc: "One test: what the policy has remembered of its messages is gone after it.",
	members: []member{
		{name: "now", typ: "number", doc: "How many seconds t.advance has let pass.", get: func(s *state, _ int) lua.LValue {
			return lua.LNumber(s.tests.advance.Seconds())
		}},
		{
			name: "expect", params: []param{{"hook", hookNames()}, {"message", "intercom.Fixture"}, {"answer", "any"}},
			doc: "Lets the policy decide about a message, and compares what it answers at a hook.",
			call: func(s *state, L *lua.LState) int {
				s.tests.expect(L, s.tests.hookNamed(L, L.CheckString(1)), L.Get(2), L.Get(3))
				return 0
			},
		},
		{
			name: "advance", params: []param{{"seconds", "number"}}, doc: "Lets time pass.",
			call: func(s *state, L *lua.LState) int {
				s.tests.advance = min(s.tests.advance+s.secondsOf(L, "t.advance", L.CheckNumber(1)), 100*366*24*time.Hour)
				return 0
			},
		},
		{
			name: "agent", params: []param{{"agent", fixtureAgent.name}}, doc: "Lets ctx.agent find a peer from now on, in place of one of the same name.",
			call: func(s *state, L *lua.LState) int {
				a := s.fixtureAgent(L, L.CheckTable(1))
				known := slices.DeleteFunc(s.tests.agents, func(old policy.Agent) bool { return policy.NameOf(old.Address) == policy.NameOf(a.Address) })
				if s.tests.agents = append(known, a); len(s.tests.agents) > policy.MaxRecipients {
					L.RaiseError("more than %d agents", policy.MaxRecipients)
				}
				return 0
			},
		},
		{
			name: "get", params: []param{{"key", "string"}}, returns: "string|number|boolean|nil", doc: "What the policy has remembered with ctx.set.",
			call: func(s *state, L *lua.LState) int {
				L.Push(s.value(s.set.memories[s.tests.script.source.Name].Values[L.CheckString(1)]))
				return 1
			},
		},
	},
}

func hookNames() string {
	var names []string
	for _, h := range testHooks() {
		names = append(names, `"`+h+`"`)
	}
	return strings.Join(names, "|")
}

func testHooks() []string {
	var names []string
	for _, h := range policy.Hooks {
		names = append(names, string(h))
	}
	return append(names, verdictHook)
}

// install adds the globals of a file of tests to a machine.
func (t *testRun) install(s *state) {
	s.tests = t
	call := func(L *lua.LState) int {
		L.Push(s.fixture(L, t.fixtures[held(L.Get(1))], L.CheckTable(2)))
		return 1
	}
	s.metatable(fixtureObject).RawSetString("__call", s.machine.NewFunction(call))
	globals := s.machine.G.Global
	globals.RawSetString("nothing", s.object(nothingObject, 0))
	for _, g := range testGlobals {
		globals.RawSetString(g.name, s.machine.NewFunction(func(L *lua.LState) int { return g.call(s, L) }))
	}
}

// testGlobals are the global functions of a file of tests.
var testGlobals = []member{
	{
		name: "fixture", params: []param{{"fields", fixtures.name}}, returns: fixtureObject.name, doc: "Makes a message for tests.",
		call: func(s *state, L *lua.LState) int {
			L.Push(s.fixture(L, firstFixture(), L.CheckTable(1)))
			return 1
		},
	},
	{
		name: "cases", params: []param{{"title", "string"}, {"hook", hookNames()}, {"rows", "any[][]"}},
		doc: "Tests what the policy answers at a hook, for each row of { message, answer }. Each is a test of its own.",
		call: func(s *state, L *lua.LState) int {
			p := pendingTest{title: s.said(L, "a title", L.Get(1), maxReason), line: s.where(), hook: s.tests.hookNamed(L, L.CheckString(2))}
			rows := L.CheckTable(3)
			for i := 1; i <= min(rows.Len(), maxCases); i++ {
				p.rows = append(p.rows, rows.RawGetInt(i))
			}
			if len(p.rows) == 0 {
				L.ArgError(3, "a list of rows expected: { { message, answer }, … }")
			}
			s.tests.add(L, p)
			return 0
		},
	},
	{
		name: "test", params: []param{{"title", "string"}, {"fn", "fun(t: " + testObject.name + ")"}}, doc: "Tests several messages that follow each other.",
		call: func(s *state, L *lua.LState) int {
			s.tests.add(L, pendingTest{title: s.said(L, "a title", L.Get(1), maxReason), line: s.where(), fn: L.CheckFunction(2)})
			return 0
		},
	},
}

func (t *testRun) add(L *lua.LState, p pendingTest) {
	if t.state != nil {
		L.RaiseError("tests must be at the top of the file")
	}
	if len(t.pending) >= maxCases {
		L.RaiseError("more than %d tests in one file", maxCases)
	}
	t.pending = append(t.pending, p)
}

// hookNamed checks the name of a hook.
func (t *testRun) hookNamed(L *lua.LState, name string) string {
	if !slices.Contains(testHooks(), name) {
		L.RaiseError("hook must be %s, not %q%s", quoted(testHooks()), clip(name, 64), meant(name, testHooks()))
	}
	return name
}

// replied is an actual or expected answer of a policy: fields by name.
type replied struct {
	nothing  bool
	fields   map[string]any // string, float64, []string or map[string]string
	by       string
	decision policy.Decision
	failure  string
}

// wanted reads the answer that a test expects at a hook.
func (t *testRun) wanted(L *lua.LState, hook string, v lua.LValue) replied {
	s := t.state
	if s.is(v, nothingObject) {
		return replied{nothing: true}
	}
	fields := map[string]any{}
	text := func(name string, v lua.LValue) { fields[name] = s.said(L, name, v, policy.MaxFormatted) }
	table, isTable := v.(*lua.LTable)
	switch hook {
	case string(policy.Filter):
		if !isTable {
			text("body", v)
			break
		}
		s.eachField(L, table, patches, func(name string, v lua.LValue) {
			switch name {
			case "tags":
				fields[name] = s.tags(L, v, maxMasked)
			case "meta":
				values := map[string]string{}
				s.eachSetting(L, name, v, func(key string, v lua.LValue) { values[key] = s.said(L, name+"."+key, v, policy.MaxMeta) })
				fields[name] = values
			default:
				text(name, v)
			}
		})
	case string(policy.Route):
		fields["names"] = s.texts(L, "names", v)
	case string(policy.Format):
		text("text", v)
	default:
		if !isTable {
			text("verb", v)
		} else {
			s.eachField(L, table, wantedDecision, func(name string, v lua.LValue) {
				switch name {
				case "tags":
					fields[name] = s.tags(L, v, maxMasked)
				case "idle":
					fields[name] = s.truth(L, name, v)
				case "after", "expires":
					fields[name] = s.duration(L, name, v).Seconds()
				default:
					text(name, v)
				}
			})
		}
		if verb, ok := fields["verb"].(string); ok {
			oneOf(L, "verb", message.Verb(verb), policy.Verbs())
		}
	}
	if len(fields) == 0 {
		L.RaiseError("an empty answer expects nothing; use the value nothing instead")
	}
	return replied{fields: fields}
}

// wantedDecision has the fields of a decision that a test can name.
var wantedDecision = &class{
	name: "intercom.WantedDecision", noun: "answer", doc: "What a test expects of a decision. What it does not name may be anything.", table: true,
	members: append([]member{{name: "verb", typ: "string"}}, options.members...),
}

// answered returns what the policy answered at a hook.
func (t *testRun) answered(hook string, v policy.Verdict) replied {
	r := replied{nothing: true, fields: map[string]any{}}
	for _, f := range v.Failures {
		r.by = fmt.Sprintf("%s:%d", f.Script, f.Line)
		r.failure = fmt.Sprintf("%s: %s failed: %s", r.by, f.Hook, f.Text)
		return r
	}
	for _, a := range v.Answers {
		if string(a.Hook) != hook {
			continue
		}
		r.nothing, r.by = false, a.By
		if a.Decision != nil {
			if r.decision.Verb == "" || policy.Rank(a.Decision.Verb) > policy.Rank(r.decision.Verb) {
				r.decision = *a.Decision
			}
			r.by = r.decision.By
		}
	}
	if hook == verdictHook && len(v.Outcomes) > 0 && v.Outcomes[0].By != policy.BuiltIn {
		r.nothing, r.decision, r.by = false, v.Outcomes[0].Decision, v.Outcomes[0].By
	}
	if r.nothing {
		return r
	}
	switch hook {
	case string(policy.Filter):
		if v.Body != nil {
			r.fields["body"] = *v.Body
		}
		if v.Subject != nil {
			r.fields["subject"] = *v.Subject
		}
		if v.Tags != nil {
			r.fields["tags"] = *v.Tags
		}
		if v.Meta != nil {
			r.fields["meta"] = v.Meta
		}
	case string(policy.Route):
		r.fields["names"] = v.Route
	case string(policy.Format):
		if v.Outcomes[0].Formatted != nil {
			r.fields["text"] = *v.Outcomes[0].Formatted
		}
	default:
		d := r.decision
		r.fields = map[string]any{
			"verb": string(d.Verb), "reason": d.Reason, "notify": d.Notify, "after": d.After.Seconds(), "idle": d.Idle, "expires": d.Expires.Seconds(),
			"otherwise": string(d.Otherwise), "prompt": d.Prompt, "text": d.Text, "tags": d.Tags,
		}
	}
	return r
}

// difference says how an answer differs from the wanted one; "" if it does not.
func (want replied) difference(got replied) string {
	if got.failure != "" {
		return got.failure
	}
	if want.nothing || got.nothing {
		if want.nothing && got.nothing {
			return ""
		}
		return fmt.Sprintf("want %s, got %s", want.text(), got.text())
	}
	for _, name := range sortedKeys(want.fields) {
		if w, g := inWords(want.fields[name]), inWords(got.fields[name]); w != g {
			return fmt.Sprintf("want %s %s, got %s", name, clip(w, 200), clip(g, 200))
		}
	}
	return ""
}

// text returns an answer in words.
func (r replied) text() string {
	if r.failure != "" {
		return "a failure"
	}
	if r.nothing {
		return "nothing"
	}
	var texts []string
	for _, name := range slices.SortedFunc(slices.Values(sortedKeys(r.fields)), verbFirst) {
		if v := r.fields[name]; v != "" && v != 0.0 && v != false && inWords(v) != "{}" {
			texts = append(texts, name+" "+clip(inWords(v), 300))
		}
	}
	return strings.Join(texts, ", ")
}

func verbFirst(a, b string) int {
	if (a == "verb") != (b == "verb") {
		if a == "verb" {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// inWords returns a value as a test would write it.
func inWords(v any) string {
	switch v := v.(type) {
	case string:
		return fmt.Sprintf("%q", v)
	case []string:
		texts := make([]string, len(v))
		for i, text := range v {
			texts[i] = fmt.Sprintf("%q", text)
		}
		return "{" + strings.Join(texts, ", ") + "}"
	case map[string]string:
		texts := make([]string, 0, len(v))
		for _, key := range sortedKeys(v) {
			texts = append(texts, fmt.Sprintf("%s = %q", key, v[key]))
		}
		return "{" + strings.Join(texts, ", ") + "}"
	case nil:
		return "nothing"
	}
	return fmt.Sprint(v)
}
