package service

import (
	"context"
	"sync"
	"time"
)

// Bell wakes the goroutines that wait for something new in the journal. It carries no data: readers read the
// journal itself, so that no reader can miss or delay anything.
type Bell struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// NewBell returns a Bell.
func NewBell() *Bell { return &Bell{next: make(chan struct{})} }

// Wait returns a channel that is closed at the next ring. Take it before reading the journal, so that nothing
// written in between is missed.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// until calls look, again whenever the bell rings, and once more when the timeout is over, until look says that
// it is enough; false if it never did. Without a timeout it calls look once and returns true.
func (b *Bell) until(ctx context.Context, timeout time.Duration, look func() (enough bool, err error)) (bool, error) {
	over := time.NewTimer(timeout)
	defer over.Stop()
	for {
		rung := b.Wait()
		if enough, err := look(); err != nil || enough || timeout <= 0 {
			return true, err
		}
		select {
		case <-rung:
		case <-over.C: // perhaps without a ring: not everything that look checks is an event
			enough, err := look()
			return enough || err != nil, err
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// Ring wakes all waiting goroutines.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
