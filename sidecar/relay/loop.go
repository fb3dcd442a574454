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

// loop is what the goroutine of Run owns.
type loop struct {
	*Relay
	state   *State
	now     func() time.Time
	log     *slog.Logger
	tokens  Token // the last that was made
	waiting map[Token]chan<- outcome
	stuck   *stuck // nil: what happens can be written down
	stored  uint64 // State.changes at the time of the last stored snapshot

	handing []message.Delivery // of one step: to be handed to a sink, together
	to      message.PeerKind   // whose sink it is

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

// posted is an event in the queue, with the channel on which its outcome is awaited.
type posted struct {
	event Event
	back  chan<- outcome // nil: nobody waits; else it has room for one
}

type outcome struct {
	answer Answer
	err    error
}

// answer tells whoever waits, who then waits no more.
func (p *posted) answer(err error) {
	if p.back != nil {
		p.back <- outcome{err: err}
	}
	p.back = nil
}

// pace is how often time passes now.
func (l *loop) pace() time.Duration {
	if l.stuck != nil {
		return tickStuck
	}
	if l.state.waits() {
		return tickWaiting
	}
	return tickIdle
}

// drain takes in what was handed over before the end: whoever did so was told that it had
// been taken.
func (l *loop) drain(ctx context.Context) error {
	for next, ok := l.ready(); ok; next, ok = l.ready() {
		if err := l.take(ctx, together(next, l.ready)); err != nil {
			return err
		}
	}
	if l.stuck != nil { // the last chance: what is not written now, the next life reads of again
		return l.tryAgain(context.WithoutCancel(ctx))
	}
	return nil
}

// ready is the next event that waits already, if one does.
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

// take has events happen, each with all that follows from it before the next, and writes them down
// together; while nothing can be written, later. What follows from one that is alone is written
// after it: nobody waits longer for what an event does itself.
func (l *loop) take(ctx context.Context, ps []posted) error {
	// A step that was begun is finished: a transaction cut short would leave the State
	// ahead of the journal.
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

// carryOut has events happen, and behind them those that follow from them.
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

// write writes a group down, and does what its steps ask for then; the rest happens after it.
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

// perform does what steps that are on disk ask for.
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

// handOver gives the deliveries that follow each other to their sink, at once.
func (l *loop) handOver() {
	if len(l.handing) > 0 {
		l.sink(l.to).Deliver(l.handing...)
		l.handing = nil
	}
}

// sink is where what is for that kind of peer goes: nowhere, where nothing of this run knows it,
// until it expires.
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

// store publishes whether all is stopped, and the snapshot if it has changed.
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

// answer wakes whoever waits for the token.
func (l *loop) answer(token Token, o outcome) {
	if back, ok := l.waiting[token]; ok {
		delete(l.waiting, token)
		back <- o
	}
}
