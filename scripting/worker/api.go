package worker

import (
	"cmp"
	"maps"
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
)

// answers has the type of each hook's answer, as the annotations write it.
var answers = map[policy.Hook]string{
	policy.Filter: "intercom.Patch|nil",
	policy.Route:  "string|string[]|nil",
	policy.Decide: "intercom.Decision|nil",
	policy.Guard:  "intercom.Decision|nil",
	policy.Format: "string|nil",
}

// patches has what a filter returns.
var patches = &class{
	name: "intercom.Patch", noun: "patch", doc: "What a filter changes of a message.", table: true,
	members: []member{
		{name: "body", typ: "string"},
		{name: "subject", typ: "string"},
		{name: "tags", typ: "string[]"},
		{name: "meta", typ: "table<string, string>", doc: "The values that change, of keys that the message has."},
	},
}

// intercom is the one global table that this package adds.
var intercom = &class{
	name: "intercom", noun: "intercom", doc: "What policies are made of.",
	members: append([]member{
		{
			name: "on", params: []param{{"hook", "string"}, {"fn", "function"}}, doc: "Asks a function at a hook.", overloads: hookTypes(),
			call: (*state).on,
		},
		{
			name: "rule", params: []param{{"name", "string"}, {"match", "intercom.Match"}, {"decision", "intercom.Decision"}},
			doc: "Decides about all messages that have certain values: decide, without a function.", call: (*state).addRule,
		},
		{
			name: "re", params: []param{{"pattern", "string"}}, returns: "intercom.Re", doc: "Compiles a regular expression (RE2), at the top of the file.",
			call: (*state).compile,
		},
		{
			name: "shown", params: []param{{"text", "string"}}, returns: "string", doc: "The text as a pane gets it: without escape sequences and what is not seen.",
			call: func(_ *state, L *lua.LState) int {
				shown, _ := sanitise.Text(L.CheckString(1), sanitise.Options{})
				L.Push(lua.LString(shown))
				return 1
			},
		},
		{
			name: "configure", params: []param{{"settings", "intercom.Settings"}}, doc: "Configures the sidecar, in init.lua.", call: (*state).configure,
		},
	}, verbs()...),
}

// policyGlobals are functions with the names of Lua's own that do something else.
var policyGlobals = []member{
	{
		name: "require", params: []param{{"name", "string"}}, returns: "any", doc: "What the module policies/lib/name.lua returns, at the top of the file.",
		call: (*state).require,
	},
}

// classes are all classes of values that scripts can see or make.
var classes = []*class{
	intercom, messages, contexts, chats, agents, expressions, decisions, options, matches, patches, settingsClass,
	testObject, fixtures, fixtureChat, fixtureAgent, wantedDecision,
}

func hookTypes() []string {
	var types []string
	for _, h := range policy.Hooks {
		types = append(types, `fun(hook: "`+string(h)+`", fn: fun(msg: `+messageClass+`, ctx: `+contextClass+`): `+answers[h]+`)`)
	}
	return types
}

// install adds the globals of this package to a machine.
func (s *state) install() {
	s.machine.G.Global.RawSetString("intercom", s.object(intercom, 0))
	for _, g := range policyGlobals {
		s.machine.G.Global.RawSetString(g.name, s.machine.NewFunction(func(L *lua.LState) int { return g.call(s, L) }))
	}
	s.message, s.context = s.object(messages, 0), s.object(contexts, 0)
}

// on implements intercom.on(hook, fn).
func (s *state) on(L *lua.LState) int {
	s.register(L, "intercom.on")
	hook, fn := policy.Hook(L.CheckString(1)), L.CheckFunction(2)
	oneOf(L, "hook", hook, policy.Hooks)
	s.add(L, hook, registered{fn: fn, line: s.where()})
	return 0
}

// register raises an error unless the file itself, and not a module, is being loaded.
func (s *state) register(L *lua.LState, what string) {
	if !s.loading {
		L.RaiseError("%s must be at the top of the file", what)
	}
	if s.module != nil {
		L.RaiseError("%s belongs to a policy; a module returns what policies have in common", what)
	}
}

// add keeps a function or a rule. If the file may not register it, add leaves it out and notes a warning.
func (s *state) add(L *lua.LState, h policy.Hook, r registered) {
	n := len(s.ignored)
	for _, all := range s.hooks {
		n += len(all)
	}
	if n >= maxHooks {
		L.RaiseError("more than %d functions and rules in one file", maxHooks)
	}
	if s.script.source.GuardsOnly && h != policy.Guard {
		s.ignored = append(s.ignored, policy.Problem{
			File: s.script.source.Name, Line: r.line, Warning: true,
			Text: string(h) + " is not asked until the file is trusted: it may only tighten",
		})
		return
	}
	s.hooks[h] = append(s.hooks[h], r)
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
