package link

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// unbroken is the time from one beginning of a connection to its end. What the server was asked before that is answered by
// nobody, though a new connection is there: who waits for it is told so at once, and asks again.
type unbroken struct {
	mu   sync.Mutex
	last context.Context
	end  context.CancelFunc
}

// within is a context that ends with the connection, too.
func (u *unbroken) within(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last == nil {
		u.last, u.end = context.WithCancel(context.Background())
	}
	stop := context.AfterFunc(u.last, cancel)
	return ctx, func() { stop(); cancel() }
}

// broken notes that the connection has ended.
func (u *unbroken) broken() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.last != nil {
		u.end()
		u.last, u.end = nil, nil
	}
}

// cut reports whether what the server was told has failed since the line was cut. There may be a new one by now.
func (lf *life) cut(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrReconnectBufExceeded) || !lf.conn.IsConnected()
}
