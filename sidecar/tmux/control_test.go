package tmux_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A session that ends with its last client ends when its person leaves; our control client must not
// keep it up.
func TestControl_keepsNoSessionThatEndsWithItsLastClient(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		if !v.AtLeast(3, 8) {
			t.Skip("needs tmux 3.8, which .ci/tmuxes gets: on an older one a session that ends beside a control client can crash the server")
		}
		s := tmuxtest.NewServer(t, v)
		s.Run("new-session", "-d", "-s", "brief", "exec cat")
		me := attach(t, s, "brief")
		s.Run("set-option", "-t", "brief", "destroy-unattached", "on")
		c := open(t, s, tmux.Options{Transport: "control"})
		clients, err := c.Clients(t.Context())
		require.NoError(t, err)
		for _, a := range clients {
			assert.Equal(t, a.Ours, a.Session == "base", "%+v", a)
		}
		s.Run("detach-client", "-t", me.client)
		tmuxtest.WaitFor(t, "the end of the session", func() bool { return s.Run("list-sessions", "-F", "#{session_name}") == "base" })
		assert.Equal(t, "control", c.Info().Transport)
	})
}

// Nor do we keep up a server that ends with its last client: then there is no control client.
func TestControl_keepsNoServerThatEndsWithItsLastClient(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		me := attach(t, s, "base")
		s.Run("set-option", "-s", "exit-unattached", "on")
		c, err := tmux.Open(t.Context(), tmux.Options{Bin: v.Bin, Socket: s.Socket, Transport: "control"})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		tmuxtest.WaitFor(t, "short processes", func() bool { return c.Info().Transport == "process" })
		assert.Contains(t, c.Info().Why, "exit-unattached")
		assert.Equal(t, tmux.Typed, typeText(t, c, s.Base, "x"))
		s.Run("detach-client", "-t", me.client)
		select {
		case <-c.Gone():
		case <-time.After(tmuxtest.Patience):
			t.Fatal("it stays")
		}
	})
}

// A pane in such a session is polled if tmux would otherwise have to report its output to a client
// of that session.
func TestOutput_keepsNoSessionThatEndsWithItsLastClient(t *testing.T) {
	t.Parallel()
	tmuxtest.EachVersion(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		if !v.AtLeast(3, 8) {
			t.Skip("needs tmux 3.8, which .ci/tmuxes gets: on an older one a session that ends beside a control client can crash the server")
		}
		s := tmuxtest.NewServer(t, v)
		pane := s.Run("new-session", "-d", "-P", "-F", "#{pane_id}", "-s", "brief", "exec cat")
		me := attach(t, s, "brief")
		s.Run("set-option", "-t", "brief", "destroy-unattached", "on")
		c := open(t, s, tmux.Options{Transport: "control", Trigger: "output"})
		require.NoError(t, c.Watch(pane, look(t, c, pane).Facts.TTY))
		s.Print(pane, "written")
		select {
		case edge := <-c.Edges():
			assert.Equal(t, tmux.Edge{Pane: pane, Kind: tmux.Wrote}, edge)
		case <-time.After(tmuxtest.Patience):
			t.Fatal("not told")
		}
		s.Run("detach-client", "-t", me.client)
		tmuxtest.WaitFor(t, "the end of the session", func() bool { return s.Run("list-sessions", "-F", "#{session_name}") == "base" })
	})
}
