package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Inbox lists the open deliveries that are not submitted yet, oldest first.
var Inbox = Op[None, []Held]{Name: "inbox", Door: everybody("list what waits", ""), Reads: true, Whole: list[Held]}

// Vouch takes a person's word for an unrecognised screen at which a delivery waits: the delivery is typed. Only
// a person at a terminal may vouch.
var Vouch = Op[VouchRequest, Held]{Name: "inbox/vouch", Door: atTerminal("vouch for a screen that is not recognised", "")}

// Held is a delivery that waits, with all its details.
type Held struct {
	Waiting
	Chat     message.ID       `json:"chat,omitempty"`
	ChatName string           `json:"chat_name,omitempty"`
	Pane     string           `json:"pane,omitempty"` // of the session; "" if that is gone
	Envelope message.Envelope `json:"envelope"`
	Form     message.Form     `json:"form"` // of Envelope, as it is typed
	// Decision is set if the delivery waits for a person's yes or no: intercom inbox approve and reject. Asked
	// is the verdict that asks for it.
	Decision bool             `json:"decision,omitempty"`
	Asked    *message.Verdict `json:"asked,omitempty"`
	// Unanswerable is set if Decision is and a reply would reach nobody: a person wrote the message, or its
	// author is gone.
	Unanswerable bool `json:"unanswerable,omitempty"`
}

// Because returns the reason why a person is asked about it, and by which rule; "" if none is known.
func (h Held) Because() string {
	if !h.Decision || h.Asked == nil {
		return ""
	}
	return h.Asked.Because()
}

// Start reports whether h is no message but an agent's request to start a session.
func (h Held) Start() bool { return h.Delivery != "" && h.Delivery == h.Message }

// VouchRequest names a delivery, or a message of one delivery, by its id or the end of it.
type VouchRequest struct {
	ID string `json:"id"`
	// Sure makes the word count; without it, the reply only says whether it would.
	Sure bool `json:"sure,omitempty"`
}
