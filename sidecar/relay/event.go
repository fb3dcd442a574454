package relay

import (
	"time"

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
// a chat, its words go to the others. Of one that was cut short they fail for that reason,
// its words go nowhere, and the agents that wait for an answer are told. A turn that is told
// of twice counts once. One that ended before this run (Turn.Late) counts only as the answer to
// what an earlier run had submitted: whatever else it is, it is old.
type Spoke struct {
	Turn     message.Turn
	Seen     bool // the journal has a message of the turn's id
	Prompted bool // the journal has one of its person's prompt
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

// Reconsider has messages decided once more, as they were received, of which deliveries are
// held since a filter had failed. Others are left alone.
type Reconsider struct{ Messages []message.Envelope }

// Limited says which limits hold from now on for single messages, and for new chats where they
// set none. Chats that have begun keep theirs. Zero fields mean the built-in ones, and in Chats
// those for single messages.
type Limited struct{ Limits, Chats message.Limits }

// Asked is a request of a person, an agent or a program. Answer: as the request says.
type Asked struct {
	Token   Token
	Request Request
	Seen    bool // the journal has a message of the id that the request carries
}

// Closed says that nothing more can be typed into a session's pane for a reason that only a
// person, or what the pane shows later, can end; or, with no reason, that it can again.
type Closed struct {
	Session message.ID
	Why     message.Reason
	Lost    message.ID     // the delivery whose text was typed and never seen, if it is that
	Draft   *message.Place // where a person's line stands, if it is that
}

// Noted is something that a person must know of, about a session or about a chat, which may
// have ended.
type Noted struct {
	Session message.ID
	Chat    message.ID // "": that of Session
	Text    string
}

// Tick says that time has passed: what waited too long expires, and chats that nobody may
// be looking at pause. A wait begins to count at the first Tick after its begin, so that
// nothing comes too early, whatever lay between two of them.
type Tick struct {
	Awake time.Duration // since the last Tick: how long the computer was not asleep; below 0 is 0
}

// Attended says that a person is at a terminal of the tmux server, or just came. The start
// of a State says so too, and so do a person's requests, adoptions and releases.
type Attended struct{}

// Restored says what an earlier run left in the journal. It is the first event, if there
// is one at all. Chats go on, on or paused, unless one of their sessions was at another
// tmux server: then they have ended, with its participants in them still. What was not
// typed is handed out again in its order, unless something holds it. What may have been
// typed is handed to its sink with Typed set, wherever its chat stands; the sink looks at
// the pane before anything else, asks for leave as ever, and reports Held with TmuxRefused
// if nothing was typed: then it is as if leave had never been given. What was submitted is
// remembered, and handed to nobody: a turn may answer it yet.
type Restored struct {
	Server     message.Process    // that serves the panes now; its name does not count
	Stopped    bool               // everything was stopped
	Sessions   []Stay             // those that were present
	Chats      []Going            // those that had not ended, and any in which something of Undecided was said
	Undecided  []message.Envelope // received, without a verdict, in the order of receiving
	Deliveries []Left             // those without a final receipt, in the order of their making
	Submitted  []message.Delivery // taken by those who are present, and not answered, in that order
}

// Stay is a session that an earlier run left, with what its brake stood at.
type Stay struct {
	Session message.Session
	Last    int // depth of the last turn; 1 where it said nothing yet
	Cause   int // greatest depth of what was typed to it since; -1: nothing was
}

// Going is a chat that an earlier run left.
type Going struct {
	Chat  message.Chat
	Taken int // turns that were relayed in it
}

// Left is a delivery that an earlier run left open. Its Typed says whether it ever had a
// receipt typed, whatever came after. One that is held "agent gone" stays as it is where
// that agent is not there, or not in the chat any more: it need not be listed.
type Left struct {
	Delivery message.Delivery
	State    message.ReceiptState // the last
	Reason   message.Reason       // of the last
	Verdict  message.Verdict      // the last on its message
}

func (Adopted) event()      {}
func (Released) event()     {}
func (Gone) event()         {}
func (StateChanged) event() {}
func (Spoke) event()        {}
func (Reported) event()     {}
func (Decided) event()      {}
func (Reconsider) event()   {}
func (Limited) event()      {}
func (Asked) event()        {}
func (Closed) event()       {}
func (Noted) event()        {}
func (Tick) event()         {}
func (Attended) event()     {}
func (Restored) event()     {}
