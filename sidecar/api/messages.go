package api

import (
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// MaxCheck is the longest time that CheckMessages waits: MCP clients limit a call to a minute.
const MaxCheck = 50 * time.Second

// CheckMessages hands the caller, a session, the messages that wait to be typed into its own pane. If there are
// none, it waits for one. A message that was handed over is not typed. A message that waits for a person's yes
// stays where it is.
var CheckMessages = Op[CheckRequest, Messages]{Name: "messages/check", Door: Door{Does: "take the messages that wait for a session", Terminal: Nothing, Person: Nothing, Agent: Own, Stranger: No}, Check: func(req CheckRequest) error {
	if req.Wait < 0 || req.Wait > MaxCheck {
		return Errorf(CodeUsage, "wait %v: between 0 and %v", req.Wait, MaxCheck)
	}
	return nil
}, Whole: func(l Messages) Messages {
	l.Messages = list(l.Messages)
	return l
}}

// CheckRequest asks for the messages that wait for the caller.
type CheckRequest struct {
	Wait time.Duration `json:"wait_ns,omitempty"` // at most MaxCheck; 0 waits for nothing
	// Batch is a new id, under which MessagesRead reports what became of the messages. Without one they count
	// as read when they are handed over.
	Batch message.ID `json:"batch,omitempty"`
}

// MessagesRead reports what became of messages that CheckMessages handed to its caller: whether the agent
// behind it read them. Unread messages are typed after all, in their order. If the process that took them ends
// without a report, they become uncertain.
var MessagesRead = Op[ReadRequest, None]{Name: "messages/read", Door: Door{Does: "say whether messages that were handed over were read", Terminal: Nothing, Person: Nothing, Agent: Own, Stranger: No}, Check: func(req ReadRequest) error {
	switch {
	case req.Batch == "" && len(req.Deliveries) == 0:
		return Errorf(CodeUsage, "name a batch or deliveries")
	case !slices.Contains(readings, req.Became):
		return Errorf(CodeUsage, "became %q: one of %q", req.Became, readings)
	}
	return nil
}}

// ReadRequest reports on the messages of one reply.
type ReadRequest struct {
	Batch      message.ID   `json:"batch,omitempty"`      // as in CheckRequest
	Deliveries []message.ID `json:"deliveries,omitempty"` // as in Message; empty if the reply did not arrive
	Became     Reading      `json:"became"`
}

// Reading is what became of messages that were handed over.
type Reading string

// What became of messages that were handed over.
const (
	WereRead    Reading = "read"
	WereNotRead Reading = "unread" // certainly not, and they will not be
	MayBeRead   Reading = "unsure" // nobody can tell, now or later
)

var readings = []Reading{WereRead, WereNotRead, MayBeRead}

// Messages are messages that were handed over, oldest first.
type Messages struct {
	Messages []Message `json:"messages"`
}

// Message is one message, as its reader gets it.
type Message struct {
	ID       message.ID      `json:"message_id"`
	From     message.Address `json:"from"`
	Type     string          `json:"type"`
	Text     string          `json:"text"` // as it would have been typed, with the header or attribution that names its author
	Chat     message.ID      `json:"chat,omitempty"`
	ReplyTo  message.ID      `json:"in_reply_to,omitempty"`
	Answer   bool            `json:"requires_response,omitempty"`
	Created  time.Time       `json:"created"`
	Delivery message.ID      `json:"delivery"`
}
