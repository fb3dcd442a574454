package relay

import (
	"cmp"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// place is an index key under which deliveries under way are found together.
type place struct {
	side side
	id   message.ID
}

type side uint8

const (
	toPeer side = iota
	inChat      // "" for single messages
	ofMessage
	bySender
)

func (d *delivery) places() [4]place {
	return [...]place{{toPeer, d.Target}, {inChat, d.Chat}, {ofMessage, d.Message.ID}, {bySender, d.Message.From.Peer}}
}

// begin puts a delivery under way, behind all others.
func (s *State) begin(d *delivery) {
	s.seq++
	d.seq = s.seq
	s.under[d.ID] = d
	for _, p := range d.places() {
		s.at[p] = append(s.at[p], d)
	}
}

// forget removes a delivery from those under way.
func (s *State) forget(d *delivery) {
	delete(s.under, d.ID)
	for _, p := range d.places() {
		i, _ := slices.BinarySearchFunc(s.at[p], d.seq, func(one *delivery, seq uint64) int { return cmp.Compare(one.seq, seq) })
		if s.at[p] = slices.Delete(s.at[p], i, i+1); len(s.at[p]) == 0 {
			delete(s.at, p)
		}
	}
}

// underway returns the matching deliveries at those places, in the order in which they were
// decided.
func (s *State) underway(are func(*delivery) bool, at ...place) []*delivery {
	var out []*delivery
	for _, p := range at {
		for _, d := range s.at[p] {
			if are(d) {
				out = append(out, d)
			}
		}
	}
	if len(at) > 1 {
		inOrder(out)
	}
	return out
}

// any reports whether there is a matching delivery at that place.
func (s *State) any(at place, is func(*delivery) bool) bool { return slices.ContainsFunc(s.at[at], is) }

// inOrder sorts deliveries by when they were decided.
func inOrder(list []*delivery) {
	slices.SortFunc(list, func(a, b *delivery) int { return cmp.Compare(a.seq, b.seq) })
}
