package repository

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The relay holds messages between agents that exceed a limit, and those that a person has to approve. Then only a
// person's word lets them go on. A message that is held in this way keeps no other message from the agent.

// needsWord reports whether a receipt says that an answer goes on only once a person resumes it.
func needsWord(r message.Receipt) bool {
	return r.State == message.Held && (r.Hold == message.HoldLimit || r.Hold == message.HoldPause)
}

// ofAnswer begins the reason of a message whose answer is held.
const ofAnswer = "its answer: "

// Resumes reports whether `intercom aea resume` lets go on what is held for a reason that Progress gives.
func Resumes(held string) bool { return message.Reason(strings.TrimPrefix(held, ofAnswer)).Resumes() }

// stalled records why a message or its answer goes on only once a person says so. If why is "", it goes on.
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

// follow makes this box watch the messages that have waited for a person since an earlier run. If another
// sidecar has decided about a message since, nobody is asked about it here any more.
func (b *box) follow(ctx context.Context) {
	b.others, b.followed = nil, changedAt(b.peers.Enabled.ledger(b.dir.Path))
	for _, one := range b.peers.Enabled.lines(b.dir) {
		delete(b.awaited, one.Our)
		switch {
		case one.awaits():
			b.awaited[one.Our] = one.File
			b.peers.watch(one.Our, b)
			if one.By != b.peers.By {
				b.others = append(b.others, one.File)
			} else if b.noes[one.File] == "" {
				b.recall(ctx, one.Our) // it may have ended when the repository was disabled
			}
		case one.Our != "" && one.Stage == done && one.By != b.peers.By:
			b.withdraw(ctx, one.Our)
		case one.Answer != "":
			b.replies[one.Answer] = one.File
			b.peers.watch(one.Answer, b)
		}
	}
}

// keepUp calls follow again if another sidecar has written to the ledger while a person is asked here too.
func (b *box) keepUp(ctx context.Context) {
	if b.claim == nil && len(b.awaited) > 0 && b.followed != changedAt(b.peers.Enabled.ledger(b.dir.Path)) {
		b.follow(ctx)
	}
}

// changedAt returns the time of a file's last change, or the zero time if there is no file.
func changedAt(path string) time.Time {
	info, err := os.Stat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// withdraw stops asking a person here about a message.
func (b *box) withdraw(ctx context.Context, id message.ID) {
	receipts, err := b.peers.Journal.Receipts(ctx, id)
	if n := len(receipts); err == nil && n > 0 && receipts[n-1].Awaits() {
		err = b.peers.Relay.Elsewhere(ctx, id)
	}
	if err != nil {
		b.complain(ctx, err)
	}
}

// askAgain asks a person again about messages if the sidecar that asked about them no longer runs. Nobody could
// answer that sidecar, whose tmux server may never come back.
func (b *box) askAgain(ctx context.Context) {
	b.others = slices.DeleteFunc(b.others, func(file string) bool {
		one := b.ledger.known[file]
		if !one.awaits() || one.By == b.peers.By {
			return true
		}
		if b.peers.Runs == nil || b.peers.Runs(one.By) {
			return false
		}
		again, err := b.takeOver(ctx, one)
		return !again || err == nil || refusedByRelay(err)
	})
}

// inherit finds the last messages that other sidecars acknowledged and whose authors may not have been told.
func (b *box) inherit() {
	b.owed, b.paid = nil, answerLog{path: b.peers.Enabled.answerLog()}
	for _, one := range b.ledger.known {
		if one.Owes && one.last && one.By != b.peers.By {
			b.owed = append(b.owed, one.File)
		}
	}
	slices.Sort(b.owed)
}

// acknowledgeAgain has a message decided about anew if the sidecar that acknowledged it ended before it told
// the author. That sidecar may never come back. If it does, it finds that the author was told.
func (b *box) acknowledgeAgain(ctx context.Context) {
	if len(b.owed) == 0 || b.flying >= window {
		return
	}
	// Another sidecar may be stopped while it has the lock. Without the lock this may miss an answer that is being
	// written; whoever is about to write another one looks again, with the lock.
	if b.paid.look() != nil {
		return
	}
	b.owed = slices.DeleteFunc(b.owed, func(file string) bool {
		one := b.ledger.known[file]
		if !one.Owes || one.By == b.peers.By || b.paid.of[one.Our].Written {
			return true
		}
		if b.peers.Runs == nil || b.peers.Runs(one.By) || b.flying >= window {
			return false
		}
		again, err := b.takeOver(ctx, one)
		return !again || err == nil || refusedByRelay(err)
	})
}

// takeOver hands the relay a message about which another sidecar decided. It reports false if the file now
// holds another message.
func (b *box) takeOver(ctx context.Context, one line) (bool, error) {
	j := b.again(message.Delivery{Message: message.Envelope{ID: one.Our, Meta: map[string]string{metaFile: one.File}}})
	if j == nil {
		return false, nil
	}
	j.over, j.inherited = true, true
	b.jobs[j.our] = j
	fresh, err := b.peers.Relay.Receive(ctx, b.envelope(j))
	if err != nil {
		b.forget(j)
		b.complain(ctx, err)
		return true, err
	}
	b.record(ctx, one) // it is this sidecar's now
	j.flies = true
	b.flying++
	if !fresh {
		b.recall(ctx, j.our)
	}
	return true, nil
}

// rejected handles a person's no to a message.
func (b *box) rejected(ctx context.Context, file string, why message.Reason) {
	b.log(ctx, "Rejected", file, string(why))
	b.noes[file] = string(why)
	b.recordNoes(ctx)
}

// recordNoes writes persons' rejections to the ledger, once this sidecar has the claim.
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

// replied handles a receipt of an answer.
func (b *box) replied(ctx context.Context, file string, r message.Receipt) {
	switch {
	case needsWord(r):
		b.stalled(ctx, file, ofAnswer+string(r.Reason), r.Message)
	case r.State == message.Typed || r.State.Final():
		b.stalled(ctx, file, "", "")
		delete(b.replies, r.Message)
		b.peers.unwatch(r.Message)
	default:
		b.stalled(ctx, file, "", "")
	}
}

// setAside lets other jobs go before one whose message the relay does not give to the agent for now.
func (b *box) setAside(ctx context.Context, j *job, why message.Reason) {
	b.stalled(ctx, j.file, string(why), "")
	if b.current == j {
		b.current = nil
		b.aside = append(b.aside, j)
	}
	j.held = true
}

// unaside removes a job from those that were set aside.
func (b *box) unaside(j *job) {
	b.aside = slices.DeleteFunc(b.aside, func(one *job) bool { return one == j })
}
