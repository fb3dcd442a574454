package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// pending is a message that was received and is not decided yet.
type pending struct {
	message  message.Envelope
	chat     *chat            // nil for a single message
	tokens   []Token          // the callers that wait for the outcome
	acted    bool             // its author called a tool in this turn; unknown again after a restart
	empty    string           // why the judge finds the chat empty with it
	chosen   bool             // an agent's words that a person sends: it passes the brakes and counts as the person's word
	far      *farTurn         // the turn that it is a copy of; unknown again after a restart
	again    bool             // it is decided once more: a filter had failed
	outdated bool             // other policies may have come into use since the policies were asked
	link     *StartChat       // the chat to begin once it goes
	linked   []message.Chat   // the chats that its author began or ended with it
	verdict  *message.Verdict // a verdict that still waits for those of earlier messages
}

// flow names the group of messages that must be decided in their order: those of one chat, or the
// single messages of one sender.
func (t *pending) flow() string {
	if t.chat != nil {
		return string(t.chat.ID)
	}
	return "sent by " + string(t.message.From.Peer)
}

// words returns what the message says after filters, without what policies add for its readers.
func (t *pending) words() string {
	if t.verdict == nil {
		return t.message.Body
	}
	return t.verdict.Patched(t.message).Body
}

// repeats reports whether m is this message, sent again by its author.
func (t *pending) repeats(m message.Envelope) bool {
	first := t.message
	return !t.again && first.From.Peer == m.From.Peer && slices.Equal(first.To, m.To) && first.SaysAs(m)
}

// tellWaiting answers all callers that wait for the outcome of a message.
func (tx *tx) tellWaiting(t *pending, a Answer) {
	for _, token := range t.tokens {
		tx.reply(token, a, nil)
	}
}

// receive writes a message down and starts its decision.
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

// consider starts the decision about a message that is written down.
func (tx *tx) consider(t *pending) {
	tx.seen.Add(t.message.ID, seenMessages)
	tx.flows[t.flow()] = append(tx.flows[t.flow()], t)
	tx.undecided[t.message.ID] = t
	tx.effect(Decide{t.message})
}

// twice drops a message whose id was used before, with a receipt for each peer that would have got
// it: the first message counts.
func (tx *tx) twice(t *pending) {
	tx.tellWaiting(t, tx.fail(t, message.Duplicate))
}

// fail writes a failed receipt for each peer that would have got a message.
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
