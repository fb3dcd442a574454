package service

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// attendEvery is the longest interval at which the tmux server is asked for its clients. The interval is
// shorter if a quarter of the shortest time that a chat has set is.
const attendEvery = 15 * time.Second

// Attendance notices when a person is at a terminal.
type Attendance struct {
	Relay interface {
		present
		Attended(ctx context.Context) error
	}
	Tmux interface {
		Clients(ctx context.Context) ([]tmux.Attached, error)
	}
	Log *slog.Logger
}

// Run tells the relay when a person is at a terminal of the server, as long as a chat wants to know. It looks
// for a change since the last time: a new client, or a key pressed at one. So it compares no two clocks, and a
// computer that slept for a night finds nobody more absent than before.
func (s *Attendance) Run(ctx context.Context) error {
	seen := map[string]int64{} // time of the last key, by client
	for {
		pause := attendEvery
		wanted := false
		for _, chat := range s.Relay.Snapshot().Chats() {
			if chat.State == message.ChatOn && chat.Limits.Away > 0 {
				wanted = true
				pause = min(pause, max(chat.Limits.Away/4, 100*time.Millisecond))
			}
		}
		if wanted {
			if s.changed(ctx, seen) {
				if err := s.Relay.Attended(ctx); err != nil {
					return nil // ending
				}
			}
		} else {
			clear(seen)
			pause = time.Second // until such a chat starts
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// changed reports whether there is a new terminal, or one where a key was pressed since the last call.
func (s *Attendance) changed(ctx context.Context, seen map[string]int64) bool {
	clients, err := s.Tmux.Clients(ctx)
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn("list clients", "err", err)
		}
		return false
	}
	changed := false
	var here []string
	for _, c := range clients {
		if c.Control || c.Suspended {
			continue
		}
		here = append(here, c.Name)
		if last, known := seen[c.Name]; !known || c.Activity != last {
			seen[c.Name], changed = c.Activity, true
		}
	}
	for name := range seen {
		if !slices.Contains(here, name) {
			delete(seen, name)
		}
	}
	return changed
}
