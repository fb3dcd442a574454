package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
)

// AnswerHandshake is a yes or no to a request. Only its addressee may give it, proven by their
// process. Answer: Handshake, Team. Errors: those of handshake.Book.Answer.
type AnswerHandshake struct {
	By     By
	Answer handshake.Answer
}

func (r AnswerHandshake) by() By { return r.By }

func (r AnswerHandshake) do(tx *tx, _ *Requested) (Answer, error) {
	h, err := tx.book.Answer(tx.now, r.By.party(""), r.Answer)
	if err != nil {
		return Answer{}, err
	}
	dir, owed := "", []Owed{OwedAnswer}
	if of := tx.affairs[h.ID]; of != nil {
		dir = of.team
	}
	if one := tx.seatOf(dir, h.Answerer.Peer); one != nil && h.Kind == handshake.Shutdown && h.State == handshake.Approved {
		owed = append(owed, OwedEnd)
		one.End = EndApproved
		tx.sit(one)
	}
	tx.planIs(dir, h)
	tx.wrote(h, dir, owed...)
	return Answer{Handshake: h, Team: dir}, nil
}

// EndUnanswered says that a caller that asked a teammate to end no longer waits for its answer, and
// is about to end its session. This event decides between that and an answer: if there is no answer
// yet, none counts from then on. Answer: Handshake, as it stands. The error is a
// *handshake.UnknownError, also for a handshake that ended before this run.
type EndUnanswered struct {
	By By
	ID string
}

func (r EndUnanswered) by() By { return r.By }

func (r EndUnanswered) do(tx *tx, _ *Requested) (Answer, error) {
	was, err := tx.book.Of(handshake.Shutdown, r.ID)
	if err != nil {
		return Answer{}, err
	}
	if !was.Asker.Is(r.By.party("")) {
		return Answer{}, notPossible("end %q: somebody else has asked it", was.Answerer.Name)
	}
	h, err := tx.book.GiveUp(tx.now, handshake.Shutdown, r.ID)
	if err == nil && was.Open() {
		tx.keep(h)
	}
	if h.State == handshake.Expired {
		Killing{h.Answerer.Peer}.step(tx)
	}
	return Answer{Handshake: h}, err
}

// ShowHandshake returns a handshake as it stands. It changes nothing. Answer: Handshake, Team. The
// error is a *handshake.UnknownError, also for a handshake that ended before this run: the journal
// has it.
type ShowHandshake struct {
	By   By
	Kind handshake.Kind
	ID   string
}

func (r ShowHandshake) by() By    { return r.By }
func (r ShowHandshake) unproven() {}

func (r ShowHandshake) do(tx *tx, _ *Requested) (Answer, error) {
	h, err := tx.book.Of(r.Kind, r.ID)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Handshake: h}
	if of := tx.affairs[h.ID]; of != nil {
		a.Team = of.team
	}
	return a, nil
}
