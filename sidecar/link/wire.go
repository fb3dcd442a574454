package link

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Session is a session of another computer, as that tells of it: what changes seldom, so that
// telling everybody costs little. Its state is asked for.
type Session struct {
	ID    message.ID `json:"id"`
	Name  string     `json:"name"`
	Title string     `json:"title,omitempty"`
	Agent string     `json:"agent,omitempty"` // its profile
}

// parcel is what must arrive. Kind says which of the rest is set; a kind that the receiver does not
// know is refused, and that is told.
type parcel struct {
	Kind    string     `json:"kind"`
	ID      message.ID `json:"id"` // of the delivery that it carries; of others, one of its own
	From    Session    `json:"from,omitzero"`
	To      message.ID `json:"to,omitempty"` // a session of the receiver's
	Message *letter    `json:"message,omitempty"`
	Fate    *fate      `json:"fate,omitempty"`
	Room    *room      `json:"room,omitempty"` // the chat in which Message was said, or that is told of
	Why     string     `json:"why,omitempty"`  // of a chat that was left

	tries uint64 // how often it came
}

// letter is what an envelope says to another computer. Who it is from, how that is known and to whom it goes is not
// for it to say, and how deep it lies not for it alone.
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
	Said             message.ID  `json:"said,omitempty"` // in a chat: of the message, which goes in a parcel to each who hears it
}

// room is a chat of sessions on several computers.
type room struct {
	Home  string     `json:"home"` // the computer that it belongs to
	ID    message.ID `json:"id"`   // as that one calls it
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
	Delivery message.ID           `json:"delivery"` // as the parcel's id
	State    message.ReceiptState `json:"state"`
	Reason   message.Reason       `json:"reason,omitempty"`
	Words    string               `json:"words,omitempty"` // with answered
	Taken    bool                 `json:"taken,omitempty"` // with failed: it was submitted, and nothing came of that
	At       time.Time            `json:"at,omitzero"`
}

// presence says that a computer is here.
type presence struct {
	Name     string    `json:"name"` // as its person spells it
	Boot     string    `json:"boot"` // of the sidecar that says it
	Revision string    `json:"revision"`
	Hello    bool      `json:"hello,omitempty"` // it has just come: whoever hears it says the same
	Bye      bool      `json:"bye,omitempty"`
	Sent     time.Time `json:"sent"`
}

// question is what is answered at once, or not at all.
type question struct {
	ID   message.ID      `json:"id"`
	Op   string          `json:"op"`
	From Session         `json:"from,omitzero"` // on whose behalf; the zero one is the computer itself
	Sent time.Time       `json:"sent"`
	Body json.RawMessage `json:"body,omitempty"`
}

// reply is the answer.
type reply struct {
	Error *RemoteError    `json:"error,omitempty"`
	Body  json.RawMessage `json:"body,omitempty"`
}

// few is a list of which no more is read than any may have: three bytes of it are a hundred in memory.
type few[T any] []T

const mostOfAList = 1000

// UnmarshalJSON reads the first of them.
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
