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

// approval is what became of a message that waits for a person's yes: asking for it is what was
// to be done, and so it is processed.
const approval = "approval requested"

// job is what is to be done about one message.
type job struct {
	file      string
	message   aea.Message
	hash      string
	our       message.ID
	flies     bool // it is with the relay, and not decided
	over      bool // it is marked
	owes      bool // its author is to be told that it was acknowledged
	inherited bool // from a sidecar that asked a person about it and does not run any more

	delivery message.Delivery // once it may be acted on
	inLane   bool
	approved bool         // by a person
	asked    message.ID   // what the agent was given
	agent    message.Peer // who that is
	tried    []message.ID // agents that went away
	since    time.Time    // when it was given, or its command began
	waits    bool         // the relay takes nothing for now
	again    time.Time    // when it is tried again with an agent of whom too much was asked
	attempts int          // how often that was
	held     bool         // what the agent was to be given is held: see setAside
	unsent   string       // an answer that waits for that, and what it makes of the job
	unsentAs string
}

func (j *job) line(at stage) line {
	return line{File: j.file, Stage: at, Hash: j.hash, ID: j.message.ID, Our: j.our}
}

// landed notes that something was decided about it.
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

// heed takes in what happened.
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

// became takes in a receipt of a message that came as a file, or of what an agent was given.
func (b *box) became(ctx context.Context, r message.Receipt) {
	j := b.jobs[r.Message]
	switch {
	case r.Superseded(): // there is another delivery, and what becomes of that is told too
	case b.replies[r.Message] != "":
		b.replied(ctx, b.replies[r.Message], r)
	case r.Reason == message.DecidedElsewhere:
		if j != nil {
			b.forget(j)
		}
	case j == nil && b.awaited[r.Message] != "" && r.State == message.Failed:
		if r.Reason == message.AgentGone {
			b.notify(ctx, "%s: %s awaited your approval when the repository was disabled: nobody gets it, unless it is sent again", b.dir.Path, b.awaited[r.Message])
		}
		b.rejected(ctx, b.awaited[r.Message], r.Reason)
	case j == nil:
	case j.asked == r.Message:
		b.answered(ctx, j, r)
	case r.Target == b.peer.ID:
		b.decided(ctx, j, r)
	}
}

// decided takes in what was decided about a message.
func (b *box) decided(ctx context.Context, j *job, r message.Receipt) {
	ends := map[message.Reason]string{
		message.Acknowledged: "acknowledged", message.Dropped: "dropped by a policy", message.Bounced: "sent back by a policy",
	}
	switch {
	case r.State == message.Held && r.Awaits() && r.Hold != message.HoldFilter: // which waits for policies rather
		b.landed(j)
		b.awaited[j.our] = j.file
		b.finish(ctx, j, approval)
	case r.State == message.Held:
		b.landed(j) // by a brake, a pause or a failed filter, and a person was told
		b.stalled(ctx, j.file, string(r.Reason), "")
	case j.over && r.Reason == message.Acknowledged: // for a sidecar that had not told its author
		b.forget(j)
	case r.State == message.Failed && j.over:
		b.rejected(ctx, j.file, r.Reason)
		b.forget(j)
	case r.State == message.Failed || r.State == message.Expired:
		if ends[r.Reason] == "" { // nobody decided that
			b.notify(ctx, "%s: %s from %s was not passed on: %s: %s", b.dir.Path, j.message.Type, j.message.From.ID, r.Reason, j.message.Subject)
			if _, back := b.peers.sender(b.way(j.message), b.dir.Path); back && j.message.RequiresResponse() {
				b.reply(ctx, j, "not passed on: "+string(r.Reason), fmt.Sprintf("%s: %s", r.State, r.Reason))
			}
		}
		j.owes = r.Reason == message.Acknowledged && j.message.RequiresResponse()
		b.finish(ctx, j, cmp.Or(ends[r.Reason], fmt.Sprintf("%s: %s", r.State, r.Reason)))
		b.forget(j)
	case (r.State == message.Submitted || r.State == message.Answered) && !j.inLane && b.current != j: // by an earlier run
		b.finish(ctx, j, "acted on")
		b.forget(j)
	}
}

// finish marks a message as processed: the ledger first, so that nothing is done twice.
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

// mark makes the markers that are due. One that cannot be made is made by the scan.
func (b *box) mark(ctx context.Context) {
	for _, err := range b.dir.MarkAll(b.unmarked...) {
		if err != nil {
			b.complain(ctx, err)
		}
	}
	b.unmarked = b.unmarked[:0]
}

// maxLog is how much of agent.log is read.
const maxLog = 64 << 20

// complete does what an earlier owner had not come to: markers are made by the scan; of the last
// messages the lines of the log are made here.
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

// deliver takes a message that may be acted on, once the claim is here.
func (b *box) deliver(ctx context.Context, d message.Delivery) {
	j := b.jobs[d.Message.ID]
	if j != nil {
		b.landed(j)
		if j.inLane || b.current == j {
			return // it is handed over once more
		}
	}
	if b.claim == nil {
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

// unpermitted takes in that the relay gave no permission. What is paused it hands over again; what could not be written
// down it does not, and that is asked for again.
func (b *box) unpermitted(j *job, err error) {
	if unwritable(err) {
		b.waits = append(b.waits, &wait{j.delivery, j.approved})
	}
}

func unwritable(err error) bool {
	_, is := errors.AsType[*message.UnwritableError](err)
	return is
}

// isOver reports whether nothing is to be done about a message any more: it is marked, and not since
// a person was to see it; or an earlier run, or another sidecar, came as far.
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
	case j.over: // in the archive, say
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

// again is the job of a message that an earlier run took in. Nobody but whoever took in that very
// file knows the id that comes of it.
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
		if !j.approved { // it needs no yes any more
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
