package relay

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// startOrders is the kind of the records of sessions that are to be started. What a state allows
// happens only once the state is on disk, so that the run after a killed sidecar knows how far the
// start came:
//
//	asked ──yes──► approved ─┐           ┌─► done: the session is adopted, and its first message
//	  └──no──► over          ├─► begun ──┤         received, in one step
//	nobody has to be asked ──┘           └─► failed
//
// An approved order has no window yet, and whichever run comes to it begins it. A begun order may
// have a window, and is never begun again: the window bears its id.
const startOrders message.RecordKind[message.StartOrder] = "start"

// StartRecord returns the kind and id of the record of a start, which exists even if the start is
// over.
func StartRecord(id string) (kind, key string) { return string(startOrders), id }

// ReadStart returns the content of the record of a start.
func ReadStart(r message.Record) (message.StartOrder, error) {
	all, err := startOrders.Values(r)
	return all[r.ID], err
}

// mostOrders is how many starts of one agent may wait for a person.
const mostOrders = 8

// ErrNotStarted is for a request about a start that is over, or has not begun.
var ErrNotStarted = errors.New("no such start is under way")

// FirstMessageError says that a session was started, and that its first message was not taken.
type FirstMessageError struct {
	Name string
	Err  error
}

func (e *FirstMessageError) Error() string {
	return fmt.Sprintf("%s was started, but its first message was not taken: %v", e.Name, e.Err)
}

func (e *FirstMessageError) Unwrap() error { return e.Err }

func (tx *tx) restoreOrders(all ...message.Record) error {
	orders, err := startOrders.Values(all...)
	if err != nil {
		return err
	}
	for _, o := range orders {
		tx.orders = append(tx.orders, o)
	}
	slices.SortFunc(tx.orders, func(a, b message.StartOrder) int { return cmp.Compare(a.ID, b.ID) })
	return nil
}

// order returns the index of an order, or -1.
func (s *State) order(id message.ID) int {
	return slices.IndexFunc(s.orders, func(o message.StartOrder) bool { return o.ID == id })
}

// keepOrder writes an order down as it is.
func (tx *tx) keepOrder(o message.StartOrder) {
	tx.orders = slices.Clone(tx.orders)
	if i := tx.order(o.ID); i >= 0 {
		tx.orders[i] = o
	} else {
		tx.orders = append(tx.orders, o)
	}
	record(tx, startOrders, string(o.ID), true, o)
}

// closeOrder removes an order, for good.
func (tx *tx) closeOrder(o message.StartOrder) {
	tx.orders = slices.DeleteFunc(slices.Clone(tx.orders), func(one message.StartOrder) bool { return one.ID == o.ID })
	record(tx, startOrders, string(o.ID), false, o)
}

// AskStart makes a start wait for a person's yes. Answer: Message, its id. Errors: ErrFull; for a
// place in a team that is not free, ErrActive.
type AskStart struct {
	By    By
	Order message.StartOrder // the relay sets its ID, From and At
}

func (r AskStart) by() By { return r.By }

func (r AskStart) do(tx *tx, _ *Requested) (Answer, error) {
	from := tx.present(r.By.Peer)
	if from == nil {
		return Answer{}, fmt.Errorf("ask for a start: %w", &registry.LookupError{Kind: "session", Ref: string(r.By.Peer), Err: registry.ErrUnknown})
	}
	if err := checkFirst(r.Order); err != nil {
		return Answer{}, fmt.Errorf("ask for a start: %w", err)
	}
	if err := tx.placeFree(r.Order, func(message.StartOrder) bool { return true }); err != nil {
		return Answer{}, fmt.Errorf("ask for a start: %w", err)
	}
	n := 0
	for _, o := range tx.orders {
		if o.Waits() && o.From.Peer == from.ID {
			n++
		}
	}
	if n >= mostOrders {
		return Answer{}, fmt.Errorf("ask for a start: %w: %d of %s wait for a person already", ErrFull, n, from.Name)
	}
	o := r.Order
	o.ID, o.From, o.At, o.Approved, o.Begun = tx.ids.next(tx.now), address(from), tx.now, nil, false
	tx.keepOrder(o)
	tx.notice("", fmt.Sprintf("%s asks to start %s in %s: intercom inbox approve %s (%s)", from.Name, o.What, o.Dir, o.ID.Short(), o.Why))
	return Answer{Message: o.ID}, nil
}

// placeFree refuses a start for a place in a team that has a session, or that another start is to
// fill, of those that count: two of one name would share an inbox, and one of them would have no
// place.
func (tx *tx) placeFree(o message.StartOrder, counts func(message.StartOrder) bool) error {
	if o.Seat == nil {
		return nil
	}
	id := seatID(o.Seat.Dir, o.Seat.Name)
	if one := tx.seats[id]; one != nil && tx.present(one.Holder.Peer) != nil {
		return fmt.Errorf("spawn %q: %w: it has a session", o.Seat.Name, ErrActive)
	}
	for _, other := range tx.orders {
		if other.ID == o.ID || other.Seat == nil || seatID(other.Seat.Dir, other.Seat.Name) != id || !counts(other) {
			continue
		}
		how := "is under way"
		if other.Waits() {
			how = "waits for a person"
		}
		return fmt.Errorf("spawn %q: %w: another start of it %s: %s", o.Seat.Name, ErrActive, how, other.ID.Short())
	}
	return nil
}

// goesOn reports whether a start goes on without another decision.
func goesOn(o message.StartOrder) bool { return !o.Waits() }

// checkFirst refuses a first message that could not be sent.
func checkFirst(o message.StartOrder) error {
	if strings.TrimSpace(o.Message) == "" {
		return nil
	}
	return checkBody(o.Message)
}

// DecideStart is a person's decision about a start that waits. The first one counts; later ones are
// ErrDecided. After a yes, the caller begins the start. After a no, the relay tells the agent. A yes
// to a start for a place in a team that is not free any more is ErrActive: the start goes on
// waiting. Answer: Orders, that one.
type DecideStart struct {
	By  By
	ID  message.ID
	Yes bool
	Say string         // with a no: a word to the agent
	Who message.Person // for the journal
}

func (r DecideStart) by() By { return r.By }

func (r DecideStart) do(tx *tx, _ *Requested) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("decide about a start: %w", ErrPersonOnly)
	}
	i := tx.order(r.ID)
	if i < 0 || !tx.orders[i].Waits() {
		return Answer{}, fmt.Errorf("decide about start %s: %w", r.ID.Short(), ErrDecided)
	}
	o := tx.orders[i]
	how := "rejected"
	if r.Yes {
		if err := tx.placeFree(o, goesOn); err != nil {
			return Answer{}, fmt.Errorf("approve start %s: %w", o.ID.Short(), err)
		}
		how = "approved"
		o.Approved = &r.Who
		tx.keepOrder(o)
	} else {
		tx.closeOrder(o)
	}
	tx.noticeBy(r.By, "", fmt.Sprintf("the start of %s in %s, for %s, was %s by %s", o.What, o.Dir, o.From.Name, how, r.Who))
	if !r.Yes {
		text := fmt.Sprintf("your request to start %s in %s was rejected", o.What, o.Dir)
		if r.Say != "" {
			text += ": " + r.Say
		}
		tx.tellAsker(r.By, o, text)
	}
	return Answer{Orders: []message.StartOrder{o}}, nil
}

// BeginStart says that the window of a start is about to be opened. An order without an ID needs no
// approval; its ID and At are set here. An order with an ID must have been approved, else the error
// is ErrNotStarted. If Most sessions that agents have started are there, an agent's order without
// an ID is refused with a *TooManyError, and one for a place in a team that is not free with
// ErrActive. Answer: Orders, that one.
type BeginStart struct {
	By    By // who starts it
	Order message.StartOrder
	Most  int
}

// TooManyError says that agents have started as many sessions as they may without approval.
type TooManyError struct{ Running int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d sessions that agents started are running", e.Running)
}

// startedByAgents counts the sessions that agents have started and that are there, or are about to
// be. It counts those of all agents together, since a started session may start others.
func (tx *tx) startedByAgents() (n int) {
	for _, p := range tx.peers {
		if p.Kind == message.PeerPane && p.Ended == nil && p.Caller != nil && p.Caller.Peer != "" {
			n++
		}
	}
	for _, o := range tx.orders {
		if o.Begun && o.From.Peer != "" {
			n++
		}
	}
	return n
}

func (r BeginStart) by() By { return r.By }

func (r BeginStart) do(tx *tx, _ *Requested) (Answer, error) {
	o := r.Order
	switch i := tx.order(o.ID); {
	case o.ID == "":
		if n := tx.startedByAgents(); !r.By.Person() && n >= r.Most {
			return Answer{}, fmt.Errorf("begin start: %w", &TooManyError{n})
		}
		if err := tx.placeFree(o, goesOn); err != nil {
			return Answer{}, fmt.Errorf("begin start: %w", err)
		}
		o.ID, o.At, o.Approved = tx.ids.next(tx.now), tx.now, nil
	case i < 0 || tx.orders[i].Approved == nil || tx.orders[i].Begun || tx.orders[i].From.Peer != r.By.Peer:
		return Answer{}, fmt.Errorf("begin start %s: %w", o.ID.Short(), ErrNotStarted)
	default:
		o = tx.orders[i]
	}
	if err := checkFirst(o); err != nil {
		return Answer{}, fmt.Errorf("begin start: %w", err)
	}
	o.Begun = true
	tx.keepOrder(o)
	return Answer{Orders: []message.StartOrder{o}}, nil
}

// FinishStart adopts the session of a start, gives it its seat in a team if it was started for one,
// and takes in its first message; the agent that had to ask is told. The error is ErrNotStarted if
// the start is over. Answer: Peer; or with a first message, once that is decided, Message and
// Receipts. A *FirstMessageError says that everything was done except the message.
type FinishStart struct {
	By      By // who has it started
	Session message.Peer
	Late    string // why nobody waits for the answer any more, such as "after a restart"; "": somebody does
}

func (r FinishStart) by() By { return r.By }

func (r FinishStart) do(tx *tx, a *Requested) (Answer, error) {
	o, err := tx.begunBy(r.By, r.Session.ID)
	if err != nil {
		return Answer{}, err
	}
	session, err := tx.adopt(r.Session)
	if err != nil {
		return Answer{}, err
	}
	tx.closeOrder(o)
	told := fmt.Sprintf("%s was started in %s: session %s, %q", o.What, o.Dir, session.ID, session.Name)
	if r.Late != "" {
		tx.notice("", r.Late+", "+told)
	}
	if o.Seat != nil {
		seat := Seat{Dir: o.Seat.Dir, Name: o.Seat.Name, Role: o.Seat.Role, RequirePlan: o.Seat.RequirePlan}
		if _, err := (TakeSeat{By: r.By, Seat: seat, Peer: session.ID}).do(tx, a); err != nil {
			told += fmt.Sprintf("; it is not %q in the team of %s: %v", seat.Name, seat.Dir, err)
			tx.notice("", told)
		}
	}
	var refused error
	if strings.TrimSpace(o.Message) != "" {
		_, refused = Send{By: r.By, To: string(session.ID), Message: message.Envelope{Type: message.KindMessage, Body: o.Message}}.do(tx, a)
	}
	if refused != nil {
		refused = &FirstMessageError{session.Name, refused}
		told += "; " + refused.Error()
		if r.Late != "" {
			tx.notice("", refused.Error())
		}
	}
	if o.Approved != nil || r.Late != "" {
		tx.tellAsker(approver(o), o, told)
	}
	return Answer{Peer: session}, refused
}

// FailStart says that nothing came of a start that was begun, and why. It has no Answer.
type FailStart struct {
	By      By // who has it started
	ID      message.ID
	Why     string
	Resumed bool // nobody waits for the answer any more
}

func (r FailStart) by() By { return r.By }

func (r FailStart) do(tx *tx, _ *Requested) (Answer, error) {
	o, err := tx.begunBy(r.By, r.ID)
	if err != nil {
		return Answer{}, err
	}
	tx.closeOrder(o)
	if r.Resumed {
		told := fmt.Sprintf("the start of %s in %s, for %s, failed: %s", o.What, o.Dir, o.From.Name, r.Why)
		if kept := tx.keepFirst(o); kept != "" {
			told += "; intercom log " + kept.Short() + " has its first message"
		}
		tx.notice("", told)
	}
	whose := "your"
	if o.Approved != nil {
		whose = "a person approved your"
	}
	if o.Approved != nil || r.Resumed {
		tx.tellAsker(approver(o), o, fmt.Sprintf("%s start of %s in %s, but it failed: %s", whose, o.What, o.Dir, r.Why))
	}
	return Answer{}, nil
}

// keepFirst keeps in the journal the first message of a start that came to nothing. Nobody gets the
// message, but its author may have no copy. keepFirst returns its id, or "" if there was none.
func (tx *tx) keepFirst(o message.StartOrder) message.ID {
	if strings.TrimSpace(o.Message) == "" {
		return ""
	}
	m := message.Envelope{
		ID: tx.ids.next(tx.now), From: o.From, To: []message.Address{{Computer: message.LocalComputer, Name: o.Name}}, Type: message.KindMessage, Body: o.Message,
		Origin: message.OriginHuman, Trust: message.TrustPerson, Created: tx.now,
	}
	if o.From.Peer != "" {
		m.Origin, m.Trust = message.OriginAgent, message.TrustVerified
	}
	tx.step.Received = append(tx.step.Received, m)
	tx.step.Verdicts = append(tx.step.Verdicts, message.Verdict{
		Message: m.ID, Decision: message.Decision{Verb: message.VerbDrop, Reason: "the session was not started", By: "built in"}, At: tx.now, Kept: true,
	})
	return m.ID
}

// begunBy returns the order with that id, if it is begun and the caller's own.
func (tx *tx) begunBy(by By, id message.ID) (message.StartOrder, error) {
	i := tx.order(id)
	if i < 0 || !tx.orders[i].Begun || tx.orders[i].From.Peer != by.Peer {
		return message.StartOrder{}, fmt.Errorf("start %s: %w", id.Short(), ErrNotStarted)
	}
	return tx.orders[i], nil
}

// approver returns the person whose word allowed an order.
func approver(o message.StartOrder) By {
	if o.Approved != nil {
		return By{Kind: Person, Name: o.Approved.Name}
	}
	return By{Kind: Person}
}

func (tx *tx) tellAsker(by By, o message.StartOrder, text string) {
	if asker := tx.present(o.From.Peer); asker != nil {
		tx.tellAuthor(message.Envelope{ID: o.ID}, asker, person(by), nil, text, asker.depth())
	}
}
