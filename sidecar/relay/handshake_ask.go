package relay

import (
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// AskShutdown asks a teammate to end. Only the lead of its team may, and a person who is about to
// end its session. If the teammate has no session, nobody can answer for it, but its inbox gets the
// request all the same. Answer: Handshake, Team.
type AskShutdown struct {
	By        By
	ID        string // of handshake.NewID; the error for one in use is a *handshake.TakenError
	Dir, Name string
	Patience  time.Duration // until it expires; 0: never
	Ending    bool          // the caller ends the session itself, unless the teammate refuses
}

func (r AskShutdown) by() By { return r.By }

func (r AskShutdown) do(tx *tx, _ *Requested) (Answer, error) {
	if r.Dir == "" {
		r.Dir = tx.teamOf(r.By)
	}
	ends := r.Ending && r.By.Person()
	if err := tx.leads(r.Dir, r.By); err != nil && !ends {
		return Answer{}, fmt.Errorf("ask %q to end: %w", r.Name, err)
	}
	to := handshake.Party{Peer: message.DerivedID(time.Time{}, "seat", r.Dir, r.Name), Name: r.Name}
	if one := tx.seats[seatID(r.Dir, r.Name)]; one != nil && r.Name != Lead && tx.present(one.Holder.Peer) != nil {
		to = one.Holder
	}
	return tx.ask(r.Dir, handshake.Request{ID: r.ID, Kind: handshake.Shutdown, Asker: r.By.party(Lead), Answerer: to, Patience: r.Patience})
}

// AskPlan submits the plan of a teammate to the lead of its team. Answer: Handshake, Team.
type AskPlan struct {
	By       By
	ID       string // as in AskShutdown
	Dir      string // "": the only team that the caller is in
	Plan     string
	Patience time.Duration
}

func (r AskPlan) by() By { return r.By }

func (r AskPlan) do(tx *tx, _ *Requested) (Answer, error) {
	one := tx.seatOf(r.Dir, r.By.Peer)
	if one == nil {
		return Answer{}, ErrNoTeammate
	}
	lead := tx.lead(one.Dir)
	lead.Name = Lead
	a, err := tx.ask(one.Dir, handshake.Request{ID: r.ID, Kind: handshake.Plan, Asker: one.Holder, Answerer: lead, Text: r.Plan, Patience: r.Patience})
	if err == nil {
		one.Plan, one.PlanID = handshake.Pending, a.Handshake.ID
		tx.sit(one)
	}
	return a, err
}

// ErrNoTeammate is for a caller who speaks for no teammate.
var ErrNoTeammate = message.NewError(message.KindPersonOnly, "only the session of a teammate may do that")

func (tx *tx) ask(dir string, r handshake.Request) (Answer, error) {
	h, err := tx.book.Ask(tx.now, r)
	if err != nil {
		return Answer{}, err
	}
	tx.wrote(h, dir, OwedRequest)
	return Answer{Handshake: h, Team: dir}, nil
}
