package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Owed is something still to be done for a handshake.
type Owed string

// What may be owed.
const (
	OwedRequest Owed = "request" // its line in the inbox of the session that is asked
	OwedAnswer  Owed = "answer"  // the line with its answer in the inbox of the asker
	OwedEnd     Owed = "end"     // the end of the session that approved it
)

// Affair is a handshake of a team, as it is written down.
type Affair struct {
	Handshake handshake.Handshake `json:"handshake"`
	Team      string              `json:"team"` // its directory
	Owed      []Owed              `json:"owed,omitempty"`
	Stuck     bool                `json:"stuck,omitempty"` // its session did not end when told to, and the lead knows
}

// handshakes is the kind of the records of handshakes.
const handshakes message.RecordKind[Affair] = "handshake"

// HandshakeRecord returns the kind and id of a handshake's record, which exists even if a State has
// forgotten the handshake.
func HandshakeRecord(id string) (kind, key string) { return string(handshakes), id }

// ReadHandshake returns the content of a handshake's record.
func ReadHandshake(r message.Record) (Affair, error) {
	all, err := handshakes.Values(r)
	return all[r.ID], err
}

// affair is what a State knows of a handshake in addition to its book.
type affair struct {
	team  string
	owed  []Owed
	stuck bool
}

func newBookOf(all ...handshake.Handshake) *handshake.Book {
	b, err := handshake.NewBook(all...)
	if err != nil {
		panic(err) // an empty book cannot fail
	}
	return b
}

// restoreHandshakes takes over the handshakes that an earlier run left open, or owed something of.
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

// wrote notes a handshake that has changed, and adds to what is owed of it.
func (tx *tx) wrote(h handshake.Handshake, team string, owed ...Owed) {
	of := tx.affairs[h.ID]
	if of == nil {
		of = new(affair)
		tx.affairs[h.ID] = of
	}
	of.team, of.owed = team, slices.Concat(of.owed, owed)
	tx.keep(h)
}

// keep writes a handshake down as it is.
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

// expireHandshakes ends the handshakes whose time is over.
func (tx *tx) expireHandshakes() {
	for _, h := range tx.book.Expire(tx.now) {
		tx.noAnswer(h, "it expired. Submit it again")
	}
}

// partyGone ends the handshakes that make no sense without a peer that is gone: those it had to
// answer, and its own plans.
func (tx *tx) partyGone(peer message.ID) {
	for _, h := range tx.book.Gone(tx.now, handshake.Party{Peer: peer}) {
		tx.noAnswer(h, "the session of the lead has ended. Submit it again, to a person")
	}
}

// noAnswer notes that a handshake has expired. The session that submitted a plan is told, since
// nothing else comes of it.
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

// Settled says that something owed of a handshake has been done.
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

// EndFailed says that a session that approved its end is still there after an attempt to end it.
// The session that asked it to end is told so, the first time.
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

// Protocols is what a State knows of teams at one moment: who sits where; the handshakes that are
// open or owed something, in the order in which they were asked; and the starts of which not all
// has been told yet, oldest first.
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
