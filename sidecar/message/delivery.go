package message

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Delivery is one message on its way to one peer. A sink that writes into a pane puts the
// text together, of message and form: package render.
type Delivery struct {
	ID      ID       `json:"id"`
	Message Envelope `json:"message"`
	Target  ID       `json:"target"`         // the peer that is to receive it
	Chat    ID       `json:"chat,omitempty"` // the chat that it belongs to, if any
	Form
	Attempt int  `json:"attempt"`           // 1 for the first time that a sink is handed it
	Revoked bool `json:"revoked,omitempty"` // it is never let go again, whatever becomes of its chat
	Typed   bool `json:"typed,omitempty"`   // bytes may have reached the pane already: never paste it again

	// Door is the agent's own door that its text may have gone through, instead of its terminal: it is
	// neither typed nor handed over again. It is empty for one that was typed, or not sent yet.
	Door string `json:"through,omitempty"`

	// Bare says that its text is a command of its reader's, which may be typed without the head once Note, a
	// message of its own, has told the reader who asks for it. Of one that is Typed it says whether it was.
	Bare bool `json:"bare,omitempty"`
	Note ID   `json:"note,omitempty"`

	// Unfiltered says that no filter has seen its text: nobody lets it go as it is.
	Unfiltered bool `json:"unfiltered,omitempty"`
	// Asked says that its agent went before anybody had decided about it.
	Asked bool `json:"asked,omitempty"`
	// Direct says that its sender is to be connected to its target once it goes.
	Direct bool `json:"direct,omitempty"`
}

// Form is how the reader in a pane is to get a message. It is settled when the delivery is made,
// names and numbers too: what was typed must be the same text to whoever looks for it later.
type Form struct {
	Head      string `json:"head"`                 // attribution `[Name] (1):` or header `AI[local:…] |`
	Separator string `json:"separator"`            // "\n\n" after an attribution, " " after a header
	Formatted bool   `json:"formatted,omitempty"`  // the head is a policy's: the sink washes it as it does the body
	LineBreak string `json:"line_break,omitempty"` // what stands for a line break in a reader of lines; "" is " ⏎ "
	AsIs      bool   `json:"as_is,omitempty"`      // the body is all that stands below the head: no subject goes above it
	Way       string `json:"door,omitempty"`       // DoorAuto or DoorType; "" is DoorType
	MidTurn   bool   `json:"mid_turn,omitempty"`   // where it goes through a door, it may while its reader works
}

// Which way a message may go into an agent that offers more than its terminal.
const (
	DoorAuto = "auto" // by the agent's own door where it offers one, else typed
	DoorType = "type" // always typed

	DoorMCP  = "mcp"  // in a receipt: its agent asked for it through its MCP client
	DoorLink = "link" // in a receipt: it goes to another computer, which says what becomes of it there
)

// When a message may go into an agent that reads what comes through its door between two calls of tools.
const (
	DeliverIdle    = "idle"     // once it rests
	DeliverMidTurn = "mid-turn" // while it works, too
)

// ReceiptState is what is known of a delivery.
type ReceiptState string

// The states of a delivery, in their order, and its ends.
const (
	Queued    ReceiptState = "queued"    // on disk here
	Held      ReceiptState = "held"      // waits for a person or for a safe moment; the reason says which
	Typed     ReceiptState = "typed"     // bytes may have reached the pane; written down before the first of them
	Submitted ReceiptState = "submitted" // the agent took it
	Answered  ReceiptState = "answered"  // its turn ended, the words are known
	Failed    ReceiptState = "failed"    // refused or undeliverable
	Expired   ReceiptState = "expired"   // its time passed before anything was typed
	Uncertain ReceiptState = "uncertain" // typed, and what became of it cannot be proven; the agent's own record may prove it later
)

// Final reports whether nobody waits for what follows s: nothing does, or a late record that
// proves what was uncertain.
func (s ReceiptState) Final() bool {
	switch s {
	case Answered, Failed, Expired, Uncertain:
		return true
	}
	return false
}

// Words is the state for a person. Of what goes to another computer, typed says only that it was sent there.
func (s ReceiptState) Words(door string) string {
	if s == Typed && door == DoorLink {
		return "on its way"
	}
	return string(s)
}

// May reports whether a delivery in state s may go on to state next. The order never goes
// back, but for queued and held, which change places until something is typed, and for
// typed, which becomes held while our text provably stands in the composer and something
// keeps Enter away. A repeated state is allowed where its reason or evidence may change.
func (s ReceiptState) May(next ReceiptState) bool {
	return slices.Contains(successors[s], next)
}

// successors of each state; the final ones have none, but for a late record. The empty state is a delivery that
// nothing was written about yet.
var successors = map[ReceiptState][]ReceiptState{
	"":        {Queued, Failed},
	Queued:    {Held, Typed, Failed, Expired, Uncertain},
	Held:      {Queued, Held, Typed, Submitted, Failed, Expired, Uncertain},
	Typed:     {Typed, Held, Submitted, Failed, Uncertain},
	Submitted: {Answered, Failed, Uncertain},
	Uncertain: {Submitted},
}

// Evidence is what a state or a receipt rests on.
type Evidence struct {
	Source string    `json:"source"`           // screen, transcript, hook, status, process, tty, tmux
	Says   string    `json:"says"`             // rendered, emptied, consumed, …: in words
	Weight string    `json:"weight,omitempty"` // exact or approximate
	At     time.Time `json:"at"`
}

// Receipt is one step of a delivery, with what it rests on.
type Receipt struct {
	Delivery  ID           `json:"delivery"`
	Message   ID           `json:"message"`
	Target    ID           `json:"target"`
	State     ReceiptState `json:"state"`
	Reason    Reason       `json:"reason,omitempty"` // why it is held, failed, expired or uncertain
	Hold      Hold         `json:"hold,omitempty"`   // what keeps a held one from its pane; "": the pane itself
	Evidence  []Evidence   `json:"evidence,omitempty"`
	Sanitised int          `json:"sanitised,omitempty"` // characters that the sink removed or changed
	Door      string       `json:"door,omitempty"`      // the agent's own door that it goes through; "": it is typed, or not sent yet
	Bare      bool         `json:"bare,omitempty"`      // it was typed without its head, as a command
	Words     string       `json:"words,omitempty"`     // with answered: what the agent said
	At        time.Time    `json:"at"`
}

// Stands reports whether what is held has been typed already: it stands in the composer, and only its Enter waits.
func (r Receipt) Stands() bool {
	return r.State == Held && slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return e.Says == string(OursInComposer) })
}

// NoPastes begins what is told of a program that would read each line of a paste as one of its own.
const NoPastes = "bracketed paste is off"

// PastesOff reports whether that keeps what is held from its pane. Nobody can vouch for such a pane.
func (r Receipt) PastesOff() bool {
	return r.State == Held && slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return strings.HasPrefix(e.Says, NoPastes) })
}

// Superseded reports whether the delivery has ended since its message was decided anew: what becomes of the
// delivery that was made instead is what becomes of the message.
func (r Receipt) Superseded() bool { return r.State == Failed && r.Reason == DecidedAnew }

// Latest is how a delivery stands by all receipts of its message, in their order; zero if there is none of it. Where it
// was superseded, it is how the delivery stands that was made instead: to the same target, or else the first to another.
func Latest(all []Receipt, delivery ID) (last Receipt) {
	seen := map[ID]bool{}
	for i, r := range all {
		seen[r.Delivery] = true
		if r.Delivery != delivery {
			continue
		}
		if last = r; r.Superseded() {
			delivery = cmp.Or(r.instead(all[i+1:], seen), delivery)
		}
	}
	return last
}

// instead is the delivery that was made in the place of a superseded one, if any was: of those of which no receipt was
// seen before. A message that is sent once more under the same id is another.
func (r Receipt) instead(later []Receipt, seen map[ID]bool) (id ID) {
	for _, next := range later {
		switch {
		case next.Delivery == "" || seen[next.Delivery] || next.Reason == Duplicate:
		case next.Target == r.Target:
			return next.Delivery
		default:
			id = cmp.Or(id, next.Delivery)
		}
	}
	return id
}

// Awaits reports whether a person's decision is what the delivery waits for.
func (r Receipt) Awaits() bool {
	return r.State == Held && (r.Hold == HoldApproval || r.Hold == HoldPolicy || r.Hold == HoldFilter)
}

// AgentGone reports whether the delivery is kept for whoever takes the place of an agent that has
// gone.
func (r Receipt) AgentGone() bool { return r.State == Held && r.Hold == "" && r.Reason == AgentGone }

// Hold says what keeps a delivery from its pane. The constants are part of the contract of --json.
type Hold string

// The holds.
const (
	HoldPause    Hold = "pause"    // a person's, or a limit's on something said before it
	HoldLimit    Hold = "limit"    // a limit's on agents
	HoldApproval Hold = "approval" // a policy's or its chat's: until a person says yes
	HoldPolicy   Hold = "policy"   // a policy's
	HoldFilter   Hold = "filter"   // a filter's that failed: until policies have filtered it
)

// Reason says, in words that a person reads, why a delivery is held, has failed or is
// uncertain, or why a pane may not be typed into. The constants are part of the contract
// of --json.
type Reason string

// The reasons. Each is held unless the comment says otherwise.
const (
	AgentGone       Reason = "agent gone"            // held in a chat, failed for a single message
	AgentStarting   Reason = "agent starting"        // its program has not shown itself yet
	AgentWorking    Reason = "agent working"         // no prompt yet
	InComposer      Reason = "draft in the composer" // a person's text
	SomebodyTypes   Reason = "somebody types there"  // keys of theirs may not be drawn yet
	OursInComposer  Reason = "our text stands in the composer"
	CopyMode        Reason = "pane in a mode"      // copy mode, view mode, choose-tree
	Synchronised    Reason = "synchronised window" // failed
	InputOff        Reason = "input of the pane is off"
	PaneDead        Reason = "pane is dead"              // as agent gone
	PaneReplaced    Reason = "pane runs another process" // as agent gone
	PaneMissing     Reason = "pane is gone"              // as agent gone
	ServerEnded     Reason = "tmux server ended"         // as agent gone
	NotInFront      Reason = "another program is in front"
	PasswordPrompt  Reason = "terminal does not echo (a password prompt?)"
	AlternateScreen Reason = "a full-screen program is shown"
	UnknownScreen   Reason = "screen not recognised"
	LineTooLong     Reason = "line too long"                                      // failed
	BodyTooLong     Reason = "body too long"                                      // failed
	TooManyRows     Reason = "text needs more rows than the pane's history keeps" // failed
	FileUnwritten   Reason = "the file for its text cannot be written"
	NotEmpty        Reason = "composer not provably empty"
	Paused          Reason = "chat paused"
	Stopped         Reason = "everything is stopped" // until `intercom chat resume --all`
	// A limit is called as the setting is that changes it.
	AtDepthLimit      Reason = "depth limit reached"
	AtRateLimit       Reason = "rate limit reached"
	AtOwnMinute       Reason = "own_minute limit reached" // messages that an agent sends of its own accord, to one peer
	AtOwnHour         Reason = "own_hour limit reached"   // the same to all
	QueueFull         Reason = "queue is full"            // too much waits there: it failed at once
	AtByteLimit       Reason = "bytes limit reached"
	AtTokenLimit      Reason = "tokens limit reached"                       // why a chat is paused
	AtFanOut          Reason = "own_fan_out limit reached"                  // too many targets at once
	BecameEmpty       Reason = "nothing new is said"                        // thanks, praise, agreement or repetitions, for some turns now
	ChatEnded         Reason = "chat ended"                                 // failed; uncertain if our text stands in the composer
	ReleasedPane      Reason = "pane was released"                          // failed
	HandedOn          Reason = "handed on to the agent that took its place" // failed: there is another delivery of the message
	NotSeen           Reason = "text was not seen in the composer"          // uncertain
	NotTaken          Reason = "text was not seen to leave the composer"    // uncertain
	TakenTogether     Reason = "words of a person were taken with the text" // uncertain
	TmuxSilent        Reason = "tmux did not answer"                        // uncertain once typed
	TmuxRefused       Reason = "pane changed while we looked"               // held for a moment, then tried anew
	TmuxLost          Reason = "tmux lost the text before it was pasted"    // held: a hook of the server's took it
	SidecarEnded      Reason = "sidecar ended"                              // uncertain once typed, else failed
	Duplicate         Reason = "duplicate id"                               // failed: the first one counts
	NotAdopted        Reason = "pane is not adopted"
	TranscriptUnread  Reason = "its transcript is being read"
	TranscriptLost    Reason = "its transcript is not read"
	SettingsUnread    Reason = "its settings are not read"
	PaneTooSmall      Reason = "pane too small to see the text"
	PaneTooNarrow     Reason = "pane too narrow: its program may lose count of the cells of its characters"
	SizeUntold        Reason = "its terminal has another size than its pane"
	WidthDisputed     Reason = "tmux and the program may not agree on the width of its characters" // what waits behind it goes on
	Interrupted       Reason = "interrupted by a person"                                           // failed: its turn was stopped
	ServiceFailed     Reason = "the service of its model failed"                                   // failed: its turn ended in an error
	EndUnknown        Reason = "its turn was left unfinished"                                      // failed: it rests, and has not written down why
	NothingToType     Reason = "nothing left to type"                                              // failed: the sanitiser removed all of it
	AwaitingApproval  Reason = "waiting for approval"                                              // until a person says yes or no to it
	Rejected          Reason = "rejected"                                                          // failed: a person said no
	RepliedInstead    Reason = "answered by a person instead"                                      // failed
	Bounced           Reason = "sent back by policy"                                               // failed: its author was told
	PortClosed        Reason = "nobody listens on the port"                                        // held, and nothing was sent; as agent gone
	PortFull          Reason = "inbox of the port is full"                                         // held, and nothing was sent
	PortRefused       Reason = "port refused the message"                                          // failed
	PortSilent        Reason = "port did not acknowledge the message"                              // uncertain
	Dropped           Reason = "dropped by policy"                                                 // failed: nobody was told
	Acknowledged      Reason = "acknowledged by policy"                                            // failed: it was not passed on; its author was told if they wait for an answer
	DecidedElsewhere  Reason = "decided about elsewhere"                                           // failed: a person said yes or no to it at another sidecar
	Unfiltered        Reason = "its filter failed"                                                 // until policies have filtered it
	HeldByAgent       Reason = "the agent asks its person whether it may have the message"         // its own dialog, not ours
	DeniedThere       Reason = "denied in the agent's own dialog"                                  // failed
	RefusedThere      Reason = "refused by the agent's settings"                                   // failed
	ExpiredThere      Reason = "nobody answered the agent's own dialog"                            // expired
	DroppedThere      Reason = "dropped by the agent's inbox"                                      // failed: it was not taken
	NotRecorded       Reason = "the agent's transcript does not show the message"                  // uncertain
	NotRead           Reason = "its MCP client did not take what it asked for"                     // uncertain; held: not read, for certain
	NotLinked         Reason = "this computer is not linked with others now"                       // nothing was sent
	ComputerAway      Reason = "the other computer is away"                                        // it is kept for that one
	ComputerFull      Reason = "too much waits for the other computer"                             // nothing was sent
	HeldThere         Reason = "held on the other computer"
	ComputerForgotten Reason = "its computer was forgotten"                            // failed: it was not sent; uncertain: the server has it
	NoComputer        Reason = "no computer of that name is linked"                    // failed
	NotAllowedThere   Reason = "the other computer does not allow it"                  // failed
	NotInChatThere    Reason = "its session is not in that chat on the other computer" // failed
	Unwritable        Reason = "journal not writable"                                  // until it can be written down that it is typed
	DecidedAnew       Reason = "decided anew"                                          // failed: policies have filtered it meanwhile, and there is another delivery of the message
)
