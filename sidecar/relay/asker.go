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

// grace is how long a Decide may take to return once its time is over.
const grace = 100 * time.Millisecond

// What one sender said quickly, outside of chats, is asked about together, so that the verdicts are
// written down together.
const (
	ahead       = 256                   // messages
	aheadWithin = 5 * time.Millisecond  // for so long further verdicts are waited for, and while earlier ones are written down
	aheadMost   = 20 * time.Millisecond // or so long, if they go on
)

var (
	errNoAnswer = errors.New("no answer in time")
	errStuck    = errors.New("still busy with an earlier message")
)

// asker knows about what the policy is asked, and what waits for its turn: each message stands in
// the line of its sender and in that of its chat, and is asked about once it is the first in
// both. The loop owns it; what is asked about has a goroutine until its verdict, and so has what the
// same sender said after it outside of chats, as long as nobody else waits.
type asker struct {
	lines  map[string][]*question
	ready  []*question // those that are the first in their lines, in the order in which they became so
	asking []*batch    // those with questions without a verdict, a goroutine each
	lost   []*question // those that were given up, and whose Decide has not returned
	width  int         // how many there may be of both

	verdicts chan verdicts
	decided  []*question // whose verdicts are not taken in yet
	others   atomic.Bool // somebody waits for the turn of who is asked about now
}

// question is a message about which the policy is, or is to be, asked.
type question struct {
	message message.ID
	lines   []string
	verdict message.Verdict
	busy    <-chan struct{} // closed when the Decide that was given up returns; nil: none was

	asked bool // with one before it, before the verdict on that is taken in
}

// batch are questions that one goroutine asks, in their order. The loop adds to them as long as it asks.
type batch struct {
	line string // of their sender, the only one in which they stand; "": none are added

	mu     sync.Mutex
	qs     []*question // that it has not taken yet
	abouts []Question
	over   bool // it takes no more
}

// add reports whether a question will be asked with those before it.
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

// take is what came since the last time. It is over where that is to be the last, or was wanted and is nothing.
func (b *batch) take(wanted, last bool) (qs []*question, abouts []Question) {
	b.mu.Lock()
	defer b.mu.Unlock()
	qs, abouts, b.qs, b.abouts = b.qs, b.abouts, nil, nil
	b.over = last || wanted && len(qs) == 0
	return qs, abouts
}

// verdicts are what a goroutine has of its questions.
type verdicts struct {
	of   *batch
	on   []*question
	rest []*question // they were to be asked about with those, and give way to others
	last bool        // there are no more
}

// lines are those in which a message stands.
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

// add has a message stand in its lines.
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

// begin has a message asked about next that is the first in all of its lines.
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

// done takes a message out of its lines: whatever stands behind it there may be asked about.
func (a *asker) done(q *question) {
	var next []*question
	for _, line := range q.lines {
		rest := a.lines[line]
		if len(rest) == 0 || rest[0] != q {
			continue // all began again since
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

// reset forgets what waits. What is being asked about goes on.
func (a *asker) reset() {
	a.lines, a.ready = nil, nil
	for _, b := range a.asking {
		b.line = ""
	}
}

// full reports whether as many questions are asked as may be at a time. Where nothing but what
// was given up is in the way, the next one need not wait for that: it is stuck.
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

// stuck reports whether a question cannot be asked since earlier ones were given up.
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

// consult returns what asks the policy, if there is one, about all that may be asked about now,
// and what ends that.
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
			if len(q.lines) == 1 && !stuck { // what is behind it may not be, by then
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

// addBehind has asked about with a sender's messages what the same sender said after them, where nobody else waits. In a
// chat a verdict may give somebody else the floor: there each is asked about alone.
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
// longer it goes on, the more verdicts are handed in together.
func (l *loop) decideAll(ctx context.Context, b *batch, stuck bool) {
	qs, abouts := b.take(true, false)
	for within := aheadWithin; len(qs) > 0; within = min(2*within, aheadMost) {
		begun, done := time.Now(), 0
		for given := false; !given; {
			decided, busy := l.decide(ctx, abouts[done:], within-time.Since(begun), stuck)
			if ctx.Err() != nil {
				return // undecided: it is asked about again
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
				default: // something is being written down: what is decided meanwhile goes with these
				}
			}
		}
		qs, abouts = qs[done:], abouts[done:]
	}
}

// take is given verdicts, to be taken in one by one.
func (a *asker) take(v verdicts) {
	a.decided = append(a.decided, v.on...)
	for _, q := range v.rest {
		q.asked = false
	}
	if v.last {
		a.asking = slices.DeleteFunc(a.asking, func(b *batch) bool { return b == v.of })
	}
}

// next takes in a verdict, if there is one.
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

// decide asks about the first of messages, unless the policy is stuck, and about what may be asked with it. An error holds
// it.
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

// ask asks about one message, and those behind it that can be asked with it. What does not come back is left to itself.
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
			if all = ahead.DecideAhead(ctx, qs, within); len(all) > 0 {
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
		case <-time.After(grace): // one that heeds ctx is on its way
			return nil, back, errNoAnswer
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = errNoAnswer
	}
	for i, v := range all {
		if wrong := checkVerdict(v); err == nil && wrong != nil {
			if i > 0 {
				return all[:i], nil, nil // and that one is asked about by itself
			}
			err = wrong
		}
	}
	return all, nil, err
}
