package repository

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// wait is a delivery that may be acted on as soon as the claim is here, and the relay can write that down: until
// then another sidecar may be at the same file.
type wait struct {
	message.Delivery
	approved bool // by a person, in this sidecar: no other knows of that
}

// await has a delivery wait for the claim. One that a person approved does not expire of that.
func (b *box) await(ctx context.Context, d message.Delivery) {
	if slices.ContainsFunc(b.waits, func(w *wait) bool { return w.ID == d.ID }) {
		return // it is handed over once more
	}
	w := &wait{d, b.approved(ctx, d.Message.ID)}
	if w.approved {
		_ = b.report(ctx, d, message.Typed, "")
	}
	b.waits = append(b.waits, w)
}

// approved reports whether a person let a message go.
func (b *box) approved(ctx context.Context, id message.ID) bool {
	verdicts, err := b.peers.Journal.Verdicts(ctx, id)
	return err == nil && len(verdicts) > 0 && verdicts[len(verdicts)-1].Person.Name != ""
}

// resume takes up what waited, once the claim is here. Without, what another sidecar has marked as
// processed is over.
func (b *box) resume(ctx context.Context) {
	if len(b.waits) == 0 {
		return
	}
	if b.claim != nil {
		all := b.waits
		b.waits = nil
		for _, w := range all {
			b.deliver(ctx, w.Delivery)
		}
		return
	}
	marks, err := b.dir.marks()
	if err != nil {
		return
	}
	b.waits = slices.DeleteFunc(b.waits, func(w *wait) bool {
		return !w.approved && marks[w.Message.Meta[metaFile]] && b.overWith(ctx, w.Delivery, message.Submitted, "") == nil
	})
}

// overAs is what the relay is told of a message about which nothing is to be done any more, as the ledger
// has it: what another sidecar decided about is no success of a yes that was said here.
func (b *box) overAs(j *job) (state message.ReceiptState, why message.Reason) {
	switch one := b.ledger.known[j.file]; {
	case one.Stage == flagged: // perhaps just now, before the relay could write it down
		return message.Uncertain, message.SidecarEnded
	case one.By == "" || one.By == b.peers.By:
		return message.Submitted, ""
	case one.Stage == acting:
		return message.Uncertain, message.SidecarEnded
	case j.approved:
		return message.Failed, message.DecidedElsewhere
	}
	return message.Submitted, ""
}

// overWith tells the relay what became of a delivery with another sidecar, or in an earlier run.
func (b *box) overWith(ctx context.Context, d message.Delivery, state message.ReceiptState, why message.Reason) error {
	if state != message.Failed {
		if err := b.report(ctx, d, message.Typed, ""); err != nil {
			return err
		}
	}
	return b.peers.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: state, Reason: why})
}

// shelve has what the agent was not given yet wait for the claim again.
func (b *box) shelve() {
	for _, j := range b.lane {
		b.shelveOne(j)
	}
	b.lane = nil
}

func (b *box) shelveOne(j *job) {
	j.inLane = false
	b.forget(j)
	b.waits = append(b.waits, &wait{j.delivery, j.approved})
}
