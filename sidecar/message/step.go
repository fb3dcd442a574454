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
	VerbAck     Verb = "ack"    // it goes to nobody; its author is told that it was noted, if they wait for an answer
	VerbAsk     Verb = "ask"    // it waits for a person's yes
	VerbHold    Verb = "hold"   // it waits, for any reason; a person's yes lets it go too
	VerbBounce  Verb = "bounce" // it goes to nobody, and its author is told
	VerbDrop    Verb = "drop"   // it goes to nobody, and nobody is told; the journal keeps it
)

// Decision is what becomes of a message.
type Decision struct {
	Verb   Verb   `json:"verb"`
	Reason string `json:"reason,omitempty"`
	By     string `json:"by"` // the policy, or BuiltIn

	// For ask and hold: after so much awake time without a person's decision, Otherwise applies.
	// Without both it waits for ever.
	Expires   time.Duration `json:"expires_ns,omitempty"`
	Otherwise Verb          `json:"otherwise,omitempty"` // deliver, ack, ask, bounce or drop

	Notify bool `json:"notify,omitempty"` // a person is told of it; with ask they always are
	Offer  bool `json:"offer,omitempty"`  // and told how to open it
}

// BuiltIn is the By of a decision that no policy made.
const BuiltIn = "built in"

// Because returns the reason and the policy of a decision, for people: "it deletes files, by
// init.lua:12 deletions". It names no policy if none decided.
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

	// What filters changed besides the body: each field replaces the message's own. Meta only has
	// keys that the message has.
	Subject *string           `json:"subject,omitempty"`
	Tags    *[]string         `json:"tags,omitempty"`
	Meta    map[string]string `json:"meta,omitempty"`

	Person Person `json:"person,omitzero"` // who decided, if no policy did

	// Outcomes are the decisions for single targets, which replace the one for all.
	Outcomes []Outcome `json:"outcomes,omitempty"`
	// Floor lists the sessions that may speak in the chat from now on. Empty leaves it as it is;
	// Everybody gives the floor to all.
	Floor []ID `json:"floor,omitempty"`
	// Unfiltered says that a filter of the body failed: nobody knows what it would have removed,
	// and no yes lets the message go as it is.
	Unfiltered bool `json:"unfiltered,omitempty"`
	// Kept says that no policy was asked, and that a search may find the words although they went
	// nowhere.
	Kept       bool   `json:"kept,omitempty"`
	Generation string `json:"generation,omitempty"` // generation of the policies that were asked
	// Own is the person's own form of attribution; the deliveries have it.
	Own string `json:"-"`
	// Memory is what scripts remember from now on, by the names of their files. It is written down
	// with the verdict.
	Memory map[string][]byte `json:"-"`
}

// Everybody, in a Verdict's Floor, means every participant.
const Everybody ID = "all"

// Outcome is the decision about a message for one of its targets.
type Outcome struct {
	Target ID `json:"target"` // a peer
	Decision
	// Text is for the author, with ack and bounce, also if one of them is Otherwise.
	Text string `json:"text,omitempty"`

	// Head, if not empty, replaces the attribution or header, and Separator what stands between it
	// and the body. Body, if set, replaces the verdict's body, and AsIs says that no subject
	// precedes it. Tags are added to those of the message. The deliveries have all of these.
	Head      string   `json:"-"`
	Separator string   `json:"-"`
	Body      *string  `json:"-"`
	AsIs      bool     `json:"-"`
	Idle      bool     `json:"-"` // it does not go to a working agent, whatever the setting of its chat
	Tags      []string `json:"-"`
}

// For returns what the verdict decides for a target.
func (v Verdict) For(target ID) Outcome {
	for _, o := range v.Outcomes {
		if o.Target == target {
			return o
		}
	}
	return Outcome{Target: target, Decision: v.Decision}
}

// As returns the verdict as if it were about that target alone.
func (v Verdict) As(target ID) Verdict {
	v.Decision = v.For(target).Decision
	v.Outcomes = nil
	return v
}

// Person is a person who decided something by hand, as the kernel and tmux describe their process.
type Person struct {
	Name     string `json:"name"` // the name that signs their own messages
	UID      int    `json:"uid"`
	PID      int    `json:"pid,omitempty"`
	Terminal string `json:"terminal,omitempty"` // /dev/pts/3
	Pane     string `json:"pane,omitempty"`     // %7, of the tmux server that is served; "": a popup, or a terminal outside of that server
	Client   string `json:"client,omitempty"`   // the client of that server that shows the pane
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

// Event is one thing that happened, for people and programs that watch: `intercom log`, the demo,
// the face. Kind says which of the pointers is the event itself; the others say what it is about.
type Event struct {
	Seq      int64     `json:"seq"` // its place in the journal; it only grows
	At       time.Time `json:"at"`
	Kind     string    `json:"kind"` // message, decision, receipt, chat, session, notice
	Chat     ID        `json:"chat,omitempty"`
	Message  *Envelope `json:"message,omitempty"`
	Delivery *Delivery `json:"delivery,omitempty"` // with Receipt: what that is about, without the body unless a text other than the message's own was typed
	Receipt  *Receipt  `json:"receipt,omitempty"`
	Verdict  *Verdict  `json:"decision,omitempty"` // the decision about the message, if the events of one message alone are told
	Change   *Chat     `json:"change,omitempty"`
	Peer     *Peer     `json:"session,omitempty"`
	Notice   string    `json:"notice,omitempty"` // something that a person must know
	Resumes  bool      `json:"-"`                // with Notice: a person's resume lets Chat go on
	Answered bool      `json:"-"`                // with Notice: a person asked for it, and was told in the answer
}

// Notice is something that a person must know.
type Notice struct {
	Chat    ID // the chat that it is about; "": none
	Text    string
	Resumes bool // a person's resume lets Chat go on
}

// Spoken is the depth of a session after one of its turns, whether or not that became a message.
type Spoken struct {
	Peer  ID
	Depth int // of the turn
	Cause int // greatest depth of what was submitted to it and is not answered yet; -1: nothing was
}

// Step is everything that one step of the relay writes down: one transaction of the journal.
type Step struct {
	Peers      []Peer     // made or changed, whole
	Chats      []Chat     // made or changed, whole
	Received   []Envelope // received messages, before anything is decided about them
	Verdicts   []Verdict  // a person's text also replaces that of deliveries held for agents that have gone
	Deliveries []Delivery // made together with their verdict, or changed
	Receipts   []Receipt  // appended
	Notices    []Notice   // told to a person
	Freed      []ID       // sessions whose next words answer a person
	Spoke      []Spoken   // sessions whose turns have changed their depth; applied after Freed
	Records    []Record   // made or changed, whole
	Stopped    *bool      // true: everything was stopped; false: it may go on; nil: unchanged
}

// Empty reports whether there is nothing to write.
func (s Step) Empty() bool {
	return len(s.Peers)+len(s.Chats)+len(s.Received)+len(s.Verdicts)+len(s.Deliveries)+len(s.Receipts)+len(s.Notices) == 0 && len(s.Freed)+len(s.Spoke)+len(s.Records) == 0 && s.Stopped == nil
}
