package relay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// defaultPatience is how long a policy may think about one message.
const defaultPatience = 5 * time.Second

// grace is how long a Decide may take to return after its time is over.
const grace = 100 * time.Millisecond

// The policy is asked together about what one sender said in quick succession outside of chats, so
// that the verdicts are written together.
const (
	ahead       = 256                   // messages
	aheadWithin = 5 * time.Millisecond  // how long to wait for further verdicts, and longer while earlier ones are written
	aheadMost   = 20 * time.Millisecond // the longest such wait, if verdicts keep coming
)

var (
	errNoAnswer = errors.New("no answer in time")
	errStuck    = errors.New("still busy with an earlier message")
)

// asker knows which messages the policy is being asked about, and which wait for their turn. Each
// message stands in the line of its sender and in the line of its chat; the policy is asked about
// it once it is the first in both. The loop owns the asker. A question has a goroutine until its
// verdict; that goroutine also asks what the same sender said next outside of chats, as long as
// nobody else waits.
type asker struct {
	lines  map[string][]*question
	ready  []*question // the first in all their lines, in the order in which they became so
	asking []*batch    // those with questions without a verdict, one goroutine each
	lost   []*question // questions given up whose Decide has not returned
	width  int         // how many of asking and lost there may be

	verdicts chan verdicts
	decided  []*question // questions whose verdicts are not taken in yet
	others   atomic.Bool // another sender or chat waits for a turn
}

// question is a message that the policy is, or will be, asked about.
type question struct {
	message message.ID
	lines   []string
	verdict message.Verdict
	busy    <-chan struct{} // closed when the Decide that was given up returns; nil: none was given up

	asked bool // together with an earlier one, whose verdict is not taken in yet
}

// batch holds the questions that one goroutine asks, in their order. The loop adds to it as long as
// the goroutine asks.
type batch struct {
	line string // the line of their sender, the only one they stand in; "": no more are added

	mu     sync.Mutex
	qs     []*question // those that the goroutine has not taken yet
	abouts []Question
	over   bool // it takes no more
}

// add adds a question, and reports whether it will be asked after those before it.
func (b *batch) add(q *question, about Question) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return false
	}
	q.asked = true
	b.qs, b.abouts = append(b.qs, q), append(b.abouts, about)
	return true
}

// take returns what was added since the last call. The batch is over if this call is the last, or
// if more was wanted and nothing came.
func (b *batch) take(wanted, last bool) (qs []*question, abouts []Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	qs, abouts, b.qs, b.abouts = b.qs, b.abouts, nil, nil
	b.over = last || wanted && len(qs) == 0
	return qs, abouts
}

// verdicts are the questions of one goroutine that now have verdicts.
type verdicts struct {
	of   *batch
	on   []*question
	rest []*question // not asked yet: they give way to others
	last bool        // there are no more
}

// lines returns the lines that a message stands in.
func (s *State) lines(id message.ID) []string {
	t := s.undecided[id]
	if t == nil {
		return nil
	}
	lines := []string{"of " + string(t.message.From.Peer)}
	if t.chat != nil {
		lines = append(lines, "in "+string(t.chat.ID))
	}
	return lines
}

// add puts a message into its lines.
func (a *asker) add(id message.ID, lines []string) {
	if len(lines) == 0 {
		return // it is decided
	}
	if a.lines == nil {
		a.lines = make(map[string][]*question)
	}
	q := &question{message: id, lines: lines}
	for _, line := range lines {
		a.lines[line] = append(a.lines[line], q)
	}
	a.begin(q)
}

// begin makes a message the next to ask about, if it is the first in all of its lines.
func (a *asker) begin(q *question) {
	if q.asked {
		return
	}
	for _, line := range q.lines {
		if a.lines[line][0] != q {
			return
		}
	}
	a.ready = append(a.ready, q)
}

// done takes a message out of its lines: the message behind it in each may be asked about.
func (a *asker) done(q *question) {
	var next []*question
	for _, line := range q.lines {
		rest := a.lines[line]
		if len(rest) == 0 || rest[0] != q {
			continue // the lines were reset since
		}
		if a.lines[line] = rest[1:]; len(rest) == 1 {
			delete(a.lines, line)
		} else if len(next) == 0 || next[0] != rest[1] {
			next = append(next, rest[1])
		}
	}
	for _, q := range next {
		a.begin(q)
	}
}

// reset forgets the questions that wait. Those being asked go on.
func (a *asker) reset() {
	a.lines, a.ready = nil, nil
	for _, b := range a.asking {
		b.line = ""
	}
}

// full reports whether as many questions are being asked as may be at a time. If only questions
// that were given up fill that number, it reports false: the next question need not wait for them,
// since it is stuck.
func (a *asker) full() bool {
	a.lost = slices.DeleteFunc(a.lost, func(q *question) bool {
		select {
		case <-q.busy:
			return true
		default:
			return false
		}
	})
	return len(a.asking) > 0 && len(a.asking)+len(a.lost) >= a.width
}

// stuck reports whether a question cannot be asked because earlier ones were given up.
func (a *asker) stuck(q *question) bool {
	if len(a.lost) >= a.width {
		return true
	}
	for _, one := range a.lost {
		if slices.ContainsFunc(one.lines, func(line string) bool { return slices.Contains(q.lines, line) }) {
			return true
		}
	}
	return false
}

// consult returns two functions: next asks the policy, if there is one, about all messages that may
// be asked about now; end stops that.
func (l *loop) consult(ctx context.Context) (next, end func()) {
	if l.Policy == nil {
		return func() {}, func() {}
	}
	a := &l.asker
	a.width, a.verdicts = 1, make(chan verdicts)
	if wide, ok := l.Policy.(Wide); ok {
		a.width = max(a.width, wide.Width())
	}
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	next = func() {
		for len(a.ready) > 0 && !a.full() {
			q := a.ready[0]
			a.ready = a.ready[1:]
			about := l.state.question(q.message)
			if about == nil {
				a.done(q)
				continue
			}
			b := &batch{}
			stuck := a.stuck(q)
			if len(q.lines) == 1 && !stuck { // when stuck, what stands behind it may not be stuck by then
				b.line = q.lines[0]
			}
			b.add(q, *about)
			a.asking = append(a.asking, b)
			a.others.Store(len(a.ready) > 0)
			l.addBehind(b)
			all.Go(func() { l.decideAll(ctx, b, stuck) })
		}
		a.others.Store(len(a.ready) > 0)
		for _, b := range a.asking {
			l.addBehind(b)
		}
	}
	return next, func() {
		cancel()
		all.Wait()
	}
}

// addBehind adds to a batch what the same sender said after its messages, if nobody else waits. In
// a chat a verdict may give somebody else the floor, so there each message is asked about alone.
func (l *loop) addBehind(b *batch) {
	if b.line == "" || len(l.asker.ready) > 0 {
		return
	}
	for i, q := range l.asker.lines[b.line] {
		if i == ahead || len(q.lines) != 1 {
			return
		}
		if q.asked {
			continue
		}
		about := l.state.question(q.message)
		if about == nil || !b.add(q, *about) {
			return
		}
	}
}

// decideAll asks about messages of one sender, one after the other, until somebody else waits. The
// longer that goes on, the more verdicts it hands in together.
func (l *loop) decideAll(ctx context.Context, b *batch, stuck bool) {
	qs, abouts := b.take(true, false)
	for within := aheadWithin; len(qs) > 0; within = min(2*within, aheadMost) {
		begun, done := time.Now(), 0
		for given := false; !given; {
			decided, busy := l.decide(ctx, abouts[done:], within-time.Since(begun), stuck)
			if ctx.Err() != nil {
				return // undecided: the next run asks about it again
			}
			for _, v := range decided {
				qs[done].verdict = v
				done++
			}
			qs[done-1].busy, stuck = busy, stuck || busy != nil
			others := l.asker.others.Load()
			more, about := b.take(done == len(qs), others)
			qs, abouts = append(qs, more...), append(abouts, about...)
			v := verdicts{of: b, on: qs[:done], last: done == len(qs)}
			if others {
				v.rest, v.last = qs[done:], true
			}
			switch {
			case v.last:
				select {
				case l.asker.verdicts <- v:
				case <-ctx.Done():
				}
				return
			case time.Since(begun) >= within:
				select {
				case l.asker.verdicts <- v:
					given = true
				default: // the loop is writing: what is decided meanwhile joins these
				}
			}
		}
		qs, abouts = qs[done:], abouts[done:]
	}
}

// take accepts verdicts; next then takes them in one by one.
func (a *asker) take(v verdicts) {
	a.decided = append(a.decided, v.on...)
	for _, q := range v.rest {
		q.asked = false
	}
	if v.last {
		a.asking = slices.DeleteFunc(a.asking, func(b *batch) bool { return b == v.of })
	}
}

// next takes in one verdict, if there is one, and returns its event.
func (a *asker) next() (e Event, ok bool) {
	if len(a.decided) == 0 {
		return nil, false
	}
	q := a.decided[0]
	a.decided = a.decided[1:]
	if q.busy != nil {
		a.lost = append(a.lost, q)
	}
	a.done(q)
	return Decided{q.verdict}, true
}

// decide asks about the first of the questions, unless the policy is stuck, and about those that
// may be asked with it. If the policy is stuck or fails, the verdict holds the first message.
func (l *loop) decide(ctx context.Context, qs []Question, within time.Duration, stuck bool) (all []message.Verdict, busy <-chan struct{}) {
	err := errStuck
	if !stuck {
		all, busy, err = ask(ctx, l.Policy, cmp.Or(l.Patience, defaultPatience), qs, within)
	}
	if err != nil {
		if ctx.Err() == nil {
			l.log.Error("policy", "msg", qs[0].Message.ID, "err", err)
		}
		all = []message.Verdict{{Decision: message.Decision{Verb: message.VerbHold, Reason: "policy: " + err.Error(), By: "built in", Notify: true}, Unfiltered: true}}
	}
	for i := range all {
		all[i].Message = qs[i].Message.ID
		if all[i].At.IsZero() {
			all[i].At = l.now()
		}
	}
	return all, busy
}

// ask asks the policy about the first question, and about those behind it that can be asked with
// it. A call that does not return in time is abandoned.
func ask(ctx context.Context, policy Policy, patience time.Duration, qs []Question, within time.Duration) ([]message.Verdict, <-chan struct{}, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var all []message.Verdict
	var err error
	back := make(chan struct{})
	go func() {
		defer close(back)
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		if ahead, ok := policy.(Ahead); ok && len(qs) > 1 {
			if all = ahead.DecideAhead(ctx, qs, within); len(all) > len(qs) {
				err = fmt.Errorf("%d verdicts on %d messages", len(all), len(qs))
			}
			if len(all) > 0 {
				return
			}
		}
		all = make([]message.Verdict, 1)
		all[0], err = policy.Decide(ctx, qs[0])
	}()
	select {
	case <-back:
	case <-ctx.Done():
		select {
		case <-back:
		case <-time.After(grace): // a policy that heeds ctx returns within this time
			return nil, back, errNoAnswer
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	for i, v := range all {
		if wrong := checkVerdict(v); err == nil && wrong != nil {
			if i > 0 {
				return all[:i], nil, nil // the wrong one is then asked about alone
			}
			err = wrong
		}
	}
	return all, nil, err
}
