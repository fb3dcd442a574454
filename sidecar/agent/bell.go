package agent

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Bell rings when something changes in a directory. One serves all Followers, since a user
// has few inotify instances. It is a hint: whoever listens looks by itself as well.
type Bell struct {
	watcher *fsnotify.Watcher

	mu   sync.Mutex // guards dirs
	dirs map[string]map[chan<- struct{}]bool
}

// NewBell takes an inotify instance, or what the system has instead. Serve gives it back.
func NewBell() (*Bell, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch transcripts: %w", err)
	}
	return &Bell{watcher: w, dirs: map[string]map[chan<- struct{}]bool{}}, nil
}

// Serve is the goroutine that rings, until ctx is done.
func (b *Bell) Serve(ctx context.Context) error {
	defer func() { _ = b.watcher.Close() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-b.watcher.Events:
			if !ok {
				return nil
			}
			if !event.Has(fsnotify.Chmod) {
				b.ring(event.Name)
			}
		case _, ok := <-b.watcher.Errors:
			if !ok {
				return nil
			}
			b.ring("") // events were lost: everybody looks
		}
	}
}

// ring wakes those who listen at the directory of a path, or everybody.
func (b *Bell) ring(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for dir, ears := range b.dirs {
		if path != "" && filepath.Dir(path) != dir && path != dir {
			continue
		}
		for ear := range ears {
			select {
			case ear <- struct{}{}:
			default: // it has been woken already
			}
		}
	}
}

// listen has a channel woken by changes in a directory. It reports whether that will be.
func (b *Bell) listen(dir string, ear chan<- struct{}) bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.watcher.Add(dir); err != nil { // also makes good a watch that ended with its directory
		return false
	}
	if b.dirs[dir] == nil {
		b.dirs[dir] = map[chan<- struct{}]bool{}
	}
	b.dirs[dir][ear] = true
	return true
}

// forget ends what listen began, for all directories.
func (b *Bell) forget(ear chan<- struct{}) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for dir, ears := range b.dirs {
		delete(ears, ear)
		if len(ears) == 0 {
			delete(b.dirs, dir)
			_ = b.watcher.Remove(dir)
		}
	}
}
