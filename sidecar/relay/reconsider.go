package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Reconsider has messages decided once more, as they were received, of which deliveries are
// held since a filter had failed. Others are left alone. What the policies are being asked about meanwhile
// is asked about again if a filter fails: they may be others by now.
type Reconsider struct {
	Token    Token
	Messages []message.Envelope
}

// step asks the policies again about what a filter of theirs had failed at. What was sent on
// out of a chat that has ended waits for a person: nobody can ask there any more.
func (e Reconsider) step(tx *tx) {
	for _, t := range tx.undecided {
		t.outdated = true
	}
	for _, m := range e.Messages {
		c := tx.saidIn(m)
		if len(tx.unfiltered(m.ID)) == 0 || tx.undecided[m.ID] != nil || c != nil && c.State == message.ChatOver {
			continue
		}
		tx.consider(&pending{message: m, chat: c, again: true})
	}
	tx.reply(e.Token, Answer{}, nil)
}

// prepare gives it a token once: it may wait for the journal, and whoever asked waits with it.
func (e Reconsider) prepare(l *lookup) (Event, error) {
	if e.Token == 0 {
		e.Token = l.token()
	}
	return e, nil
}

// unfiltered are the deliveries of a message that a failed filter holds.
func (s *State) unfiltered(id message.ID) []*delivery {
	return s.underway(func(d *delivery) bool { return d.open() && d.hold == message.HoldFilter }, place{ofMessage, id})
}

// replacing are the planned deliveries that take the place of those that a failed filter holds, which
// end, also where policies now send the message to others. Where the rest of its targets have had it by
// then, it goes to no others. If the filter has failed again, all is left as it was.
func (tx *tx) replacing(t *pending, v message.Verdict, planned []message.Delivery) []message.Delivery {
	if v.Unfiltered {
		return nil
	}
	held := tx.unfiltered(t.message.ID)
	for _, d := range held {
		if d.Direct {
			t.link = wishedLink{From: d.Message.From.Peer, To: d.Target}.wished()
		}
		tx.receipt(d, message.Failed, message.DecidedAnew)
	}
	return slices.DeleteFunc(planned, func(p message.Delivery) bool {
		return !slices.ContainsFunc(held, func(d *delivery) bool { return d.Target == p.Target || !d.late })
	})
}
