package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Kept is a delivery that is held in the journal for an agent that has gone, and that a
// person now gives to the session which takes its place: it fails there as HandedOn, and a
// delivery of the same message, with depth 0, goes to that session, before all that is said
// from then on. Each is handed on once.
type Kept struct {
	Delivery message.Delivery
	To       string
}

// keptFor checks what is to be handed on to sessions, before anything is changed, and names
// each of them by its id. What was handed on before is left out: two may have asked at once.
func (w *work) keptFor(kept []Kept, members []*session) ([]Kept, error) {
	var out []Kept
	for _, one := range kept {
		to, err := w.find(one.To)
		if err != nil {
			return nil, err
		}
		d := one.Delivery
		if !slices.Contains(members, to) || d.Typed || d.Unfiltered || d.Asked || w.under[d.ID] != nil || w.present(d.Target) != nil {
			return nil, fmt.Errorf("%w: delivery %s is not kept for %q", ErrRequest, d.ID.Short(), to.Name)
		}
		if !w.handed.Has(d.ID) {
			out = append(out, Kept{Delivery: d, To: string(to.ID)})
		}
	}
	return out, nil
}

// keep leaves a delivery in the journal: there is no pane that could take it.
func (w *work) keep(d *delivery) {
	if d.awaits() && !d.Asked {
		d.Asked = true
		w.step.Deliveries = append(w.step.Deliveries, d.Delivery)
	}
	w.receipt(d, message.Held, message.AgentGone)
}

// handOn gives what was kept to those who take the place of agents that have gone: on a
// person's word, and so it counts as that.
func (w *work) handOn(kept []Kept, c *chat) {
	for _, one := range kept {
		w.handed.Add(one.Delivery.ID, seenMessages)
		next := one.Delivery
		next.Target, next.Chat, next.Attempt, next.Revoked = message.ID(one.To), c.ID, 1, false
		next.Message.Depth = 0
		d := w.create(next)
		w.receipt(&delivery{Delivery: one.Delivery, state: message.Held, reason: message.AgentGone}, message.Failed, message.HandedOn)
		switch _, under := w.under[d.ID]; {
		case !under:
		case c.State == message.ChatPaused:
			d.hold = holdPause
			w.receipt(d, message.Held, message.Paused)
		default:
			w.hand(d)
		}
	}
}
