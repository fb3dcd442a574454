package relay

import (
	"context"
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

const defaultQueue = 256

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
	Limits   LimitsChanged             // that hold from the beginning, also for what an earlier run left undecided
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
	teams    atomic.Pointer[Protocols]
	stopped  atomic.Bool
	trouble  atomic.Pointer[error]
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
	l := r.newLoop()
	if r.Restored != nil {
		if err := l.take(ctx, []posted{{event: *r.Restored}}); err != nil {
			return err
		}
		l.store() // who is here is known, also where what follows from it cannot be written yet
	}
	close(r.begun)
	ask, end := l.consult(ctx)
	defer end()
	clock := newClock(r.Awake)
	defer clock.Stop()
	for {
		clock.reset(l.pace())
		next, ok := posted{}, false
		select {
		case next = <-r.urgent:
			ok = true
		default:
			ask()
			next.event, ok = l.asker.next()
		}
		if !ok {
			select {
			case <-ctx.Done():
				return l.drain(ctx)
			case next = <-r.urgent:
			case next = <-r.queue:
			case v := <-l.asker.verdicts:
				l.asker.take(v)
				next.event, _ = l.asker.next()
			case <-clock.C:
				next = posted{event: clock.tick()}
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
