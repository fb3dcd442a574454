package relay

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Quit types the text that ends an agent into its composer, as it is: no policy is asked, and no
// head precedes it. It is a delivery like any other, so it is typed only into a live, empty
// composer. Answer: Message, Receipts.
type Quit struct {
	By   By
	Peer string
	Text string // from the agent's profile
}

func (r Quit) by() By { return r.By }

func (r Quit) do(tx *tx, _ *Requested) (Answer, error) {
	to, err := tx.find(r.Peer)
	if err != nil {
		return Answer{}, fmt.Errorf("quit: %w", err)
	}
	if err := checkBody(r.Text); err != nil {
		return Answer{}, fmt.Errorf("quit: %w", err)
	}
	m := message.Envelope{
		ID: tx.ids.next(tx.now), From: message.Address{Computer: message.LocalComputer, Name: tx.who(r.By)}, To: []message.Address{address(to)},
		Type: message.KindQuit, Body: r.Text, Origin: message.OriginSystem, Trust: message.TrustVerified, Created: tx.now,
	}
	tx.step.Received = append(tx.step.Received, m)
	tx.told = append(tx.told, message.Event{At: tx.now, Kind: "message", Message: &m})
	tx.step.Verdicts = append(tx.step.Verdicts, message.Verdict{Message: m.ID, Decision: message.Decision{Verb: message.VerbDeliver, By: "built in"}, At: tx.now})
	d := tx.create(message.Delivery{Message: m, Target: to.ID, Form: message.Form{AsIs: true}})
	if tx.under[d.ID] == d {
		if tx.stopped {
			tx.receipt(d, message.Failed, message.Stopped)
		} else {
			tx.hand(d)
		}
	}
	return Answer{Message: m.ID, Receipts: []message.Receipt{tx.latest(d)}}, nil
}
