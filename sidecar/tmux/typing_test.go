package tmux_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestS8_deadPaneIsNotTypedInto(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		s.Run("set-option", "-w", "-t", r.Pane, "remain-on-exit", "on")
		alive := look(t, c, r.Pane).Facts
		require.NoError(t, syscall.Kill(alive.PID, syscall.SIGKILL))
		s.WaitForFact(r.Pane, "#{pane_dead}", "1")
		dead := look(t, c, r.Pane).Facts
		assert.True(t, dead.Dead)

		for _, facts := range []tmux.Facts{alive, dead} {
			for _, bracketed := range []bool{true, false} {
				out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: facts, Text: []byte("x\n"), Bracketed: bracketed})
				assert.NoError(t, err)
				assert.Equal(t, tmux.Refused, out)
			}
		}
		assert.True(t, s.Alive(), "the server survives")
		assert.Empty(t, r.Bytes())
		assert.Empty(t, s.Run("list-buffers"))
	})
}

// Each of these changes one fact, and no other, after the look.
var changes = []struct {
	fact          string
	change, mend  []string // tmux commands, for the pane
	print, unseen string   // or output of the program; unseen marks the end of the change
}{
	{fact: "mode", change: []string{"copy-mode"}, mend: []string{"send-keys", "-X", "cancel"}},
	{fact: "inputoff", change: []string{"select-pane", "-d"}, mend: []string{"select-pane", "-e"}},
	{fact: "synchronised", change: []string{"set-option", "-w", "synchronize-panes", "on"}, mend: []string{"set-option", "-w", "synchronize-panes", "off"}},
	{fact: "pid", change: []string{"respawn-pane", "-k"}},
	{fact: "alternate", print: "\x1b[?1049h\x1b[Hready", unseen: "#{alternate_on}=1"},
	{fact: "cursorflag", print: "\x1b[?25l", unseen: "#{cursor_flag}=0"},
	{fact: "cursor", print: "\x1b[1C", unseen: "#{cursor_x}=6"},
	{fact: "cursor", print: "\x1b[1B", unseen: "#{cursor_y}=1"},
	{fact: "history", change: []string{"clear-history"}},
	{fact: "width", change: []string{"resize-window", "-x", "79"}},
	{fact: "tail", print: "\x1b7\x1b[1;1Hother\x1b[2;1Hsteady\x1b8", unseen: "#{C:other}=1"},
}

func TestS21_eachFactChangedInTheGapRefuses(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		for _, ch := range changes {
			t.Run(ch.fact, func(t *testing.T) {
				r := s.NewRecorder(false)
				second := ""
				if ch.fact == "synchronised" {
					file := r.File + ".second"
					second = s.Run("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", r.Pane, "sh", "-c", "stty raw -echo; printf ready; exec cat > "+file)
					s.WaitForText(second, "ready")
					defer func() {
						data, err := os.ReadFile(file)
						require.NoError(t, err)
						assert.Empty(t, data, "the other pane of the window")
					}()
				}
				if ch.fact == "history" {
					s.Print(r.Pane, strings.Repeat("\r\n", 40)+"\x1b[Hready")
					s.WaitForText(r.Pane, "ready")
				}
				before := look(t, c, r.Pane).Facts
				if ch.change != nil {
					s.Run(append([]string{ch.change[0], "-t", r.Pane}, ch.change[1:]...)...)
				} else {
					s.Print(r.Pane, ch.print)
					format, want, _ := strings.Cut(ch.unseen, "=")
					s.WaitForFact(r.Pane, format, want)
				}
				if ch.fact == "pid" {
					s.WaitForText(r.Pane, "ready")
				}
				out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: before, Text: []byte("wrong"), Tail: "ready"})
				require.NoError(t, err)
				assert.Equal(t, tmux.Refused, out)

				if ch.mend != nil { // a look at the unsafe state is refused just the same
					unsafe := look(t, c, r.Pane).Facts
					out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: unsafe, Text: []byte("wrong")})
					require.NoError(t, err)
					assert.Equal(t, tmux.Refused, out, "as seen")
					s.Run(append([]string{ch.mend[0], "-t", r.Pane}, ch.mend[1:]...)...)
				}
				// Bytes keep their order, so any earlier bytes would stand before these.
				assert.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "right"))
				assert.Equal(t, "right", string(r.WaitForBytes(len("right"))))
				assert.Empty(t, s.Run("list-buffers"), "no buffer is left for the person's own paste key")
			})
		}
	})
}

func TestS21_sameFactsType(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		s.Print(r.Pane, "\r\n100% #{x} {a,b} [z] *? äöü $HOME")
		s.WaitForText(r.Pane, "$HOME")
		now := look(t, c, r.Pane).Facts
		for _, tail := range []string{"", "ready", "100% #{x} {a,b} [z] *?", "äöü $HOME", " ready  "} {
			out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: now, Text: []byte("+"), Tail: tail})
			require.NoError(t, err)
			assert.Equal(t, tmux.Typed, out, "tail %q", tail)
		}
		for _, tail := range []string{"absent", "100a #", "readyy", "ready x"} {
			out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: now, Text: []byte("-"), Tail: tail})
			require.NoError(t, err)
			assert.Equal(t, tmux.Refused, out, "tail %q", tail)
		}
		assert.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "\n"), "Enter")
		assert.Equal(t, "+++++\r", string(r.WaitForBytes(6)))
	})
}

func TestS21_everyByteValueArrives(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(true)
		var every []byte
		for b := range 256 {
			every = append(every, byte(b))
		}
		every = append(every, "; kill-server\n#(touch "+s.Dir+"/ran) #{pid} %H '\" \\; \xff; kill-server\n"...)
		// All text that passes unchanged on every version, as the sanitiser leaves it.
		var text strings.Builder
		for r := rune(0x20); r < 0x30000; r += 1 + r/300 {
			if r != 0x7f && (r < 0x80 || r > 0x9f) && (r < 0xd800 || r > 0xdfff) {
				text.WriteRune(r)
			}
		}
		text.WriteString("a\nb\n\n\tc\u200b\u202e👩‍👩‍👧")

		send := func(body []byte) {
			out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: look(t, c, r.Pane).Facts, Text: body, Bracketed: true})
			require.NoError(t, err)
			require.Equal(t, tmux.Typed, out)
		}
		send([]byte(text.String()))
		want := "\x1b[200~" + text.String() + "\x1b[201~"
		got := string(r.WaitForBytes(len(want)))
		assert.True(t, want == got, "text arrives as one bracketed paste, byte for byte: %d of %d bytes", len(got), len(want))

		send(every)
		if !s.Version.AtLeast(3, 7) { // from 3.7 on tmux writes controls and stray bytes as text
			raw := want + "\x1b[200~" + string(every) + "\x1b[201~"
			assert.Equal(t, raw, string(r.WaitForBytes(len(raw))))
		} else {
			tmuxtest.WaitFor(t, "end of the paste", func() bool { return bytes.Count(r.Bytes(), []byte("\x1b[201~")) == 2 })
			second := string(r.Bytes()[len(want):])
			assert.Equal(t, 2, strings.Count(second, "\x1b"), "only the brackets are escapes")
			assert.Contains(t, second, " !\"#$%&'()*+,-./0123456789:;<=>?@ABC")
			assert.Contains(t, second, "; kill-server\n#(touch ")
		}
		assert.True(t, s.Alive())
		assert.NoFileExists(t, s.Dir+"/ran")
		assert.Empty(t, s.Run("list-buffers"))
	})
}

func TestType_withoutBracketsLineBreakIsEnter(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(true)
		assert.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "a\n"))
		assert.Equal(t, "a\r", string(r.WaitForBytes(2)))
	})
}

func TestType_largeText(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		text := strings.Repeat("0123456789abcdef", 16<<10)
		assert.Equal(t, tmux.Typed, typeText(t, c, r.Pane, text))
		assert.True(t, text == string(r.WaitForBytes(len(text))))
	})
}

func TestType_refusesWhatMakesNoSense(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		now := look(t, c, s.Base).Facts
		for name, typing := range map[string]tmux.Typing{
			"name instead of id": {Pane: "base:", Facts: now, Text: []byte("x")},
			"facts of no look":   {Pane: s.Base, Facts: tmux.Facts{PID: now.PID}, Text: []byte("x")},
			"no text":            {Pane: s.Base, Facts: now},
			"tail of wildcards":  {Pane: s.Base, Facts: now, Text: []byte("x"), Tail: "*?#"},
		} {
			out, err := c.Type(t.Context(), typing)
			assert.Error(t, err, name)
			assert.Equal(t, tmux.Refused, out, name)
		}
		// Facts of one pane do not fit another pane, nor one that is gone.
		other := s.NewRecorder(false)
		for _, pane := range []string{other.Pane, "%999"} {
			out, err := c.Type(t.Context(), tmux.Typing{Pane: pane, Facts: now, Text: []byte("x")})
			assert.NoError(t, err)
			assert.Equal(t, tmux.Refused, out, pane)
		}
	})
}

func TestS9_S21_movedPaneIsTheSameRespawnedIsNot(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		now := look(t, c, r.Pane).Facts
		s.Run("new-session", "-d", "-s", "other", "-x", "80", "-y", "24", "exec cat")
		s.Run("rename-session", "-t", "base", "renamed")
		s.Run("move-window", "-s", r.Pane, "-t", "other:7")
		s.Run("swap-window", "-d", "-s", "other:0", "-t", "other:7")
		out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: now, Text: []byte("moved")})
		require.NoError(t, err)
		assert.Equal(t, tmux.Typed, out)
		assert.Equal(t, "moved", string(r.WaitForBytes(5)))

		s.Run("respawn-pane", "-k", "-t", r.Pane)
		s.WaitForText(r.Pane, "ready")
		out, err = c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: now, Text: []byte("other")})
		require.NoError(t, err)
		assert.Equal(t, tmux.Refused, out)
		assert.Equal(t, "moved", string(r.Bytes()))
	})
}

// With tmux's own protocol it is certain that a text which was not wholly sent is never typed.
func TestType_stoppedServerThatWasNotSentTheTextRefuses(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		c := open(t, s, tmux.Options{Transport: "native"})
		r := s.NewRecorder(false)
		facts := look(t, c, r.Pane).Facts
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		out, err := c.Type(ctx, tmux.Typing{Pane: r.Pane, Facts: facts, Text: []byte("never")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, tmux.Refused, out)
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))

		require.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "end"))
		assert.Equal(t, "end", string(r.WaitForBytes(3)))
		assert.Empty(t, s.Run("list-buffers"))
	})
}

func TestType_stoppedServerIsUnknownAndNeverHalf(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		c := open(t, s, tmux.Options{})
		r := s.NewRecorder(false)
		facts := look(t, c, r.Pane).Facts
		text := strings.Repeat("0123456789", 1000)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGSTOP))
		out, err := c.Type(ctx, tmux.Typing{Pane: r.Pane, Facts: facts, Text: []byte(text)})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, tmux.Unknown, out)
		require.NoError(t, syscall.Kill(s.PID, syscall.SIGCONT))

		tmuxtest.WaitFor(t, "an answer", func() bool {
			l, err := c.Look(t.Context(), r.Pane, -1)
			if err != nil {
				return false
			}
			out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: l.Facts, Text: []byte("end")})
			return err == nil && out == tmux.Typed
		})
		tmuxtest.WaitFor(t, "the end", func() bool { return bytes.HasSuffix(r.Bytes(), []byte("end")) })
		rest := strings.TrimRight(string(r.Bytes()), "end")
		assert.Contains(t, []string{"", text}, rest, "all of it or nothing")
		assert.True(t, s.Alive())
	})
}

func TestType_killedHelpersTypeAllOrNothing(t *testing.T) {
	eachSafe(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		unknown, typed := 0, 0
		for i := range 30 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*400)*time.Microsecond)
			out, err := c.Type(ctx, tmux.Typing{Pane: r.Pane, Facts: look(t, c, r.Pane).Facts, Text: fmt.Appendf(nil, "<%02d>", i)})
			cancel()
			switch out {
			case tmux.Typed:
				typed++
				assert.NoError(t, err)
				tmuxtest.WaitFor(t, "what was typed", func() bool { return bytes.Contains(r.Bytes(), fmt.Appendf(nil, "<%02d>", i)) })
			case tmux.Unknown:
				unknown++
				assert.Error(t, err)
			}
		}
		require.Equal(t, tmux.Typed, typeText(t, c, r.Pane, "end"))
		tmuxtest.WaitFor(t, "the end", func() bool { return bytes.HasSuffix(r.Bytes(), []byte("end")) })
		got := strings.TrimSuffix(string(r.Bytes()), "end")
		assert.Zero(t, len(got)%4, "whole texts: %q", got)
		last := -1
		for ; len(got) >= 4; got = got[4:] {
			var n int
			_, err := fmt.Sscanf(got[:4], "<%d>", &n)
			require.NoError(t, err)
			assert.Greater(t, n, last, "each once, in order")
			last = n
		}
		assert.Empty(t, s.Run("list-buffers"))
		t.Logf("%d typed, %d unknown", typed, unknown)
	})
}

// A hook that takes the text away is reported, and nothing was typed.
func TestType_aHookTakesTheText(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		typing := tmux.Typing{Pane: r.Pane, Facts: look(t, c, r.Pane).Facts, Text: []byte("one\n"), Mark: "m1"}
		out, err := c.Type(t.Context(), typing)
		require.NoError(t, err)
		assert.Equal(t, tmux.Typed, out)
		assert.Equal(t, "one\r", string(r.WaitForBytes(4)))

		script := filepath.Join(s.Dir, "tidy")
		bin := s.Version.Bin + " -S " + s.Socket
		tmuxtest.Program(t, script, "#!/bin/sh\nfor b in $("+bin+" list-buffers -F '#{buffer_name}'); do "+bin+" delete-buffer -b $b; done\n")
		s.Run("set-hook", "-g", "after-load-buffer", "run-shell "+script)
		hooks, err := tmux.Hooks(t.Context(), tmux.Options{Bin: s.Version.Bin, Socket: s.Socket})
		require.NoError(t, err)
		require.Len(t, hooks, 1)
		assert.Equal(t, "after-load-buffer", hooks[0].Name)
		assert.Contains(t, hooks[0].Runs, script)
		typing.Facts, typing.Text, typing.Mark = look(t, c, r.Pane).Facts, []byte("two\n"), "m2"
		out, err = c.Type(t.Context(), typing)
		assert.Equal(t, tmux.Robbed, out, "%v", err)
		assert.Error(t, err)
		assert.Equal(t, "m1", look(t, c, r.Pane).Facts.Mark)

		s.Run("set-hook", "-gu", "after-load-buffer")
		typing.Facts, typing.Text = look(t, c, r.Pane).Facts, []byte("three\n")
		out, err = c.Type(t.Context(), typing)
		require.NoError(t, err)
		assert.Equal(t, tmux.Typed, out)
		r.WaitForBytes(10)
		assert.Equal(t, "one\rthree\r", string(r.Bytes()))
	})
}
