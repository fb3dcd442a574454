package tmux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestLook_factsAndScreenOfOneInstant(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		s.Print(r.Pane, "\x1b]2;a | b,c} #{d} ü\a\r\n"+strings.Repeat("x", 100)+"\r\n\x1b[31mred\x1b[m\tT\t日本\tE   \r\n"+strings.Repeat("\n", 30)+"end")
		s.WaitForText(r.Pane, "end")

		l := look(t, c, r.Pane)
		assert.Equal(t, 80, l.Facts.Width)
		assert.Equal(t, 24, l.Facts.Height)
		assert.Len(t, l.Rows, l.Facts.Height)
		assert.Equal(t, 3, l.Facts.CursorX)
		assert.Equal(t, 23, l.Facts.CursorY)
		assert.True(t, l.Facts.CursorVisible)
		assert.False(t, l.Facts.Dead || l.Facts.InMode || l.Facts.InputOff || l.Facts.Synchronised || l.Facts.Alternate)
		assert.Equal(t, s.Fact(r.Pane, "#{pane_pid} #{pane_tty}"), fmt.Sprintf("%d %s", l.Facts.PID, l.Facts.TTY))
		assert.Equal(t, 2000, l.Facts.HistoryLimit)
		assert.Equal(t, "a | b,c} #{d} ü", l.Facts.Title)
		assert.True(t, l.Complete)
		assert.Equal(t, []string{"ready", strings.Repeat("x", 100), "red     T       日本    E"}, l.Lines[:3])
		assert.Equal(t, "end", l.Lines[len(l.Lines)-1])

		short, err := c.Look(t.Context(), r.Pane, 0)
		require.NoError(t, err)
		assert.False(t, short.Complete)
		assert.LessOrEqual(t, len(short.Lines), 24)
		none, err := c.Look(t.Context(), r.Pane, -1)
		require.NoError(t, err)
		assert.Nil(t, none.Lines)
		assert.Equal(t, none.Facts, l.Facts, "nothing has changed")
	})
}

func TestLook_bracketedPaste(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		for _, on := range []bool{true, false} {
			off := look(t, c, s.NewRecorder(on).Pane).Facts.Unbracketed
			assert.Equal(t, !on && s.Fact("base:", "#{bracket_paste_flag}") != "", off, "switched on: %v", on)
		}
	})
}

func TestLook_pairsAreAtomicInAFlood(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		pane := s.NewPane("sh", "-c", `i=0; while :; do i=$((i+1)); printf '\r\n%d' $i; done`)
		s.WaitForText(pane, "100")
		for range 8 {
			l := look(t, c, pane)
			row := l.Rows[l.Facts.CursorY]
			if l.Facts.CursorX > 0 { // 0 is between CR and LF
				assert.Len(t, row, l.Facts.CursorX, "the cursor stands behind the number of its row: %q", row)
			}
			require.NotEmpty(t, l.Lines)
			assert.Equal(t, row, l.Lines[len(l.Lines)-1])
		}
	})
}

func TestW8_linesThatLookLikeTheProtocol(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		var text strings.Builder
		text.WriteString("\x1b[H\x1b[2J")
		now := time.Now().Unix()
		var want []string
		for i := range 20 { // guess the guards of the next looks
			want = append(want, fmt.Sprintf("%%end %d %d 1", now+int64(i%2), i*10), fmt.Sprintf("%%begin %d %d 1", now, i), fmt.Sprintf("%%error %d %d 1", now, i))
		}
		want = append(want, "%exit", "%output %0 x", "%session-changed $0 x", "日本語 e\u0301 👩", "%end", "ic-0123.1")
		for i, l := range want {
			if i > 0 {
				text.WriteString("\r\n")
			}
			text.WriteString(l)
		}
		s.Print(r.Pane, text.String())
		s.WaitForText(r.Pane, "ic-0123.1")
		for range 5 {
			l := look(t, c, r.Pane)
			require.GreaterOrEqual(t, len(l.Lines), len(want))
			assert.Equal(t, want, l.Lines[len(l.Lines)-len(want):])
			assert.Equal(t, want[len(want)-24:], l.Rows)
		}
		s.Print(r.Pane, "\x1b[H\x1b[2J\xff\xfe bad \xe2\x82")
		s.Print(r.Pane, "\xac\r\nsplit")
		s.WaitForText(r.Pane, "split")
		assert.Contains(t, look(t, c, r.Pane).Rows[0], "bad €", "a character split between two writes")
	})
}

func TestLook_sharesBatchesAndAVanishedPaneHarmsNobody(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		count := filepath.Join(s.Dir, "count")
		bin := filepath.Join(s.Dir, "tmux")
		script := fmt.Sprintf("#!/bin/sh\necho >>%s\nexec %s \"$@\"\n", count, v.Bin)
		tmuxtest.Program(t, bin, script)
		var c *tmux.Client
		tmuxtest.WaitFor(t, "client", func() bool { // a concurrent fork may hold the script open for a moment
			var err error
			c, err = tmux.Open(t.Context(), tmux.Options{Bin: bin, Socket: s.Socket, Transport: "process"})
			return err == nil
		})
		defer func() { require.NoError(t, c.Close()) }()
		processes := func() int {
			data, err := os.ReadFile(count)
			require.NoError(t, err)
			return len(data)
		}
		// Identity, signal, the waiter that takes it, identity, waiter; one process less, without
		// the signal, if the waiter was there first.
		const opening = 5
		tmuxtest.WaitFor(t, "client at rest", func() bool { return processes() >= opening })

		panes := []string{s.Base, s.NewPane("cat"), "%999", s.NewPane("cat"), "%998"}
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				pane := panes[i%len(panes)]
				l, err := c.Look(t.Context(), pane, i) // each with its own history, so that none is shared
				if pane == "%999" || pane == "%998" {
					assert.ErrorIs(t, err, tmux.ErrNoPane)
					return
				}
				if assert.NoError(t, err) {
					assert.Len(t, l.Rows, l.Facts.Height)
					assert.Equal(t, s.Fact(pane, "#{pane_tty}"), l.Facts.TTY, "the look is of that pane")
				}
			})
		}
		wg.Wait()
		// 80 vanished ones cost a process each; the 120 others share.
		assert.Less(t, processes()-opening, 80+25)

		before := processes()
		for range 200 {
			wg.Go(func() {
				_, err := c.Look(t.Context(), s.Base, -1)
				assert.NoError(t, err)
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, processes()-before, 20, "equal looks are one")
	})
}

func TestLook_stoppedServerIsGivenUpAndComesBack(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		for _, transport := range []string{"process", "control"} {
			t.Run(transport, func(t *testing.T) {
				t.Parallel()
				s := tmuxtest.NewServer(t, v)
				c := open(t, s, tmux.Options{Transport: transport})
				require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
				_, err := c.Look(t.Context(), s.Base, -1)
				assert.ErrorIs(t, err, context.DeadlineExceeded)
				select {
				case <-c.Gone():
					t.Error("a stopped server is not gone")
				default:
				}
				require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))
				tmuxtest.WaitFor(t, "an answer", func() bool {
					_, err := c.Look(t.Context(), s.Base, -1)
					return err == nil
				})
				if transport == "control" {
					tmuxtest.WaitFor(t, "a new control client", func() bool {
						clients, err := c.Clients(t.Context())
						return err == nil && len(clients) == 1 && clients[0].Ours
					})
				}
			})
		}
	})
}

func TestControl_attachesAgain(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		s.Run("new-session", "-d", "-s", "second", "exec cat", ";", "set-option", "-g", "detach-on-destroy", "on")
		c := open(t, s, tmux.Options{Transport: "control"})
		ours := func() (a tmux.Attached) {
			tmuxtest.WaitFor(t, "our control client", func() bool {
				clients, err := c.Clients(t.Context())
				require.NoError(t, err)
				for _, a = range clients {
					if a.Ours {
						return true
					}
				}
				return false
			})
			return a
		}
		first := ours()
		assert.True(t, first.Control)
		require.NoError(t, syscall.Kill(first.PID, syscall.SIGKILL))
		tmuxtest.WaitFor(t, "another process", func() bool { return ours().PID != first.PID })

		other := s.Run("list-panes", "-t", "second", "-F", "#{pane_id}")
		s.Run("kill-session", "-t", "base")
		_, err := c.Look(t.Context(), other, 10)
		assert.NoError(t, err, "by a process meanwhile")
		assert.Equal(t, "second", ours().Session)
		_, err = c.Look(t.Context(), other, 10)
		assert.NoError(t, err)
		_, err = c.Look(t.Context(), s.Base, 10)
		assert.ErrorIs(t, err, tmux.ErrNoPane)
	})
}
