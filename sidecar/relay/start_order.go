package relay

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// startOrders are the records of what agents asked to have started. One is open until its agent has
// been told what came of it.
const startOrders message.RecordKind[message.StartOrder] = "start"

// mostOrders is how many of them may wait of one agent.
const mostOrders = 8

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

// waitingOrders are those about which no person has decided, oldest first.
func (s *State) waitingOrders() (all []message.StartOrder) {
	for _, o := range s.orders {
		if o.Approved == nil {
			all = append(all, o)
		}
	}
	return all
}

// tellLostStarts tells of starts that an earlier run began, and of which it did not say what came.
// They are not begun again: their windows may have opened.
func (tx *tx) tellLostStarts() {
	for _, o := range slices.Clone(tx.orders) {
		if o.Approved == nil {
			continue
		}
		tx.closeOrder(o)
		what := fmt.Sprintf("start of %s in %s", o.What, o.Dir)
		tx.notice("", fmt.Sprintf("the sidecar ended during the %s, for %s: intercom session list says whether it is there", what, o.From.Name))
		tx.tellAsker(By{Kind: Person, Name: o.Approved.Name}, o, "a person approved your "+what+", but whether it was started is not known: look at the list of sessions before you ask for it again")
	}
}

// closeOrder takes an order off, for good.
func (tx *tx) closeOrder(o message.StartOrder) {
	i := slices.IndexFunc(tx.orders, func(one message.StartOrder) bool { return one.ID == o.ID })
	if i < 0 {
		return
	}
	tx.orders = slices.Delete(slices.Clone(tx.orders), i, i+1)
	record(tx, startOrders, string(o.ID), false, o)
}

// AskStart has a start wait for a person's yes. Answer: Message, its id. Errors: ErrFull.
type AskStart struct {
	By    By
	Order message.StartOrder // its ID, From and At are ours to say
}

func (r AskStart) by() By { return r.By }

func (r AskStart) do(tx *tx, _ *Requested) (Answer, error) {
	from := tx.present(r.By.Peer)
	if from == nil {
		return Answer{}, fmt.Errorf("ask for a start: %w", &registry.LookupError{Kind: "session", Ref: string(r.By.Peer), Err: registry.ErrUnknown})
	}
	n := 0
	for _, o := range tx.waitingOrders() {
		if o.From.Peer == from.ID {
			n++
		}
	}
	if n >= mostOrders {
		return Answer{}, fmt.Errorf("ask for a start: %w: %d of %s wait for a person already", ErrFull, n, from.Name)
	}
	o := r.Order
	o.ID, o.From, o.At = tx.ids.next(tx.now), address(from), tx.now
	tx.orders = append(tx.orders, o)
	record(tx, startOrders, string(o.ID), true, o)
	tx.notice("", fmt.Sprintf("%s asks to start %s in %s: intercom inbox approve %s (%s)", from.Name, o.What, o.Dir, o.ID.Short(), o.Why))
	return Answer{Message: o.ID}, nil
}

// DecideStart is a person's decision about a start that waits. The first one counts; later ones are
// ErrDecided. After a yes the caller starts it, and says by TellAsker what came of that: until then
// the order stays written down, and the next run tells of it. A no is told to the agent here.
// Answer: Orders, that one.
type DecideStart struct {
	By  By
	ID  message.ID
	Yes bool
	Say string         // with a no: to the agent
	Who message.Person // for the journal
}

func (r DecideStart) by() By { return r.By }

func (r DecideStart) do(tx *tx, _ *Requested) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("decide about a start: %w", ErrPersonOnly)
	}
	i := slices.IndexFunc(tx.orders, func(o message.StartOrder) bool { return o.ID == r.ID && o.Approved == nil })
	if i < 0 {
		return Answer{}, fmt.Errorf("decide about start %s: %w", r.ID.Short(), ErrDecided)
	}
	o := tx.orders[i]
	how := "rejected"
	if r.Yes {
		how = "approved"
		o.Approved = &r.Who
		tx.orders = slices.Clone(tx.orders)
		tx.orders[i] = o
		record(tx, startOrders, string(o.ID), true, o)
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

// TellAsker tells an agent what came of the start for which it asked, and closes the order. It
// answers nothing.
type TellAsker struct {
	By    By
	Order message.StartOrder
	Text  string
}

func (r TellAsker) by() By { return r.By }

func (r TellAsker) do(tx *tx, _ *Requested) (Answer, error) {
	if !r.By.Person() {
		return Answer{}, fmt.Errorf("tell of a start: %w", ErrPersonOnly)
	}
	tx.closeOrder(r.Order)
	tx.tellAsker(r.By, r.Order, r.Text)
	return Answer{}, nil
}

func (tx *tx) tellAsker(by By, o message.StartOrder, text string) {
	if asker := tx.present(o.From.Peer); asker != nil {
		tx.tellAuthor(message.Envelope{ID: o.ID}, asker, person(by), nil, text, asker.depth())
	}
}
