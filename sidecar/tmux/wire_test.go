package tmux

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The connection that carries a text is cut at any byte, in either direction, or the server's bytes
// arrive changed. A text reported as typed was typed, once; a text reported as refused was not
// typed. Whichever transport is tried after the first, no text ever comes twice.
func TestS21_S23_C47_typedOnceOverAWireThatFails(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		s := tmuxtest.NewServer(t, v)
		r := s.NewRecorder(false)
		b := tmuxtest.NewBetween(t, s)
		c, err := Open(t.Context(), Options{Bin: v.Bin, Socket: s.Socket, Transport: "process", Deadline: 10 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		l, err := c.Look(t.Context(), r.Pane, 0) // the recorder does not echo, so its facts stay the same
		require.NoError(t, err)
		told := map[Outcome][]string{}
		types := func(w tmuxtest.Wire) {
			t.Helper()
			// Use a new client: after a surprise tmux's own protocol is off for good.
			over := &Client{info: c.info, short: c.short, deadline: 3 * time.Second, typing: 3 * time.Second, log: c.log, ctx: c.ctx}
			over.direct = &direct{server: native.Server{Socket: b.Socket, PID: os.Getpid()}, log: slog.New(slog.DiscardHandler)}
			b.Next(w)
			text := fmt.Sprintf("text %d of them.", len(told[Unknown])+len(told[Refused])+len(told[Typed]))
			out, err := over.Type(t.Context(), Typing{Pane: r.Pane, Facts: l.Facts, Text: []byte(text)})
			if out != Typed {
				assert.Error(t, err)
			}
			told[out] = append(told[out], text)
		}
		types(tmuxtest.Wire{})
		ours, theirs := b.Said()
		step := 41
		if os.Getenv("INTERCOM_LONG") != "" {
			step = 5
		}
		for at := 1 + rand.IntN(step); at <= len(ours); at += step {
			types(tmuxtest.Wire{CutUp: at})
		}
		for at := len(ours) - 60; at <= len(ours); at += 4 { // around the end of the text
			types(tmuxtest.Wire{CutUp: at})
		}
		for at := 1 + rand.IntN(3); at <= len(theirs); at += 1 + step/10 {
			types(tmuxtest.Wire{CutDown: at})
		}
		for range step {
			w := tmuxtest.Wire{Flip: 1 + rand.IntN(len(theirs)), Bits: 1 << rand.IntN(8)}
			if at := (w.Flip - 1) % 4; w.Flip < 48 && at == 0 {
				continue // a length that is too great: the reader waits for bytes that never come
			}
			types(w)
		}
		types(tmuxtest.Wire{})
		last := told[Typed][len(told[Typed])-1]
		tmuxtest.WaitFor(t, "the last text", func() bool { return bytes.Contains(r.Bytes(), []byte(last)) })
		typed := string(r.Bytes())
		for out, texts := range told {
			for _, text := range texts {
				n := strings.Count(typed, text)
				switch out {
				case Typed:
					assert.Equal(t, 1, n, text)
				case Refused:
					assert.Zero(t, n, text)
				default:
					assert.LessOrEqual(t, n, 1, text)
				}
			}
		}
		t.Logf("%d typed, %d unknown, %d refused", len(told[Typed]), len(told[Unknown]), len(told[Refused]))
		assert.NotEmpty(t, told[Unknown])
		assert.True(t, s.Alive())
		assert.Empty(t, s.Run("list-buffers"))
		assert.Empty(t, s.Run("list-clients"))
	})
}
