package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// lookEvery is how often a keeper looks for what is wanted. When the owner of a port has ended, another sidecar
// takes the port over within that time, plus the moment that it needs to start.
const lookEvery = time.Second

// Keeper serves the ports that somebody wants and nobody else serves. Each sidecar runs one; the keepers of all
// sidecars share the ports by their claims.
type Keeper struct {
	Home
	Log *slog.Logger // required
	// Heard is called for each message that was stored, in the order of its port. It must not block. It may be
	// nil.
	Heard func(w Wish, m Message)
	// Places is shared with other servers of ports in this process; nil: with none.
	Places *Places

	// For tests; zero means the usual values.
	times times
	every time.Duration

	once  sync.Once
	look  chan chan<- []Refused
	mu    sync.Mutex // guards what follows
	serve map[int]*served
}

// served is a port that this keeper serves.
type served struct {
	*listener
	claim *claim.Claim
	end   context.CancelFunc
	ended chan struct{}
}

// Refused is a port that is wanted and cannot be served.
type Refused struct {
	Port int
	Err  error
}

func (k *Keeper) init() {
	k.once.Do(func() {
		k.look, k.serve = make(chan chan<- []Refused), make(map[int]*served)
		k.Places = cmp.Or(k.Places, NewPlaces())
	})
}

// Look makes Run look at once, and returns when it has. Each wanted port is then served, by this sidecar or
// another one, or is among those refused.
func (k *Keeper) Look(ctx context.Context) ([]Refused, error) {
	k.init()
	back := make(chan []Refused, 1)
	select {
	case k.look <- back:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	select {
	case refused := <-back:
		return refused, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serving returns the ports that are served here, in no order.
func (k *Keeper) Serving() (all []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number := range k.serve {
		all = append(all, number)
	}
	return all
}

// Run serves ports until ctx ends. It returns nil once it no longer serves any.
func (k *Keeper) Run(ctx context.Context) error {
	k.init()
	tick := time.NewTicker(cmp.Or(k.every, lookEvery))
	defer tick.Stop()
	refused := map[int]string{} // as last logged
	for back := (chan<- []Refused)(nil); ; {
		all := k.pass(ctx)
		now := map[int]string{}
		for _, r := range all {
			if now[r.Port] = r.Err.Error(); refused[r.Port] != now[r.Port] {
				k.Log.Warn("port not served", "port", r.Port, "err", r.Err)
			}
		}
		refused = now
		if back != nil {
			back <- all // buffered, so this does not block
			back = nil
		}
		select {
		case <-ctx.Done():
			for number, s := range k.serve {
				k.endServing(number, s)
			}
			return nil
		case <-tick.C:
		case back = <-k.look:
		}
	}
}

// pass ends what is no longer wanted, and begins what is. Served ports follow config.json as it is now; while
// that file is broken, they keep its earlier settings.
func (k *Keeper) pass(ctx context.Context) (refused []Refused) {
	wishes := k.Wishes()
	wanted := make(map[int]Wish, len(wishes))
	for _, w := range wishes {
		wanted[w.Port] = w
	}
	for number, s := range k.serve {
		select {
		case <-s.ended: // it ended by itself
			k.endServing(number, s)
			continue
		default:
		}
		if w, still := wanted[number]; !still || !reflect.DeepEqual(w, s.wish) || !s.claim.Intact() {
			k.endServing(number, s)
			continue
		}
		if config, err := k.Config(); err != nil {
			refused = append(refused, Refused{number, fmt.Errorf("%w: what it said before holds", err)})
		} else {
			s.apply(config)
			s.said.Keeps = config.MaxInbox // it is announced once it holds: a sender waits for that
		}
		if p := k.Port(number); !p.saysSo(s.said) { // that has changed, or somebody has removed it
			if err := p.announce(s.said); err != nil {
				refused = append(refused, Refused{number, err})
			}
		}
	}
	for _, w := range wishes {
		if _, here := k.serve[w.Port]; here {
			continue
		}
		if err := k.begin(ctx, w); err != nil && !errors.Is(err, claim.ErrHeld) {
			refused = append(refused, Refused{w.Port, err})
		}
	}
	return refused
}

// begin serves a port if it gets the port's claim.
func (k *Keeper) begin(ctx context.Context, w Wish) error {
	p := k.Port(w.Port)
	mine, err := claim.Take(p.claim())
	if err != nil {
		return err
	}
	if _, err := p.Wanted(); errors.Is(err, fs.ErrNotExist) {
		return mine.Release() // no longer wanted: perhaps its last server was told to end it
	}
	config, err := k.Config()
	var l *listener
	if err == nil {
		l, err = listen(ctx, p, w, config, k.Places, k.Log)
	}
	if err != nil {
		return errors.Join(err, mine.Release())
	}
	if k.Heard != nil {
		l.heard = func(m Message) { k.Heard(w, m) }
	}
	if k.times != (times{}) {
		l.times = k.times
	}
	serving, end := context.WithCancel(ctx)
	s := &served{listener: l, claim: mine, end: end, ended: make(chan struct{})}
	k.mu.Lock()
	k.serve[w.Port] = s
	k.mu.Unlock()
	k.Log.Info("port served", "port", w.Port)
	go func() {
		defer close(s.ended)
		if err := l.serve(serving); err != nil {
			k.Log.Error("port", "err", err)
		}
	}()
	return nil
}

// endServing stops serving a port, and gives its claim back.
func (k *Keeper) endServing(number int, s *served) {
	s.end()
	<-s.ended
	if err := s.claim.Release(); err != nil {
		k.Log.Warn("port", "port", number, "err", err)
	}
	k.mu.Lock()
	delete(k.serve, number)
	k.mu.Unlock()
	k.Log.Info("port not served any more", "port", number)
}
