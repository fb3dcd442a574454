package tmux

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// pollPeriod is the time between two looks at the polled panes. A batch for all of them costs 2 to
// 7 ms of one core.
const pollPeriod = 250 * time.Millisecond

// polling is the source that looks at panes repeatedly and compares. It sees whatever a look sees,
// but nothing that appears and disappears between two looks.
type polling struct {
	client *Client
	edges  *edges
	wake   chan struct{} // holds one value when the first pane may have been added

	mu   sync.Mutex
	last map[string]Look // by pane
}

func newPolling(c *Client, e *edges) *polling {
	return &polling{client: c, edges: e, wake: make(chan struct{}, 1), last: map[string]Look{}}
}

// watch implements source.
func (p *polling) watch(pane, _ string, now Look) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[pane] = now
	select {
	case p.wake <- struct{}{}:
	default:
	}
	return nil
}

// forget implements source.
func (p *polling) forget(pane string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, pane)
}

// serve implements source. It sleeps while there are no panes.
func (p *polling) serve(ctx context.Context) {
	for ctx.Err() == nil {
		panes := p.panes()
		if len(panes) == 0 {
			select {
			case <-p.wake:
			case <-ctx.Done():
			}
			continue
		}
		p.client.pause(pollPeriod)
		p.poll(ctx, panes)
	}
}

// panes returns the panes to look at.
func (p *polling) panes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	panes := make([]string, 0, len(p.last))
	for pane := range p.last {
		panes = append(panes, pane)
	}
	return panes
}

// poll looks at all panes in one batch and tells what changed.
func (p *polling) poll(ctx context.Context, panes []string) {
	replies := make([]chan lookReply, 0, len(panes))
	for _, pane := range panes {
		r := lookRequest{pane: pane, history: -1, reply: make(chan lookReply, 1)}
		select {
		case p.client.looks <- r:
			replies = append(replies, r.reply)
		case <-ctx.Done():
			return
		}
	}
	for i, pane := range panes {
		select {
		case r := <-replies[i]:
			p.compare(pane, r)
		case <-ctx.Done():
			return
		}
	}
}

// compare tells what changed in one pane. If a look failed because tmux did not answer, the pane
// counts as unchanged.
func (p *polling) compare(pane string, r lookReply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, ok := p.last[pane]
	switch {
	case !ok:
	case errors.Is(r.err, ErrNoPane), r.err == nil && (r.look.Facts.Dead || r.look.Facts.PID != before.Facts.PID):
		delete(p.last, pane)
		p.edges.tell(Edge{Pane: pane, Kind: Gone})
	case r.err != nil:
	case r.look.Facts != before.Facts || !slices.Equal(r.look.Rows, before.Rows):
		p.last[pane] = r.look
		p.edges.tell(Edge{Pane: pane, Kind: Wrote})
	}
}
