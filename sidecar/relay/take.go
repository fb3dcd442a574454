package relay

import (
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Take hands a peer, at its own request, the messages that wait for nothing but its pane: they are
// not typed any more. Until Told reports their outcome, it is not known. A long message stays for
// the pane, with everything behind it. Answer: Taken, oldest first.
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
			continue // taken before, or held for another reason: what comes after it still goes
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

// waitsForPane reports whether a delivery waits only because it cannot be typed yet.
func (tx *tx) waitsForPane(d *delivery) bool {
	return d.where == atSink && d.kind == message.PeerPane && tx.refusal(d) == nil
}

// Told reports the outcome of deliveries that a peer took: Submitted, Uncertain, or Held if they
// were certainly not read. Held ones go to its pane again, before what came after them. Deliveries
// that the peer did not take, or whose outcome was reported before, are left as they are.
type Told struct {
	By         By // the peer that took them
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
			continue // it was taken in an earlier run: its sink reports what is known
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

// handAgain hands deliveries to a peer's pane again. Deliveries that wait there and came after the
// first of them are taken back, and follow them: a pane types in the order in which it is handed
// deliveries.
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
