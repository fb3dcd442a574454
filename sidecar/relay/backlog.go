package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Backlog is a delivery that the journal holds for an agent that has gone, and that a person now
// gives to the peer that takes its place. The delivery fails as HandedOn, and a new delivery of the
// same message, with depth 0, goes to that peer, before all that is said from then on. Each
// delivery is handed on once.
type Backlog struct {
	Delivery message.Delivery
	To       string
}

// checkBacklog checks what is to be handed on to peers, before anything is changed, and replaces
// each peer's reference by its id. It leaves out what was handed on before: two callers may have
// asked at once.
func (tx *tx) checkBacklog(kept []Backlog, members []*peer) ([]Backlog, error) {
	var out []Backlog
	for _, one := range kept {
		to, err := tx.find(one.To)
		if err != nil {
			return nil, err
		}
		d := one.Delivery
		if !slices.Contains(members, to) || d.Typed || d.Unfiltered || d.Asked || tx.under[d.ID] != nil || tx.present(d.Target) != nil {
			return nil, notPossible("delivery %s is not kept for %q", d.ID.Short(), to.Name)
		}
		if !tx.transferred.Has(d.ID) {
			out = append(out, Backlog{Delivery: d, To: string(to.ID)})
		}
	}
	return out, nil
}

// keepForSuccessor leaves a delivery in the journal: no pane can take it.
func (tx *tx) keepForSuccessor(d *delivery) {
	if d.awaits() && !d.Asked {
		d.Asked = true
		tx.step.Deliveries = append(tx.step.Deliveries, d.Delivery)
	}
	d.hold = ""
	tx.receipt(d, message.Held, message.AgentGone)
}

// transfer gives kept deliveries to the peers that take the place of agents that have gone. A
// person asked for it, so they count as a person's word.
func (tx *tx) transfer(kept []Backlog, c *chat) {
	for _, one := range kept {
		tx.transferred.Add(one.Delivery.ID, seenMessages)
		next := one.Delivery
		next.Target, next.Chat, next.Attempt, next.Revoked = message.ID(one.To), c.ID, 1, false
		next.Message.Depth = 0
		d := tx.create(next)
		tx.receipt(&delivery{Delivery: one.Delivery, state: message.Held, reason: message.AgentGone}, message.Failed, message.HandedOn)
		switch _, under := tx.under[d.ID]; {
		case !under:
		case c.State == message.ChatPaused:
			d.hold = message.HoldPause
			tx.receipt(d, message.Held, message.Paused)
		default:
			tx.hand(d)
		}
	}
}
