package tmux_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// No query about a pane that has just gone, or about a client that does not exist, contains a
// format that crashes an old server. The test reads the queries off the command line of each tmux
// process, on every version, including newer ones.
func TestS23_WhatIsSentForAPaneThatIsGone(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		sent := filepath.Join(s.Dir, "sent")
		require.NoError(t, os.WriteFile(sent, nil, 0o600))
		recording := filepath.Join(s.Dir, "tmux")
		tmuxtest.Program(t, recording, "#!/bin/sh\nprintf '%s\\0' \"$@\" >>'"+sent+"'\nexec '"+v.Bin+"' \"$@\"\n")
		o := tmux.Options{Bin: recording, Socket: s.Socket, Transport: "process"}
		c, err := tmux.Open(t.Context(), o)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })

		gone, near := s.NewRecorder(false), s.NewRecorder(false)
		was := look(t, c, gone.Pane)
		require.NoError(t, c.Watch(gone.Pane, was.Facts.TTY))
		s.Run("kill-pane", "-t", gone.Pane)
		ctx := t.Context()
		for name, ask := range map[string]func() error{
			"Look":      func() error { _, err := c.Look(ctx, gone.Pane, -1); return err },
			"Look back": func() error { _, err := c.Look(ctx, gone.Pane, 100); return err },
			"Watch":     func() error { return c.Watch(gone.Pane, was.Facts.TTY) },
			"Options":   func() error { _, err := c.PaneOptions(ctx, gone.Pane, "@intercom-name"); return err },
			"Set":       func() error { return c.SetPaneOptions(ctx, gone.Pane, map[string]string{"@intercom-name": "x"}) },
		} {
			assert.ErrorIs(t, ask(), tmux.ErrNoPane, name)
			require.True(t, s.Alive(), name)
		}
		for _, keys := range []tmux.Keys{{}, was.Keys} {
			for _, mark := range []string{"", "pasted.1"} {
				for _, tail := range []string{"", "ready"} {
					out, err := c.Type(ctx, tmux.Typing{Pane: gone.Pane, Facts: was.Facts, Text: []byte("x"), Keys: keys, Mark: mark, Tail: tail})
					require.NoError(t, err)
					assert.Equal(t, tmux.Refused, out)
					require.True(t, s.Alive(), "typing")
				}
			}
		}
		require.NoError(t, c.Unmark(ctx, gone.Pane))
		c.Forget(gone.Pane)
		look(t, c, near.Pane)
		for name, ask := range map[string]func() error{
			"Panes":     func() error { _, err := c.Panes(ctx); return err },
			"ListPanes": func() error { _, err := tmux.ListPanes(ctx, o); return err },
			"Glance":    func() error { _, err := c.Glance(ctx); return err },
			"Clients":   func() error { _, err := c.Clients(ctx); return err },
			"Terminals": func() error { _, err := tmux.Terminals(ctx, o); return err },
			"Tell":      func() error { return c.Tell(ctx, "/dev/nobody", "#{session_activity}") },
			"Show":      func() error { return tmux.Show(ctx, o, "/dev/nobody", "#{session_activity}", 1) },
			"Inspect":   func() error { _, err := tmux.Inspect(ctx, o, "@intercom-name"); return err },
			"Ask":       func() error { _, err := tmux.Ask(ctx, o, "@intercom-name"); return err },
			"Set":       func() error { return tmux.Set(ctx, o, map[string]string{"@intercom-name": "#{session_activity}"}) },
			"Server":    func() error { return c.SetServerOption(ctx, "@intercom-socket", "x") },
			"Withdraw":  func() error { _, err := tmux.Withdraw(ctx, o, "@intercom-socket", "x"); return err },
			"Clear":     func() error { _, err := tmux.Clear(ctx, o); return err },
			"NewWindow": func() error {
				_, err := c.NewWindow(ctx, tmux.Window{Session: "base", Name: "#{session_activity}", Dir: s.Dir + "#{session_activity}", Command: []string{"cat"}})
				return err
			},
		} {
			require.NoError(t, ask(), name)
			require.True(t, s.Alive(), name)
		}

		words, err := os.ReadFile(sent)
		require.NoError(t, err)
		activity := 0
		for word := range strings.SplitSeq(string(words), "\x00") {
			if strings.Contains(word, "@intercom-name") || word == "#{session_activity}" {
				continue // the value of an option, which no command expands
			}
			assert.False(t, tmuxtest.Kills(word), "%q", word)
			activity += strings.Count(word, "session_activity},}")
		}
		assert.Greater(t, activity, 5, "what is recorded is what is sent")
	})
}

// The panes of a server close one after another while looks at them are on their way.
func TestS23_PanesCloseWhileTheyAreLookedAt(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		for range 5 {
			var panes []string
			for range 3 {
				panes = append(panes, s.NewPane("cat"))
			}
			done := make(chan struct{})
			go func() {
				defer close(done)
				for gone := 0; gone < len(panes); {
					gone = 0
					for _, pane := range panes {
						_, err := c.Look(t.Context(), pane, 10)
						if errors.Is(err, tmux.ErrNoPane) {
							gone++
						} else if err != nil {
							t.Errorf("look at %s: %v", pane, err)
							return
						}
					}
				}
			}()
			for _, pane := range panes {
				s.Run("kill-pane", "-t", pane)
			}
			<-done
			require.True(t, s.Alive())
		}
	})
}
