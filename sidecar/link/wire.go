package link

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Session is what a computer tells others about one of its sessions: only what changes seldom, so that telling
// everybody costs little. The state of a session is asked for.
type Session struct {
	ID    message.ID `json:"id"`
	Name  string     `json:"name"`
	Title string     `json:"title,omitempty"`
	Agent string     `json:"agent,omitempty"` // its profile
}

// parcel is what must arrive. Kind says which of the other fields are set. A kind that the receiver does not
// know is refused, and the sender is told.
type parcel struct {
	Kind    string     `json:"kind"`
	ID      message.ID `json:"id"` // that of the delivery that it carries, otherwise its own
	From    Session    `json:"from,omitzero"`
	To      message.ID `json:"to,omitempty"` // a session of the receiver
	Message *letter    `json:"message,omitempty"`
	Fate    *fate      `json:"fate,omitempty"`
	Room    *room      `json:"room,omitempty"` // the chat in which Message was said, or which the parcel is about
	Why     string     `json:"why,omitempty"`  // why a chat was left

	tries uint64 // how often it came
}

// letter is the part of an envelope that another computer gets. The letter does not say who it is from, how
// that is known, or to whom it goes, and the receiver does not rely on its depth alone.
type letter struct {
	Thread           message.ID  `json:"thread,omitempty"`
	Type             string      `json:"type"`
	Priority         string      `json:"priority,omitempty"`
	Subject          string      `json:"subject,omitempty"`
	Body             string      `json:"body"`
	InReplyTo        message.ID  `json:"in_reply_to,omitempty"`
	RequiresResponse bool        `json:"requires_response,omitempty"`
	Tags             few[string] `json:"tags,omitempty"`
	Depth            int         `json:"depth"`
	Created          time.Time   `json:"created"`
	Truncated        bool        `json:"truncated,omitempty"`
	Said             message.ID  `json:"said,omitempty"` // in a chat: id of the message, which goes in a parcel to each hearer
}

// room is a chat of sessions on several computers.
type room struct {
	Home  string     `json:"home"` // the computer to which it belongs
	ID    message.ID `json:"id"`   // its id there
	Name  string     `json:"name,omitempty"`
	Seats few[seat]  `json:"seats"`
}

// seat is a participant.
type seat struct {
	Session
	Computer string `json:"computer"`
	Number   int    `json:"number"`
	Role     string `json:"role,omitempty"`
	MaySpeak bool   `json:"may_speak"`
	Left     bool   `json:"left,omitempty"`
}

// fate is what became of a parcel's message.
type fate struct {
	Delivery message.ID           `json:"delivery"` // the parcel's id
	State    message.ReceiptState `json:"state"`
	Reason   message.Reason       `json:"reason,omitempty"`
	Words    string               `json:"words,omitempty"` // with answered
	Taken    bool                 `json:"taken,omitempty"` // with failed: it was submitted, but nothing came of it
	At       time.Time            `json:"at,omitzero"`
}

// presence says that a computer is here.
type presence struct {
	Name     string    `json:"name"` // as its person spells it
	Boot     string    `json:"boot"` // identifies the life of the sidecar that says it
	Revision string    `json:"revision"`
	Hello    bool      `json:"hello,omitempty"` // it has just come: the others answer with their presence
	Bye      bool      `json:"bye,omitempty"`
	Sent     time.Time `json:"sent"`
}

// question is something that is answered at once, or not at all.
type question struct {
	ID   message.ID      `json:"id"`
	Op   string          `json:"op"`
	From Session         `json:"from,omitzero"` // on whose behalf; zero: the computer itself
	Sent time.Time       `json:"sent"`
	Body json.RawMessage `json:"body,omitempty"`
}

// reply is the answer to a question.
type reply struct {
	Error *RemoteError    `json:"error,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// few is a list that is read only up to a limit: three bytes of it can take a hundred in memory.
type few[T any] []T

const mostOfAList = 1000

// UnmarshalJSON reads the first mostOfAList elements of a list.
func (f *few[T]) UnmarshalJSON(text []byte) error {
	*f = nil
	if len(text) == 0 || text[0] != '[' {
		var none []T
		return json.Unmarshal(text, &none) // null, or no list
	}
	d := json.NewDecoder(bytes.NewReader(text))
	_, err := d.Token()
	for err == nil && d.More() && len(*f) < mostOfAList {
		var one T
		if err = d.Decode(&one); err == nil {
			*f = append(*f, one)
		}
	}
	return err
}

// RemoteError is an error that another computer answers with.
type RemoteError struct {
	Computer string `json:"-"`
	Code     string `json:"code,omitempty"`
	Text     string `json:"text"`
	Hint     string `json:"hint,omitempty"`
}

func (e *RemoteError) Error() string { return e.Computer + ": " + e.Text }
