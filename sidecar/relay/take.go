package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Take hands a peer what waits for nothing but its own pane, since it has asked for it: nothing of
// that is typed any more. Until Told says what became of it, that is not known. What is long stays for
// its pane, and whatever is behind it. Answer: Taken, oldest first.
type Take struct {
	By       By // an agent
	Evidence message.Evidence
}

const (
	mostTaken      = 20
	mostTakenBytes = 64 << 10
)

func (r Take) by() By { return r.By }

func (r Take) do(tx *tx, _ *Requested) (Answer, error) {
	to := tx.present(r.By.Peer)
	if r.By.Kind != Agent || to == nil {
		return Answer{}, notPossible("take messages: only a session has any")
	}
	var taken []*delivery
	size := 0
	for _, d := range tx.underway((*delivery).open, place{toPeer, to.ID}) {
		if d.where == lent || !d.Typed && !tx.waitsForPane(d) {
			continue // taken before, or held for something else: what comes after it goes on
		}
		if size += len(d.Message.Body); d.Typed || len(taken) == mostTaken || size > mostTakenBytes {
			break
		}
		taken = append(taken, d)
	}
	tx.cancel(taken, message.AgentWorking)
	var a Answer
	for _, d := range taken {
		a.Taken = append(a.Taken, d.Delivery)
		d.where = lent
		tx.permitted(d, to, tx.note(d, message.Receipt{State: message.Typed, Door: message.DoorMCP, Evidence: []message.Evidence{r.Evidence}}))
	}
	return a, nil
}

// waitsForPane reports whether all that keeps a delivery is that it cannot be typed yet.
func (tx *tx) waitsForPane(d *delivery) bool {
	return d.where == atSink && d.kind == message.PeerPane && tx.refusal(d) == nil
}

// Told says what became of deliveries that a peer took: Submitted, Uncertain, or Held where they were not
// read, for certain. Those go to its pane again, before what came after them. What it did not take, or what was told
// before, is left as it is.
type Told struct {
	By         By // who took them
	Deliveries []message.ID
	State      message.ReceiptState
	Evidence   message.Evidence
}

func (r Told) by() By { return r.By }

func (r Told) do(tx *tx, _ *Requested) (Answer, error) {
	to := tx.present(r.By.Peer)
	if r.By.Kind != Agent || to == nil || !slices.Contains([]message.ReceiptState{message.Submitted, message.Held, message.Uncertain}, r.State) {
		return Answer{}, fmt.Errorf("tell what became of messages: %w", ErrRequest)
	}
	var again []*delivery
	for _, id := range r.Deliveries {
		d := tx.under[id]
		if d == nil || d.Target != to.ID || d.state != message.Typed || d.Door != message.DoorMCP {
			continue
		}
		if d.where != lent && r.State == message.Held {
			continue // a run before this one had it taken: its sink says what is known
		}
		receipt := message.Receipt{State: r.State, Door: d.Door, Evidence: []message.Evidence{r.Evidence}}
		if r.State != message.Submitted {
			receipt.Reason = message.NotRead
		}
		tx.note(d, receipt)
		d.where = lent
		switch r.State {
		case message.Submitted:
			tx.submitted(d, to)
		case message.Held:
			d.where = takenBack
			if tx.untyped(d); d.open() && d.hold == "" {
				again = append(again, d)
			}
		}
		if c := tx.chat(d.Chat); c != nil {
			tx.settle(c)
		}
	}
	tx.handAgain(again)
	return Answer{}, nil
}

// handAgain hands deliveries to a peer's pane that it had before. What waits there and came after the first of them is
// taken back, and follows them: a pane types in the order in which it is handed things.
func (tx *tx) handAgain(list []*delivery) {
	if len(list) == 0 {
		return
	}
	inOrder(list)
	behind := tx.underway(func(d *delivery) bool {
		return d.seq > list[0].seq && d.open() && !d.Typed && tx.waitsForPane(d)
	}, place{toPeer, list[0].Target})
	tx.cancel(behind, message.NotRead)
	list = append(list, behind...)
	inOrder(list)
	for _, d := range list {
		if d.state != message.Queued {
			tx.receipt(d, message.Queued, "")
		}
		tx.hand(d)
	}
}
