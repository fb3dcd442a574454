package worker

import (
	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const messageClass = "intercom.Message"

// text returns a field that is a string.
func text(name, doc string, get func(e *evaluation) string) member {
	return member{name: name, typ: "string", doc: doc, get: func(s *state, _ int) lua.LValue { return lua.LString(get(s.now)) }}
}

// messages has what scripts see of a message.
var messages = &class{
	name: messageClass, noun: "message", doc: "A message, as the filters so far have left it. It cannot be changed.",
	members: []member{
		text("id", "A UUID.", func(e *evaluation) string { return string(e.in.Message.ID) }),
		text("thread", "The chat, or the conversation of its protocol.", func(e *evaluation) string { return string(e.in.Message.Thread) }),
		text("from", "The name of its author.", func(e *evaluation) string { return policy.NameOf(e.in.Message.From) }),
		{
			name: "from_number", typ: "integer", doc: "The author's number in the chat; a person is 0.",
			get: func(s *state, _ int) lua.LValue { return lua.LNumber(s.now.in.Message.From.Number) },
		},
		{
			name: "to", typ: "string", doc: "The name of the recipient, in decide, guard and format.",
			get: func(s *state, _ int) lua.LValue {
				if s.now.to == nil {
					s.machine.RaiseError("message has one recipient at a time, in decide, guard and format; here msg.recipients lists all")
				}
				return lua.LString(policy.NameOf(*s.now.to))
			},
		},
		{
			name: "recipients", typ: "string[]", doc: "The names of all recipients.",
			get: func(s *state, _ int) lua.LValue {
				names := make([]string, len(s.now.recipients))
				for i, to := range s.now.recipients {
					names[i] = policy.NameOf(to)
				}
				return s.list(names)
			},
		},
		text("type", "A word of its protocol: turn, message, question, handoff, …", func(e *evaluation) string { return e.in.Message.Type }),
		text("priority", "low, normal, high or urgent; what has none is normal.", func(e *evaluation) string { return priority(e.in.Message.Priority) }),
		text("subject", "Empty where there is none.", func(e *evaluation) string { return e.subject }),
		text("body", "All of it.", func(e *evaluation) string { return e.body }),
		text("in_reply_to", "The id of the message that it answers, or empty.", func(e *evaluation) string { return string(e.in.Message.InReplyTo) }),
		{
			name: "requires_response", typ: "boolean", doc: "Its author waits for an answer.",
			get: func(s *state, _ int) lua.LValue { return lua.LBool(s.now.in.Message.RequiresResponse) },
		},
		{name: "tags", typ: "string[]", doc: "A copy.", get: func(s *state, _ int) lua.LValue { return s.list(s.now.tags) }},
		text("origin", "human, agent, system or remote.", func(e *evaluation) string { return originOf(e.in.Message) }),
		text("trust", "How its author is known: person, session-verified, registered-repository, loopback-unverified, remote or unverified.", func(e *evaluation) string {
			return string(e.in.Message.Trust)
		}),
		{
			name: "depth", typ: "integer", doc: "Turns of agents, by cause, since a person's last word.",
			get: func(s *state, _ int) lua.LValue { return lua.LNumber(s.now.in.Message.Depth) },
		},
		{
			name: "created", typ: "number", doc: "Seconds since 1970.",
			get: func(s *state, _ int) lua.LValue { return seconds(s.now.in.Message.Created.UnixNano()) },
		},
		{
			name: "age", typ: "number", doc: "Seconds since it was created.",
			get: func(s *state, _ int) lua.LValue {
				return seconds(max(0, s.now.in.Now.Sub(s.now.in.Message.Created).Nanoseconds()))
			},
		},
		{
			name: "truncated", typ: "boolean", doc: "The body is not all that was said.",
			get: func(s *state, _ int) lua.LValue { return lua.LBool(s.now.in.Message.Truncated) },
		},
		{
			name: "meta", typ: "table<string, string>", doc: "What a protocol needs and nobody else reads. A copy.",
			get: func(s *state, _ int) lua.LValue {
				t := s.machine.CreateTable(0, len(s.now.meta))
				for _, key := range sortedKeys(s.now.meta) {
					t.RawSetString(key, lua.LString(s.now.meta[key]))
				}
				return t
			},
		},
	},
}

func seconds(nanoseconds int64) lua.LValue { return lua.LNumber(float64(nanoseconds) / 1e9) }

// priority returns the canonical name of a priority.
func priority(p string) string {
	switch p {
	case "", "medium":
		return "normal"
	}
	return p
}

// agents has what scripts see of a peer.
var agents = &class{
	name: "intercom.Agent", noun: "agent", doc: "A peer that is known.",
	members: []member{
		agentText("name", "What attribution shows.", func(a policy.Agent) string { return policy.NameOf(a.Address) }),
		{
			name: "number", typ: "integer", doc: "In the chat of the message; 0 outside.",
			get: func(s *state, self int) lua.LValue { return lua.LNumber(s.agents[self].Address.Number) },
		},
		agentText("agent", "What kind of program: claude, codex, line, …", func(a policy.Agent) string { return a.Agent }),
		agentText("state", "idle, working, blocked, draft, history, shell, dead or unknown.", func(a policy.Agent) string { return a.State }),
		agentText("role", "In the chat.", func(a policy.Agent) string { return a.Role }),
		agentText("computer", "local is this one.", func(a policy.Agent) string {
			if a.Address.Computer == "" {
				return message.LocalComputer
			}
			return a.Address.Computer
		}),
		agentText("session", "A UUID, or empty.", func(a policy.Agent) string { return string(a.Address.Peer) }),
		agentText("repository", "Of an AEA repository, or empty.", func(a policy.Agent) string { return a.Repository }),
		{
			name: "port", typ: "integer", doc: "Of a talk port, or 0.",
			get: func(s *state, self int) lua.LValue { return lua.LNumber(s.agents[self].Port) },
		},
		{
			name: "bypasses", typ: "boolean",
			doc: "Whether it was started with an option by which it acts without asking its person. What its settings say is not known.",
			get: func(s *state, self int) lua.LValue { return lua.LBool(s.agents[self].Bypasses) },
		},
		{
			name: "may_speak", typ: "boolean", doc: "Whether it has the floor.",
			get: func(s *state, self int) lua.LValue { return lua.LBool(s.agents[self].MaySpeak) },
		},
	},
}

func agentText(name, doc string, get func(policy.Agent) string) member {
	return member{name: name, typ: "string", doc: doc, get: func(s *state, self int) lua.LValue { return lua.LString(get(s.agents[self])) }}
}
