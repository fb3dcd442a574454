package worker

import (
	"math"
	"slices"
	"time"

	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// decisions are the results of the verbs. A hook can only pass them on.
var decisions = &class{name: "intercom.Decision", noun: "decision", doc: "What intercom.deliver and the other verbs return."}

const (
	maxReason = 1 << 10
	maxSaid   = 4 << 10 // prompt and text
)

// options has the fields of a decision besides its verb.
var options = &class{
	name: "intercom.Options", noun: "decision", doc: "What a decision says beside its verb.", table: true,
	members: []member{
		{name: "reason", typ: "string", doc: "Why, for the person and the log. drop needs one."},
		{name: "notify", typ: `"status"|"popup"`, doc: "Tells the person at once, in one line; popup adds how to open the message, and opens nothing."},
		{name: "after", typ: "number", doc: "Not before so many seconds from now."},
		{name: "idle", typ: "boolean", doc: "Not in the midst of a turn, even where the chat has deliver = \"mid-turn\"."},
		{name: "expires", typ: "number", doc: "Seconds until a waiting decision ends as otherwise says."},
		{name: "otherwise", typ: `"deliver"|"ack"|"ask"|"hold"|"bounce"|"drop"`, doc: "With expires; hold if it is not given."},
		{name: "prompt", typ: "string", doc: "What the recipient is told to do with the message."},
		{name: "text", typ: "string", doc: "Of an acknowledgement or a bounce, also as otherwise: what its author is told."},
		{name: "tags", typ: "string[]", doc: "Beside those of the message."},
	},
}

// verbDocs describes each verb for the annotations.
var verbDocs = map[message.Verb]string{
	message.VerbDeliver: "Deliver it to the recipient.",
	message.VerbAck:     "Acknowledge it to its author without delivering it.",
	message.VerbAsk:     "Hold it until a person approves it.",
	message.VerbHold:    "Hold it until a person releases it.",
	message.VerbBounce:  "Send it back to its author, with a reason.",
	message.VerbDrop:    "Do not deliver it and tell nobody. A person can still approve it for at least seven days. Needs a reason.",
}

// verbs returns one function for each verb.
func verbs() []member {
	var members []member
	for _, verb := range policy.Verbs() {
		members = append(members, member{
			name: string(verb), params: []param{{"options?", options.name}}, returns: decisions.name, doc: verbDocs[verb],
			call: func(s *state, L *lua.LState) int { return s.decide(L, verb) },
		})
	}
	return members
}

// decide makes a decision from a table of options.
func (s *state) decide(L *lua.LState, verb message.Verb) int {
	d := policy.Decision{Verb: verb, By: s.by()}
	switch v := L.Get(1).(type) {
	case *lua.LNilType:
	case *lua.LTable:
		s.eachField(L, v, options, func(name string, v lua.LValue) { s.option(L, &d, name, v) })
	default:
		L.ArgError(1, "a table of options expected")
	}
	if verb == message.VerbDrop && d.Reason == "" {
		L.RaiseError("drop needs a reason: intercom.drop { reason = … }")
	}
	if d.Expires > 0 && d.Otherwise == "" {
		d.Otherwise = message.VerbHold
	}
	if len(s.decisions) >= policy.MaxEffects {
		L.RaiseError("more than %d decisions", policy.MaxEffects)
	}
	s.decisions = append(s.decisions, d)
	L.Push(s.object(decisions, len(s.decisions)-1))
	return 1
}

func (s *state) option(L *lua.LState, d *policy.Decision, name string, v lua.LValue) {
	switch name {
	case "reason":
		d.Reason = s.said(L, name, v, maxReason)
	case "notify":
		d.Notify = s.said(L, name, v, maxReason)
		oneOf(L, name, d.Notify, []string{policy.NoticeStatus, policy.NoticePopup})
	case "after":
		d.After = s.duration(L, name, v)
	case "idle":
		d.Idle = s.truth(L, name, v)
	case "expires":
		d.Expires = s.duration(L, name, v)
	case "otherwise":
		d.Otherwise = message.Verb(s.said(L, name, v, maxReason))
		oneOf(L, name, d.Otherwise, policy.Verbs())
	case "prompt":
		d.Prompt = s.said(L, name, v, maxSaid)
	case "text":
		d.Text = s.said(L, name, v, maxSaid)
	case "tags":
		d.Tags = s.tags(L, v, message.MaxTag)
	default:
		panic("option: " + name)
	}
}

// eachField calls use for each field of a table, and raises an error for a field that the class does not have.
func (s *state) eachField(L *lua.LState, t *lua.LTable, c *class, use func(name string, v lua.LValue)) {
	t.ForEach(func(key, v lua.LValue) {
		name, ok := key.(lua.LString)
		if !ok || c.find(string(name)) == nil {
			L.RaiseError("%s", c.unknown(key.String()))
		}
		use(string(name), v)
	})
}

// oneOf raises an error for a value that is not known.
func oneOf[T ~string](L *lua.LState, name string, value T, known []T) {
	if slices.Contains(known, value) {
		return
	}
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	L.RaiseError("%s must be %s, not %q%s", name, quoted(names), clip(string(value), 64), meant(string(value), names))
}

// said reads a string of at most so many bytes.
func (s *state) said(L *lua.LState, name string, v lua.LValue, most int) string {
	t, ok := v.(lua.LString)
	if !ok {
		L.RaiseError("%s must be a string, not a %s", name, v.Type())
	}
	if len(t) > most {
		L.RaiseError("%s of %d bytes, the most is %d", name, len(t), most)
	}
	if clip(string(t), len(t)) != string(t) {
		L.RaiseError("%s is not valid UTF-8", name)
	}
	return string(t)
}

func (s *state) duration(L *lua.LState, name string, v lua.LValue) time.Duration {
	n, ok := v.(lua.LNumber)
	if !ok || n <= 0 || math.IsNaN(float64(n)) || n > 366*86400 {
		L.RaiseError("%s must be a number of seconds, more than 0 and at most a year", name)
	}
	return time.Duration(float64(n) * float64(time.Second))
}

func (s *state) truth(L *lua.LState, name string, v lua.LValue) bool {
	b, ok := v.(lua.LBool)
	if !ok {
		L.RaiseError("%s must be true or false, not a %s", name, v.Type())
	}
	return bool(b)
}

// tags reads a list of tags, each of at most so many bytes.
func (s *state) tags(L *lua.LState, v lua.LValue, most int) []string {
	t, ok := v.(*lua.LTable)
	if !ok {
		L.RaiseError("tags must be a list of strings, not a %s", v.Type())
	}
	if t.Len() > message.MaxTags {
		L.RaiseError("%d tags, the most is %d", t.Len(), message.MaxTags)
	}
	tags := []string{}
	for i := 1; i <= t.Len(); i++ {
		tags = append(tags, s.said(L, "each tag", t.RawGetInt(i), most))
	}
	return tags
}

// decision returns the decision that a hook answered, if it answered one.
func (s *state) decision(v lua.LValue) (policy.Decision, bool) {
	if !s.is(v, decisions) {
		return policy.Decision{}, false
	}
	return s.decisions[held(v)], true
}
