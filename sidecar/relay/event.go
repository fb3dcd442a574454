package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Event is something that happened: the only thing that changes a State.
type Event interface{ event() }

// Token names whoever waits for the outcome of an event. Run makes them; an effect with
// the same token answers it. Nobody waits for token 0.
type Token uint64

// Adopted says that a person gave a pane to us. The session's name is chosen here: from
// its Name, else its Title, else its Profile, made unique. The same session, or the same
// pane, adopted once more is refused unless it bears the same id: then it is brought up to
// date and keeps its name. Answer: Session.
type Adopted struct {
	Token   Token
	Session message.Session
}

// Released says that a person took a pane back.
type Released struct{ Session message.ID }

// Gone says that the pane or the program in it has ended.
type Gone struct {
	Session message.ID
	Reason  message.Reason
}

// StateChanged says what the program in a pane does now.
type StateChanged struct {
	Session message.ID
	State   message.PaneState
	Why     string
}

// Spoke says that a turn ended. Submitted deliveries that it answers become answered; in
// a chat, its words go to the others.
type Spoke struct {
	Turn message.Turn
	Seen bool // the journal has a message of the turn's id
}

// Reported is a receipt from a sink. Typed asks for leave: before the first byte, and
// again before Enter. The effect Allow with the same token says whether it was given; an
// error there means that nothing may be typed.
type Reported struct {
	Token   Token
	Receipt message.Receipt
}

// Decided is the verdict for which an effect Decide asked.
type Decided struct{ Verdict message.Verdict }

// Asked is a request of a person, an agent or a program. Answer: as the request says.
type Asked struct {
	Token   Token
	Request Request
	Seen    bool // the journal has a message of the id that the request carries
}

// Tick says only that time has passed.
type Tick struct{}

// Restored says what an earlier run left in the journal. It is the first event, if there
// is one at all: what was open then ends, and nothing is typed.
type Restored struct {
	Sessions   []message.Session
	Chats      []message.Chat
	Deliveries []Left // those without a final receipt
}

// Left is a delivery that an earlier run left open. Its Typed says whether it ever had a
// receipt typed.
type Left struct {
	Delivery message.Delivery
	State    message.ReceiptState // the last
	Reason   message.Reason       // of the last
}

func (Adopted) event()      {}
func (Released) event()     {}
func (Gone) event()         {}
func (StateChanged) event() {}
func (Spoke) event()        {}
func (Reported) event()     {}
func (Decided) event()      {}
func (Asked) event()        {}
func (Tick) event()         {}
func (Restored) event()     {}
