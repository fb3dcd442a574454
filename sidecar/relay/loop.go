package relay

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// loop holds what the goroutine of Run owns.
type loop struct {
	*Relay
	state   *State
	now     func() time.Time
	log     *slog.Logger
	tokens  Token // the last one made
	waiting map[Token]chan<- outcome
	stuck   *stuck // nil: the journal can be written
	stored  uint64 // State.changes at the time of the last stored snapshot

	handing []message.Delivery // of one step, to be handed to a sink together
	to      message.PeerKind   // the kind of that sink

	asker asker
}

func (r *Relay) newLoop() *loop {
	l := &loop{Relay: r, now: r.Now, log: r.Log, waiting: make(map[Token]chan<- outcome)}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	l.state = NewState(seed(), message.Limits{})
	l.state.Step(l.now(), r.Limits)
	l.state.person = r.Person
	return l
}

func seed() (s [32]byte) {
	_, _ = crand.Read(s[:]) // never fails, as documented
	return s
}

// posted is an event in the queue, with the channel on which its caller awaits the outcome.
type posted struct {
	event Event
	back  chan<- outcome // nil: nobody waits; else it has room for one
}

type outcome struct {
	answer Answer
	err    error
}

// answer sends the error, or nil, to the caller, if one waits; from then on none does.
func (p *posted) answer(err error) {
	if p.back != nil {
		p.back <- outcome{err: err}
	}
	p.back = nil
}

// pace returns the interval of ticks for now.
func (l *loop) pace() time.Duration {
	if l.stuck != nil {
		return tickStuck
	}
	if l.state.waits() {
		return tickWaiting
	}
	return tickIdle
}

// drain takes in what was queued before the end: its callers were told that it had been taken.
func (l *loop) drain(ctx context.Context) error {
	for next, ok := l.ready(); ok; next, ok = l.ready() {
		if err := l.take(ctx, together(next, l.ready)); err != nil {
			return err
		}
	}
	if l.stuck != nil { // the last chance: the next run must learn again of what is not written now
		return l.tryAgain(context.WithoutCancel(ctx))
	}
	return nil
}

// ready returns the next event that already waits, if there is one.
func (l *loop) ready() (next posted, ok bool) {
	select {
	case next = <-l.urgent:
		return next, true
	default:
	}
	if next.event, ok = l.asker.next(); ok {
		return next, true
	}
	select {
	case next = <-l.urgent:
	case next = <-l.queue:
	case v := <-l.asker.verdicts:
		l.asker.take(v)
		next.event, _ = l.asker.next()
	default:
		return posted{}, false
	}
	return next, true
}

// take makes events happen, each with everything that follows from it before the next one, and
// writes them together; while nothing can be written, it keeps them for later. If there is only one
// event, what follows from it is written after it: nobody waits longer than for what the event
// itself does.
func (l *loop) take(ctx context.Context, ps []posted) error {
	// A step that was begun is finished: a transaction cut short would leave the State ahead of the
	// journal.
	ctx = context.WithoutCancel(ctx)
	g := group{alone: len(ps) == 1}
	for _, p := range ps {
		if l.stuck != nil {
			l.stuck.put(p)
			continue
		}
		var err error
		event := p.event
		if e, ok := event.(prepared); ok {
			event, err = e.prepare(&lookup{loop: l, ctx: ctx, back: p.back})
		}
		if err == nil {
			err = l.carryOut(ctx, &g, []Event{event})
		}
		if err != nil {
			return errors.Join(err, l.write(ctx, &g, nil))
		}
	}
	return l.write(ctx, &g, nil)
}

// carryOut makes events happen, and after them the events that follow from them.
func (l *loop) carryOut(ctx context.Context, g *group, events []Event) error {
	for len(events) > 0 && l.stuck == nil {
		event := events[0]
		effects := l.state.Step(l.now(), event)
		events = events[1:]
		for _, effect := range effects {
			if e, ok := effect.(followed); ok {
				events = append(events, e.follow(l)...)
			}
		}
		g.add(event, effects)
		if g.alone {
			if err := l.write(ctx, g, events); err != nil {
				return err
			}
		}
	}
	return nil
}

// write commits a group, then does what its steps ask for. The events in rest happen after it.
func (l *loop) write(ctx context.Context, g *group, rest []Event) error {
	done := *g
	*g = group{alone: done.alone}
	if len(done.steps) > 0 {
		err := l.Journal.Commit(ctx, done.steps...)
		if _, waits := errors.AsType[*message.UnwritableError](err); waits {
			l.getStuck(done, rest, err)
			return nil
		}
		if err != nil {
			return fmt.Errorf("commit a step of the relay: %w", err)
		}
	}
	if len(done.events) > 0 {
		l.perform(done.effects)
	}
	return nil
}

// perform carries out the effects of steps that are on disk.
func (l *loop) perform(steps [][]Effect) {
	l.store()
	for _, effects := range steps {
		for _, effect := range effects {
			if _, more := effect.(Deliver); !more {
				l.handOver()
			}
			effect.perform(l)
		}
		l.handOver()
	}
}

// handOver gives consecutive deliveries to their sink in one call.
func (l *loop) handOver() {
	if len(l.handing) > 0 {
		l.sink(l.to).Deliver(l.handing...)
		l.handing = nil
	}
}

// sink returns the sink for a kind of peer. If this run has none, the deliveries go nowhere, until
// they expire.
func (l *loop) sink(kind message.PeerKind) Sink {
	sink := l.Sinks[kind]
	if kind == message.PeerPane {
		sink = l.Sink
	}
	if sink == nil {
		l.log.Warn("no sink", "kind", kind)
		sink = nowhere{}
	}
	return sink
}

type nowhere struct{}

func (nowhere) Deliver(...message.Delivery) {}

func (nowhere) Cancel([]message.ID, message.Reason) {}

func (nowhere) Forget(message.ID) {}

// store publishes whether everything is stopped, what is known of teams, and the snapshot if it has
// changed.
func (l *loop) store() {
	l.Relay.stopped.Store(l.state.stopped)
	if p := l.state.protocols(); len(p.Seats)+len(p.Affairs)+len(p.Orders) > 0 || l.Relay.teams.Load() != nil {
		l.Relay.teams.Store(&p)
	}
	if l.stored == l.state.changes {
		return
	}
	l.stored = l.state.changes
	s := l.state.Snapshot()
	l.snapshot.Store(&s)
}

// answer wakes the caller that waits for the token.
func (l *loop) answer(token Token, o outcome) {
	if back, ok := l.waiting[token]; ok {
		delete(l.waiting, token)
		back <- o
	}
}
