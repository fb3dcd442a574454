package relay

import (
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Reconsider has messages decided once more, as they were received, whose deliveries are held
// because a filter failed. It leaves other messages alone. If a filter fails on a message that the
// policies are being asked about meanwhile, they are asked about it again: they may have changed.
type Reconsider struct {
	Token    Token
	Messages []message.Envelope
}

// step asks the policies again about messages that one of their filters failed on. A message that
// was sent on out of a chat that has ended waits for a person: policies cannot be asked about that
// chat any more.
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

// prepare gives the event a token, once: it may wait for the journal, and its caller waits with it.
func (e Reconsider) prepare(l *lookup) (Event, error) {
	if e.Token == 0 {
		e.Token = l.token()
	}
	return e, nil
}

// unfiltered returns the deliveries of a message that a failed filter holds.
func (s *State) unfiltered(id message.ID) []*delivery {
	return s.underway(func(d *delivery) bool { return d.open() && d.hold == message.HoldFilter }, place{ofMessage, id})
}

// replacing ends the deliveries that a failed filter holds, and returns the planned deliveries that
// replace them, also where policies now send the message to others. If other targets of the message
// were decided meanwhile, it goes only to the held ones. If the filter has failed again, all stays
// as it was.
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
