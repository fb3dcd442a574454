package repository

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// wait is a delivery that may be acted on as soon as this sidecar has the claim and the relay can write that
// down. Until then another sidecar may be working on the same file.
type wait struct {
	message.Delivery
	approved  bool // by a person, in this sidecar; no other knows of it
	inherited bool // taken over from a sidecar that no longer runs, whose marker does not count; its job is in jobs
}

// await makes a delivery wait for the claim, or for the monitor's start. If a person approved it, or stopped the
// monitor, it is reported as typed, so that it does not expire meanwhile.
func (b *box) await(ctx context.Context, d message.Delivery) {
	if slices.ContainsFunc(b.waits, func(w *wait) bool { return w.ID == d.ID }) {
		return // the relay hands it over once more
	}
	j := b.jobs[d.Message.ID]
	w := &wait{d, b.approved(ctx, d.Message.ID), j != nil && j.inherited}
	if w.approved || b.stopped() {
		_ = b.report(ctx, d, message.Typed, "")
	}
	b.waits = append(b.waits, w)
}

// approved reports whether a person let a message through.
func (b *box) approved(ctx context.Context, id message.ID) bool {
	verdicts, err := b.peers.Journal.Verdicts(ctx, id)
	return err == nil && len(verdicts) > 0 && verdicts[len(verdicts)-1].Person.Name != ""
}

// resume takes up the waiting deliveries once this sidecar has the claim. Without the claim, it ends those that
// another sidecar has marked as processed.
func (b *box) resume(ctx context.Context) {
	if len(b.waits) == 0 {
		return
	}
	if b.claim != nil {
		all := b.waits
		b.waits = nil
		for _, w := range all {
			if b.stopped() && !w.approved {
				b.waits = append(b.waits, w)
				continue
			}
			b.deliver(ctx, w.Delivery)
		}
		return
	}
	marks, err := b.dir.marks()
	if err != nil {
		return
	}
	b.waits = slices.DeleteFunc(b.waits, func(w *wait) bool {
		return !w.approved && !w.inherited && marks[w.Message.Meta[metaFile]] && b.overWith(ctx, w.Delivery, message.Submitted, "") == nil
	})
}

// overAs returns what the relay is told about a message for which there is nothing left to do, according to the
// ledger. If another sidecar decided about it, a yes said here did not succeed.
func (b *box) overAs(j *job) (state message.ReceiptState, why message.Reason) {
	switch one := b.ledger.known[j.file]; {
	case one.Stage == flagged: // perhaps a moment ago, when the relay could not write it down
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

// putDown makes the jobs that the agent was not given yet wait until the monitor is started again, except those
// that a person approved.
func (b *box) putDown(ctx context.Context) {
	b.lane = slices.DeleteFunc(b.lane, func(j *job) bool {
		if !j.approved {
			b.shelveOne(j)
		}
		return !j.approved
	})
	if j := b.current; j != nil && !j.approved && !j.again.IsZero() { // the agent's queue was full
		b.current = nil
		if b.shelveOne(j); !j.over {
			b.record(ctx, j.line(taken))
		}
	}
}

// shelve makes the jobs that the agent was not given yet wait for the claim again.
func (b *box) shelve() {
	for _, j := range b.lane {
		b.shelveOne(j)
	}
	b.lane = nil
}

func (b *box) shelveOne(j *job) {
	j.inLane = false
	if !j.inherited {
		b.forget(j)
	}
	b.waits = append(b.waits, &wait{j.delivery, j.approved, j.inherited})
}
