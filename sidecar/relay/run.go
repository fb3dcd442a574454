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

// Journal stores steps. Only Run calls its methods.
type Journal interface {
	// Commit writes steps in one transaction, in their order; they are on disk when it returns nil.
	Commit(ctx context.Context, steps ...message.Step) error
	// Seen reports whether a message of that id was ever received.
	Seen(ctx context.Context, id message.ID) (bool, error)
}

// Sink takes the deliveries to one kind of peer, such as panes. Run calls its methods, so they must
// not block.
type Sink interface {
	Deliver(ds ...message.Delivery)                 // as the effect Deliver; consecutive ones of a step come in one call
	Cancel(ids []message.ID, reason message.Reason) // as the effect Cancel
	Forget(id message.ID)                           // as the effect Forget
}

const defaultQueue = 256

// Relay runs a State. Its zero value with the required fields set is ready; Run runs it, once. All
// other methods may be called from any goroutine, even before Run: they wait for it.
type Relay struct {
	Journal  Journal                   // required
	Sink     Sink                      // the panes; required
	Sinks    map[message.PeerKind]Sink // the sinks of the other kinds of peers
	Policy   Policy                    // nil: deliver everything
	Patience time.Duration             // how long the policy may think about a message; 0: five seconds
	Publish  func([]message.Event)     // must not block; nil: nobody watches
	Troubled func(error)               // called when Trouble changes; must not block; nil: nobody is told
	Log      *slog.Logger              // nil: nothing is logged
	Now      func() time.Time          // nil: time.Now
	Awake    func() time.Duration      // how long the computer has been awake, from any start; nil: by the monotonic clock
	Limits   LimitsChanged             // in force from the beginning, also for what an earlier run left undecided
	Restored *Restored                 // what an earlier run left; nil: nothing
	// Again reads what this run has written to the journal so far. After a step that could not be
	// written and must not happen, everything begins again from there. nil: such a step is carried
	// out later.
	Again  func(context.Context) (*Restored, error)
	Person string // the name of whoever types into a pane by hand; "": "person"
	Queue  int    // events that may wait before callers block; 0: 256

	once     sync.Once
	queue    chan posted
	urgent   chan posted   // events that must not wait behind the queue: pause and stop
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

// Run takes events from the queue until ctx ends, then returns nil. Events that already wait are
// written together, with the same result as one by one. While the journal reports that it cannot be
// written for now (message.UnwritableError), everything is held. Any other journal error ends Run:
// what is not on disk is not done.
func (r *Relay) Run(ctx context.Context) error {
	r.init()
	defer close(r.done)
	l := r.newLoop()
	if r.Restored != nil {
		if err := l.take(ctx, []posted{{event: *r.Restored}}); err != nil {
			return err
		}
		l.store() // publish who is here, even if what follows cannot be written yet
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
