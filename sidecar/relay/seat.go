package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Lead is the seat of who leads a team.
const Lead = "lead"

// SeatEnd is how the session of a teammate came to its end.
type SeatEnd string

// The ends.
const (
	EndApproved SeatEnd = "approved" // by a handshake: it is to end, or has
	EndKilled   SeatEnd = "killed"   // somebody ended it without one
)

// Seat is a place in a team and who has it: the session of a teammate, or whoever leads. It proves
// who may speak for that teammate, which no file does.
type Seat struct {
	Dir    string          `json:"dir"` // of the team's project
	Name   string          `json:"name"`
	Role   string          `json:"role,omitempty"`
	Holder handshake.Party `json:"holder"`
	// RequirePlan closes what changes something until Plan is approved; Plan is what became of the
	// holder's last one, "" before the first, and PlanID is that one.
	RequirePlan bool            `json:"require_plan,omitempty"`
	Plan        handshake.State `json:"plan,omitempty"`
	PlanID      string          `json:"plan_id,omitempty"` // "" with a Plan: it was submitted to an earlier version
	End         SeatEnd         `json:"end,omitempty"`

	Busy bool `json:"-"` // in a snapshot: its holder has something to do
	// Taken is in a snapshot when a holder took something of which nothing else tells that it still
	// has it to do: it rests as far as is seen, and its turn has neither begun nor ended in sight.
	// What it took in an earlier run is taken when this one begins. Zero: it is not so.
	Taken time.Time `json:"-"`
	Gone  bool      `json:"-"` // in a snapshot: its holder has ended
}

// seats is the kind of their records.
const seats message.RecordKind[Seat] = "seat"

// seat is a Seat with what is not written down.
type seat struct {
	Seat
	turn time.Time // when the holder took something, if it has not come to rest since
}

func seatID(dir, name string) string { return dir + "\x1f" + name }

// Closed reports whether the holder may not change anything yet.
func (s Seat) Closed() bool { return s.RequirePlan && s.Plan != handshake.Approved }

// planIs notes what has become of a plan, if it is the last one of its asker.
func (tx *tx) planIs(dir string, h handshake.Handshake) {
	one := tx.seatOf(dir, h.Asker.Peer)
	if one == nil || h.Kind != handshake.Plan || one.PlanID != "" && one.PlanID != h.ID {
		return
	}
	one.Plan = h.State
	tx.sit(one)
}

// party is a caller as an asker or answerer.
func (b By) party(name string) handshake.Party {
	return handshake.Party{Peer: b.Peer, Person: b.Person(), Name: name}
}

// lead is who leads the team in a directory: who took that seat; a person, where nobody did, or who
// did has gone.
func (s *State) lead(dir string) handshake.Party {
	if one := s.seats[seatID(dir, Lead)]; one != nil && (one.Holder.Person || s.present(one.Holder.Peer) != nil) {
		return one.Holder
	}
	return handshake.Party{Person: true, Name: Lead}
}

// seatOf is the teammate's seat that a session has, in any team if dir is "".
func (s *State) seatOf(dir string, session message.ID) *seat {
	for _, id := range s.seated {
		if one := s.seats[id]; one.Name != Lead && one.Holder.Peer == session && session != "" && (dir == "" || one.Dir == dir) {
			return one
		}
	}
	return nil
}

// teamOf is the directory of the team in which a caller is: as a teammate, else as its lead. "" is
// none, or more than one.
func (s *State) teamOf(by By) (dir string) {
	if one := s.seatOf("", by.Peer); one != nil {
		return one.Dir
	}
	for _, id := range s.seated {
		if one := s.seats[id]; one.Name == Lead && one.Holder.Is(by.party("")) {
			if dir != "" {
				return ""
			}
			dir = one.Dir
		}
	}
	return dir
}

// NotLeadError says that a caller does not lead a team.
type NotLeadError struct {
	Dir  string
	Lead string // who does
}

func (e *NotLeadError) Error() string {
	return fmt.Sprintf("only %s leads the team in %q", e.Lead, e.Dir)
}

// ErrorKind is KindPersonOnly.
func (e *NotLeadError) ErrorKind() message.ErrorKind { return message.KindPersonOnly }

// leads refuses a caller who does not lead a team.
func (tx *tx) leads(dir string, by By) error {
	lead := tx.lead(dir)
	if lead.Is(by.party("")) {
		return nil
	}
	who := "a person"
	if s := tx.present(lead.Peer); s != nil {
		who = fmt.Sprintf("session %q", s.Name)
	}
	return &NotLeadError{dir, who}
}

// Spawning asks whether a caller may spawn a teammate: the lead may, and who spawns the first one
// becomes it. It changes nothing.
type Spawning struct {
	By        By
	Dir, Name string
}

func (r Spawning) by() By { return r.By }

func (r Spawning) do(tx *tx, _ *Requested) (Answer, error) {
	return Answer{}, tx.maySpawn(r.By, r.Dir, r.Name)
}

func (tx *tx) maySpawn(by By, dir, name string) error {
	if tx.seats[seatID(dir, Lead)] != nil {
		if err := tx.leads(dir, by); err != nil {
			return fmt.Errorf("spawn %q: %w", name, err)
		}
	}
	if one := tx.seats[seatID(dir, name)]; one != nil && tx.present(one.Holder.Peer) != nil {
		return fmt.Errorf("spawn %q: %w: it has a session", name, ErrActive)
	}
	return nil
}

// TakeSeat gives a teammate's place to a session, if it does not have it already. Who asks leads the
// team from then on, if nobody did.
type TakeSeat struct {
	By   By
	Seat Seat // of which Dir, Name, Role and RequirePlan count
	Peer message.ID
}

func (r TakeSeat) by() By { return r.By }

func (r TakeSeat) do(tx *tx, _ *Requested) (Answer, error) {
	if one := tx.seats[seatID(r.Seat.Dir, r.Seat.Name)]; one != nil && one.Holder.Peer == r.Peer && r.Seat.Name != Lead && tx.present(r.Peer) != nil {
		return Answer{Peer: tx.present(r.Peer).Peer}, nil
	}
	if err := tx.maySpawn(r.By, r.Seat.Dir, r.Seat.Name); err != nil {
		return Answer{}, err
	}
	s := tx.present(r.Peer)
	if s == nil || s.Kind != message.PeerPane || r.Seat.Name == Lead {
		return Answer{}, notPossible("spawn %q: %q is no session of it", r.Seat.Name, r.Peer)
	}
	lead := tx.seats[seatID(r.Seat.Dir, Lead)]
	if by := r.By.party(Lead); lead == nil || !lead.Holder.Is(by) {
		tx.sit(&seat{Seat: Seat{Dir: r.Seat.Dir, Name: Lead, Holder: by}})
	}
	tx.sit(&seat{turn: tx.now, Seat: Seat{
		Dir: r.Seat.Dir, Name: r.Seat.Name, Role: r.Seat.Role, RequirePlan: r.Seat.RequirePlan, Holder: handshake.Party{Peer: s.ID, Name: r.Seat.Name},
	}})
	return Answer{Peer: s.Peer}, nil
}

// SeatLeft says that what a team's file says of a session that has ended is final: its seat is
// forgotten. A person is told of an end that nobody asked for, in the same step: said any number of times, in
// any number of lives, it is told once.
type SeatLeft struct {
	Dir, Name string
	Holder    message.ID
}

func (e SeatLeft) step(tx *tx) {
	id := seatID(e.Dir, e.Name)
	one := tx.seats[id]
	if one == nil || one.Name == Lead || one.Holder.Peer != e.Holder || tx.present(e.Holder) != nil {
		return
	}
	delete(tx.seats, id)
	tx.seated = slices.DeleteFunc(tx.seated, func(have string) bool { return have == id })
	record(tx, seats, id, false, one.Seat)
	if one.End == "" {
		tx.notice("", fmt.Sprintf("teammate %s in %s: its program has ended; intercom team spawn %[1]s starts it again", one.Name, one.Dir))
	}
}

// sit puts a seat in its place, and has it written down.
func (tx *tx) sit(one *seat) {
	id := seatID(one.Dir, one.Name)
	if tx.seats[id] == nil {
		tx.seated = append(tx.seated, id)
	}
	tx.seats[id] = one
	record(tx, seats, id, true, one.Seat)
}

// Killing says that somebody is about to end a session without asking it, if it is a teammate's.
type Killing struct{ Peer message.ID }

func (e Killing) step(tx *tx) {
	if one := tx.seatOf("", e.Peer); one != nil && one.End == "" {
		one.End = EndKilled
		tx.sit(one)
	}
}

func (tx *tx) restoreSeats(all ...message.Record) error {
	read, err := seats.Values(all...)
	for id, one := range read {
		s := tx.present(one.Holder.Peer)
		tx.seats[id] = &seat{Seat: one}
		if s != nil {
			tx.seats[id].turn = tx.now
		}
		tx.seated = append(tx.seated, id)
	}
	return err
}

// seatSnapshot is who sits where now, and what each does.
func (s *State) seatSnapshot() []Seat {
	var all []Seat
	for _, id := range s.seated {
		one := s.seats[id]
		now, p := one.Seat, s.present(one.Holder.Peer)
		now.Gone = p == nil && !now.Holder.Person
		if p != nil && now.Name != Lead {
			now.Busy = p.waiting > 0 || p.State == message.Working || p.State == message.Blocked
			if !now.Busy && !one.turn.IsZero() {
				now.Busy, now.Taken = true, one.turn
			}
		}
		all = append(all, now)
	}
	return all
}

// took notes that a session took something at a time, or, with none, that it came to rest.
func (s *State) took(peer message.ID, turn time.Time) {
	for _, id := range s.seated {
		if one := s.seats[id]; one.Holder.Peer == peer && (!turn.IsZero() || s.present(peer) == nil || s.present(peer).waiting == 0) {
			one.turn = turn
		}
	}
}
