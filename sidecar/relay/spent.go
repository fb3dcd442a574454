package relay

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Spent is what the rates have counted of a peer, as it is written down. The next run goes on from
// there: an agent that ends the sidecar gains nothing by it.
type Spent struct {
	At     time.Time                    `json:"at"`               // by the wall clock; the ages of the counts are as of this time
	Pane   route.Spent                  `json:"pane"`             // what went to it
	Hour   []route.Count                `json:"hour,omitempty"`   // what it sent of its own accord, since a person's word
	Minute map[message.ID][]route.Count `json:"minute,omitempty"` // the same, to each target
}

// spending is the kind of these records. A record is open while it counts something of a present
// peer.
const spending message.RecordKind[Spent] = "spent"

func (s Spent) empty() bool { return s.Pane.Empty() && len(s.Hour) == 0 && len(s.Minute) == 0 }

// counted writes down what the rates count of a peer, if they count anything or did before.
func (tx *tx) counted(s *peer) {
	spent := s.spent(tx.now)
	open := s.Ended == nil && !spent.empty()
	if open || s.counting {
		record(tx, spending, string(s.ID), open, spent)
	}
	s.counting = open
}

// spent returns what the rates have counted by now.
func (s *peer) spent(now time.Time) Spent {
	spent := Spent{At: now, Pane: s.budget.Spent(now), Hour: s.hourly.Counts(now)}
	for target, window := range s.sends {
		if counts := window.Counts(now); len(counts) > 0 {
			if spent.Minute == nil {
				spent.Minute = make(map[message.ID][]route.Count)
			}
			spent.Minute[target] = counts
		}
	}
	return spent
}

// restoreSpent takes over the counts of an earlier run. A count from the future, by this run's
// clock, is taken as new.
func (tx *tx) restoreSpent(all ...message.Record) error {
	read, err := spending.Values(all...)
	if err != nil {
		return err
	}
	for _, one := range all {
		was, s := read[one.ID], tx.present(message.ID(one.ID))
		if one.ID == string(tx.stranger.ID) {
			s = tx.stranger
		}
		if s == nil {
			record(tx, spending, one.ID, false, was)
			continue
		}
		at := tx.now.Add(-max(0, tx.now.Sub(was.At))) // not was.At itself: keeps tx.now's monotonic clock, should the wall clock be set later
		s.budget.Restore(at, was.Pane)
		s.hourly.Restore(at, was.Hour)
		for target, counts := range was.Minute {
			s.minutely(target).Restore(at, counts)
		}
		s.counting = true
	}
	return nil
}
