package worker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const contextClass = "intercom.Context"

// contexts has what scripts see of the surroundings of a message.
var contexts = &class{
	name: contextClass, noun: "ctx", doc: "The world around a message, as it was when the evaluation began.",
	members: []member{
		{name: "now", typ: "number", doc: "Seconds since 1970.", get: func(s *state, _ int) lua.LValue { return seconds(s.now.in.Now.UnixNano()) }},
		{
			name: "thread", typ: "string", doc: "That of the message.",
			get: func(s *state, _ int) lua.LValue { return lua.LString(s.now.in.Message.Thread) },
		},
		{
			name: "computer", typ: "string", doc: "That on which the message was said; local is this one.",
			get: func(s *state, _ int) lua.LValue {
				return lua.LString(cmp.Or(s.now.in.Message.From.Computer, message.LocalComputer))
			},
		},
		{
			name: "config", typ: "table<string, any>", doc: "What the sidecar gives policies to read: aea, for messages of AEA's types.",
			get: func(s *state, _ int) lua.LValue {
				if s.config == nil {
					all := map[string]any{}
					maps.Copy(all, s.set.config)
					maps.Copy(all, s.now.in.Config)
					s.config = s.value(all)
				}
				return s.config
			},
		},
		{
			name: "chat", typ: "intercom.Chat|nil", doc: "The chat of the message; nil outside of chats.",
			get: func(s *state, _ int) lua.LValue {
				if s.now.in.Chat == nil {
					return lua.LNil
				}
				return s.object(chats, 0)
			},
		},
		{
			name: "agent", params: []param{{"name", "string"}}, returns: "intercom.Agent|nil", doc: "A peer by its name.",
			call: func(s *state, L *lua.LState) int {
				a, ok := s.now.agent(L.CheckString(1))
				if !ok {
					L.Push(lua.LNil)
					return 1
				}
				s.agents = append(s.agents, a)
				L.Push(s.object(agents, len(s.agents)-1))
				return 1
			},
		},
		{
			name: "count", params: []param{{"key", "string"}, {"seconds", "number"}}, returns: "integer",
			doc: "Counts an event, and says how many the last seconds had, this one included. Each script has keys of its own.",
			call: func(s *state, L *lua.LState) int {
				window := time.Duration(float64(L.CheckNumber(2)) * float64(time.Second))
				if window <= 0 || window > policy.MaxWindow {
					L.ArgError(2, "seconds are more than 0 and at most 86400")
				}
				key := L.CheckString(1)
				s.effect(L, policy.Effect{Key: key, Count: true, Window: window})
				n := s.set.memories[s.script.source.Name].Counted(key, s.now.in.Now, window)
				for _, e := range s.now.effects {
					if e.Count && e.Script == s.script.source.Name && e.Key == key {
						n++
					}
				}
				L.Push(lua.LNumber(n))
				return 1
			},
		},
		{
			name: "get", params: []param{{"key", "string"}}, returns: "string|number|boolean|nil", doc: "What ctx.set of this script has remembered.",
			call: func(s *state, L *lua.LState) int {
				key := L.CheckString(1)
				v := s.set.memories[s.script.source.Name].Values[key]
				for _, e := range s.now.effects {
					if !e.Count && e.Script == s.script.source.Name && e.Key == key {
						v = e.Value
					}
				}
				L.Push(s.value(v))
				return 1
			},
		},
		{
			name: "set", params: []param{{"key", "string"}, {"value", "string|number|boolean|nil"}},
			doc: "Remembers a value for this script, once the decision is written down. nil forgets it.",
			call: func(s *state, L *lua.LState) int {
				e := policy.Effect{Key: L.CheckString(1)}
				switch v := L.Get(2).(type) {
				case lua.LString:
					e.Value = string(v)
				case lua.LNumber:
					e.Value = float64(v)
				case lua.LBool:
					e.Value = bool(v)
				case *lua.LNilType:
				default:
					L.ArgError(2, "a string, a number, a boolean or nil expected")
				}
				s.effect(L, e)
				return 0
			},
		},
		{
			name: "log", params: []param{{"...", "any"}}, doc: "Says something in intercom policy log, as print does.",
			call: func(s *state, L *lua.LState) int { return s.print(L) },
		},
	},
}

// chats has what scripts see of a chat.
var chats = &class{
	name: "intercom.Chat", noun: "chat", doc: "The chat that a message belongs to.",
	members: []member{
		{name: "name", typ: "string", doc: "Empty where it has none.", get: func(s *state, _ int) lua.LValue { return lua.LString(s.now.in.Chat.Name) }},
		{
			name: "participants", typ: "string[]", doc: "Names, in the order of their numbers. A copy.",
			get: func(s *state, _ int) lua.LValue { return s.list(s.now.in.Chat.Participants) },
		},
		{
			name: "tokens", typ: "integer", doc: "What its turns used so far, fresh ones and output, of agents that write it down.",
			get: func(s *state, _ int) lua.LValue { return lua.LNumber(s.now.in.Chat.Tokens) },
		},
		{
			name: "floor", method: true, params: []param{{"name", "string"}},
			doc: "From the committed decision on only this participant may speak; \"all\" for everybody.",
			call: func(s *state, L *lua.LState) int {
				name := L.CheckString(2)
				switch {
				case s.script.source.GuardsOnly:
					L.RaiseError("a project's policy that is not trusted cannot give anybody the floor")
				case s.now.hook == policy.Format:
					L.RaiseError("the floor is given by a decision, not by a format")
				case name != "all" && !slices.Contains(s.now.in.Chat.Participants, name):
					L.RaiseError("chat has no participant %q%s", clip(name, 64), meant(name, s.now.in.Chat.Participants))
				}
				s.now.floor = []string{name}
				return 0
			},
		},
	},
}

// effect keeps an effect that is to be committed with the decision.
func (s *state) effect(L *lua.LState, e policy.Effect) {
	e.Script, e.At = s.script.source.Name, s.now.in.Now
	if f, ok := e.Value.(float64); ok {
		s.finite(L, "the value of ctx.set", lua.LNumber(f))
	}
	if text, ok := e.Value.(string); ok && clip(text, len(text)) != text {
		L.RaiseError("ctx.set: the text is not valid UTF-8")
	}
	if clip(e.Key, len(e.Key)) != e.Key {
		L.RaiseError("the key is not valid UTF-8")
	}
	if err := s.set.memories[e.Script].Check(e, s.now.effects); err != nil {
		L.RaiseError("%s", err.Error())
	}
	if !e.Count {
		s.now.effects = slices.DeleteFunc(slices.Clone(s.now.effects), func(old policy.Effect) bool {
			return !old.Count && old.Script == e.Script && old.Key == e.Key
		})
	}
	if len(s.now.effects) >= policy.MaxEffects {
		L.RaiseError("more than %d things to remember of one message", policy.MaxEffects)
	}
	s.now.effects = append(s.now.effects, e)
}

// log keeps a line for intercom policy log. It drops what a file says while it is loaded, because it is loaded for each
// message.
func (s *state) log(words string) {
	if s.now == nil {
		return
	}
	s.now.say(policy.LogLine{Script: s.chunk(1), Line: s.where(), Text: printable(words, 1<<10)})
}
