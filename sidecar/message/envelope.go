package message

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"
)

// MaxBody is the most bytes that the body of a message may have: 1 MiB.
const MaxBody = 1 << 20

// Kinds of message: words of the protocol that a message came by. The list is open; these
// are the ones that the sidecar makes itself.
const (
	KindMessage = "message" // one discrete message, by `intercom send`
	KindTurn    = "turn"    // what an agent said in a chat
	KindSay     = "say"     // what a person said into a chat, or an agent that started it as its first word
	KindLast    = "last"    // what an agent had said last before a chat began, as the first word of it
	KindQuit    = "quit"    // what an agent takes for a command to end
	KindNotice  = "notice"  // what the sidecar itself tells one agent of another
	KindCheck   = "check"   // what the sidecar asks one agent on behalf of another: whether it is at work still
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

// OfAgent reports whether an agent says it, on whichever computer.
func (o Origin) OfAgent() bool { return o == OriginAgent || o == OriginRemote }

// Trust says how the author of a message is known.
type Trust string

// The levels of trust.
const (
	TrustPerson   Trust = "person"                // a person of this uid at the command line
	TrustVerified Trust = "session-verified"      // a session, identified by its process
	TrustRegister Trust = "registered-repository" // a repository that a person enabled
	TrustLoopback Trust = "loopback-unverified"   // whoever reached a loopback port
	TrustRemote   Trust = "remote"                // another computer

	TrustUnverified Trust = "unverified" // a process of this user, of which nobody knows who started it
)

// Unproven reports whether any program of this computer may be the author.
func (t Trust) Unproven() bool { return t == TrustUnverified || t == TrustLoopback }

// Unverified stands in the place of a session's id where a message is from a process of
// which neither a person nor a session is proven. Nobody can be reached by it.
const Unverified ID = "unverified"

// LocalComputer is the name by which the own computer goes.
const LocalComputer = "local"

// Address names a peer, whatever its kind. The zero value names nobody.
type Address struct {
	Computer string `json:"computer,omitempty"` // "" and "local" both mean this one
	Peer     ID     `json:"session,omitempty"`
	Name     string `json:"name,omitempty"`   // what attribution shows
	Number   int    `json:"number,omitempty"` // the participant's number in its chat; a person is 0
}

// Envelope is one thing said by one peer. It is the message of every protocol: each is
// mapped to it on entry and from it on exit.
type Envelope struct {
	ID               ID                `json:"id"`
	Chat             ID                `json:"chat,omitempty"`   // that it was said in; "": beside all chats
	Thread           ID                `json:"thread,omitempty"` // the conversation, as its protocol names it; of a message said in a chat first, that chat
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
	Truncated        bool              `json:"truncated,omitempty"` // the body is not all that was said
	CopyOf           ID                `json:"copy_of,omitempty"`   // of a turn on another computer, by its id there: one more of its copies, which counts as none
	Meta             map[string]string `json:"meta,omitempty"`
}

// EndsTurn reports whether it is what its author said last: of one in a pane the words of a turn. What that
// sends in the midst of one, and what the sidecar says in its name, leaves what it works on as it is.
func (e Envelope) EndsTurn() bool {
	return e.From.Peer != "" && (e.Type == KindTurn || e.Trust != TrustVerified)
}

// TakesTurn reports whether it counts as a turn of its chat.
func (e Envelope) TakesTurn() bool { return e.Type == KindTurn && e.CopyOf == "" }

// OfSidecar reports whether the sidecar of this computer says it. That of another one is trusted no further than its sessions.
func (e Envelope) OfSidecar() bool { return e.Origin == OriginSystem && e.Trust != TrustRemote }

// SaysAs reports whether its author said in it all that other's author said in other: what a client gives that
// sends the same request again. Who they are, to whom they speak and when is not compared.
func (e Envelope) SaysAs(other Envelope) bool {
	return e.Type == other.Type && e.Priority == other.Priority && e.RequiresResponse == other.RequiresResponse &&
		e.Subject == other.Subject && e.Body == other.Body && slices.Equal(e.Tags, other.Tags)
}

// Validate checks what every message must have, whatever protocol it came by: an id, a
// type, and a body that is valid UTF-8 of at most MaxBody bytes.
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
