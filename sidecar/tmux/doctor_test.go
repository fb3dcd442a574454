package tmux_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestInspect_tellsAndChangesNothing(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, _ *tmux.Client) {
		o := tmux.Options{Bin: s.Version.Bin, Socket: s.Socket}
		s.Run("set-option", "-s", "@intercom-here", "a b; c")
		h, err := tmux.Inspect(t.Context(), o, "@intercom-here", "@intercom-not")
		require.NoError(t, err)
		assert.Equal(t, s.PID, h.Info.PID)
		assert.Equal(t, s.Version.Name, h.Info.Version)
		assert.Equal(t, map[string]string{"@intercom-here": "a b; c"}, h.Options)
		for _, v := range h.Viewers {
			assert.True(t, v.Control, "nobody but programs of ours is here")
		}
		version, err := tmux.ProgramVersion(t.Context(), s.Version.Bin)
		require.NoError(t, err)
		assert.Equal(t, s.Version.Name, version)

		s.Kill()
		_, err = tmux.Inspect(t.Context(), o)
		assert.ErrorIs(t, err, tmux.ErrNoServer)
	})
}

// The server's own options are read past those that a user sets for all sessions.
func TestAskServer(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, _ *tmux.Client) {
		o := tmux.Options{Bin: s.Version.Bin, Socket: s.Socket}
		s.Run("set-option", "-s", "@intercom-a", "own")
		s.Run("set-option", "-g", "@intercom-a", "global")
		s.Run("set-option", "-g", "@intercom-b", "global")
		s.Run("set-option", "-s", "@intercom-c", "own")
		names := []string{"@intercom-a", "@intercom-b", "@intercom-c", "@intercom-d"}
		own, err := tmux.AskServer(t.Context(), o, names...)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"@intercom-a": "own", "@intercom-c": "own"}, own)
		both, err := tmux.Ask(t.Context(), o, names...)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"@intercom-a": "global", "@intercom-b": "global", "@intercom-c": "own"}, both)
	})
}

func TestWithdraw_onlyWhatIsStillThere(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, _ *tmux.Client) {
		o := tmux.Options{Bin: s.Version.Bin, Socket: s.Socket}
		const name, value = "@intercom-socket", "/run/user/1/a_b-c.sock"
		s.Run("set-option", "-s", name, value+"x")
		gone, err := tmux.Withdraw(t.Context(), o, name, value)
		require.NoError(t, err)
		assert.True(t, gone, "that value has gone")
		assert.Equal(t, value+"x", s.Run("show-options", "-sqv", name), "another's stays")
		s.Run("set-option", "-s", name, value)
		gone, err = tmux.Withdraw(t.Context(), o, name, value)
		require.NoError(t, err)
		assert.True(t, gone)
		assert.Empty(t, s.Run("show-options", "-sqv", name))

		for _, global := range []string{value, value + "x"} {
			s.Run("set-option", "-g", name, global)
			s.Run("set-option", "-s", name, value)
			gone, err = tmux.Withdraw(t.Context(), o, name, value)
			require.NoError(t, err)
			assert.True(t, gone)
			assert.Empty(t, s.Run("show-options", "-sqv", name))
			assert.Equal(t, global, s.Run("show-options", "-gqv", name), "what a person has set for all sessions is theirs")
		}
		_, err = tmux.Withdraw(t.Context(), o, name, "#(touch x)")
		assert.Error(t, err)
		_, err = tmux.Withdraw(t.Context(), o, "status", "on")
		assert.Error(t, err)
	})
}

func TestChoose_isWhatOpenDoes(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		transport, why, trigger, err := tmux.Choose(tmux.Options{}, s.Version.Name)
		require.NoError(t, err)
		assert.Equal(t, c.Info().Transport, transport)
		assert.Equal(t, c.Info().Why, why)
		assert.Equal(t, c.Trigger(), trigger)
	})
}

// tmux's own protocol is used only on request, and only with known versions.
func TestChoose_nativeIsAskedFor(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"3.2a": "native", "3.8": "native", "next-3.9": "process", "master": "process", "openbsd-7.8": "process"} {
		transport, why, _, err := tmux.Choose(tmux.Options{Transport: "native"}, version)
		require.NoError(t, err)
		assert.Equal(t, want, transport, version)
		assert.Contains(t, why, "asked for")
	}
}
