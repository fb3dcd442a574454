package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Reconsider has messages decided once more, as they were received, of which deliveries are
// held since a filter had failed. Others are left alone.
type Reconsider struct{ Messages []message.Envelope }

// step asks the policies again about what a filter of theirs had failed at. What was sent on
// out of a chat that has ended waits for a person: nobody can ask there any more.
func (e Reconsider) step(tx *tx) {
	for _, m := range e.Messages {
		held := tx.underway(func(d *delivery) bool { return d.open() && d.hold == message.HoldFilter }, place{ofMessage, m.ID})
		c := tx.saidIn(m)
		if len(held) == 0 || tx.undecided[m.ID] != nil || c != nil && c.State == message.ChatOver {
			continue
		}
		tx.consider(&pending{message: m, chat: c, again: true})
	}
}

// replacing are those of the planned deliveries that take the place of others, which a failed
// filter holds; those end. If it has failed again, all is left as it was.
func (tx *tx) replacing(t *pending, v message.Verdict, planned []message.Delivery) []message.Delivery {
	if v.Unfiltered {
		return nil
	}
	return slices.DeleteFunc(planned, func(p message.Delivery) bool {
		held := tx.underway(func(d *delivery) bool {
			return d.Target == p.Target && d.open() && d.hold == message.HoldFilter
		}, place{ofMessage, t.message.ID})
		for _, d := range held {
			tx.receipt(d, message.Failed, message.DecidedAnew)
		}
		return len(held) == 0
	})
}
