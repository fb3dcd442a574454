package service

import (
	"context"
	"sync"
	"time"
)

// Bell wakes whoever waits for something new in the journal. It carries nothing: what is
// new is read from the journal itself, so that no reader can miss or delay anything.
type Bell struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

// NewBell makes one.
func NewBell() *Bell { return &Bell{next: make(chan struct{})} }

// Wait returns a channel that is closed at the next ring. Take it before reading the
// journal, so that what is written in between is not slept through.
func (b *Bell) Wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// until looks, and looks anew whenever something was written down and once more when time has run out, until
// that is enough; false if it never was. Without any time it looks once, and asks for no more.
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
		case <-over.C: // nothing need have rung: not all that counts is an event
			enough, err := look()
			return enough || err != nil, err
		case <-ctx.Done():
			return true, ctx.Err()
		}
	}
}

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
