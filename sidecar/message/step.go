package message

import (
	"fmt"
	"time"
)

// Verb is what a policy, or a person after it, decides about a message.
type Verb string

// The verbs.
const (
	VerbDeliver Verb = "deliver"
	VerbAck     Verb = "ack"    // it goes to nobody; its author is told that it was taken note of, if they wait for an answer
	VerbAsk     Verb = "ask"    // it waits for a person's yes
	VerbHold    Verb = "hold"   // it waits, for whatever reason; a person's yes lets it go too
	VerbBounce  Verb = "bounce" // it goes to nobody, and its author is told
	VerbDrop    Verb = "drop"   // it goes to nobody, and nobody is told; the journal keeps it
)

// Decision is what becomes of a message.
type Decision struct {
	Verb   Verb   `json:"verb"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // the policy, or BuiltIn

	// Of ask and hold: after so much awake time without a person's word, Otherwise holds.
	// Without both it waits for ever.
	Expires   time.Duration `json:"expires_ns,omitempty"`
	Otherwise Verb          `json:"otherwise,omitempty"` // deliver, ack, bounce or drop

	Notify bool `json:"notify,omitempty"` // a person is told of it; of ask they always are
	Offer  bool `json:"offer,omitempty"`  // and how to open it
}

// BuiltIn is the By of a decision that no policy took.
const BuiltIn = "built in"

// Because is why that is decided, and by which rule, for people: "it deletes files, by init.lua:12 deletions". That nobody's rule
// says it goes without saying.
func (d Decision) Because() string {
	switch {
	case d.By == "" || d.By == BuiltIn:
		return d.Reason
	case d.Reason == "":
		return "by " + d.By
	}
	return d.Reason + ", by " + d.By
}

// Verdict is the decision about one message.
type Verdict struct {
	Message ID `json:"message"`
	Decision
	Body *string   `json:"body,omitempty"` // replaces the body on its way out; the journal keeps the original
	To   []Address `json:"to,omitempty"`   // replaces the targets
	At   time.Time `json:"at"`

	// What filters made of the rest: as Body, each in the place of the message's own; of Meta
	// only keys that the message has.
	Subject *string           `json:"subject,omitempty"`
	Tags    *[]string         `json:"tags,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`

	Person Person `json:"person,omitzero"` // whose decision it is, if it is no policy's

	// Outcomes are what is decided for single targets, in the place of what holds for all.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Floor names who may speak in the chat from now on; empty leaves it as it is, Everybody
	// gives it to all.
	Floor []ID `json:"floor,omitempty"`
	// Unfiltered says that a filter of the body failed: nobody knows what it would have taken
	// out, and no yes lets the message go as it is.
	Unfiltered bool `json:"unfiltered,omitempty"`
	// Kept says that no policy was asked, and that the words may be found although they went nowhere.
	Kept       bool   `json:"kept,omitempty"`
	Generation string `json:"generation,omitempty"` // of the policies that were asked
	// Memory is what scripts remember from now on, by the names of their files: it is written
	// down with the verdict.
	Memory map[string][]byte `json:"-"`
}

// Everybody, in a Verdict's Floor, is every participant.
const Everybody ID = "all"

// Outcome is what is decided about a message for one of its targets.
type Outcome struct {
	Target ID `json:"target"` // a peer
	Decision
	// Text is for the author: of ack and bounce, also where one of them is Otherwise.
	Text string `json:"text,omitempty"`

	// Head, where it is not empty, stands in the place of attribution or header, and Separator
	// between it and the body; Body, where it is set, in the place of the verdict's, and AsIs
	// says that no subject goes above it. Tags are beside those of the message. The deliveries
	// have them.
	Head      string   `json:"-"`
	Separator string   `json:"-"`
	Body      *string  `json:"-"`
	AsIs      bool     `json:"-"`
	Idle      bool     `json:"-"` // it does not go to an agent at work, whatever its chat is set to
	Tags      []string `json:"-"`
}

// For is what the verdict says of a target.
func (v Verdict) For(target ID) Outcome {
	for _, o := range v.Outcomes {
		if o.Target == target {
			return o
		}
	}
	return Outcome{Target: target, Decision: v.Decision}
}

// As is the verdict as if it were about that target alone.
func (v Verdict) As(target ID) Verdict {
	v.Decision = v.For(target).Decision
	v.Outcomes = nil
	return v
}

// Person is who decided something by hand, as the kernel and tmux tell of their process.
type Person struct {
	Name     string `json:"name"` // as their own words are signed
	UID      int    `json:"uid"`
	PID      int    `json:"pid,omitempty"`
	Terminal string `json:"terminal,omitempty"` // /dev/pts/3
	Pane     string `json:"pane,omitempty"`     // %7, of the tmux server that is served; "": a popup, or a terminal outside of it
	Client   string `json:"client,omitempty"`   // of that server, which shows the pane
}

func (p Person) String() string {
	text := fmt.Sprintf("%s (uid %d", p.Name, p.UID)
	if p.PID != 0 {
		text += fmt.Sprintf(", pid %d", p.PID)
	}
	for _, part := range []struct{ name, value string }{{"", p.Terminal}, {"pane ", p.Pane}, {"client ", p.Client}} {
		if part.value != "" {
			text += ", " + part.name + part.value
		}
	}
	return text + ")"
}

// Event is one thing that happened, for people and programs that watch: `intercom log`,
// the demo, the face. Kind says which of the pointers is what
// happened; others tell what it is about.
type Event struct {
	Seq      int64     `json:"seq"` // grows; its place in the journal
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"` // message, decision, receipt, chat, session, notice
	Chat     ID        `json:"chat,omitempty"`
	Message  *Envelope `json:"message,omitempty"`
	Delivery *Delivery `json:"delivery,omitempty"` // beside Receipt: what it is about, without its body unless that was typed and is not the message's own
	Receipt  *Receipt  `json:"receipt,omitempty"`
	Verdict  *Verdict  `json:"decision,omitempty"` // about the message, in what is told of one message alone
	Change   *Chat     `json:"change,omitempty"`
	Peer     *Peer     `json:"session,omitempty"`
	Notice   string    `json:"notice,omitempty"` // something a person must know of
	Resumes  bool      `json:"-"`                // with Notice: Chat goes on once a person resumes it
	Answered bool      `json:"-"`                // with Notice: a person asked for it, and was told there
}

// Notice is something that a person must know of.
type Notice struct {
	Chat    ID // that it is about, if it is about one
	Text    string
	Resumes bool // Chat goes on once a person resumes it
}

// Spoken is how deep a session is once a turn of its has ended, whether that became a message or not.
type Spoken struct {
	Peer  ID
	Depth int // of the turn
	Cause int // greatest depth of what was submitted to it and is not answered by then; -1: nothing was
}

// Step is all that one step of the relay writes down: one transaction of the journal.
type Step struct {
	Peers      []Peer     // made or changed, whole
	Chats      []Chat     // made or changed, whole
	Received   []Envelope // before anything is decided about them
	Verdicts   []Verdict  // the text of a person's is that of what is held for agents that have gone, too
	Deliveries []Delivery // made, together with their verdict; or what has changed in them
	Receipts   []Receipt  // appended
	Notices    []Notice   // what a person was told
	Freed      []ID       // sessions whose next words answer a person
	Spoke      []Spoken   // sessions whose turns have changed how deep they are, behind Freed
	Records    []Record   // made or changed, whole
	Stopped    *bool      // everything was stopped, or may go on; nil: as it was
}

// Empty reports whether there is nothing to write.
func (s Step) Empty() bool {
	return len(s.Peers)+len(s.Chats)+len(s.Received)+len(s.Verdicts)+len(s.Deliveries)+len(s.Receipts)+len(s.Notices) == 0 && len(s.Freed)+len(s.Spoke)+len(s.Records) == 0 && s.Stopped == nil
}
