package pane

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Terminal is what one pane needs of its tmux server; *tmux.Client is one.
type Terminal interface {
	// Look returns the pane's screen with that many lines of history or, at -1, without lines.
	Look(ctx context.Context, pane string, history int) (tmux.Look, error)
	// Type types if and only if the pane is still as in the look that was judged.
	Type(ctx context.Context, t tmux.Typing) (tmux.Outcome, error)
	// Watch makes writes in the pane come as triggers, until Forget.
	Watch(pane, tty string) error
	Forget(pane string)
	// Trigger names the way in which triggers come.
	Trigger() string
}

// Server is what the set of all panes needs of the tmux server.
type Server interface {
	Terminal
	Panes(ctx context.Context) ([]tmux.Pane, error)
	Glance(ctx context.Context) (map[string]tmux.Facts, error)
	Edges() <-chan tmux.Edge
	Unmark(ctx context.Context, pane string) error
}

// clock tells the time; nil is the system's.
type clock func() time.Time

func (c clock) now() time.Time {
	if c == nil {
		return time.Now()
	}
	return c()
}
