package tmux

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fsnotify/fsnotify"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// inotify is the source that watches the terminals of panes in the file system. It sees every write
// of a program within a millisecond and needs no tmux. It does not see keys that the kernel echoes,
// resizing, or what tmux itself does to the screen.
type inotify struct {
	edges   *edges
	watcher *fsnotify.Watcher

	mu    sync.Mutex        // guards the fields below
	panes map[string]string // terminal → pane
	ttys  map[string]string // pane → terminal
}

func newInotify(e *edges) (*inotify, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("trigger inotify: %w", err)
	}
	return &inotify{edges: e, watcher: w, panes: map[string]string{}, ttys: map[string]string{}}, nil
}

// watch implements source. It checks that the terminal is the pane's: in a container the terminal
// of that name may be a different one.
func (i *inotify) watch(pane, tty string, now Look) error {
	if err := process.CheckTerminal(tty, now.Facts.PID); err != nil {
		if errors.Is(err, process.ErrNoProcess) {
			return err // just ended: there is nothing to follow
		}
		return fmt.Errorf("terminal %q: %w: %w", tty, errWatchUnusable, err)
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	// The watcher may still hold a dead watch of an earlier terminal of the same name.
	_ = i.watcher.Remove(tty)
	if err := i.watcher.Add(tty); err != nil {
		return fmt.Errorf("terminal %q: %w: %w", tty, errWatchUnusable, err)
	}
	i.panes[tty], i.ttys[pane] = pane, tty
	return nil
}

// forget implements source.
func (i *inotify) forget(pane string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tty, ok := i.ttys[pane]
	delete(i.ttys, pane)
	if ok && i.panes[tty] == pane { // otherwise the terminal serves another pane already
		delete(i.panes, tty)
		_ = i.watcher.Remove(tty)
	}
}

// serve implements source.
func (i *inotify) serve(ctx context.Context) {
	defer func() { _ = i.watcher.Close() }()
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-i.watcher.Events:
			if !ok {
				return
			}
			i.mu.Lock()
			pane, known := i.panes[event.Name]
			i.mu.Unlock()
			switch {
			case !known:
			case event.Has(fsnotify.Remove), event.Has(fsnotify.Rename):
				i.edges.tell(Edge{Pane: pane, Kind: Gone})
			case event.Has(fsnotify.Write):
				i.edges.tell(Edge{Pane: pane, Kind: Wrote})
			}
		case err, ok := <-i.watcher.Errors:
			if !ok {
				return
			}
			i.edges.client.log.Debug("inotify", "err", err) // the queue overflowed, or worse
			i.edges.tell(Edge{Kind: Lost})
		}
	}
}
