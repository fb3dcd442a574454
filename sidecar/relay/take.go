package relay

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Take hands a peer what waits for nothing but its own pane, since it has asked for it: nothing of
// that is typed any more, and it counts as submitted. What is long stays for its pane, and whatever
// is behind it. Answer: Taken, oldest first.
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
		return Answer{}, fmt.Errorf("take messages: %w: only a session has any", ErrRequest)
	}
	var taken []*delivery
	size := 0
	for _, d := range tx.underway((*delivery).open, place{toPeer, to.ID}) {
		if !d.Typed && !tx.waitsForPane(d) {
			continue // held for something else: what comes after it goes on
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
		d.atSink = false
		if d.state == message.Queued {
			tx.receipt(d, message.Held, message.AgentWorking)
		}
		tx.note(d, message.Receipt{State: message.Submitted, Evidence: []message.Evidence{r.Evidence}})
		tx.submitted(d, to)
		if c := tx.chat(d.Chat); c != nil {
			tx.settle(c)
		}
	}
	return a, nil
}

// waitsForPane reports whether all that keeps a delivery is that it cannot be typed yet.
func (tx *tx) waitsForPane(d *delivery) bool {
	return d.atSink && d.kind == message.PeerPane && tx.refusal(d) == nil
}
