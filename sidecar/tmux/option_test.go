package tmux_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestOptions_anyTextComesBack(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		values := []string{
			"plain", "a b", ";", "x;", `x\;`, "-q", "#{pid} #(touch " + s.Dir + "/ran) %H", "\"'`$HOME\\", "日本 é 👩‍👩‍👧", "~", "{ x", "@a",
		}
		for _, v := range values {
			require.NoError(t, c.SetPaneOptions(t.Context(), s.Base, map[string]string{"@intercom-name": v, "@intercom-state": "idle"}))
			have, err := c.PaneOptions(t.Context(), s.Base, "@intercom-name", "@intercom-state", "@intercom-none")
			require.NoError(t, err)
			assert.Equal(t, map[string]string{"@intercom-name": v, "@intercom-state": "idle"}, have)
			require.NoError(t, c.SetServerOption(t.Context(), "@intercom-socket", v))
			one, err := c.ServerOption(t.Context(), "@intercom-socket")
			require.NoError(t, err)
			assert.Equal(t, v, one)
		}
		require.NoError(t, c.SetPaneOptions(t.Context(), s.Base, map[string]string{"@intercom-name": ""}))
		have, err := c.PaneOptions(t.Context(), s.Base, "@intercom-name")
		require.NoError(t, err)
		assert.Empty(t, have)
		require.NoError(t, c.SetServerOption(t.Context(), "@intercom-socket", ""))
		one, err := c.ServerOption(t.Context(), "@intercom-socket")
		require.NoError(t, err)
		assert.Empty(t, one)

		assert.Error(t, c.SetServerOption(t.Context(), "default-command", "x"), "no option of tmux's own")
		assert.Error(t, c.SetServerOption(t.Context(), "@x", "\xff"))
		assert.ErrorIs(t, c.SetPaneOptions(t.Context(), "%999", map[string]string{"@x": "y"}), tmux.ErrNoPane)
		assert.NoFileExists(t, s.Dir+"/ran")
	})
}

func TestTell_runsNothing(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		person := s.Command("attach-session", "-t", "base")
		person.Env = append(person.Env, "TERM=xterm-256color")
		tty, err := pty.Start(person)
		require.NoError(t, err)
		var mu sync.Mutex
		var screen []byte
		var reader sync.WaitGroup
		reader.Go(func() {
			buf := make([]byte, 4096)
			for {
				n, err := tty.Read(buf)
				mu.Lock()
				screen = append(screen, buf[:n]...)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
		defer func() {
			_ = person.Process.Kill()
			_ = person.Wait()
			_ = tty.Close()
			reader.Wait()
		}()
		name := ""
		tmuxtest.WaitFor(t, "the person's client", func() bool {
			clients, err := c.Clients(t.Context())
			require.NoError(t, err)
			for _, a := range clients {
				if !a.Control {
					name = a.Name
					assert.False(t, a.Ours)
					assert.Equal(t, s.Base, a.Pane)
				}
			}
			return name != ""
		})
		text := "-x #(touch " + s.Dir + "/ran) #{pid} 100%d %H #[fg=red] ü;"
		require.NoError(t, c.Tell(t.Context(), name, text))
		tmuxtest.WaitFor(t, "the message", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return bytes.Contains(screen, []byte("/ran) #{pid} 100%d %H"))
		})
		_, err = os.Stat(s.Dir + "/ran")
		assert.ErrorIs(t, err, os.ErrNotExist)
		require.NoError(t, c.Tell(t.Context(), "/dev/nobody", "for nobody"))
		require.NoError(t, c.Tell(t.Context(), name, "last"))
		tmuxtest.WaitFor(t, "the last message", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return bytes.Contains(screen, []byte("last"))
		})
		mu.Lock()
		defer mu.Unlock()
		assert.NotContains(t, string(screen), "for nobody", "told to no other client")
	})
}

// Clear removes our settings from a server even if that takes more commands than fit into a command
// line.
func TestClear_moreThanOneCommandLine(t *testing.T) {
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		var all strings.Builder
		for i := range 400 {
			fmt.Fprintf(&all, "set-environment -gh INTERCOM_TYPED_%d 1\n", 1000+i)
		}
		file := filepath.Join(s.Dir, "marks")
		require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o600))
		s.Run("source-file", file)
		require.NoError(t, c.SetPaneOptions(t.Context(), s.Base, map[string]string{"@intercom-name": "ada"}))
		removed, err := tmux.Clear(t.Context(), tmux.Options{Bin: s.Version.Bin, Socket: s.Socket})
		require.NoError(t, err)
		assert.Len(t, removed.Panes, 401)
		removed, err = tmux.Clear(t.Context(), tmux.Options{Bin: s.Version.Bin, Socket: s.Socket})
		require.NoError(t, err)
		assert.Empty(t, removed.Panes)
	})
}

// Clear leaves what a person has set for us: everything that docs/keys.md lists as theirs.
func TestClear_leavesWhatAPersonHasSet(t *testing.T) {
	data, err := os.ReadFile("../../docs/keys.md")
	require.NoError(t, err)
	var theirs []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`@intercom-.*?`) \\|").FindAllStringSubmatch(string(data), -1) {
		for name := range strings.SplitSeq(row[1], ", ") {
			name = strings.Trim(name, "`")
			theirs = append(theirs, "@intercom-"+strings.TrimPrefix(strings.TrimPrefix(name, "@intercom"), "-"))
		}
	}
	require.Contains(t, theirs, "@intercom-menu-key")
	slices.Sort(theirs)
	eachVersion(t, func(t *testing.T, s *tmuxtest.Server, _ *tmux.Client) {
		for _, name := range slices.Concat(theirs, []string{"@intercom-bin-used"}) {
			s.Run("set-option", "-g", name, "x")
		}
		removed, err := tmux.Clear(t.Context(), tmux.Options{Bin: s.Version.Bin, Socket: s.Socket})
		require.NoError(t, err)
		assert.Equal(t, theirs, removed.Yours)
		assert.Equal(t, []string{"@intercom-bin-used"}, removed.Options)
		for _, name := range theirs {
			assert.Equal(t, "x", s.Run("show-options", "-gqv", name), name)
		}
	})
}
