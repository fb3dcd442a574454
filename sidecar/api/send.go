package api

import (
	"cmp"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Send hands one message to one peer, and returns when the delivery has reached the state that the
// request waits for or a final one, or when its time has passed: then with the receipt reached so
// far and no error. The caller judges by the receipt: no error means only that the message is in
// the sidecar's hands. An error means that nothing was sent, and one of the code CodeUncertain that
// it may have been. A message without an id gets one before it is sent, so that a reply that was
// lost can be asked for again without a second delivery.
var Send = Op[SendRequest, Sent]{Name: "send", Door: everybody("send a message", "under the caller's own name; a direct link needs a proven caller"), Check: checkSend, Again: func(req SendRequest, spent time.Duration) SendRequest {
	req.ID = cmp.Or(req.ID, message.NewID())
	req.Timeout = max(0, req.Timeout-spent)
	return req
}}

// Wait is the state that the sender of a message waits for.
type Wait string

// What may be waited for.
const (
	WaitSubmitted Wait = "submitted"
	WaitAnswered  Wait = "answered"
	WaitEnded     Wait = "ended" // of a question
)

// SendRequest is one message to one peer.
type SendRequest struct {
	// ID makes a repetition harmless: the second request of the same id is answered with what
	// became of the first. Call sets it where it is not.
	ID   message.ID `json:"id,omitempty"`
	To   string     `json:"to"`   // a session, by pane, name or id; "" is the author of ReplyTo
	Text string     `json:"text"` // at most message.MaxBody bytes of valid UTF-8
	// Computer is where that session is, if To does not say so itself; "" is this one.
	Computer string `json:"computer,omitempty"`
	// Type is one of AEA's types, by which policies tell messages apart; "" is message.KindMessage.
	// Priority is low, normal, high or urgent; "" is normal.
	Type             string `json:"type,omitempty"`
	Priority         string `json:"priority,omitempty"`
	RequiresResponse bool   `json:"requires_response,omitempty"`
	// Subject stands above the text; Tags are for policies. Both are limited as in package message.
	Subject string   `json:"subject,omitempty"`
	Tags    []string `json:"tags,omitempty"`
	// ReplyTo is the message that this one answers: one that was sent to the caller.
	ReplyTo message.ID `json:"in_reply_to,omitempty"`
	// Wait is the state to wait for; "" is WaitSubmitted. What is held is waited for too: it
	// may be let go in time.
	Wait    Wait          `json:"wait,omitempty"`
	Timeout time.Duration `json:"timeout_ns"` // how long to wait; 0 waits for nothing

	// Direct connects the caller, a session, to the one that gets the message: a chat of the two, in
	// which each hears from then on what the other says. It begins once policies and limits let the
	// message go; where they do not, Sent has no Chat. An error says that it was not sent either:
	// one of them is in a chat, in that very one perhaps.
	Direct bool `json:"direct,omitempty"`
	// CloseLink ends the chat of the two. The text, if there is one, is sent after that.
	CloseLink bool `json:"close_link,omitempty"`
}

func checkSend(req SendRequest) error {
	switch {
	case req.Direct && req.CloseLink:
		return Errorf(CodeUsage, "direct and close link: one of them")
	case strings.TrimSpace(req.Text) == "" && !req.CloseLink:
		return Errorf(CodeUsage, "nothing to send")
	}
	return nil
}

// Sent is what became of a SendRequest.
type Sent struct {
	Message  message.ID      `json:"message"`
	Delivery message.ID      `json:"delivery"`
	Receipt  message.Receipt `json:"receipt"` // the last one; where no answer was waited for, that of its being taken counts, whatever came after
	// Head is what stands in front of the text where it is typed: under whose name it goes.
	Head string `json:"head,omitempty"`
	// Behind is set where the delivery is queued behind one to the same pane that is held:
	// why that one is.
	Behind message.Reason `json:"behind,omitempty"`
	// Gone is set where an answer was waited for, and none comes to what was taken: why.
	Gone string `json:"gone,omitempty"`
	// Chat is what Direct began, or CloseLink ended.
	Chat *message.Chat `json:"chat,omitempty"`
}
