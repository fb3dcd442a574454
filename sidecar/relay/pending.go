package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// pending is a message that was received and is not decided yet.
type pending struct {
	message  message.Envelope
	chat     *chat            // nil for a single message
	tokens   []Token          // who wait for what becomes of it
	acted    bool             // its author called a tool in this turn; unknown again after a restart
	empty    string           // why its chat is found empty with it
	chosen   bool             // an agent's, and a person sends it: it passes the brakes and is their word
	far      *farTurn         // of which it is a copy; unknown again after a restart
	again    bool             // it is held since a filter had failed
	outdated bool             // since the policies were asked, others may have come into use
	link     *StartChat       // to begin once it goes
	linked   []message.Chat   // what its author began or ended with it
	verdict  *message.Verdict // came before those of earlier messages
}

// flow names the messages that must be decided in their order: those of one chat, and
// the single ones of one sender.
func (t *pending) flow() string {
	if t.chat != nil {
		return string(t.chat.ID)
	}
	return "sent by " + string(t.message.From.Peer)
}

// words are what it says, as far as filters let it out: without what policies add for its readers.
func (t *pending) words() string {
	if t.verdict == nil {
		return t.message.Body
	}
	return t.verdict.Patched(t.message).Body
}

// repeats reports whether a message is this one, sent again by its author.
func (t *pending) repeats(m message.Envelope) bool {
	first := t.message
	return !t.again && first.From.Peer == m.From.Peer && slices.Equal(first.To, m.To) && first.SaysAs(m)
}

// tellWaiting tells all who wait for what becomes of a message.
func (tx *tx) tellWaiting(t *pending, a Answer) {
	for _, token := range t.tokens {
		tx.reply(token, a, nil)
	}
}

// receive writes a message down and has it decided.
func (tx *tx) receive(t *pending) {
	tx.step.Received = append(tx.step.Received, t.message)
	tx.noteLink(t, true)
	told := message.Event{At: tx.now, Kind: "message", Message: &t.message}
	if t.chat != nil {
		told.Chat = t.chat.ID
	}
	tx.told = append(tx.told, told)
	tx.consider(t)
}

// consider has a message decided that is written down.
func (tx *tx) consider(t *pending) {
	tx.seen.Add(t.message.ID, seenMessages)
	tx.flows[t.flow()] = append(tx.flows[t.flow()], t)
	tx.undecided[t.message.ID] = t
	tx.effect(Decide{t.message})
}

// twice drops a message whose id was used before, with a receipt for each who would have
// got it: the first one counts.
func (tx *tx) twice(t *pending) {
	tx.tellWaiting(t, tx.fail(t, message.Duplicate))
}

// fail writes down for each who would have got a message that it failed.
func (tx *tx) fail(t *pending, reason message.Reason) Answer {
	a := Answer{Message: t.message.ID}
	for _, planned := range tx.planned(t, message.Verdict{Message: t.message.ID}) {
		a.Receipts = append(a.Receipts, tx.failed(planned, reason))
	}
	return a
}

// failed makes a planned delivery that fails at once.
func (tx *tx) failed(planned message.Delivery, reason message.Reason) message.Receipt {
	tx.seq++
	planned.ID = tx.ids.next(tx.now)
	tx.step.Deliveries = append(tx.step.Deliveries, planned)
	return tx.receipt(&delivery{Delivery: planned, seq: tx.seq}, message.Failed, reason)
}
