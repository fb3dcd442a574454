package tmux_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The mark of a typing exists exactly if the text was typed, and nobody else sees it: no program
// that is started then, no person's list of the environment, no screen.
func TestType_marksWhatWasTyped(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false)
		other := s.NewRecorder(false)
		before := look(t, c, r.Pane)
		assert.Empty(t, before.Facts.Mark)
		mark := "pasted.12.01a2-b3.01a2-b4"
		out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: before.Facts, Text: []byte("text"), Mark: mark})
		require.NoError(t, err)
		require.Equal(t, tmux.Typed, out)
		r.WaitForBytes(len("text"))
		assert.Equal(t, mark, look(t, c, r.Pane).Facts.Mark)
		assert.Empty(t, look(t, c, other.Pane).Facts.Mark, "another pane has its own")

		s.Print(r.Pane, "moved")
		s.WaitForText(r.Pane, "moved")
		out, err = c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: before.Facts, Text: []byte("more"), Mark: "entered.12.x"})
		require.NoError(t, err)
		require.Equal(t, tmux.Refused, out)
		assert.Equal(t, mark, look(t, c, r.Pane).Facts.Mark, "what was refused leaves no mark")

		assert.NotContains(t, s.Run("show-environment", "-g"), "INTERCOM_TYPED")
		child := s.NewPane("sh", "-c", "env | grep -c INTERCOM_TYPED; exec cat")
		s.WaitForText(child, "0")

		require.NoError(t, c.Unmark(t.Context(), r.Pane))
		assert.Empty(t, look(t, c, r.Pane).Facts.Mark)
		require.NoError(t, c.Unmark(t.Context(), r.Pane), "unmarked before")
		_, err = c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: before.Facts, Text: []byte("x"), Mark: "a b"})
		assert.ErrorContains(t, err, "mark")
	})
}

// An order that rests on a look from before another typing is refused, although nothing visible has
// changed: it may be the order of a sidecar that has died meanwhile.
func TestType_refusesAfterAnotherTyping(t *testing.T) {
	eachTransport(t, func(t *testing.T, s *tmuxtest.Server, c *tmux.Client) {
		r := s.NewRecorder(false) // echoes nothing
		before := look(t, c, r.Pane).Facts
		for i, want := range []tmux.Outcome{tmux.Typed, tmux.Refused} {
			out, err := c.Type(t.Context(), tmux.Typing{Pane: r.Pane, Facts: before, Text: []byte("text"), Mark: fmt.Sprintf("pasted.0.%d", i)})
			require.NoError(t, err)
			assert.Equal(t, want, out)
		}
		now := look(t, c, r.Pane).Facts
		assert.Equal(t, "pasted.0.0", now.Mark)
		now.Mark = before.Mark
		assert.Equal(t, before, now, "nothing else tells")
		assert.Equal(t, "text", string(r.WaitForBytes(4)))
	})
}
