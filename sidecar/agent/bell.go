package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/fsnotify/fsnotify"
)

// Bell rings when something changes in a directory. One Bell serves all Followers, since a user has few inotify
// instances. It is only a hint: each listener also looks on its own.
type Bell struct {
	watcher *fsnotify.Watcher

	mu   sync.Mutex // guards dirs
	dirs map[string]map[chan<- struct{}]bool
}

// NewBell opens an inotify instance, or the system's equivalent. Serve closes it.
func NewBell() (*Bell, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch transcripts: %w", err)
	}
	return &Bell{watcher: w, dirs: map[string]map[chan<- struct{}]bool{}}, nil
}

// Serve rings until ctx is done. It runs in a goroutine of its own.
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

// ring wakes the listeners of a path's directory, or everybody if path is "".
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

// listen wakes a channel at each change in a directory. It reports whether the directory can be watched. On a file
// system that hangs it waits before it takes any lock, the watcher's own included, so that only its caller hangs.
func (b *Bell) listen(dir string, ear chan<- struct{}) bool {
	if b == nil {
		return false
	}
	if _, err := os.Stat(dir); err != nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.watcher.Add(dir); err != nil { // also renews a watch that ended with its directory
		return false
	}
	if b.dirs[dir] == nil {
		b.dirs[dir] = map[chan<- struct{}]bool{}
	}
	b.dirs[dir][ear] = true
	return true
}

// forget undoes all calls of listen for a channel.
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
