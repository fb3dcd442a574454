package launch

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// nobody has adopted anything.
type nobody struct{}

func (nobody) Adopt(context.Context, pane.Request) (message.Peer, error) { return message.Peer{}, nil }
func (nobody) Await(context.Context, message.ID) error                   { return nil }
func (nobody) Forget(context.Context, message.ID) error                  { return nil }
func (nobody) Start(context.Context, message.Peer, pane.Past) error      { return nil }

// A window that tmux keeps after its program has ended is closed all the same.
func TestLauncher_leavesNoWindowOfWhatEnded(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		s.Run("set-option", "-g", "remain-on-exit", "on")
		c, err := tmux.Open(t.Context(), tmux.Options{Bin: v.Bin, Socket: s.Socket})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		l := &Launcher{
			Panes: nobody{}, Tmux: c, Server: message.Process{PID: s.PID}, Command: []string{"false", "session-exec"}, Log: slog.New(slog.DiscardHandler),
		}
		o := message.StartOrder{ID: message.NewID(), Name: "ada", Dir: "/", Program: []string{"cat"}}
		_, err = l.Open(t.Context(), o)
		require.ErrorIs(t, err, ErrEnded)
		require.Equal(t, s.Base, s.Run("list-panes", "-a", "-F", "#{pane_id}"))

		left, err := c.NewWindow(t.Context(), tmux.Window{Session: "base", Command: append(l.Command, string(o.ID), "/", "cat")}) // by an earlier run
		require.NoError(t, err)
		s.WaitForFact(left, "#{pane_dead}", "1")
		_, err = l.Find(t.Context(), o)
		require.ErrorIs(t, err, ErrEnded)
		require.Equal(t, s.Base, s.Run("list-panes", "-a", "-F", "#{pane_id}"))
	})
}
