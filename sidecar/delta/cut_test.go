package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The history goes in the middle of a text of ours that is being typed: only its last row is left, above what was
// printed meanwhile. That row, blank or not, is none of the program's words, wherever the history is cut.
func TestR23_LastRowOfACutEcho(t *testing.T) {
	t.Parallel()
	for _, cleared := range []bool{false, true} {
		for cut := 86; cut <= 92; cut++ {
			for printed := 54; printed <= 66; printed++ {
				turn := cutEcho(t, cut, printed, cleared)
				for _, word := range strings.Split(turn.Words, "\n") {
					require.Regexp(t, `^(line \d+|\[… .* lines skipped\])?$`, word, "cut at %d, %d printed, cleared: %v", cut, printed, cleared)
				}
				require.NotContains(t, turn.Words, "skipped]\n\nline", "cut at %d, %d printed, cleared: %v", cut, printed, cleared)
			}
		}
	}
}

// cutEcho types a text of ours up to a place, prints lines, types the rest, and may clear everything after Enter.
func cutEcho(t *testing.T, cut, printed int, cleared bool) Turn {
	text := "[Bob] (1): " + strings.Repeat("a longer one ", 7) + "1"
	term := newTerminal(30, 10, 60)
	r := newREPL(term, "> ")
	redraw := func() { r.print(r.prompt + r.pending) }
	tr := New(prompt)
	tr.Baseline(term.capture(100_000))
	for range 3 {
		term.clear()
		redraw()
	}
	tr.Expect(text)
	r.key(text[:cut])
	look(tr, term, 0)
	r.eraseLine()
	for i := range printed {
		r.say(fmt.Sprintf("line %d", i+1))
	}
	redraw()
	look(tr, term, 0)
	r.key(text[cut:])
	look(tr, term, 0)
	r.enter()
	r.done()
	if cleared {
		term.clear()
		term.clearHistory()
		redraw()
	}
	look(tr, term, 0)
	turn, ok := tr.Turn(true)
	require.True(t, ok)
	return turn
}

// A line that may be a piece of our text, with lines missing above and below it, does not prove that the text was taken.
func TestR23_PieceBetweenTwoGaps(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"> a draft", "z", "> please run"} {
		tr := New(prompt)
		feed := func(lines ...string) {
			for tr.Feed(Capture{Lines: lines}) > 0 {
				continue
			}
		}
		feed("1", "2", "3", ">")
		tr.Expect("please run the whole test suite")
		feed("run the whole test", "a", "b")
		feed("x", "y", last)
		assert.Equal(t, 1, tr.Pending(), last)
		turn, _ := tr.Turn(false)
		assert.Zero(t, turn.Echoes, last)
	}
}
