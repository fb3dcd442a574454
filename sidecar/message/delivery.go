package message

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Delivery is one message on its way to one peer. A sink that writes into a pane renders the text
// from the message and the form; see package render.
type Delivery struct {
	ID      ID       `json:"id"`
	Message Envelope `json:"message"`
	Target  ID       `json:"target"`         // the peer that receives it
	Chat    ID       `json:"chat,omitempty"` // the chat that it belongs to, if any
	Form
	Attempt int  `json:"attempt"`           // 1 when a sink is handed it for the first time
	Revoked bool `json:"revoked,omitempty"` // it is never let go again, even if its chat goes on
	Typed   bool `json:"typed,omitempty"`   // bytes may have reached the pane already: never paste it again

	// Door is the agent's own door that the text may have gone through, instead of its terminal: it
	// is neither typed nor handed over again. It is empty for a delivery that was typed, or not
	// sent yet.
	Door string `json:"through,omitempty"`

	// Bare says that the text is a command of its reader's, which may be typed without the head
	// once Note, a message of its own, has told the reader who asks for it. If Typed is set, Bare
	// says whether it was typed that way.
	Bare bool `json:"bare,omitempty"`
	Note ID   `json:"note,omitempty"`

	// Unfiltered says that no filter has seen the text: it may not go as it is.
	Unfiltered bool `json:"unfiltered,omitempty"`
	// Asked says that its agent went before anybody decided about it.
	Asked bool `json:"asked,omitempty"`
	// Direct says that the sender is to be connected to the target once the delivery goes.
	Direct bool `json:"direct,omitempty"`
}

// Form says how the reader in a pane gets a message. It is fixed when the delivery is made,
// including names and numbers: whoever looks for the typed text later must look for the same text.
type Form struct {
	Head      string `json:"head"`                 // attribution `[Name] (1):` or header `AI[local:…] |`
	Separator string `json:"separator"`            // "\n\n" after an attribution, " " after a header
	Formatted bool   `json:"formatted,omitempty"`  // a policy chose the head: the sink sanitises it like the body
	Own       string `json:"own,omitempty"`        // the person's own form of attribution: what looks like it in the body is quoted
	LineBreak string `json:"line_break,omitempty"` // what replaces a line break for a line program; "" is " ⏎ "
	AsIs      bool   `json:"as_is,omitempty"`      // only the body follows the head, without the subject
	Way       string `json:"door,omitempty"`       // DoorAuto or DoorType; "" is DoorType
	MidTurn   bool   `json:"mid_turn,omitempty"`   // if it goes through a door, it may do so while its reader works
}

// How a message may go into an agent that offers more than its terminal.
const (
	DoorAuto = "auto" // through the agent's own door if it has one, else typed
	DoorType = "type" // always typed

	DoorMCP  = "mcp"  // in a receipt: the agent asked for it through its MCP client
	DoorLink = "link" // in a receipt: it goes to another computer, which reports the outcome there
)

// When a message may go into an agent that reads its door between two tool calls.
const (
	DeliverIdle    = "idle"     // once it is idle
	DeliverMidTurn = "mid-turn" // also while it works
)

// ReceiptState is what is known of a delivery.
type ReceiptState string

// The states of a delivery in their order, and then the states in which it ends.
const (
	Queued    ReceiptState = "queued"    // on disk here
	Held      ReceiptState = "held"      // waits for a person or a safe moment; the reason says which
	Typed     ReceiptState = "typed"     // bytes may have reached the pane; written down before the first byte
	Submitted ReceiptState = "submitted" // the agent took it
	Answered  ReceiptState = "answered"  // its turn ended, the words are known
	Failed    ReceiptState = "failed"    // refused or undeliverable
	Expired   ReceiptState = "expired"   // its time passed before anything was typed
	Uncertain ReceiptState = "uncertain" // typed, but its outcome cannot be proven; the agent's own record may prove it later
)

// Final reports whether nobody waits for what follows s: nothing follows, or only a late record
// that proves what was uncertain.
func (s ReceiptState) Final() bool {
	switch s {
	case Answered, Failed, Expired, Uncertain:
		return true
	}
	return false
}

// Words returns the state in words for a person. For a delivery to another computer, typed only
// means that it was sent there.
func (s ReceiptState) Words(door string) string {
	if s == Typed && door == DoorLink {
		return "on its way"
	}
	return string(s)
}

// May reports whether a delivery in state s may go on to state next. The order never goes back,
// with two exceptions: queued and held alternate until something is typed, and typed becomes held
// while our text provably is in the composer and something keeps Enter away. A state may repeat if
// its reason or evidence may change.
func (s ReceiptState) May(next ReceiptState) bool {
	return slices.Contains(successors[s], next)
}

// successors lists the states that may follow each state. Final states have none, except for a late
// record. The empty state means that nothing was written about the delivery yet.
var successors = map[ReceiptState][]ReceiptState{
	"":        {Queued, Failed},
	Queued:    {Held, Typed, Failed, Expired, Uncertain},
	Held:      {Queued, Held, Typed, Submitted, Failed, Expired, Uncertain},
	Typed:     {Typed, Held, Submitted, Failed, Uncertain},
	Submitted: {Answered, Failed, Uncertain},
	Uncertain: {Submitted},
}

// Evidence is a fact on which a state or a receipt rests.
type Evidence struct {
	Source string    `json:"source"`           // screen, transcript, hook, status, process, tty, tmux
	Says   string    `json:"says"`             // rendered, emptied, consumed, …: in words
	Weight string    `json:"weight,omitempty"` // exact or approximate
	At     time.Time `json:"at"`
}

// Receipt is one step of a delivery, with its evidence.
type Receipt struct {
	Delivery  ID           `json:"delivery"`
	Message   ID           `json:"message"`
	Target    ID           `json:"target"`
	State     ReceiptState `json:"state"`
	Reason    Reason       `json:"reason,omitempty"` // why it is held, failed, expired or uncertain
	Hold      Hold         `json:"hold,omitempty"`   // with held: what keeps it from its pane; "": the pane itself
	Evidence  []Evidence   `json:"evidence,omitempty"`
	Sanitised int          `json:"sanitised,omitempty"` // characters that the sink removed or changed
	Door      string       `json:"door,omitempty"`      // the agent's own door that it goes through; "": it is typed, or not sent yet
	Bare      bool         `json:"bare,omitempty"`      // it was typed without its head, as a command
	Words     string       `json:"words,omitempty"`     // with answered: what the agent said
	At        time.Time    `json:"at"`
}

// Stands reports whether a held delivery has been typed already: its text is in the composer, and
// only Enter is missing.
func (r Receipt) Stands() bool {
	return r.State == Held && slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return e.Says == string(OursInComposer) })
}

// NoPastes is how the evidence about a program begins that would read each line of a paste as a
// line of its own.
const NoPastes = "bracketed paste is off"

// PastesOff reports whether that keeps a held delivery from its pane. Nobody can vouch for such a
// pane.
func (r Receipt) PastesOff() bool {
	return r.State == Held && slices.ContainsFunc(r.Evidence, func(e Evidence) bool { return strings.HasPrefix(e.Says, NoPastes) })
}

// Superseded reports whether the delivery has ended because its message was decided anew: the
// outcome of the new delivery is then the outcome of the message.
func (r Receipt) Superseded() bool { return r.State == Failed && r.Reason == DecidedAnew }

// Latest returns the last receipt of a delivery, from all receipts of its message in their order,
// or the zero Receipt if there is none. If the delivery was superseded, it returns the last receipt
// of the delivery made instead: the one to the same target, or else the first to another target.
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

// instead returns the delivery that was made in place of a superseded one, if there is one, among
// the deliveries without an earlier receipt. A message that is sent again under the same id is
// another message.
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

// Awaits reports whether the delivery waits for a person's decision.
func (r Receipt) Awaits() bool {
	return r.State == Held && (r.Hold == HoldApproval || r.Hold == HoldPolicy || r.Hold == HoldFilter)
}

// AgentGone reports whether the delivery is kept for the successor of an agent that has gone.
func (r Receipt) AgentGone() bool { return r.State == Held && r.Hold == "" && r.Reason == AgentGone }

// Hold says what keeps a delivery from its pane. The constants are part of the contract of --json.
type Hold string

// The holds.
const (
	HoldPause    Hold = "pause"    // a pause by a person, or by a limit on an earlier message
	HoldLimit    Hold = "limit"    // a limit on agents
	HoldApproval Hold = "approval" // a policy or its chat: until a person says yes
	HoldPolicy   Hold = "policy"   // a policy
	HoldFilter   Hold = "filter"   // a failed filter: until policies have filtered it
)

// Reason says, in words for a person, why a delivery is held, has failed or is uncertain, or why a
// pane may not be typed into. The constants are part of the contract of --json.
type Reason string

// The reasons. Each is a reason for held unless its comment says otherwise.
const (
	AgentGone       Reason = "agent gone"            // held in a chat, failed for a single message
	AgentStarting   Reason = "agent starting"        // its program has not shown itself yet
	AgentWorking    Reason = "agent working"         // no prompt yet
	InComposer      Reason = "draft in the composer" // a person's text
	SomebodyTypes   Reason = "somebody types there"  // their keys may not be drawn yet
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
	// The reason for a limit bears the name of the setting that changes it.
	AtDepthLimit      Reason = "depth limit reached"
	AtRateLimit       Reason = "rate limit reached"
	AtOwnMinute       Reason = "own_minute limit reached" // messages that an agent sends of its own accord, to one peer
	AtOwnHour         Reason = "own_hour limit reached"   // the same, to all peers
	QueueFull         Reason = "queue is full"            // failed at once: too much waits there
	AtByteLimit       Reason = "bytes limit reached"
	AtTokenLimit      Reason = "tokens limit reached"                       // why a chat is paused
	AtFanOut          Reason = "own_fan_out limit reached"                  // too many targets at once
	BecameEmpty       Reason = "nothing new is said"                        // only thanks, praise, agreement or repetitions for some turns
	ChatEnded         Reason = "chat ended"                                 // failed; uncertain if our text is in the composer
	ReleasedPane      Reason = "pane was released"                          // failed
	GivenBack         Reason = "pane was given back"                        // of a session; what waits for it fails as ReleasedPane
	HandedOn          Reason = "handed on to the agent that took its place" // failed: the message has another delivery
	NotSeen           Reason = "text was not seen in the composer"          // uncertain
	NotTaken          Reason = "text was not seen to leave the composer"    // uncertain
	TakenTogether     Reason = "words of a person were taken with the text" // uncertain
	TmuxSilent        Reason = "tmux did not answer"                        // uncertain once typed
	TmuxRefused       Reason = "pane changed while we looked"               // held for a moment, then tried again
	TmuxLost          Reason = "tmux lost the text before it was pasted"    // held: a hook of the server took it
	SidecarEnded      Reason = "sidecar ended"                              // uncertain once typed, else failed
	Duplicate         Reason = "duplicate id"                               // failed: the first message counts
	NotAdopted        Reason = "pane is not adopted"
	TranscriptUnread  Reason = "its transcript is being read"
	TranscriptLost    Reason = "its transcript is not read"
	SettingsUnread    Reason = "its settings are not read"
	PaneTooSmall      Reason = "pane too small to see the text"
	PaneTooNarrow     Reason = "pane too narrow: its program may lose count of the cells of its characters"
	SizeUntold        Reason = "its terminal has another size than its pane"
	WidthDisputed     Reason = "tmux and the program may not agree on the width of its characters" // later deliveries still go
	Interrupted       Reason = "interrupted by a person"                                           // failed: its turn was stopped
	ServiceFailed     Reason = "the service of its model failed"                                   // failed: its turn ended in an error
	EndUnknown        Reason = "its turn was left unfinished"                                      // failed: the agent is idle, and did not record why
	NothingToType     Reason = "nothing left to type"                                              // failed: the sanitiser removed all of it
	AwaitingApproval  Reason = "waiting for approval"                                              // until a person says yes or no
	Rejected          Reason = "rejected"                                                          // failed: a person said no
	RepliedInstead    Reason = "answered by a person instead"                                      // failed
	Bounced           Reason = "sent back by policy"                                               // failed: its author was told
	PortClosed        Reason = "nobody listens on the port"                                        // held, and nothing was sent; as agent gone
	PortFull          Reason = "inbox of the port is full"                                         // held, and nothing was sent
	PortRefused       Reason = "port refused the message"                                          // failed
	PortSilent        Reason = "port did not acknowledge the message"                              // uncertain
	Dropped           Reason = "dropped by policy"                                                 // failed: nobody was told
	Acknowledged      Reason = "acknowledged by policy"                                            // failed: it was not passed on; its author was told if they wait for an answer
	DecidedElsewhere  Reason = "decided about elsewhere"                                           // failed: a person said yes or no at another sidecar
	Unfiltered        Reason = "its filter failed"                                                 // until policies have filtered it
	HeldByAgent       Reason = "the agent asks its person whether it may have the message"         // in its own dialog, not ours
	DeniedThere       Reason = "denied in the agent's own dialog"                                  // failed
	RefusedThere      Reason = "refused by the agent's settings"                                   // failed
	ExpiredThere      Reason = "nobody answered the agent's own dialog"                            // expired
	DroppedThere      Reason = "dropped by the agent's inbox"                                      // failed: it was not taken
	NotRecorded       Reason = "the agent's transcript does not show the message"                  // uncertain
	NotRead           Reason = "its MCP client did not take what it asked for"                     // uncertain; held if it was certainly not read
	NotLinked         Reason = "this computer is not linked with others now"                       // nothing was sent
	ComputerAway      Reason = "the other computer is away"                                        // it is kept for that computer
	ComputerFull      Reason = "too much waits for the other computer"                             // nothing was sent
	HeldThere         Reason = "held on the other computer"
	ComputerForgotten Reason = "its computer was forgotten"                            // failed: it was not sent; uncertain: the server has it
	NoComputer        Reason = "no computer of that name is linked"                    // failed
	NotAllowedThere   Reason = "the other computer does not allow it"                  // failed
	NotInChatThere    Reason = "its session is not in that chat on the other computer" // failed
	Unwritable        Reason = "journal not writable"                                  // until the journal can record that it is typed
	DecidedAnew       Reason = "decided anew"                                          // failed: policies have filtered the message since, and it has another delivery
)

// Resumes reports whether what is held for this reason goes on at `intercom chat resume`.
func (r Reason) Resumes() bool {
	return slices.Contains([]Reason{
		Paused, Stopped, AtDepthLimit, AtRateLimit, AtOwnMinute, AtOwnHour, AtByteLimit, AtTokenLimit, AtFanOut, BecameEmpty,
	}, r)
}
