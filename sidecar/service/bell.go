package service

import "sync"

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

// Ring wakes all who wait.
func (b *Bell) Ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
