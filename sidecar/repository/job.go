package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/foreign"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// approval is the outcome of a message that waits for a person's yes. All there was to do was to ask for it, so
// the message counts as processed.
const approval = "approval requested"

// job is the work to do about one message.
type job struct {
	file      string
	message   aea.Message
	hash      string
	our       message.ID
	flies     bool // the relay has it and has not decided
	over      bool // it is marked
	owes      bool // its author still has to be told that it was acknowledged
	inherited bool // taken over from a sidecar that no longer runs

	delivery message.Delivery // set once it may be acted on
	inLane   bool
	approved bool         // by a person
	asked    message.ID   // id of the message that the agent was given
	agent    message.Peer // the agent that was given it
	tried    []message.ID // agents that went away, or cannot have it
	since    time.Time    // when the agent was given it, or the command began
	waits    bool         // the relay takes nothing for now
	again    time.Time    // when to try again with an agent whose queue was full
	attempts int          // how often its queue was full
	held     bool         // the relay holds the message to the agent, which does not have it
	unsent   string       // an answer that the relay could not take yet, and the job's outcome with it
	unsentAs string
}

func (j *job) line(at stage) line {
	return line{File: j.file, Stage: at, Hash: j.hash, ID: j.message.ID, Our: j.our}
}

// landed notes that the relay has decided about a job.
func (b *box) landed(j *job) {
	if j.flies {
		j.flies = false
		b.flying--
	}
}

func (b *box) forget(j *job) {
	b.landed(j)
	b.unaside(j)
	for _, id := range []message.ID{j.our, j.asked} {
		delete(b.jobs, id)
		b.peers.unwatch(id)
	}
}

// heed handles a note.
func (b *box) heed(ctx context.Context, n note) {
	switch {
	case n.delivery != nil:
		b.deliver(ctx, *n.delivery)
	case n.receipt != nil:
		b.became(ctx, *n.receipt)
	case n.cancelled != nil:
		b.waits = slices.DeleteFunc(b.waits, func(w *wait) bool { return slices.Contains(n.cancelled, w.ID) })
		b.lane = slices.DeleteFunc(b.lane, func(j *job) bool {
			gone := slices.Contains(n.cancelled, j.delivery.ID)
			j.inLane = j.inLane && !gone
			return gone
		})
	case n.command != nil:
		b.ran(ctx, *n.command)
	}
}

// became handles a receipt of a message that came as a file, of its answer, or of a message that an agent was
// given.
func (b *box) became(ctx context.Context, r message.Receipt) {
	j := b.jobs[r.Message]
	switch {
	case r.Superseded(): // another delivery took its place, whose receipts come too
	case b.replies[r.Message] != "":
		b.replied(ctx, b.replies[r.Message], r)
	case r.Reason == message.DecidedElsewhere:
		if j != nil {
			b.forget(j)
		}
	case j == nil && b.awaited[r.Message] != "" && r.State == message.Failed:
		if r.Reason == message.AgentGone {
			b.notify(ctx, "%s: %s was waiting for your approval when the repository was disabled. It is not delivered unless it is sent again", b.dir.Path, b.awaited[r.Message])
		}
		b.rejected(ctx, b.awaited[r.Message], r.Reason)
	case j == nil:
	case j.asked == r.Message:
		b.answered(ctx, j, r)
	case r.Target == b.peer.ID:
		b.decided(ctx, j, r)
	}
}

// decided handles what the relay decided about a message.
func (b *box) decided(ctx context.Context, j *job, r message.Receipt) {
	ends := map[message.Reason]string{
		message.Acknowledged: "acknowledged", message.Dropped: "dropped by a policy", message.Bounced: "sent back by a policy",
	}
	switch {
	case r.State == message.Held && r.Awaits() && r.Hold != message.HoldFilter: // a failed filter waits for policies instead
		b.landed(j)
		b.awaited[j.our] = j.file
		b.finish(ctx, j, approval)
	case r.State == message.Held:
		b.landed(j) // held by a brake, a pause or a failed filter; a person was told
		b.stalled(ctx, j.file, string(r.Reason), "")
	case j.over && r.Reason == message.Acknowledged: // for a sidecar that had not told the author
		b.forget(j)
	case r.State == message.Failed && j.over:
		b.rejected(ctx, j.file, r.Reason)
		b.forget(j)
	case r.State == message.Failed || r.State == message.Expired:
		if ends[r.Reason] == "" { // nobody decided this
			b.notify(ctx, "%s: %s from %s was not passed on: %s: %s", b.dir.Path, j.message.Type, j.message.From.ID, r.Reason, j.message.Subject)
			if _, back := b.peers.sender(b.way(j.message), b.dir.Path); back && j.message.RequiresResponse() {
				b.reply(ctx, j, "not passed on: "+string(r.Reason), fmt.Sprintf("%s: %s", r.State, r.Reason))
			}
		}
		j.owes = r.Reason == message.Acknowledged && j.message.RequiresResponse()
		b.finish(ctx, j, cmp.Or(ends[r.Reason], fmt.Sprintf("%s: %s", r.State, r.Reason)))
		b.forget(j)
	case (r.State == message.Submitted || r.State == message.Answered) && !j.inLane && b.current != j: // an earlier run acted on it
		b.finish(ctx, j, "acted on")
		b.forget(j)
	}
}

// finish marks a message as processed. It writes the ledger first, so that nothing is done twice.
func (b *box) finish(ctx context.Context, j *job, became string) {
	if j.over {
		return
	}
	j.over = true
	one := j.line(done)
	one.Became, one.Owes = became, j.owes
	b.record(ctx, one)
	b.unmarked = append(b.unmarked, j.file)
	if !b.gathers {
		b.mark(ctx)
	}
	b.logDone(ctx, j.file, became)
}

// mark makes the markers that are due. If one cannot be made, a later scan makes it.
func (b *box) mark(ctx context.Context) {
	for _, err := range b.dir.MarkAll(b.unmarked...) {
		if err != nil {
			b.complain(ctx, err)
		}
	}
	b.unmarked = b.unmarked[:0]
}

// maxLog is the most bytes that agent.log may have to be read.
const maxLog = 64 << 20

// complete does what an earlier owner did not get to. It writes the log lines that the last messages lack; the
// scan makes missing markers.
func (b *box) complete(ctx context.Context) {
	text, err := foreign.ReadItself(b.dir.at(logName), maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return
	}
	logged := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if _, what, ok := strings.Cut(line, "] Processed: "); ok {
			name, _, _ := strings.Cut(what, " -> ")
			logged[name] = true
		}
	}
	for _, one := range b.ledger.known {
		if one.Stage == done && one.By != "" && one.Became != "" && one.last && !logged[word(folder+"/"+one.File)] {
			b.log(ctx, "Processed", one.File, one.Became)
		}
	}
}

// deliver takes a message that may be acted on. Without the claim, the message waits for it.
func (b *box) deliver(ctx context.Context, d message.Delivery) {
	j := b.jobs[d.Message.ID]
	if j != nil {
		b.landed(j)
		if j.inLane || b.current == j {
			return // the relay hands it over once more
		}
	}
	if b.claim == nil || b.stopped() && !b.approved(ctx, d.Message.ID) {
		b.await(ctx, d)
		return
	}
	if j == nil {
		j = b.again(d)
	}
	if j == nil {
		b.complain(ctx, fmt.Errorf("message %q is not there any more", d.Message.Meta[metaFile]))
		_ = b.peers.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: message.Failed, Reason: "the file of the message has gone"})
		return
	}
	j.delivery, j.approved = d, b.approved(ctx, j.our)
	state, why := b.overAs(j)
	if b.isOver(ctx, j) {
		if err := b.overWith(ctx, d, state, why); err != nil {
			b.unpermitted(j, err)
		} else {
			b.forget(j)
		}
		return
	}
	if err := b.report(ctx, d, message.Typed, ""); err != nil {
		b.unpermitted(j, err)
		return
	}
	b.stalled(ctx, j.file, "", "")
	j.inLane = true
	b.jobs[j.our] = j
	b.lane = append(b.lane, j)
}

// unpermitted handles the relay's refusal to give permission. What the relay paused, it hands over again. What
// it could not write down, it does not hand over again, so the box asks again.
func (b *box) unpermitted(j *job, err error) {
	if unwritable(err) {
		b.waits = append(b.waits, &wait{j.delivery, j.approved, j.inherited})
	}
}

func unwritable(err error) bool {
	_, is := errors.AsType[*message.UnwritableError](err)
	return is
}

// isOver reports whether there is nothing left to do about a message. Either it is marked (a marker that was
// made because a person had to approve it does not count once they have), or an earlier run or another sidecar
// has come that far.
func (b *box) isOver(ctx context.Context, j *job) bool {
	one, known := b.ledger.known[j.file]
	switch {
	case known && one.Stage == acting && one.By != b.peers.By:
		b.interrupted(ctx, one)
		return true
	case known && one.Stage == done && one.Became == approval:
		j.over = true
		return !j.approved && !j.inherited
	case known && one.Stage != taken && one.Stage != acting:
		return true
	case j.over: // in the archive, for example
		return !j.approved
	case !b.dir.marked(j.file):
		return false
	}
	j.over = true
	if !j.approved {
		b.ignore(ctx, j.file)
	}
	return !j.approved
}

// again returns the job of a message that an earlier run took in. The id proves that it is the same file: only
// a sidecar that took in that very file knows the id derived from it.
func (b *box) again(d message.Delivery) *job {
	name := d.Message.Meta[metaFile]
	if !aea.IsName(name) {
		return nil
	}
	for _, path := range []string{b.dir.at(name), b.dir.at(archived, name)} {
		text, _, err := foreign.ReadOurs(path, aea.MaxMessage)
		if err != nil {
			continue
		}
		m, err := aea.Read(name, text)
		if err != nil {
			continue
		}
		if j := b.job(name, m, text); j.our == d.Message.ID {
			j.over = path != b.dir.at(name)
			b.peers.watch(j.our, b)
			return j
		}
	}
	return nil
}

func (b *box) report(ctx context.Context, d message.Delivery, state message.ReceiptState, words string) error {
	return b.peers.Relay.Report(ctx, message.Receipt{Delivery: d.ID, State: state, Words: words})
}

// settle ends a job that was acted on.
func (b *box) settle(ctx context.Context, j *job, became, words string) {
	if err := b.report(ctx, j.delivery, message.Submitted, ""); err == nil && words != "" {
		_ = b.report(ctx, j.delivery, message.Answered, words)
	}
	if j.over {
		how := "Approved"
		if !j.approved { // it no longer needs a yes
			how = "Released"
		}
		one := j.line(done)
		one.Became = strings.ToLower(how) + ": " + became
		b.record(ctx, one)
		b.log(ctx, how, j.file, became)
	} else {
		b.finish(ctx, j, became)
	}
	b.forget(j)
	if b.current == j {
		b.current = nil
	}
}
