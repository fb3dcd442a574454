package api

import (
	"cmp"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Send sends one message to one peer. It returns when the delivery has reached the state that the request waits
// for, or a final state, or when the timeout is over; in the last case with the latest receipt and no error.
// The caller has to look at the receipt: no error means only that the sidecar has the message. An error means
// that nothing was sent, except that one with CodeUncertain means that it may have been. A message without an
// id gets one before it is sent, so that the request can be repeated after a lost reply without a second
// delivery.
var Send = Op[SendRequest, Sent]{Name: "send", Door: everybody("send a message", "under the caller's own name; a direct link needs a proven caller"), Check: checkSend, Again: func(req SendRequest, spent time.Duration) SendRequest {
	req.ID = cmp.Or(req.ID, message.NewID())
	req.Timeout = max(0, req.Timeout-spent)
	return req
}}

// Wait is the state that the sender of a message waits for.
type Wait string

// The states that a sender may wait for.
const (
	WaitSubmitted Wait = "submitted"
	WaitAnswered  Wait = "answered"
	WaitEnded     Wait = "ended" // for questions only
)

// SendRequest is one message to one peer.
type SendRequest struct {
	// ID makes a repetition harmless: a second request with the same id is answered with what became of the
	// first. Call sets an id if there is none.
	ID   message.ID `json:"id,omitempty"`
	To   string     `json:"to"`   // a session, by pane, name or id; "" is the author of ReplyTo
	Text string     `json:"text"` // at most message.MaxBody bytes of valid UTF-8
	// Computer is the computer of that session, if To does not name it; "" is this one.
	Computer string `json:"computer,omitempty"`
	// Type is one of AEA's types, by which policies tell messages apart; "" is message.KindMessage.
	// Priority is low, normal, high or urgent; "" is normal.
	Type             string `json:"type,omitempty"`
	Priority         string `json:"priority,omitempty"`
	RequiresResponse bool   `json:"requires_response,omitempty"`
	// Subject stands above the text; Tags are for policies. Package message limits both.
	Subject string   `json:"subject,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// ReplyTo is the message that this one answers; that message was sent to the caller.
	ReplyTo message.ID `json:"in_reply_to,omitempty"`
	// Wait is the state to wait for. WaitSubmitted and WaitAnswered wait for a held delivery too, since it may
	// be released in time; "" waits until the delivery is submitted or held.
	Wait    Wait          `json:"wait,omitempty"`
	Timeout time.Duration `json:"timeout_ns"` // how long to wait; 0 waits for nothing

	// Direct connects the caller, a session, with the recipient: it begins a chat of the two, in which each
	// hears what the other says. The chat begins once policies and limits let the message go; if they do not,
	// Sent has no Chat. An error means that the message was not sent either: one of the two is in a chat
	// already, perhaps in this very one.
	Direct bool `json:"direct,omitempty"`
	// CloseLink ends the chat of the two. If there is a text, it is sent after that.
	CloseLink bool `json:"close_link,omitempty"`
}

func checkSend(req SendRequest) error {
	switch {
	case req.Direct && req.CloseLink:
		return Errorf(CodeUsage, "give direct or close link, not both")
	case strings.TrimSpace(req.Text) == "" && !req.CloseLink:
		return Errorf(CodeUsage, "nothing to send")
	}
	return nil
}

// Sent says what became of a SendRequest.
type Sent struct {
	Message  message.ID      `json:"message"`
	Delivery message.ID      `json:"delivery"`
	Receipt  message.Receipt `json:"receipt"` // the latest; if no answer was waited for, a delivery that was submitted counts as submitted, whatever came after
	// Head is the text in front of the message where it is typed: it names the sender.
	Head string `json:"head,omitempty"`
	// Behind is set if the delivery is queued behind a held one to the same pane: the reason why that one is
	// held.
	Behind message.Reason `json:"behind,omitempty"`
	// Gone is set if an answer was waited for and a submitted message will get none: the reason.
	Gone string `json:"gone,omitempty"`
	// Chat is the chat that Direct began or CloseLink ended.
	Chat *message.Chat `json:"chat,omitempty"`
}
