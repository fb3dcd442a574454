package tmux

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// EdgeKind is the kind of an Edge.
type EdgeKind int

// The kinds of edges.
const (
	Wrote EdgeKind = iota // the program may have written: look now
	Gone                  // the program ended, was replaced, or the pane is gone: read the list again
	Lost                  // edges were lost: look at all panes (Pane is empty)
)

// String implements fmt.Stringer.
func (k EdgeKind) String() string {
	switch k {
	case Wrote:
		return "wrote"
	case Gone:
		return "gone"
	default:
		return "lost"
	}
}

// Edge says that a look is worth while. It is a hint: only the look tells the truth.
type Edge struct {
	Pane string
	Kind EdgeKind
}

// A source reports the edges of panes. watch may fail for one pane and not for others.
type source interface {
	watch(pane, tty string, now Look) error
	forget(pane string)
	serve(ctx context.Context)
}

// errWatchUnusable says that a source cannot follow this pane, although the pane is fine.
var errWatchUnusable = errors.New("cannot be watched")

// edges collects the edges that the sources report and hands them on. Equal edges that nobody has
// taken yet are merged, so at most two edges of each watched pane and one Lost wait. Neither a
// flood nor a slow reader can fill anything or block a source.
type edges struct {
	client *Client
	name   string // of the primary source
	first  source
	second *polling // for panes that the first cannot follow
	out    chan Edge
	wake   chan struct{} // holds one value while there may be something to send

	mu      sync.Mutex // guards the fields below
	watched map[string]source
	queue   []Edge
}

// newEdges chooses the sources and starts their goroutines.
func newEdges(c *Client, trigger string) (*edges, error) {
	e := &edges{
		client:  c,
		out:     make(chan Edge),
		wake:    make(chan struct{}, 1),
		watched: map[string]source{},
	}
	e.second = newPolling(c, e)
	asked := trigger
	if trigger == "" || trigger == "auto" {
		switch {
		case runtime.GOOS == "linux":
			trigger = "inotify"
		case c.info.Transport == "control" && controlIsSafe(c.info.Version):
			trigger = "output"
		default:
			trigger = "polling"
		}
	}
	switch trigger {
	case "inotify":
		first, err := newInotify(e)
		if err != nil && asked == "inotify" {
			return nil, err
		}
		if err != nil {
			c.log.Warn("panes are polled", "err", err)
			trigger = "polling"
			break
		}
		e.first = first
	case "output":
		if c.info.Transport != "control" {
			return nil, fmt.Errorf("trigger %q needs control mode, but intercom reaches tmux by processes: %s", trigger, c.info.Why)
		}
		e.first = newOutput(c, e)
	case "polling":
	default:
		return nil, fmt.Errorf("trigger %q: not auto, inotify, polling or output", trigger)
	}
	e.name = trigger
	if e.first == nil {
		e.first = e.second
	} else {
		c.wg.Go(func() { e.first.serve(c.ctx) })
	}
	c.wg.Go(func() { e.second.serve(c.ctx) })
	c.wg.Go(func() { e.forward(c.ctx) })
	return e, nil
}

// Edges returns the channel of the edges of watched panes. Close closes it. Edges that are not
// taken wait, and equal ones are merged, so a slow reader loses nothing but their number.
func (c *Client) Edges() <-chan Edge { return c.edges.out }

// Trigger returns the name of the trigger in use: inotify, polling or output. Panes that it cannot
// follow are polled.
func (c *Client) Trigger() string { return c.edges.name }

// Watch begins to report the edges of a pane, whose terminal was tty at the caller's last look. It
// is an error if the pane has another terminal now or is dead: read the list again. After a Gone
// edge the pane must be watched anew.
func (c *Client) Watch(pane, tty string) error {
	ctx, cancel := context.WithTimeoutCause(c.ctx, c.deadline, errDeadline)
	defer cancel()
	now, err := c.Look(ctx, pane, -1)
	if err != nil {
		return fmt.Errorf("watch pane %q: %w", pane, err)
	}
	if now.Facts.Dead || now.Facts.TTY != tty {
		return fmt.Errorf("watch pane %q: terminal %q: %w", pane, tty, process.ErrOtherTerminal)
	}
	if err := c.edges.watch(pane, tty, now); err != nil {
		return fmt.Errorf("watch pane %q: %w", pane, err)
	}
	return nil
}

// Forget ends the edges of a pane. One edge that was taken from the queue already may still come.
func (c *Client) Forget(pane string) { c.edges.forget(pane) }

func (e *edges) watch(pane, tty string, now Look) error {
	e.forget(pane)
	use := e.first
	e.mu.Lock()
	e.watched[pane] = use // before the source watches, so that its first edge counts
	e.mu.Unlock()
	err := use.watch(pane, tty, now)
	if errors.Is(err, errWatchUnusable) && use != source(e.second) {
		e.client.log.Warn("pane is polled", "pane", pane, "err", err)
		e.mu.Lock()
		e.watched[pane] = e.second
		e.mu.Unlock()
		err = e.second.watch(pane, tty, now)
	}
	if err != nil {
		e.forget(pane)
	}
	return err
}

func (e *edges) forget(pane string) {
	e.mu.Lock()
	use := e.watched[pane]
	delete(e.watched, pane)
	kept := e.queue[:0]
	for _, edge := range e.queue {
		if edge.Pane != pane {
			kept = append(kept, edge)
		}
	}
	e.queue = kept
	e.mu.Unlock()
	if use != nil {
		use.forget(pane)
	}
}

// tell queues an edge. It never waits.
func (e *edges) tell(edge Edge) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, ok := e.watched[edge.Pane]; !ok && edge.Kind != Lost {
		return
	}
	for _, waiting := range e.queue {
		if waiting == edge {
			return
		}
	}
	e.queue = append(e.queue, edge)
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// forward hands edges to the reader, in the order in which the sources reported them.
func (e *edges) forward(ctx context.Context) {
	defer close(e.out)
	for {
		e.mu.Lock()
		var next Edge
		some := len(e.queue) > 0
		if some {
			next = e.queue[0]
			e.queue = append(e.queue[:0], e.queue[1:]...)
		}
		e.mu.Unlock()
		if !some {
			select {
			case <-e.wake:
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case e.out <- next:
		case <-ctx.Done():
			return
		}
	}
}

func (e *edges) isOurs(pid int) bool {
	o, ok := e.first.(*output)
	return ok && o.isOurs(pid)
}
