package api

import "github.com/tmux-intercom/tmux-intercom/sidecar/message"

// Inbox lists what is under way and not taken yet, oldest first.
var Inbox = Op[None, []Held]{Name: "inbox", Door: everybody("list what waits", ""), Reads: true, Whole: list[Held]}

// Vouch takes a person's word for the screen at which a delivery waits since it is not
// recognised: it is typed. Only a person at a terminal may.
var Vouch = Op[VouchRequest, Held]{Name: "inbox/vouch", Door: atTerminal("vouch for a screen that is not recognised", "")}

// Held is a delivery that waits, with all that it says.
type Held struct {
	Waiting
	Chat     message.ID       `json:"chat,omitempty"`
	ChatName string           `json:"chat_name,omitempty"`
	Pane     string           `json:"pane,omitempty"` // of the session; "": it has gone
	Envelope message.Envelope `json:"envelope"`
	Form     message.Form     `json:"form"` // of Envelope, where it is typed
	// Decision is set where what it waits for is a person's yes or no: intercom inbox approve
	// and reject. Asked is the verdict that wants it.
	Decision bool             `json:"decision,omitempty"`
	Asked    *message.Verdict `json:"asked,omitempty"`
	// Unanswerable is set where Decision is, and nobody would get a reply: a person said it, or who did has gone.
	Unanswerable bool `json:"unanswerable,omitempty"`
}

// Because is why a person is asked about it, and by which rule; "" where nothing tells.
func (h Held) Because() string {
	if !h.Decision || h.Asked == nil {
		return ""
	}
	return h.Asked.Because()
}

// Start reports whether it is a session that an agent asks to have started, and no message.
func (h Held) Start() bool { return h.Delivery != "" && h.Delivery == h.Message }

// VouchRequest names a delivery, or a message of one delivery, by its id or the end of it.
type VouchRequest struct {
	ID string `json:"id"`
	// Sure is the word itself; without, it is only told whether it would count.
	Sure bool `json:"sure,omitempty"`
}
