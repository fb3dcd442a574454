package repository

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The relay holds what agents make of each other's messages once it is beyond a limit, and then only
// a person's word lets it go on. A message that is held so keeps no other from the agent.

// needsWord reports whether a receipt says so.
func needsWord(r message.Receipt) bool {
	return r.State == message.Held && (r.Hold == message.HoldLimit || r.Hold == message.HoldPause)
}

// stalled writes down why a message, or its answer, goes on only once a person says so; "": it does.
func (b *box) stalled(ctx context.Context, file, why string, answer message.ID) {
	if b.ledger == nil {
		return
	}
	one, known := b.ledger.known[file]
	if !known || one.Held == why {
		return
	}
	if one.Held, one.Answer = why, answer; why != "" {
		b.log(ctx, "Held", file, why)
	}
	b.record(ctx, one)
}

// follow has this box told what becomes of that which waits for a person since an earlier run.
func (b *box) follow() {
	for _, p := range b.peers.Enabled.Progress(b.dir) {
		switch {
		case p.Awaits:
			b.awaited[p.ID] = p.File
			b.peers.watch(p.ID, b)
		case p.Answer != "":
			b.replies[p.Answer] = p.File
			b.peers.watch(p.Answer, b)
		}
	}
}

// rejected takes in that a person said no to a message.
func (b *box) rejected(ctx context.Context, file string, why message.Reason) {
	b.log(ctx, "Rejected", file, string(why))
	b.noes[file] = string(why)
	b.recordNoes(ctx)
}

// recordNoes has the ledger say what a person said no to, once the claim is here.
func (b *box) recordNoes(ctx context.Context) {
	if b.ledger == nil {
		return
	}
	for file, why := range b.noes {
		if one, known := b.ledger.known[file]; known && one.Became == approval {
			one.Became = why
			b.record(ctx, one)
		}
	}
	clear(b.noes)
}

// replied takes in what became of an answer.
func (b *box) replied(ctx context.Context, file string, r message.Receipt) {
	switch {
	case needsWord(r):
		b.stalled(ctx, file, "its answer: "+string(r.Reason), r.Message)
	case r.State == message.Typed || r.State.Final():
		b.stalled(ctx, file, "", "")
		delete(b.replies, r.Message)
		b.peers.unwatch(r.Message)
	default:
		b.stalled(ctx, file, "", "")
	}
}

// setAside lets others go before a message that the relay does not give to the agent for now.
func (b *box) setAside(ctx context.Context, j *job, why message.Reason) {
	b.stalled(ctx, j.file, string(why), "")
	if b.current == j {
		b.current = nil
		b.aside = append(b.aside, j)
	}
	j.held = true
}

// unaside ends that.
func (b *box) unaside(j *job) {
	b.aside = slices.DeleteFunc(b.aside, func(one *job) bool { return one == j })
}
