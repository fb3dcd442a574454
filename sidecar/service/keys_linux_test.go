package service

import (
	"context"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// parent is a tmux server that has started this process for a key pressed just now, and does not answer callers
// that are gone.
type parent struct{}

func (parent) Info() tmux.Info                                { return tmux.Info{PID: os.Getppid()} }
func (parent) Panes(ctx context.Context) ([]tmux.Pane, error) { return nil, ctx.Err() }

func (parent) Clients(ctx context.Context) ([]tmux.Attached, error) {
	return []tmux.Attached{{Name: "/dev/pts/9", Session: "main", Activity: time.Now().Unix()}}, ctx.Err()
}

// The plugin waits for a moment until its key is known, and then opens its menu: a choice from the menu is the
// person's even if the plugin stopped waiting.
func TestPressed_whoeverPressedWaitsNoLonger(t *testing.T) {
	t.Parallel()
	s := &Callers{Relay: those{}, Tmux: parent{}, Log: slog.New(slog.DiscardHandler)}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	_, err := s.Pressed(ctx, api.Caller{PID: os.Getpid(), Client: "/dev/pts/9"}, api.PressedRequest{Menu: true})
	require.NoError(t, err)
	require.Contains(t, s.keys.menus, "/dev/pts/9")
	assert.False(t, s.keys.menus["/dev/pts/9"].closed, "its menu is open")

	// Something else was chosen from the menu before the next call of Pressed.
	chosen := process.Process{PID: os.Getpid(), Start: 1}
	s.keys.note("/dev/pts/9", menu{key: s.keys.menus["/dev/pts/9"].key, closed: true, by: chosen})
	_, err = s.Pressed(t.Context(), api.Caller{PID: os.Getpid(), Client: "/dev/pts/9"}, api.PressedRequest{Next: true})
	require.NoError(t, err)
	assert.True(t, s.keys.menus["/dev/pts/9"].closed, "it stays closed")
}
