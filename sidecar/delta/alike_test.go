package delta

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// Long texts that are like those before, to the last line, and answers that are like them,
// too: in whatever pieces an echo is drawn, and whenever somebody looks, none of it counts as
// the program's words, and none of its words is missing.
func TestW6_LongTextsAlike(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := newAlike(t, 400, 2_000, 50_000)
		for range rapid.IntRange(2, 6).Draw(t, "texts") {
			text := rapid.SampledFrom([]string{"[Ada] (1):\n\n", "[Bob] (2):\n\n"}).Draw(t, "head") +
				strings.Join(numbered("word", a.size(t)), "\n")
			depth := max(60, 1+strings.Count(text, "\n")+len(text)/20) // as for a composer of that height
			a.tracker.Expect(text)
			a.resize(t)
			a.draw(t, text, depth)
			a.enter()
			a.maybeLook(t, 60)
			a.resize(t)
			var said []string
			switch rapid.SampledFrom([]string{"nothing", "a word", "lines", "what it was told"}).Draw(t, "answer") {
			case "a word":
				said = []string{"a word"}
			case "lines":
				said = numbered("answer", a.size(t))
			case "what it was told":
				said = strings.Split(text, "\n")
			}
			a.say(said...)
			a.done()
			a.maybeLook(t, depth)
			look(a.tracker, a.terminal, 60)
			if a.tracker.Pending() != 0 {
				t.Fatal("the echo was not seen")
			}
			turn, _ := a.tracker.Turn(true)
			if want := (Turn{Words: strings.Join(said, "\n"), Echoes: 1}); turn != want {
				t.Fatalf("%+v\n\nwant\n%+v", turn, want)
			}
		}
	})
}

// A text that is taller than history and screen together, and whose beginning is lost before
// it stands there whole: what is left of it does not count as the program's words either.
func TestW6_TextTallerThanTheHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := newAlike(t, 50, 100)
		for i := range rapid.IntRange(1, 3).Draw(t, "texts") {
			lines := numbered(fmt.Sprintf("word %d.", i), a.limit*rapid.IntRange(1, 5).Draw(t, "heights"))
			text := "[Ada] (1):\n\n" + strings.Join(lines, "\n")
			a.tracker.Expect(text)
			a.draw(t, text, a.limit)
			a.resize(t)
			a.enter()
			a.maybeLook(t, 60)
			a.say("an answer", "of two lines")
			a.done()
			a.maybeLook(t, a.limit)
			look(a.tracker, a.terminal, 60)
			if a.tracker.Pending() != 0 {
				t.Fatal("the echo was not seen")
			}
			turn, _ := a.tracker.Turn(true)
			if said, ok := strings.CutSuffix(turn.Words, "an answer\nof two lines"); !ok || strings.Trim(strings.ReplaceAll(said, marker(unknown), ""), "\n") != "" {
				t.Fatalf("%+v", turn)
			}
		}
	})
}

// alike is a line program with bracketed paste whose history is soon full of lines that are alike.
type alike struct {
	*repl
	tracker *Tracker
	mark    string // before each further line of its composer
	most    int    // lines of a text
	resizes bool
}

func newAlike(t *rapid.T, limits ...int) *alike {
	limit := rapid.SampledFrom(limits).Draw(t, "limit")
	a := &alike{
		repl: newREPL(newTerminal(rapid.IntRange(20, 100).Draw(t, "width"), rapid.IntRange(5, 50).Draw(t, "height"), limit), "> "),
		mark: rapid.SampledFrom([]string{"… ", "... ", ""}).Draw(t, "continuation"), most: min(limit/3, 400),
		resizes: rapid.Bool().Draw(t, "resizes"), tracker: New(prompt, "... ", "… "),
	}
	a.tracker.Baseline(a.capture(depthBase))
	return a
}

// depthBase is how many lines a baseline goes back.
const depthBase = 2_000

func (a *alike) size(t *rapid.T) int {
	return rapid.SampledFrom([]int{1, 5, 100, a.most}).Draw(t, "lines")
}

// draw draws a text in the composer, piece by piece; it is seen whole before Enter.
func (a *alike) draw(t *rapid.T, text string, depth int) {
	for shown := strings.ReplaceAll(text, "\n", "\n"+a.mark); shown != ""; {
		n := min(len(shown), rapid.SampledFrom([]int{1, 10, 500, 4_096, 1 << 20}).Draw(t, "piece"))
		for n < len(shown) && !utf8.RuneStart(shown[n]) {
			n++
		}
		a.key(shown[:n])
		shown = shown[n:]
		a.maybeLook(t, depth)
	}
	look(a.tracker, a.terminal, depth)
}

func (a *alike) maybeLook(t *rapid.T, depth int) {
	if rapid.Bool().Draw(t, "look") {
		look(a.tracker, a.terminal, depth)
	}
}

// resize may reflow all, which is looked at.
func (a *alike) resize(t *rapid.T) {
	if a.resizes && rapid.IntRange(0, 5).Draw(t, "resize") == 0 {
		a.terminal.resize(rapid.IntRange(20, 100).Draw(t, "width"), rapid.IntRange(5, 50).Draw(t, "height"))
		look(a.tracker, a.terminal, 60)
	}
}

// A line takes as many rows as its characters need. If it is not known how wide they are drawn, or
// whether blanks were cut, it takes no fewer than the least and no more than the most.
func TestRowsOf(t *testing.T) {
	for _, c := range []struct {
		line        string
		least, most int
	}{
		{"", 1, 1},
		{"nine char", 1, 1},
		{"ten chars.", 1, 2}, // with a blank behind it that was cut
		{"eleven chars", 2, 2},
		{"… words", 1, 1},
		{strings.Repeat("漢", 5), 1, 2},
		{strings.Repeat("漢", 9), 1, 3}, // 4 in a row, of 9 cells
		{strings.Repeat("e\u0301", 9), 1, 1},
		{strings.Repeat("👩\u200d🔬", 4), 1, 2}, // of 2 or of 4 cells each
	} {
		assert.Equal(t, span{c.least, c.most}, rowsOf(c.line, 10), c.line)
	}
}

// A capture is laid where its rows are, though its lines are like those that stood elsewhere. Rows
// that go at once when the history is full are allowed for. If no row is known any more, the lines
// decide.
func TestTracker_rowsTellThePlace(t *testing.T) {
	block := numbered("line", 100)
	for _, c := range []struct {
		name  string
		after Capture // the block was printed once more, and this is what is seen
		words int     // lines of it
	}{
		{"in their rows", Capture{Rows: 203, Width: 80}, 100},
		{"a tenth was dropped", Capture{Rows: 193, Width: 80, Cut: 10}, 100},
		{"another width", Capture{Rows: 203, Width: 79}, 0},
		{"nothing is known", Capture{}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := New(prompt)
			before := slices.Concat([]string{"banner"}, block, []string{">"})
			tr.Baseline(Capture{Lines: before, Rows: len(before), Width: 80})
			after := slices.Concat(before[:len(before)-1], []string{"> again"}, block, []string{">"})
			tr.Expect("again")
			deep := c.after
			deep.Lines = after[20:]
			c.after.Lines = after[len(after)-60:]
			if need := tr.Feed(c.after); need > 0 {
				assert.Zero(t, tr.Feed(deep), fmt.Sprint(need))
			}
			turn, _ := tr.Turn(true)
			if c.words == 0 {
				assert.Empty(t, turn.Words)
				return
			}
			assert.Equal(t, Turn{Words: strings.Join(block, "\n"), Echoes: 1}, turn)
		})
	}
}
