package daemon

import (
	"context"
	"sync"
)

// parts are the goroutines of one life. first receives the result of the first that ends. The
// results of all others, however many, are dropped, so that none of them blocks the shutdown.
type parts struct {
	sync.WaitGroup
	first chan error
}

func newParts() *parts { return &parts{first: make(chan error, 1)} }

// start runs a part until it ends or panics.
func (p *parts) start(ctx context.Context, name string, run func(context.Context) error) {
	p.Go(func() {
		err := contain(name, func() error { return run(ctx) })
		select {
		case p.first <- err:
		default:
		}
	})
}
