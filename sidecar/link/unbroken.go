package link

import (
	"context"
	"errors"
	"sync"

	"github.com/nats-io/nats.go"
)

// unbroken is the time from the beginning of a connection to its end. Nobody answers what the server was asked
// before that end, even if there is a new connection. A caller that waits for such an answer is told at once,
// and asks again.
type unbroken struct {
	mu   sync.Mutex
	last context.Context
	end  context.CancelFunc
}

// within returns a context that also ends with the connection.
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

// cut reports whether a request to the server has failed because the line was cut. There may be a new one by
// now.
func (lf *life) cut(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, nats.ErrReconnectBufExceeded) || !lf.conn.IsConnected()
}
