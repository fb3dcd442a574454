package message

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxBody is the maximum size of a message's body in bytes: 1 MiB.
const MaxBody = 1 << 20

// Kinds of message: words of the protocol that a message came by. The list is open; these are the
// ones that the sidecar makes itself.
const (
	KindMessage = "message" // one discrete message, by `intercom send`
	KindTurn    = "turn"    // what an agent said in a chat
	KindSay     = "say"     // what a person said into a chat, or the first word of an agent that started it
	KindLast    = "last"    // the last words of an agent before a chat began, as its first message
	KindQuit    = "quit"    // the text that an agent takes as the command to end
	KindNotice  = "notice"  // what the sidecar itself tells an agent about another
	KindCheck   = "check"   // the sidecar's question to an agent, on behalf of another, whether it is still at work
)

// Origin says what kind of author a message has.
type Origin string

// The origins.
const (
	OriginHuman  Origin = "human"
	OriginAgent  Origin = "agent"
	OriginSystem Origin = "system"
	OriginRemote Origin = "remote"
)

// OfAgent reports whether the author is an agent, on any computer.
func (o Origin) OfAgent() bool { return o == OriginAgent || o == OriginRemote }

// Trust says how the author of a message is known.
type Trust string

// The levels of trust.
const (
	TrustPerson   Trust = "person"                // a person of this uid at the command line
	TrustVerified Trust = "session-verified"      // a session, proven by its process
	TrustRegister Trust = "registered-repository" // a repository that a person enabled
	TrustLoopback Trust = "loopback-unverified"   // anything that reached a loopback port
	TrustRemote   Trust = "remote"                // another computer

	TrustUnverified Trust = "unverified" // a process of this user; nobody knows who started it
)

// Unproven reports whether any program on this computer may be the author.
func (t Trust) Unproven() bool { return t == TrustUnverified || t == TrustLoopback }

// Unverified replaces a session's id if a message is from a process that is not proven to be a
// person or a session. Nobody can be reached by it.
const Unverified ID = "unverified"

// LocalComputer is the name of this computer.
const LocalComputer = "local"

// Address names a peer, whatever its kind. The zero value names nobody.
type Address struct {
	Computer string `json:"computer,omitempty"` // "" and "local" both mean this one
	Peer     ID     `json:"session,omitempty"`
	Name     string `json:"name,omitempty"`   // what attribution shows
	Number   int    `json:"number,omitempty"` // the participant's number in its chat; a person is 0
}

// Envelope is one message of one peer. It is the message of every protocol: each protocol maps its
// own messages to envelopes on entry, and envelopes to its own on exit.
type Envelope struct {
	ID               ID                `json:"id"`
	Chat             ID                `json:"chat,omitempty"`   // the chat that it was said in; "": beside all chats
	Thread           ID                `json:"thread,omitempty"` // the conversation, as its protocol names it; for a message first said in a chat, that chat
	From             Address           `json:"from"`
	To               []Address         `json:"to,omitempty"` // empty: the others of its chat
	Type             string            `json:"type"`
	Priority         string            `json:"priority,omitempty"`
	Subject          string            `json:"subject,omitempty"`
	Body             string            `json:"body"`
	InReplyTo        ID                `json:"in_reply_to,omitempty"`
	RequiresResponse bool              `json:"requires_response,omitempty"`
	Tags             []string          `json:"tags,omitempty"`
	Origin           Origin            `json:"origin"`
	Trust            Trust             `json:"trust"`
	Depth            int               `json:"depth"` // agent turns, by cause, since a person's last word
	Created          time.Time         `json:"created"`
	Truncated        bool              `json:"truncated,omitempty"` // the body is only part of what was said
	CopyOf           ID                `json:"copy_of,omitempty"`   // the id, on another computer, of a turn there: this is a further copy of it, and counts as no turn
	Meta             map[string]string `json:"meta,omitempty"`
}

// EndsTurn reports whether the message ends a turn of its author. For a session in a pane, only the
// words of a turn do: a message that it sends in the middle of a turn, or that the sidecar sends in
// its name, does not change what it works on.
func (e Envelope) EndsTurn() bool {
	return e.From.Peer != "" && (e.Type == KindTurn || e.Trust != TrustVerified)
}

// TakesTurn reports whether the message counts as a turn of its chat.
func (e Envelope) TakesTurn() bool { return e.Type == KindTurn && e.CopyOf == "" }

// OfSidecar reports whether the sidecar of this computer is the author. Another computer's sidecar
// is trusted no further than its sessions.
func (e Envelope) OfSidecar() bool { return e.Origin == OriginSystem && e.Trust != TrustRemote }

// SaysAs reports whether e says the same as other: everything that a client repeats when it sends a
// request again. It does not compare authors, recipients and times.
func (e Envelope) SaysAs(other Envelope) bool {
	return e.Type == other.Type && e.Priority == other.Priority && e.RequiresResponse == other.RequiresResponse &&
		e.Subject == other.Subject && e.Body == other.Body && slices.Equal(e.Tags, other.Tags)
}

// Validate checks what every message must have, whatever protocol it came by: an id, a type, and a
// body that is valid UTF-8 of at most MaxBody bytes.
func (e Envelope) Validate() error {
	switch {
	case e.ID == "":
		return errors.New("message has no id")
	case e.Type == "":
		return fmt.Errorf("message %s has no type", e.ID)
	case len(e.Body) > MaxBody:
		return fmt.Errorf("message %s: body of %d bytes, the most is %d", e.ID, len(e.Body), MaxBody)
	case !utf8.ValidString(e.Body):
		return fmt.Errorf("message %s: body is not valid UTF-8", e.ID)
	}
	return nil
}
