package worker

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// fixtureObject is a message of a test: fixture { … } makes one, and calling it makes another one that differs in some
// fields.
var fixtureObject = &class{name: "intercom.Fixture", noun: "fixture", doc: "A message of a test. Called with fields it is another one, with these fields changed."}

// fixtures has the fields that a message of a test may have, and their defaults.
var fixtures = &class{
	name: "intercom.FixtureFields", noun: "fixture", doc: "What a message of a test is.", table: true,
	members: []member{
		{name: "from", typ: "string", doc: "Ada."},
		{name: "from_number", typ: "integer", doc: "1."},
		{name: "computer", typ: "string", doc: "local: ctx.computer."},
		{name: "to", typ: "string", doc: "Ben, who has the number 2."},
		{name: "type", typ: "string", doc: "turn."},
		{name: "priority", typ: "string", doc: "normal."},
		{name: "subject", typ: "string", doc: "Empty."},
		{name: "body", typ: "string", doc: "hello."},
		{name: "in_reply_to", typ: "string", doc: "Empty."},
		{name: "id", typ: "string", doc: "The same for all of a test."},
		{name: "requires_response", typ: "boolean", doc: "false."},
		{name: "tags", typ: "string[]", doc: "None."},
		{name: "origin", typ: "string", doc: "agent."},
		{name: "trust", typ: "string", doc: "session-verified."},
		{name: "depth", typ: "integer", doc: "1."},
		{name: "age", typ: "number", doc: "Seconds since it was created: 0."},
		{name: "now", typ: "number", doc: "ctx.now, in seconds since 1970: noon of Monday, 5 January 2026 (UTC)."},
		{name: "thread", typ: "string", doc: "A UUID."},
		{name: "truncated", typ: "boolean", doc: "false."},
		{name: "meta", typ: "table<string, string>", doc: "Empty."},
		{name: "config", typ: "table<string, any>", doc: "What ctx.config has: nothing."},
		{name: "chat", typ: "intercom.FixtureChat", doc: "None."},
		{name: "agents", typ: "intercom.FixtureAgent[]", doc: "None: what ctx.agent finds."},
	},
}

var fixtureChat = &class{
	name: "intercom.FixtureChat", noun: "chat", doc: "The chat of a message of a test.", table: true,
	members: []member{
		{name: "name", typ: "string"},
		{name: "participants", typ: "string[]"},
		{name: "tokens", typ: "integer", doc: "0."},
	},
}

var fixtureAgent = &class{
	name: "intercom.FixtureAgent", noun: "agent", doc: "A peer that the policy finds in a test.", table: true,
	members: []member{
		{name: "name", typ: "string"},
		{name: "number", typ: "integer"},
		{name: "agent", typ: "string", doc: "claude, codex, line, …"},
		{name: "state", typ: "string", doc: "idle, working, …"},
		{name: "role", typ: "string"},
		{name: "bypasses", typ: "boolean", doc: "false."},
		{name: "may_speak", typ: "boolean", doc: "true."},
	},
}

// monday is the time at which tests take place.
var monday = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func firstFixture() policy.Input {
	return policy.Input{
		Message: message.Envelope{
			Thread: "00000000-0000-7000-8000-00000000c4a7", From: message.Address{Name: "Ada", Number: 1}, Type: message.KindTurn, Body: "hello",
			Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: 1, Created: monday,
		},
		To: []message.Address{{Name: "Ben", Number: 2}}, Now: monday,
	}
}

// fixture makes a message that differs from another one in the given fields.
func (s *state) fixture(L *lua.LState, from policy.Input, fields *lua.LTable) *lua.LUserData {
	in := from
	m := &in.Message
	in.To, m.Meta = slices.Clone(in.To), maps.Clone(m.Meta)
	age := in.Now.Sub(m.Created)
	s.eachField(L, fields, fixtures, func(name string, v lua.LValue) {
		word := func() string { return s.said(L, name, v, maxSaid) }
		known := func() string {
			text := word()
			oneOf(L, name, text, closedSets[name])
			return text
		}
		switch name {
		case "from":
			m.From.Name = word()
		case "computer":
			m.From.Computer = word()
		case "from_number":
			m.From.Number = s.whole(L, name, v)
		case "to":
			in.To[0].Name = word()
		case "type":
			m.Type = word()
		case "priority":
			m.Priority = known()
		case "subject":
			m.Subject = word()
		case "body":
			m.Body = s.said(L, name, v, message.MaxBody)
		case "id":
			m.ID = message.ID(word())
		case "in_reply_to":
			m.InReplyTo = message.ID(word())
		case "requires_response":
			m.RequiresResponse = s.yes(L, name, v)
		case "tags":
			m.Tags = s.tags(L, v, message.MaxTag)
		case "origin":
			m.Origin = message.Origin(known())
		case "trust":
			m.Trust = message.Trust(known())
		case "depth":
			m.Depth = s.whole(L, name, v)
		case "age":
			age = s.secondsOf(L, name, v)
		case "now":
			in.Now = time.Unix(0, 0).UTC().Add(s.secondsOf(L, name, v))
		case "thread":
			m.Thread = message.ID(word())
		case "truncated":
			m.Truncated = s.yes(L, name, v)
		case "meta":
			m.Meta = map[string]string{}
			s.eachSetting(L, name, v, func(key string, v lua.LValue) { m.Meta[key] = s.said(L, name+"."+key, v, maxSaid) })
		case "config":
			size := 0
			config, ok := s.configOf(L, name, s.tableOf(L, name, v), 0, &size).(map[string]any)
			if !ok {
				L.RaiseError("config must be a table whose keys are strings: config = { aea = … }")
			}
			in.Config = config
		case "chat":
			in.Chat = s.fixtureChat(L, v)
		case "agents":
			in.Agents = nil
			for i := 1; i <= s.tableOf(L, name, v).Len(); i++ {
				in.Agents = append(in.Agents, s.fixtureAgent(L, v.(*lua.LTable).RawGetInt(i)))
			}
		}
	})
	m.Created = in.Now.Add(-age)
	s.tests.fixtures = append(s.tests.fixtures, in)
	return s.object(fixtureObject, len(s.tests.fixtures)-1)
}

func (s *state) fixtureChat(L *lua.LState, v lua.LValue) *policy.Chat {
	c := &policy.Chat{}
	s.eachField(L, s.tableOf(L, "chat", v), fixtureChat, func(name string, v lua.LValue) {
		switch name {
		case "name":
			c.Name = s.said(L, name, v, maxReason)
		case "participants":
			c.Participants = s.texts(L, name, v)
		case "tokens":
			c.Tokens = s.whole(L, name, v)
		}
	})
	return c
}

func (s *state) fixtureAgent(L *lua.LState, v lua.LValue) policy.Agent {
	a := policy.Agent{State: "idle", MaySpeak: true}
	s.eachField(L, s.tableOf(L, "an agent", v), fixtureAgent, func(name string, v lua.LValue) {
		switch name {
		case "name":
			a.Address.Name = s.said(L, name, v, maxReason)
		case "number":
			a.Address.Number = s.whole(L, name, v)
		case "agent":
			a.Agent = s.said(L, name, v, maxReason)
		case "state":
			a.State = s.said(L, name, v, maxReason)
		case "role":
			a.Role = s.said(L, name, v, maxReason)
		case "bypasses":
			a.Bypasses = s.yes(L, name, v)
		case "may_speak":
			a.MaySpeak = s.yes(L, name, v)
		}
	})
	if a.Address.Name == "" {
		L.RaiseError("an agent has a name")
	}
	return a
}

// The limits of the config that a test sets for policies.
const (
	maxConfig      = 10_000 // values
	maxConfigDepth = 32
)

// configOf converts a Lua value to one of JSON: a list, or a table with strings as keys.
func (s *state) configOf(L *lua.LState, name string, v lua.LValue, depth int, size *int) any {
	if *size++; *size > maxConfig || depth > maxConfigDepth {
		L.RaiseError("config has more than %d values, or is nested more than %d deep", maxConfig, maxConfigDepth)
	}
	switch v := v.(type) {
	case lua.LBool:
		return bool(v)
	case lua.LNumber:
		return s.finite(L, name, v)
	case *lua.LTable:
		list, all := []any{}, map[string]any{}
		v.ForEach(func(key, of lua.LValue) {
			if number, ok := key.(lua.LNumber); ok && float64(number) == float64(len(list)+1) && len(all) == 0 {
				list = append(list, s.configOf(L, fmt.Sprintf("%s[%d]", name, len(list)+1), of, depth+1, size))
				return
			}
			text, ok := key.(lua.LString)
			if !ok || len(list) > 0 {
				L.RaiseError("%s is neither a list nor a table whose keys are strings", name)
			}
			all[string(text)] = s.configOf(L, name+"."+clip(string(text), 64), of, depth+1, size)
		})
		if len(list) > 0 {
			return list
		}
		return all // if it is empty, policies see no difference
	}
	return s.said(L, name, v, policy.MaxSource)
}

func (s *state) tableOf(L *lua.LState, name string, v lua.LValue) *lua.LTable {
	t, ok := v.(*lua.LTable)
	if !ok {
		L.RaiseError("%s must be a table, not a %s", name, v.Type())
	}
	return t
}

func (s *state) yes(L *lua.LState, name string, v lua.LValue) bool {
	b, ok := v.(lua.LBool)
	if !ok {
		L.RaiseError("%s must be true or false, not a %s", name, v.Type())
	}
	return bool(b)
}

func (s *state) whole(L *lua.LState, name string, v lua.LValue) int {
	n, ok := v.(lua.LNumber)
	if !ok || float64(n) != math.Trunc(float64(n)) || math.Abs(float64(n)) > 1<<31 {
		L.RaiseError("%s must be a whole number", name)
	}
	return int(n)
}

// secondsOf returns a number of seconds, less than about a hundred years.
func (s *state) secondsOf(L *lua.LState, name string, v lua.LValue) time.Duration {
	n, ok := v.(lua.LNumber)
	if !ok || n < 0 || !(n < 100*366*86400) {
		L.RaiseError("%s must be a number of seconds", name)
	}
	return time.Duration(float64(n) * float64(time.Second))
}
