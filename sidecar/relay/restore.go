package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Restored says what an earlier run left in the journal. If there is one, it is the first event.
// Chats go on, on or paused. A chat with a peer that was at another tmux server has ended, with its
// participants still in it. Untyped deliveries are handed out again in their order, unless
// something holds them. Deliveries that may have been typed are handed to their sinks with Typed
// set, whatever the state of their chats. The sink looks at the pane before anything else, asks for
// permission as usual, and reports Held with TmuxRefused if nothing was typed: then it is as if
// permission had never been given. Submitted deliveries are remembered, but handed to nobody: a
// turn may still answer them.
type Restored struct {
	Server     message.Process    // the tmux server that serves the panes now; its name does not count
	Stopped    bool               // everything was stopped
	Peers      []SavedPeer        // the peers that were present
	Chats      []SavedChat        // the chats that had not ended, and those in which something of Undecided was said
	Undecided  []message.Envelope // received, without a verdict, in the order of receipt
	Records    []message.Record   // the open records, of all kinds
	Deliveries []SavedDelivery    // those without a final receipt, in the order of creation
	Submitted  []message.Delivery // taken by present peers and not answered, in that order
	awaiting   awaited            // left by an earlier State of this run
}

// SavedPeer is a peer that an earlier run left, with the state of its brake.
type SavedPeer struct {
	Peer  message.Peer
	Last  int // depth of its last turn; 1 if it said nothing yet
	Cause int // greatest depth of what was typed to it since; -1: nothing was
}

// SavedChat is a chat that an earlier run left.
type SavedChat struct {
	Chat  message.Chat
	Taken int // turns that were relayed in it
}

// SavedDelivery is a delivery that an earlier run left open. Its Typed says whether it ever had a
// receipt typed, whatever came after. A delivery held as "agent gone" stays as it is if that agent
// is absent, or not in the chat any more: it need not be listed.
type SavedDelivery struct {
	Delivery message.Delivery
	Last     message.Receipt // the last of the delivery
	Verdict  message.Verdict // the last on its message
}

// step takes over what an earlier run left. The order matters: first everything is restored as it
// was, then what is over ends, and only then does anything go to a sink.
func (e Restored) step(tx *tx) {
	tx.stopped = e.Stopped
	var strange []*peer // of another tmux server: their panes no longer exist
	for _, stay := range e.Peers {
		if s := tx.known(stay); s != nil && s.Ended == nil && s.Kind == message.PeerPane && !sameProcess(s.Server, e.Server) {
			strange = append(strange, s)
		}
	}
	tx.restoreRecords(e.Records)
	for _, one := range e.Chats {
		if tx.chat(one.Chat.ID) == nil {
			c := &chat{Chat: one.Chat, taken: one.Taken}
			c.Participants = c.copy().Participants // a copy: participants are changed here
			// What init.lua says now is for new chats.
			c.Limits = route.WithDefaults(c.Limits, message.Limits{})
			tx.begun(c)
			tx.touchChat(c)
		}
	}
	for _, one := range e.Submitted {
		tx.taken(one)
	}
	var left []*delivery
	for _, one := range e.Deliveries {
		if d := tx.reopen(one); d != nil {
			left = append(left, d)
		}
	}
	tx.unserved(strange)
	if tx.stopped {
		for _, c := range tx.open() {
			if c.State == message.ChatOn {
				tx.pause(c, string(message.Stopped))
			}
		}
	}
	for _, d := range left {
		if tx.under[d.ID] == d {
			tx.goOn(d)
		}
	}
	for _, m := range e.Undecided {
		if tx.undecided[m.ID] == nil {
			t := &pending{message: m, chat: tx.saidIn(m), tokens: e.awaiting[m.ID].tokens, outdated: e.awaiting[m.ID].outdated}
			if wish, ok := tx.wishes[m.ID]; ok {
				t.link = wish.wished()
				delete(tx.wishes, m.ID)
			}
			tx.remember(t)
			tx.consider(t)
		}
	}
	for _, c := range tx.open() {
		tx.settle(c)
	}
	tx.forgetPast()
}

// taken remembers a delivery that was submitted in an earlier run: a turn may still answer it.
func (tx *tx) taken(one message.Delivery) {
	target := tx.present(one.Target)
	if target == nil || tx.under[one.ID] != nil {
		return
	}
	one.Message.Body = ""
	d := &delivery{Delivery: one, state: message.Submitted}
	d.Typed = true
	tx.begin(d)
	target.submitted = append(target.submitted, d)
	if len(target.submitted) > maxUnanswered {
		tx.drop(target.submitted[0])
	}
}

// known restores a peer, or returns nil if it is known already.
func (tx *tx) known(stay SavedPeer) *peer {
	if tx.byID[stay.Peer.ID] != nil {
		return nil
	}
	s := newPeer(stay.Peer)
	s.last, s.cause = max(stay.Last, 1), max(stay.Cause, -1)
	tx.came(s)
	return s
}

// reopen puts a delivery under way again, not at its sink yet. It returns nil for a delivery that
// is over, or ends now because its target is gone or nothing follows its state.
func (tx *tx) reopen(one SavedDelivery) *delivery {
	d := &delivery{Delivery: one.Delivery, state: one.Last.State, reason: one.Last.Reason}
	d.awaitDecision(one.Verdict.For(one.Delivery.Target))
	d.Typed = d.Typed || d.state == message.Typed
	d.Attempt = max(d.Attempt, 1)
	if !d.Typed {
		d.hold = one.hold()
	}
	d.late = d.Unfiltered && !one.Verdict.Unfiltered
	gone := one.Last.AgentGone()
	switch {
	case d.state.Final() || d.state == message.Submitted || tx.under[d.ID] != nil:
	case tx.present(d.Target) != nil && (d.Typed || !gone || d.Chat == "" || !tx.chat(d.Chat).over(d.Target)):
		tx.admit(d)
		return d
	case d.Typed:
		tx.receipt(d, message.Uncertain, message.AgentGone)
	case gone && d.Chat != "": // kept in the journal as it is
	case d.Chat != "" && !tx.isQuestion(d.Chat):
		tx.keepForSuccessor(d)
	default:
		tx.receipt(d, message.Failed, message.AgentGone)
	}
	return nil
}

// unserved ends the peers whose panes belonged to another tmux server, and the chats that they are
// in. The peers stay listed in these chats for whoever takes the chats up again.
func (tx *tx) unserved(strange []*peer) {
	for _, s := range strange {
		tx.depart(s, message.ServerEnded)
	}
	for _, c := range tx.open() {
		ended := false
		for _, s := range strange {
			ended = ended || c.member(s.ID) != nil
		}
		if ended {
			tx.end(c, string(message.ServerEnded))
			continue
		}
		whole := c.copy().Participants
		for _, id := range c.there() {
			if tx.present(id) == nil {
				c.removeMember(id)
				tx.altered(c)
			}
		}
		if c.Lonely() {
			c.Participants = whole
			tx.end(c, string(message.AgentGone))
		}
	}
}

// goOn continues a delivery that is under way again from where it was. A delivery that may have
// been typed goes to its sink at once, whatever holds it: to look is not to type, and permission is
// refused as usual.
func (tx *tx) goOn(d *delivery) {
	c := tx.chat(d.Chat)
	over := d.Chat != "" && c.over(d.Target)
	paused := tx.stopped || c != nil && c.State == message.ChatPaused
	switch {
	case d.Typed:
		if d.state == "" || d.state == message.Queued {
			tx.receipt(d, message.Typed, "") // it had permission once, and nothing proves that it was not used
		}
		d.shut = over || d.Revoked
		tx.hand(d)
		if paused && !d.shut {
			d.where, d.hold = takenBack, message.HoldPause // it is handed out once more when it may go on
		}
	case over:
		d.shut = true
		tx.receipt(d, message.Failed, message.ChatEnded)
	case d.hold != "":
		if reason := notDecided[d.hold]; reason != "" && d.reason == message.AgentGone {
			tx.receipt(d, message.Held, reason) // its agent is back
		}
	case paused:
		d.hold = message.HoldPause
		tx.receipt(d, message.Held, tx.pausedBy(d))
	default:
		if d.state != message.Queued {
			tx.receipt(d, message.Queued, "")
		}
		tx.hand(d)
	}
}

// saidIn returns the chat that a message was said in, or nil for a single message. A chat that is
// not known any more has ended.
func (tx *tx) saidIn(m message.Envelope) *chat {
	if m.Chat == "" {
		return nil
	}
	if c := tx.chat(m.Chat); c != nil {
		return c
	}
	return &chat{Chat: message.Chat{ID: m.Chat, State: message.ChatOver, Why: string(message.ChatEnded)}}
}

// remember restores, as ended, the recipients of a message that are gone: each of them gets a
// receipt that says what became of it.
func (tx *tx) remember(t *pending) {
	gone := slices.Clone(t.message.To)
	if t.chat != nil && t.chat.State == message.ChatOver {
		for _, p := range t.chat.Participants {
			if !p.Left {
				gone = append(gone, message.Address{Peer: p.Peer, Name: p.Name})
			}
		}
	}
	for _, one := range gone {
		if one.Peer == "" {
			continue
		}
		at := tx.now
		tx.known(SavedPeer{Peer: message.Peer{
			ID: one.Peer, Name: one.Name, Computer: message.LocalComputer, Adopted: at, Ended: &at, EndReason: string(message.AgentGone),
		}})
	}
}

// notDecided has the reasons with which an undecided delivery is held.
var notDecided = map[message.Hold]message.Reason{message.HoldApproval: message.AwaitingApproval, message.HoldFilter: message.Unfiltered}

// hold returns what holds the delivery. For one that is kept for an agent that has gone, it returns
// the hold whose decision nobody has made, neither then nor since.
func (s SavedDelivery) hold() message.Hold {
	verb := s.Verdict.For(s.Delivery.Target).Verb
	switch {
	case !s.Last.AgentGone():
		return s.Last.Hold
	case s.Delivery.Unfiltered:
		return message.HoldFilter
	case s.Delivery.Asked && s.Verdict.Person.Name == "", verb != "" && verb != message.VerbDeliver:
		return message.HoldApproval
	}
	return ""
}

// sameProcess reports whether a and b are the same process: its name may change.
func sameProcess(a, b message.Process) bool { return a.PID == b.PID && a.Start == b.Start }
