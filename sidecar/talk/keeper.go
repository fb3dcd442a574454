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

// lookEvery is how often a keeper looks for what is wanted. Whoever owned a port and has ended is
// followed within that time, and the moment that the next one needs.
const lookEvery = time.Second

// Keeper serves the ports that somebody wants and nobody else serves. One runs in each sidecar;
// those of all sidecars share the ports by their claims.
type Keeper struct {
	Home
	Log *slog.Logger // required
	// Heard is told of each message that was stored, in the order of its port. It must not block;
	// nil: nobody wants to know.
	Heard func(w Wish, m Message)
	// Places are shared with whoever else serves ports in this process; nil: with nobody.
	Places *Places

	// Zero but in tests: the usual ones.
	times times
	every time.Duration

	once  sync.Once
	look  chan chan<- []Refused
	mu    sync.Mutex // guards what follows
	serve map[int]*served
}

// served is a port that is served here.
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

// Look has Run look at once, and returns when it has: what is wanted is served then, here or by
// another, or is among those refused.
func (k *Keeper) Look(ctx context.Context) ([]Refused, error) {
	k.init()
	back := make(chan []Refused, 1)
	select {
	case k.look <- back:
		return <-back, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Serving are the ports that are served here, in no order.
func (k *Keeper) Serving() (all []int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for number := range k.serve {
		all = append(all, number)
	}
	return all
}

// Run serves ports until ctx ends; it returns nil, when none is served any more.
func (k *Keeper) Run(ctx context.Context) error {
	k.init()
	tick := time.NewTicker(cmp.Or(k.every, lookEvery))
	defer tick.Stop()
	refused := map[int]string{} // as it was logged
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
			back <- all // it has room for it
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

// pass ends what is not wanted any more, and begins what is. What is served goes by config.json as it is now; while
// that is broken, as it was.
func (k *Keeper) pass(ctx context.Context) (refused []Refused) {
	wishes := k.Wishes()
	wanted := make(map[int]Wish, len(wishes))
	for _, w := range wishes {
		wanted[w.Port] = w
	}
	for number, s := range k.serve {
		select {
		case <-s.ended: // by itself
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
		}
		if p := k.Port(number); !p.saysSo(s.said) { // somebody has removed it
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

// begin serves a port, if its claim can be had.
func (k *Keeper) begin(ctx context.Context, w Wish) error {
	p := k.Port(w.Port)
	mine, err := claim.Take(p.claim())
	if err != nil {
		return err
	}
	if _, err := p.Wanted(); errors.Is(err, fs.ErrNotExist) {
		return mine.Release() // not any more: who ended it before may have been asked to
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

// endServing ends the serving of a port, and gives its claim back.
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
