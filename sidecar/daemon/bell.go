package daemon

import "sync"

// bell wakes whoever waits for something new in the journal. It carries nothing: what is
// new is read from the journal itself, so that no reader can miss or delay anything.
type bell struct {
	mu   sync.Mutex // guards next
	next chan struct{}
}

func newBell() *bell { return &bell{next: make(chan struct{})} }

// wait returns a channel that is closed at the next ring. Take it before reading the
// journal, so that what is written in between is not slept through.
func (b *bell) wait() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.next
}

// ring wakes all who wait.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.next)
	b.next = make(chan struct{})
}
