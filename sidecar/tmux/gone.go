package tmux

import (
	"context"
	"os"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/command"
)

// goneChannel is the wait-for channel of the waiters. Nobody signals it except a client that opens,
// to end the waiters that a killed predecessor left behind.
const goneChannel = "intercom-gone"

// goneCheck is how often the server's process and socket are checked as well: the waiter may be
// stopped, or may have connected to a server that was just ending.
const goneCheck = time.Second

// goneSettle is the pause after the end of a waiter whose server still answers.
const goneSettle = 200 * time.Millisecond

// watchServer closes gone when the server has ended. It keeps a client that waits for a signal
// which never comes. This waiter ends with the server, even if the server is killed. As it may end
// for other reasons too, its end is only the occasion to check.
func (c *Client) watchServer() {
	c.wakeWaiters()
	for first := true; c.ctx.Err() == nil; first = false {
		waiting, stop := context.WithCancel(c.ctx)
		ended := make(chan struct{})
		c.wg.Go(func() {
			defer close(ended)
			c.waitFor(waiting, []command.Command{command.WaitFor(goneChannel)})
		})
		c.waitForWaiter(ended)
		stop()
		<-ended
		// The first waiter may receive our own signal that nobody waited for.
		woken := first && process.Lives(c.info.PID, c.born)
		gone := !woken && c.serverEnded()
		if !gone && !first {
			// A server that is ending ends its waiters first and answers for a moment longer.
			c.pause(goneSettle)
			gone = c.serverEnded()
		}
		if gone && c.ctx.Err() == nil {
			close(c.gone)
			return
		}
		if _, err := os.Lstat(c.short.socket); err != nil {
			c.pause(goneCheck) // its socket was removed: do not start one process after another that cannot reach it
		}
	}
}

// waitFor runs a long-lasting command until ctx or the server ends.
func (c *Client) waitFor(ctx context.Context, cmds []command.Command) {
	if c.direct.usable() {
		_, _ = c.direct.start(ctx, cmds, nil)
		return
	}
	waiter := c.short
	waiter.lasting = true
	_, _, _ = waiter.start(ctx, []string{"-N", "-S", c.short.socket}, cmds, nil)
}

// waitForWaiter returns when the waiter has ended, the server's process or socket is gone,
// or the client is closed.
func (c *Client) waitForWaiter(ended <-chan struct{}) {
	tick := time.NewTicker(goneCheck)
	defer tick.Stop()
	for fresh := true; ; fresh = false {
		select {
		case <-ended:
			return
		case <-c.ctx.Done():
			return
		case <-tick.C:
			if _, err := os.Lstat(c.short.socket); err != nil || !process.Lives(c.info.PID, c.born) {
				return
			}
			if fresh {
				// A waiter that connects just after the last session ended keeps the server up
				// until something wakes the server. Any command does.
				_, _ = c.run(c.ctx, command.Print(""))
			}
		}
	}
}

// serverEnded reports whether the server that we opened has ended. Another server may listen on its
// socket by now. A server that does not answer, or whose socket was removed, lives as long as its
// process.
func (c *Client) serverEnded() bool {
	ctx, cancel := context.WithTimeout(c.ctx, c.deadline)
	defer cancel()
	info, err := c.identify(ctx)
	if err == nil {
		return info.PID != c.info.PID || info.Start != c.info.Start
	}
	return c.ctx.Err() == nil && !process.Lives(c.info.PID, c.born)
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

// wakeWaiters ends the waiters of clients that no longer exist; the waiters of living clients start
// again.
func (c *Client) wakeWaiters() {
	ctx, cancel := context.WithTimeout(c.ctx, c.deadline)
	defer cancel()
	_, _ = c.run(ctx, command.Signal(goneChannel))
}
