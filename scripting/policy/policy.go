// Package policy is the vocabulary of Lua policies: what is given to them, what they
// decide, what they leave behind, and what becomes of a message when one of them fails. It
// knows no Lua and owns no state.
package policy

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Hook is a point at which scripts are asked. The hooks of a message run in this order:
// filter and route once, decide, guard and format for each recipient.
type Hook string

// The hooks.
const (
	Filter Hook = "filter" // message → patch of body, subject, tags and meta; a pipeline, in the order of the scripts
	Route  Hook = "route"  // message → names; the first answer holds
	Decide Hook = "decide" // message → decision; the first answer holds
	Guard  Hook = "guard"  // message → decision; all run, and may only tighten
	Format Hook = "format" // message → the text that is typed; the first answer holds
)

// Hooks lists all hooks in the order in which they run.
var Hooks = []Hook{Filter, Route, Decide, Guard, Format}

// Failure is the least that becomes of a message when a script fails at the hook, or no
// script can be asked at all. It is "" where what is built in takes over: a failed format
// costs the look of a message and nothing else.
func (h Hook) Failure() message.Verb {
	switch h {
	case Decide:
		return message.VerbAsk
	case Format:
		return ""
	}
	return message.VerbHold // text that was not redacted, a recipient that is not known, a brake that did not look
}

// order of the verbs, from the laxest to the strictest.
var order = []message.Verb{
	message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop,
}

// Rank says how strict a verb is: deliver 0, ack 1, ask 2, hold 3, bounce 4, drop 5. It is
// -1 for anything else.
func Rank(v message.Verb) int {
	for i, verb := range order {
		if v == verb {
			return i
		}
	}
	return -1
}

// stricter is the stricter of two verbs.
func stricter(a, b message.Verb) message.Verb {
	if Rank(b) > Rank(a) {
		return b
	}
	return a
}

// Verbs lists the verbs from the laxest to the strictest.
func Verbs() []message.Verb { return append([]message.Verb(nil), order...) }

// Input is all that scripts see of one message and of the world around it.
type Input struct {
	Message message.Envelope  `json:"message"`
	To      []message.Address `json:"to"`  // who would receive it; the names in it are what scripts see
	Now     time.Time         `json:"now"` // the only clock of the scripts
	Chat    *Chat             `json:"chat,omitempty"`
	Agents  []Agent           `json:"agents,omitempty"` // who is known: what ctx.agent finds by name
	Others  Peers             `json:"-"`                // and who besides; a worker is told what is new
	// Projects are those that the author or a recipient works in: their own files are asked. Those of
	// the agents to whom a route sends it instead join them for what is asked after the route.
	Projects []string `json:"projects,omitempty"`
	// Config is what ctx.config has for this message, besides what it has for all: values as
	// JSON has them. It holds before that of the set.
	Config map[string]any `json:"config,omitempty"`
	// Otherwise is what holds for a recipient where no script decides; "" is ask.
	Otherwise message.Verb `json:"otherwise,omitempty"`
	// Traced asks for Verdict.Answers.
	Traced bool `json:"traced,omitempty"`
}

// Chat is what scripts see of the chat that a message belongs to.
type Chat struct {
	Name         string   `json:"name,omitempty"`
	Participants []string `json:"participants"`     // names, in the order of their numbers
	Tokens       int      `json:"tokens,omitempty"` // that its turns used so far, as far as that is known
}

// Agent is what scripts see of a peer.
type Agent struct {
	Address    message.Address `json:"address"`
	Agent      string          `json:"agent,omitempty"` // claude, codex, line, …
	State      string          `json:"state,omitempty"` // idle, working, blocked, …
	Role       string          `json:"role,omitempty"`
	Repository string          `json:"repository,omitempty"` // in which it works
	Project    string          `json:"project,omitempty"`    // likewise, where that has a policy of its own; scripts do not see it
	Port       int             `json:"port,omitempty"`       // of a talk port
	Bypasses   bool            `json:"bypasses,omitempty"`   // it was started so that it acts without asking its person
	MaySpeak   bool            `json:"may_speak"`
}
