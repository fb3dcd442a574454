package relay

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Journal is where a step is written down. Its methods are called by Run alone.
type Journal interface {
	// Commit writes steps in one transaction, in their order; they are on disk when it returns nil.
	Commit(ctx context.Context, steps ...message.Step) error
	// Seen reports whether a message of that id was ever received.
	Seen(ctx context.Context, id message.ID) (bool, error)
}

// Sink is where deliveries to one kind of peer go, as panes are. Its methods must not block: Run
// calls them.
type Sink interface {
	Deliver(ds ...message.Delivery)                 // as the effects Deliver; those that follow each other in a step come at once
	Cancel(ids []message.ID, reason message.Reason) // as the effect Cancel
	Forget(id message.ID)                           // as the effect Forget
}

const (
	defaultQueue = 256

	// How often time passes: while there is something to wait for, and else.
	tickWaiting = time.Second
	tickIdle    = time.Minute
)

// Relay runs a State. Its zero value with the required fields is ready; Run runs it, once.
// All other methods may be called from any goroutine, before Run too: they wait for it.
type Relay struct {
	Journal  Journal                   // required
	Sink     Sink                      // the panes; required
	Sinks    map[message.PeerKind]Sink // of the other kinds of peers that there are
	Policy   Policy                    // nil: deliver everything
	Patience time.Duration             // how long the policy may think about a message; 0: five seconds
	Publish  func([]message.Event)     // must not block; nil: nobody watches
	Troubled func(error)               // Trouble is another now; must not block; nil: nobody wants to know
	Log      *slog.Logger              // nil: nothing is logged
	Now      func() time.Time          // nil: time.Now
	Awake    func() time.Duration      // how long the computer has been awake, since whenever; nil: by the monotonic clock
	Limits   message.Limits            // of chats that set none; zero fields: the built-in ones
	Restored *Restored                 // what an earlier run left; nil: nothing
	// Again reads what this run has left in the journal so far: after a step that could not be
	// written, and must not be, all begins again from there. nil: such a step is carried out later.
	Again  func(context.Context) (*Restored, error)
	Person string // how one goes by who types into a pane by hand; "": "person"
	Queue  int    // events that may wait before those who bring them do; 0: 256

	once     sync.Once
	queue    chan posted
	urgent   chan posted   // what must not wait behind the queue: pause and stop
	begun    chan struct{} // closed when what an earlier run left has been taken over
	done     chan struct{}
	snapshot atomic.Pointer[registry.Snapshot]
	stopped  atomic.Bool
	trouble  atomic.Pointer[error]
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

func (r *Relay) init() {
	r.once.Do(func() {
		size := r.Queue
		if size <= 0 {
			size = defaultQueue
		}
		r.queue = make(chan posted, size)
		r.urgent = make(chan posted, size)
		r.begun, r.done = make(chan struct{}), make(chan struct{})
	})
}

// Run takes events from the queue until ctx ends; then it returns nil. Those that wait already
// are written down together, which changes nothing that one by one would not. While the journal
// says that it cannot be written for now (message.UnwritableError), everything is held; with any
// other error of it Run ends: what is not on disk is not done.
func (r *Relay) Run(ctx context.Context) error {
	r.init()
	defer close(r.done)
	l := loop{Relay: r, now: r.Now, log: r.Log, waiting: make(map[Token]chan<- outcome)}
	if l.now == nil {
		l.now = time.Now
	}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	var seed [32]byte
	_, _ = crand.Read(seed[:]) // never fails, as documented
	l.state = NewState(seed, r.Limits)
	l.state.person = r.Person
	if r.Restored != nil {
		if err := l.take(ctx, []posted{{event: *r.Restored}}); err != nil {
			return err
		}
		l.store() // who is here is known, also where what follows from it cannot be written yet
	}
	close(r.begun)
	ask, end := l.consult(ctx)
	defer end()
	awake := r.Awake
	if awake == nil {
		// The monotonic clock of Go stands still on Linux and macOS while the computer
		// sleeps (CLOCK_MONOTONIC, mach_absolute_time): it measures awake time by itself.
		begun := time.Now()
		awake = func() time.Duration { return time.Since(begun) }
	}
	pace, last := tickIdle, awake()
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for {
		if want := l.pace(); want != pace {
			pace = want
			ticker.Reset(pace)
		}
		var next posted
		select {
		case next = <-r.urgent:
		default:
			ask()
			select {
			case <-ctx.Done():
				return l.drain(ctx)
			case next = <-r.urgent:
			case next = <-r.queue:
			case q := <-l.asker.verdicts:
				next = posted{event: l.asker.decided(q)}
			case <-ticker.C:
				now := awake()
				next = posted{event: Tick{Awake: now - last}}
				last = now
				if l.stuck != nil {
					if err := l.tryAgain(context.WithoutCancel(ctx)); err != nil {
						return err
					}
				}
			}
		}
		if err := l.take(ctx, together(next, l.ready)); err != nil {
			return err
		}
	}
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
	select {
	case next = <-l.urgent:
	case next = <-l.queue:
	case q := <-l.asker.verdicts:
		next = posted{event: l.asker.decided(q)}
	default:
		return posted{}, false
	}
	return next, true
}

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

func (nowhere) Deliver(...message.Delivery)         {}
func (nowhere) Cancel([]message.ID, message.Reason) {}
func (nowhere) Forget(message.ID)                   {}

// store publishes whether all is stopped, and the snapshot if it has changed.
func (l *loop) store() {
	l.Relay.stopped.Store(l.state.stopped)
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

// Begun waits until Run has taken over what an earlier run left: from then on Snapshot
// knows of it. Errors: ErrDown, that of ctx.
func (r *Relay) Begun(ctx context.Context) error {
	r.init()
	select {
	case <-r.begun:
		return nil
	case <-r.done:
		return ErrDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Snapshot is who is here, as of the last step that is on disk.
func (r *Relay) Snapshot() registry.Snapshot {
	if s := r.snapshot.Load(); s != nil {
		return *s
	}
	return registry.Snapshot{}
}

// Stopped reports whether everything is stopped until a person resumes all, as of the last
// step that is on disk.
func (r *Relay) Stopped() bool { return r.stopped.Load() }

// Do asks the relay for something and waits for what comes of it. Errors: those of the
// request; ErrDown; those of ctx, and then the request may yet be carried out.
func (r *Relay) Do(ctx context.Context, request Request) (Answer, error) {
	return r.wait(ctx, Requested{Request: request})
}

// Adopt takes a peer in and returns it with the name that it got.
func (r *Relay) Adopt(ctx context.Context, s message.Peer) (message.Peer, error) {
	a, err := r.wait(ctx, Adopted{Peer: s})
	return a.Peer, err
}

// Join takes a peer in that lives in no pane, and returns it with the id and name that it got.
func (r *Relay) Join(ctx context.Context, peer message.Peer) (message.Peer, error) {
	a, err := r.wait(ctx, Joined{Peer: peer})
	return a.Peer, err
}

// Receive hands in what a peer that has joined says; see Received. It is on disk when this
// returns nil, or was before: only then may its protocol acknowledge it.
func (r *Relay) Receive(ctx context.Context, m message.Envelope) (fresh bool, err error) {
	a, err := r.wait(ctx, Received{Message: m})
	return a.Message != "", err
}

// Report hands in a receipt and returns once it is on disk; while nothing can be written, permission is
// refused by a message.UnwritableError, and what became of a typing is kept. It is how a sink asks for
// permission too: with state typed before the first byte, and again before Enter. Any error
// means that nothing may be typed: ErrPaused, ErrEnded, ErrStopped, ErrNotOurs,
// ErrImpossible, ErrDown, or that of ctx; with the last, the receipt may yet be written.
func (r *Relay) Report(ctx context.Context, receipt message.Receipt) error {
	_, err := r.wait(ctx, Reported{Receipt: receipt})
	return err
}

// Spoke tells of a turn that has ended.
func (r *Relay) Spoke(ctx context.Context, t message.Turn) error {
	return r.post(ctx, posted{event: Spoke{Turn: t}})
}

// StateChanged tells what the program in a pane does now.
func (r *Relay) StateChanged(ctx context.Context, id message.ID, state message.PaneState, why string) error {
	return r.post(ctx, posted{event: StateChanged{Peer: id, State: state, Why: why}})
}

// Gone tells that a pane or its program has ended.
func (r *Relay) Gone(ctx context.Context, id message.ID, reason message.Reason) error {
	return r.post(ctx, posted{event: Gone{Peer: id, Reason: reason}})
}

// Released tells that a person took a pane back.
func (r *Relay) Released(ctx context.Context, id message.ID) error {
	return r.post(ctx, posted{event: Released{Peer: id}})
}

// Closed tells why nothing more can be typed into a peer's pane, and which delivery's
// text was lost there, if one was; or, with no reason, that the pane is open again.
func (r *Relay) Closed(ctx context.Context, id message.ID, why message.Reason, lost message.ID, draft *message.Place) error {
	return r.post(ctx, posted{event: PaneLocked{Peer: id, Why: why, Lost: lost, Draft: draft}})
}

// Notify tells a person something about a peer.
func (r *Relay) Notify(ctx context.Context, id message.ID, text string) error {
	return r.post(ctx, posted{event: NoticeRaised{Peer: id, Text: text}})
}

// NotifyOf tells a person something about a chat, or with "" about none.
func (r *Relay) NotifyOf(ctx context.Context, chat message.ID, text string) error {
	return r.post(ctx, posted{event: NoticeRaised{Chat: chat, Text: text}})
}

// Attended tells that a person is at a terminal, or just came.
func (r *Relay) Attended(ctx context.Context) error {
	return r.post(ctx, posted{event: UserActive{}})
}

// Reconsider has messages decided once more of which deliveries are held since a filter had
// failed: the policies are others now. They are given as they were received.
func (r *Relay) Reconsider(ctx context.Context, messages []message.Envelope) error {
	return r.post(ctx, posted{event: Reconsider{messages}})
}

// Limit sets the limits that hold where nothing else is said; see Limited.
func (r *Relay) Limit(ctx context.Context, limits, chats message.Limits) error {
	return r.post(ctx, posted{event: LimitsChanged{Limits: limits, Chats: chats}})
}

// post puts an event into the queue, and waits while that is full.
func (r *Relay) post(ctx context.Context, p posted) error {
	r.init()
	select {
	case <-r.done: // also where the queue still has room that nobody empties
		return ErrDown
	default:
	}
	queue := r.queue
	if e, ok := p.event.(hurried); ok && e.hurries() {
		queue = r.urgent
	}
	select {
	case queue <- p:
		return nil
	case <-r.done:
		return ErrDown
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wait posts an event and waits for its outcome.
func (r *Relay) wait(ctx context.Context, event Event) (Answer, error) {
	back := make(chan outcome, 1)
	if err := r.post(ctx, posted{event, back}); err != nil {
		return Answer{}, err
	}
	select {
	case o := <-back:
		return o.answer, o.err
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	case <-r.done:
	}
	// The last step may have answered before the loop ended.
	select {
	case o := <-back:
		return o.answer, o.err
	default:
		return Answer{}, ErrDown
	}
}
