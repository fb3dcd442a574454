// Package policy is the vocabulary of Lua policies: their input, their decisions and effects, and what happens to a
// message when a policy fails. It knows no Lua and owns no state.
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
	Filter Hook = "filter" // message → patch of body, subject, tags and meta; a pipeline in the order of the scripts
	Route  Hook = "route"  // message → names; the first answer holds
	Decide Hook = "decide" // message → decision; the first answer holds
	Guard  Hook = "guard"  // message → decision; all run, and may only tighten
	Format Hook = "format" // message → the text to be typed; the first answer holds
)

// Hooks lists all hooks in the order in which they run.
var Hooks = []Hook{Filter, Route, Decide, Guard, Format}

// Failure returns the laxest verb that a message can get when a script fails at the hook, or when no script can be
// asked at all. It is "" if the built-in behaviour takes over: a failed format costs only the look of a message.
func (h Hook) Failure() message.Verb {
	switch h {
	case Decide:
		return message.VerbAsk
	case Format:
		return ""
	}
	return message.VerbHold // the text may be unredacted, the recipient unknown, or a brake unchecked
}

// order lists the verbs from the laxest to the strictest.
var order = []message.Verb{
	message.VerbDeliver, message.VerbAck, message.VerbAsk, message.VerbHold, message.VerbBounce, message.VerbDrop,
}

// Rank returns how strict a verb is: deliver 0, ack 1, ask 2, hold 3, bounce 4, drop 5. It returns -1 for anything
// else.
func Rank(v message.Verb) int {
	for i, verb := range order {
		if v == verb {
			return i
		}
	}
	return -1
}

// stricter returns the stricter of two verbs.
func stricter(a, b message.Verb) message.Verb {
	if Rank(b) > Rank(a) {
		return b
	}
	return a
}

// Verbs lists the verbs from the laxest to the strictest.
func Verbs() []message.Verb { return append([]message.Verb(nil), order...) }

// Input is everything that scripts see of one message and its surroundings.
type Input struct {
	Message message.Envelope  `json:"message"`
	To      []message.Address `json:"to"`  // the intended recipients; scripts see the names in it
	Now     time.Time         `json:"now"` // the only clock of the scripts
	Chat    *Chat             `json:"chat,omitempty"`
	Agents  []Agent           `json:"agents,omitempty"` // known peers: ctx.agent finds them by name
	Others  Peers             `json:"-"`                // further known peers; a worker is told only what is new
	// Projects are the projects in which the author or a recipient works; their policy files are asked too. If a route
	// sends the message to other agents, the projects of those agents are added for the hooks after the route.
	Projects []string `json:"projects,omitempty"`
	// Config has the values of ctx.config for this message, as JSON has them. They take precedence over those of the
	// set.
	Config map[string]any `json:"config,omitempty"`
	// Otherwise is the verb for a recipient about which no script decides; "" means ask.
	Otherwise message.Verb `json:"otherwise,omitempty"`
	// Traced asks for Verdict.Answers.
	Traced bool `json:"traced,omitempty"`
}

// Chat is what scripts see of the chat that a message belongs to.
type Chat struct {
	Name         string   `json:"name,omitempty"`
	Participants []string `json:"participants"`     // names, in the order of their numbers
	Tokens       int      `json:"tokens,omitempty"` // used by its turns so far, as far as known
}

// Agent is what scripts see of a peer.
type Agent struct {
	Address    message.Address `json:"address"`
	Agent      string          `json:"agent,omitempty"` // claude, codex, line, …
	State      string          `json:"state,omitempty"` // idle, working, blocked, …
	Role       string          `json:"role,omitempty"`
	Repository string          `json:"repository,omitempty"` // the repository in which it works
	Project    string          `json:"project,omitempty"`    // the project in which it works, if that has a policy of its own; scripts do not see it
	Port       int             `json:"port,omitempty"`       // of a talk port
	Bypasses   bool            `json:"bypasses,omitempty"`   // it was started in a mode that acts without asking its person
	MaySpeak   bool            `json:"may_speak"`
}
