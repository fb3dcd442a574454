package worker

import (
	"slices"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// rule is a decision about all messages with certain values. It is data, so it can be compared with other rules, and
// needs no function.
type rule struct {
	name     string
	from, to []string
	kinds    []string
	priority []string
	origin   []string
	trust    []string
	tag      []string
	body     *pattern
	decision policy.Decision
}

// matches has the conditions of a rule.
var matches = &class{
	name: "intercom.Match", noun: "match", doc: "What a rule asks for. All of it must hold; of a list, any.", table: true,
	members: []member{
		{name: "from", typ: "string|string[]", doc: "The name of the author."},
		{name: "to", typ: "string|string[]", doc: "The name of the recipient."},
		{name: "type", typ: "string|string[]", doc: "The type of the message."},
		{name: "priority", typ: "string|string[]", doc: "low, normal, high or urgent."},
		{name: "origin", typ: "string|string[]", doc: "human, agent, system or remote."},
		{name: "trust", typ: "string|string[]", doc: "How the author is known."},
		{name: "tag", typ: "string|string[]", doc: "One of its tags."},
		{name: "body", typ: "string|intercom.Re", doc: "A pattern (RE2) that matches anywhere in the body."},
	},
}

// closedSets has the fields of a rule whose values are limited, with these values.
var closedSets = map[string][]string{
	"priority": {"low", "normal", "high", "urgent", "medium"},
	"origin":   {string(message.OriginHuman), string(message.OriginAgent), string(message.OriginSystem), string(message.OriginRemote)},
	"trust": {
		string(message.TrustPerson), string(message.TrustVerified), string(message.TrustRegister), string(message.TrustLoopback), string(message.TrustRemote),
		string(message.TrustUnverified),
	},
}

// addRule implements intercom.rule(name, match, decision).
func (s *state) addRule(L *lua.LState) int {
	s.register(L, "intercom.rule")
	r := &rule{name: s.said(L, "the name of a rule", L.Get(1), maxReason)}
	s.eachField(L, L.CheckTable(2), matches, func(name string, v lua.LValue) {
		if name == "body" {
			r.body = s.bodyPattern(L, v)
			return
		}
		values := s.texts(L, name, v)
		for _, value := range values {
			if known := closedSets[name]; known != nil {
				oneOf(L, name, value, known)
			}
		}
		switch name {
		case "from":
			r.from = values
		case "to":
			r.to = values
		case "type":
			r.kinds = values
		case "priority":
			for i := range values {
				values[i] = priority(values[i])
			}
			r.priority = values
		case "origin":
			r.origin = values
		case "trust":
			r.trust = values
		case "tag":
			r.tag = values
		default:
			panic("match: " + name)
		}
	})
	d, ok := s.decision(L.Get(3))
	if !ok {
		L.ArgError(3, "a decision expected: intercom.deliver, intercom.ask, …")
	}
	r.decision = d
	r.decision.By = s.by() + " " + r.name
	s.add(L, policy.Decide, registered{rule: r, line: s.where()})
	return 0
}

func (s *state) bodyPattern(L *lua.LState, v lua.LValue) *pattern {
	if s.is(v, expressions) {
		return s.expressions[held(v)]
	}
	return s.expressions[s.pattern(L, s.said(L, "body", v, maxPattern))]
}

// texts reads one string or a list of strings.
func (s *state) texts(L *lua.LState, name string, v lua.LValue) []string {
	t, ok := v.(*lua.LTable)
	if !ok {
		return []string{s.said(L, name, v, maxReason)}
	}
	var texts []string
	for i := 1; i <= min(t.Len(), 1<<10); i++ {
		texts = append(texts, s.said(L, "each "+name, t.RawGetInt(i), maxReason))
	}
	if len(texts) == 0 {
		L.RaiseError("%s is an empty list: the rule would never hold", name)
	}
	return texts
}

// holds reports whether the rule matches the current message and recipient.
func (r *rule) holds(e *evaluation) bool {
	m := e.in.Message
	return in(r.from, policy.NameOf(m.From)) && in(r.to, policy.NameOf(*e.to)) && in(r.kinds, m.Type) && in(r.priority, priority(m.Priority)) &&
		in(r.origin, originOf(m)) && in(r.trust, string(m.Trust)) &&
		(r.tag == nil || slices.ContainsFunc(r.tag, func(tag string) bool { return slices.Contains(e.tags, tag) })) &&
		(r.body == nil || r.body.holds(e.body))
}

// originOf returns a message's origin. It is remote for a message of another computer's sidecar.
func originOf(m message.Envelope) string {
	if m.Origin == message.OriginSystem && !m.OfSidecar() {
		return string(message.OriginRemote)
	}
	return string(m.Origin)
}

// in reports whether a value is one of the wanted ones; a nil list accepts any value.
func in(wanted []string, value string) bool { return wanted == nil || slices.Contains(wanted, value) }
