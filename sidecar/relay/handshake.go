package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Owed is something that is to be done of a handshake and has not been.
type Owed string

// What may be owed.
const (
	OwedRequest Owed = "request" // its line in the inbox of whoever is asked
	OwedAnswer  Owed = "answer"  // the line of its answer, in the inbox of whoever has asked
	OwedEnd     Owed = "end"     // the end of the session that has approved it
)

// Affair is a handshake in its team, as it is written down.
type Affair struct {
	Handshake handshake.Handshake `json:"handshake"`
	Team      string              `json:"team"` // its directory
	Owed      []Owed              `json:"owed,omitempty"`
	Stuck     bool                `json:"stuck,omitempty"` // its session did not end when it was told to, and the lead knows
}

// handshakes is the kind of their records.
const handshakes message.RecordKind[Affair] = "handshake"

// HandshakeRecord is the kind and id of the record of a handshake, also of one that a State has
// forgotten.
func HandshakeRecord(id string) (kind, key string) { return string(handshakes), id }

// ReadHandshake is what stands in a record of a handshake.
func ReadHandshake(r message.Record) (Affair, error) {
	all, err := handshakes.Values(r)
	return all[r.ID], err
}

// affair is what a State knows of a handshake beside its book.
type affair struct {
	team  string
	owed  []Owed
	stuck bool
}

func newBookOf(all ...handshake.Handshake) *handshake.Book {
	b, err := handshake.NewBook(all...)
	if err != nil {
		panic(err) // nothing of an empty one can be wrong
	}
	return b
}

// restoreHandshakes takes over those that an earlier run left open, or owed something of.
func (tx *tx) restoreHandshakes(all ...message.Record) error {
	read, err := handshakes.Values(all...)
	if err != nil {
		return err
	}
	for _, one := range read {
		if err := tx.book.Add(one.Handshake); err != nil {
			return err
		}
		tx.affairs[one.Handshake.ID] = &affair{one.Team, one.Owed, one.Stuck}
	}
	return nil
}

// wrote notes a handshake that has changed, with what is owed of it beside what was.
func (tx *tx) wrote(h handshake.Handshake, team string, owed ...Owed) {
	of := tx.affairs[h.ID]
	if of == nil {
		of = new(affair)
		tx.affairs[h.ID] = of
	}
	of.team, of.owed = team, slices.Concat(of.owed, owed)
	tx.keep(h)
}

// keep has a handshake written down as it is.
func (tx *tx) keep(h handshake.Handshake) {
	of := tx.affairs[h.ID]
	if of == nil {
		return
	}
	open := h.Open() || len(of.owed) > 0
	record(tx, handshakes, h.ID, open, Affair{h, of.team, of.owed, of.stuck})
	if !open {
		delete(tx.affairs, h.ID)
	}
}

// expireHandshakes ends those whose time is over.
func (tx *tx) expireHandshakes() {
	for _, h := range tx.book.Expire(tx.now) {
		tx.noAnswer(h, "its time is over. Submit it again")
	}
}

// partyGone ends those that are nothing without a peer that is gone: what it had to answer, and its own plans.
func (tx *tx) partyGone(peer message.ID) {
	for _, h := range tx.book.Gone(tx.now, handshake.Party{Peer: peer}) {
		tx.noAnswer(h, "the session of the lead has ended. Submit it again, to a person")
	}
}

// noAnswer notes that a handshake has expired. Whoever has submitted a plan is told, since nothing else comes of it.
func (tx *tx) noAnswer(h handshake.Handshake, why string) {
	if of := tx.affairs[h.ID]; of != nil {
		tx.planIs(of.team, h)
	}
	tx.keep(h)
	asker := tx.present(h.Asker.Peer)
	if h.Kind != handshake.Plan || asker == nil {
		return
	}
	from := person(By{Name: h.Answerer.Name})
	if lead := tx.byID[h.Answerer.Peer]; lead != nil {
		from = address(lead)
	}
	tx.tellAuthor(message.Envelope{}, asker, from, nil, fmt.Sprintf("plan %s was not answered: %s", h.ID, why), asker.depth())
}

// Settled says that something that was owed of a handshake has been done.
type Settled struct {
	ID   string
	What Owed
}

func (e Settled) step(tx *tx) {
	of, h := tx.affairs[e.ID], tx.book.Lookup(e.ID)
	if of == nil || !slices.Contains(of.owed, e.What) {
		return
	}
	if of.owed = slices.DeleteFunc(slices.Clone(of.owed), func(o Owed) bool { return o == e.What }); len(of.owed) == 0 {
		of.owed = nil
	}
	tx.keep(h)
}

// EndFailed says that a session which has approved its end is still there after an attempt to end it.
// Whoever asked it to end is told so the first time.
type EndFailed struct {
	ID  string
	Why string
}

func (e EndFailed) step(tx *tx) {
	of, h := tx.affairs[e.ID], tx.book.Lookup(e.ID)
	if of == nil || of.stuck || !slices.Contains(of.owed, OwedEnd) {
		return
	}
	of.stuck = true
	tx.keep(h)
	text := fmt.Sprintf("%q has approved its shutdown and still runs: %s", h.Answerer.Name, e.Why)
	s, lead := tx.present(h.Answerer.Peer), tx.present(h.Asker.Peer)
	if s == nil || lead == nil {
		tx.notice("", "teammate "+text)
		return
	}
	tx.tellAuthor(message.Envelope{}, lead, address(s), nil, text, s.depth())
}

// Protocols is what a State knows of teams, at one moment: who sits where, and the handshakes that
// are open or of which something is owed, in the order in which they were asked; and the starts of
// which not all has been told yet, oldest first.
type Protocols struct {
	Seats   []Seat
	Affairs []Affair
	Orders  []message.StartOrder
}

func (s *State) protocols() (p Protocols) {
	p.Seats, p.Orders = s.seatSnapshot(), s.orders
	if len(s.affairs) == 0 {
		return p
	}
	for _, h := range s.book.All() {
		if of := s.affairs[h.ID]; of != nil {
			p.Affairs = append(p.Affairs, Affair{h, of.team, slices.Clone(of.owed), of.stuck})
		}
	}
	return p
}
