package tmux_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// BenchmarkQ12_Client measures one look (facts, screen, 100 lines of history), one compare-and-type,
// and the five steps of a delivery (a look, a paste, a look, Enter, a look), over each transport, on every
// tmux at hand.
func BenchmarkQ12_Client(b *testing.B) {
	for _, v := range tmuxtest.Versions(b) {
		for _, transport := range []string{"process", "native", "control"} {
			s := tmuxtest.NewServer(b, v)
			r := s.NewRecorder(false)
			c, err := tmux.Open(b.Context(), tmux.Options{Bin: v.Bin, Socket: s.Socket, Transport: transport})
			require.NoError(b, err)
			if transport == "control" {
				tmuxtest.WaitFor(b, "control client", func() bool {
					clients, err := c.Clients(b.Context())
					return err == nil && len(clients) == 1
				})
			}
			b.Run("look/"+v.Name+"/"+transport, func(b *testing.B) {
				for b.Loop() {
					_, err := c.Look(b.Context(), r.Pane, 100)
					require.NoError(b, err)
				}
			})
			b.Run("type/"+v.Name+"/"+transport, func(b *testing.B) {
				l, err := c.Look(b.Context(), r.Pane, -1)
				require.NoError(b, err)
				for b.Loop() { // the recorder does not echo, so its facts stay the same
					out, err := c.Type(b.Context(), tmux.Typing{Pane: r.Pane, Facts: l.Facts, Text: []byte("hello")})
					require.NoError(b, err)
					require.Equal(b, tmux.Typed, out)
				}
			})
			b.Run("delivery/"+v.Name+"/"+transport, func(b *testing.B) {
				for b.Loop() {
					l, err := c.Look(b.Context(), r.Pane, 100)
					require.NoError(b, err)
					for _, text := range []string{"hello", "\r"} {
						out, err := c.Type(b.Context(), tmux.Typing{Pane: r.Pane, Facts: l.Facts, Text: []byte(text)})
						require.NoError(b, err)
						require.Equal(b, tmux.Typed, out)
						l, err = c.Look(b.Context(), r.Pane, 100)
						require.NoError(b, err)
					}
				}
			})
			require.NoError(b, c.Close())
		}
	}
}
