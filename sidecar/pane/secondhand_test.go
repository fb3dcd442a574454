package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// If only the screen tells an agent's words, rows that have left it are marked as missing. Nobody can count how many they
// were.
func TestW4_RowsThatLeftTheScreenAreMarked(t *testing.T) {
	const mark = "[… lines above not captured]\n"
	for name, marked := range map[string]bool{"idle-long-answer": true, "idle-after-turn": false} {
		t.Run(name, func(t *testing.T) {
			p, s, _ := atRest()
			p.account.bound, p.account.worked = nil, true
			s.look = recorded(t, "claude-2.1.329/"+name)
			p.overhear(t.Context(), s, true, noon)
			require.Len(t, p.account.spoken, 1)
			turn := p.account.spoken[0].turn
			assert.Equal(t, "screen", turn.Source)
			assert.Equal(t, marked, turn.Skipped)
			if marked {
				require.Greater(t, len(turn.Words), len(mark))
				assert.Equal(t, mark, turn.Words[:len(mark)])
			} else {
				assert.NotContains(t, turn.Words, "captured")
				assert.NotEmpty(t, turn.Words)
			}
		})
	}
	t.Run("of a program that nobody knows", func(t *testing.T) {
		rows := []string{"● x", "● y", "", "", "", "╭──────────────────╮", "│ ❯                │", "╰──────────────────╯"}
		look := tmux.Look{Rows: rows, Facts: tmux.Facts{Width: 20, Height: len(rows), CursorX: 4, CursorY: 6, CursorVisible: true, Alternate: true}}
		frame, err := screen.LearnFrame(screenOf(look))
		require.NoError(t, err)
		for above, want := range map[string]string{"● gone": mark + "● x\n● y", "● x": "● y"} {
			words, whole := (&generic{frame: frame, above: []string{above}}).said(look)
			assert.Equal(t, want, words)
			assert.Equal(t, above == "● x", whole)
		}
	})
}
