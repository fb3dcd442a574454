package tmux

import (
	"context"
	"time"
)

// goneChannel is the wait-for channel that nobody else signals, except a client that opens:
// that ends waiters which a killed predecessor left behind.
const goneChannel = "intercom-gone"

// goneCheck is how often the server's process is looked for besides, for the case that the
// waiter itself was stopped.
const goneCheck = 2 * time.Second

// watchServer closes gone when the server has ended. A tmux process that waits for a
// signal which never comes ends with the server, also if that is killed; since it may end
// for other reasons too, its end is only the occasion to look.
func (c *Client) watchServer() {
	c.wakeWaiters()
	for c.ctx.Err() == nil {
		waiting, stop := context.WithCancel(c.ctx)
		ended := make(chan struct{})
		c.wg.Go(func() {
			defer close(ended)
			_, _, _ = c.short.start(waiting, []string{"-N", "-S", c.short.socket}, []command{{"wait-for", goneChannel}}, nil)
		})
		started := time.Now()
		c.waitForWaiter(ended)
		stop()
		<-ended
		if c.ctx.Err() != nil {
			return
		}
		if c.serverEnded() {
			close(c.gone)
			return
		}
		if time.Since(started) < goneCheck {
			c.pause(goneCheck / 4) // somebody signals the channel: no storm of processes
		}
	}
}

// waitForWaiter returns when the waiter has ended, the server's process is gone, or the
// client is closed.
func (c *Client) waitForWaiter(ended <-chan struct{}) {
	tick := time.NewTicker(goneCheck)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if !lives(c.info.PID, c.born) {
				return
			}
		}
	}
}

// serverEnded asks whether the server that we opened is gone. Another may listen on its
// socket; one that does not answer, or whose socket was removed, lives as long as its
// process.
func (c *Client) serverEnded() bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.deadline)
	defer cancel()
	info, err := c.identify(ctx)
	if err == nil {
		return info.PID != c.info.PID || info.Start != c.info.Start
	}
	return c.ctx.Err() == nil && !lives(c.info.PID, c.born)
}

// pause waits, or returns early when the client is closed.
func (c *Client) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
	}
}

// wakeWaiters ends the waiters of clients that are no more; those of living ones wait anew.
func (c *Client) wakeWaiters() {
	ctx, cancel := context.WithTimeout(c.ctx, c.deadline)
	defer cancel()
	_, _ = c.short.run(ctx, []command{{"wait-for", "-S", goneChannel}})
}
