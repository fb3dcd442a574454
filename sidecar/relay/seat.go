package relay

import (
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// Lead is the name of the seat of a team's lead.
const Lead = "lead"

// SeatEnd says how the session of a teammate came to its end.
type SeatEnd string

// The ends.
const (
	EndApproved SeatEnd = "approved" // by a handshake: it is about to end, or has ended
	EndKilled   SeatEnd = "killed"   // somebody ended it without a handshake
)

// Seat is a place in a team and its holder: the session of a teammate, or the lead. It proves who
// may speak for that teammate, which no file does.
type Seat struct {
	Dir    string          `json:"dir"` // the directory of the team's project
	Name   string          `json:"name"`
	Role   string          `json:"role,omitempty"`
	Holder handshake.Party `json:"holder"`
	// RequirePlan keeps the holder from changing anything until Plan is approved. Plan is the state
	// of the holder's last plan, "" before the first; PlanID is the id of that plan.
	RequirePlan bool            `json:"require_plan,omitempty"`
	Plan        handshake.State `json:"plan,omitempty"`
	PlanID      string          `json:"plan_id,omitempty"` // "" with a Plan: the plan was submitted to an earlier version
	End         SeatEnd         `json:"end,omitempty"`

	Busy bool `json:"-"` // in a snapshot: its holder has something to do
	// Taken is set in a snapshot if the holder took something and nothing else tells that it still
	// has to do it: the holder seems idle, and no turn has been seen to begin or end. Then Taken is
	// the time when it took that. What it took in an earlier run counts as taken when this run
	// began. Zero: none of this applies.
	Taken time.Time `json:"-"`
	Gone  bool      `json:"-"` // in a snapshot: its holder has ended
}

// seats is the kind of the records of seats.
const seats message.RecordKind[Seat] = "seat"

// seat is a Seat with what is not written down.
type seat struct {
	Seat
	turn time.Time // when the holder last took something; zero once it has come to rest
}

func seatID(dir, name string) string { return dir + "\x1f" + name }

// Closed reports whether the holder may not change anything yet.
func (s Seat) Closed() bool { return s.RequirePlan && s.Plan != handshake.Approved }

// planIs notes the state of a plan, if it is the last plan of its asker.
func (tx *tx) planIs(dir string, h handshake.Handshake) {
	one := tx.seatOf(dir, h.Asker.Peer)
	if one == nil || h.Kind != handshake.Plan || one.PlanID != "" && one.PlanID != h.ID {
		return
	}
	one.Plan = h.State
	tx.sit(one)
}

// party returns a caller as the asker or answerer of a handshake.
func (b By) party(name string) handshake.Party {
	return handshake.Party{Peer: b.Peer, Person: b.Person(), Name: name}
}

// lead returns the lead of the team in a directory: the holder of that seat, or a person if nobody
// took it or its holder has gone.
func (s *State) lead(dir string) handshake.Party {
	if one := s.seats[seatID(dir, Lead)]; one != nil && (one.Holder.Person || s.present(one.Holder.Peer) != nil) {
		return one.Holder
	}
	return handshake.Party{Person: true, Name: Lead}
}

// seatOf returns the teammate's seat that a session holds, in any team if dir is "".
func (s *State) seatOf(dir string, session message.ID) *seat {
	for _, id := range s.seated {
		if one := s.seats[id]; one.Name != Lead && one.Holder.Peer == session && session != "" && (dir == "" || one.Dir == dir) {
			return one
		}
	}
	return nil
}

// teamOf returns the directory of the caller's team: the one it is a teammate in, else the one it
// leads. It returns "" if there is none, or if it leads more than one.
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
	Lead string // the name of the lead
}

func (e *NotLeadError) Error() string {
	return fmt.Sprintf("only %s leads the team in %q", e.Lead, e.Dir)
}

// ErrorKind returns KindPersonOnly.
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

// Spawning asks whether a caller may spawn a teammate: the lead may, and a caller that spawns the
// first teammate becomes the lead. It changes nothing.
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

// TakeSeat gives a teammate's place to a session, if the session does not have it already. If
// nobody leads the team, the caller leads it from then on.
type TakeSeat struct {
	By   By
	Seat Seat // its Dir, Name, Role and RequirePlan count
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
		return Answer{}, notPossible("spawn %q: %q cannot take this seat", r.Seat.Name, r.Peer)
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

// SeatLeft says that a team's file now has the final word about a session that has ended: its seat
// is forgotten. If nobody asked for that end, a person is told of it in the same step, so that they
// are told once however often, and in however many runs, SeatLeft comes.
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
		again := fmt.Sprintf("intercom team spawn %s --role %s --dir %s", one.Name, plain.ShellWord(one.Role), plain.ShellWord(one.Dir))
		if one.RequirePlan {
			again += " --require-plan"
		}
		tx.notice("", fmt.Sprintf("teammate %s in %s: its program has ended; %s, with --agent NAME or -- COMMAND, starts it again",
			one.Name, one.Dir, again))
	}
}

// sit puts a seat in its place, and writes it down.
func (tx *tx) sit(one *seat) {
	id := seatID(one.Dir, one.Name)
	if tx.seats[id] == nil {
		tx.seated = append(tx.seated, id)
	}
	tx.seats[id] = one
	record(tx, seats, id, true, one.Seat)
}

// Killing says that somebody is about to end a session without asking it. It matters only if the
// session is a teammate's.
type Killing struct{ Peer message.ID }

func (e Killing) step(tx *tx) {
	if one := tx.seatOf("", e.Peer); one != nil && one.End == "" {
		one.End = EndKilled
		tx.sit(one)
	}
}

// KillFailed takes Killing back: the session could not be ended, and goes on. It changes nothing if
// the session has ended after all.
type KillFailed struct{ Peer message.ID }

func (e KillFailed) step(tx *tx) {
	if one := tx.seatOf("", e.Peer); one != nil && one.End == EndKilled && tx.present(e.Peer) != nil {
		one.End = ""
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

// seatSnapshot returns who sits where now, and what each holder does.
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

// took notes the time at which a session took something, or, with the zero time, that it came to
// rest.
func (s *State) took(peer message.ID, turn time.Time) {
	for _, id := range s.seated {
		if one := s.seats[id]; one.Holder.Peer == peer && (!turn.IsZero() || s.present(peer) == nil || s.present(peer).waiting == 0) {
			one.turn = turn
		}
	}
}
