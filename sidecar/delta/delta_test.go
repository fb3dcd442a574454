package delta

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const prompt = plainPrompt("> ")

// A script of captures, each complete, lines parted by "/"; "·" is a blank line. A step
// that begins with a sign does something else: "+" expects, "-" takes that back, "=" ends
// the turn and names its words, with the signs e (echo), p (person), s (skipped).
func TestTracker_captures(t *testing.T) {
	tests := []struct {
		name  string
		steps []string
	}{
		{"an answer", []string{"welcome/>", "+hello", "welcome/> hello", "welcome/> hello/hi/>", "=e hi"}},
		{"our text ends as the prompt does, in the first line", []string{">", "+mail <a@b>", "> mail <a@b>", "> mail <a@b>/hi/>", "=e hi"}},
		{"old content is not words", []string{"old 1/old 2/> old q/old a/>", "= none", "+q", "old 1/old 2/> old q/old a/> q/a/>", "=e a"}},
		{"the same answer twice", []string{">", "+q", "> q/a/>", "=e a", "+q", "> q/a/> q/a/>", "=e a"}},
		{"the same answer twice in a turn", []string{">", "+q", "> q/a/a/>", "=e a/a"}},
		{"repeated and blank lines", []string{">", "+q", "> q/·/a/·/·/a/  in/a/·/>", "=e a/·/·/a/  in/a"}},
		{"nothing printed", []string{">", "+q", "> q/>", "=e"}},
		{"nothing happened", []string{"a/>", "a/>", "= none"}},
		{"unasked, prompt erased and drawn again", []string{"a/>", "a/tick/>", "= tick", "a/tick/tick/>", "= tick"}},
		{"unasked while our text stands in the composer", []string{"a/>", "+hello", "a/> hello", "a/tick/> hello", "a/tick/> hello/hi/>", "=e tick/hi"}},
		{"unasked while our text is drawn, half of it left", []string{"a/>", "+hello", "a/> hel", "a/> hel/tick/> hello", "a/> hel/tick/> hello/hi/>", "=e tick/hi"}},
		{"unasked above a draft", []string{"a/>", "a/> dra", "a/tick/> dra", "= tick", "a/tick/> draft/ok/>", "=p ok"}},
		{"unasked, part of our long text out of reach", []string{
			"a/>", "+one\ntwo\nthree", "a/> one/... two/... three", "a/> one/... two/tick/> one/... two/... three", "a/> one/... two/tick/> one/... two/... three/>", "=e tick",
		}},
		{"a person", []string{"a/>", "a/> by hand/ok/>", "=p ok"}},
		{"a person who sends an empty line", []string{"a/>", "a/>/>", "= none"}},
		{"a person adds to our text", []string{"a/>", "+hello", "a/> hello there/ok/>", "=ep ok"}},
		{"agents quote", []string{"a/>", "+q", "a/> q/you said:/> q was it/> more/so what/>", "=e you said:/> q was it/> more/so what"}},
		{"what looks like our text drawn again is not words", []string{"a/>", "+q", "a/> q/you said:/> q/so what/>", "=e you said:/so what"}},
		{"an echo further down", []string{"a/>", "+q", "a/first/> q/second/>", "=e first/second"}},
		{"an echo that the program wraps", []string{"a/>", "+one two three", "a/> one/two/three/ok/>", "=e ok"}},
		{"an echo of several lines", []string{"a/>", "+one\n\ntwo", "a/> one/·/... two/ok/>", "=e ok"}},
		{"a line break behind a text, and none behind the same", []string{"a/>", "+q\n", "a/> q/.../1/>", "=e 1", "+q", "a/> q/.../1/> q/.../2/>", "=e .../2"}},
		{"two echoes, one turn", []string{"a/>", "+q", "+r", "a/> q/1/> r/2/>", "=ee 1/2"}},
		{"an echo that never came does not stop the next", []string{"a/>", "+lost", "+r", "a/> r/2/>", "=e 2"}},
		{"taken back", []string{"a/>", "+q", "-q", "a/> q/2/>", "=p 2"}},
		{"unasked, our whole text left standing", []string{"a/>", "+q", "a/> q", "a/> q/tick/> q/2/>", "=e tick/2"}},
		{"unasked, a draft left standing", []string{"a/>", "a/> dra", "a/> dra/tick/> dra", "= tick", "a/> dra/tick/> draft/ok/>", "=p ok"}},
		{"unasked, a draft left standing, then sent", []string{"a/>", "a/> dra", "a/> dra/tick/> draft/ok/>", "=p tick/ok"}},
		{"our text drawn twice", []string{"a/>", "+q", "a/> q/> q/2/>", "=e 2"}},
		{"our text drawn again, late", []string{
			"a/>", "+one\ntwo\nthree", "a/> one/... two/... three", "a/> one/... two/... three/> one/... two", "=e", "= none",
			"a/> one/... two/... three/> one/... two/... three/ok/>", "= ok",
		}},
		{"a person retypes our text", []string{"a/>", "+q", "a/> q/1/>", "=e 1", "a/> q/1/> q/2/>", "=p 2"}},
		{"a spinner", []string{"a/>", "+q", "a/> q", "a/> q/| working", "a/> q// working", "a/> q/done/>", "=e done"}},
		{"a spinner of several lines", []string{"a/b/c/>", "+q", "a/b/c/> q/1/2/3", "a/b/c/> q/4/5", "a/b/c/> q/x/>", "=e x"}},
		{"a prompt in mid-turn is no end", []string{"a/>", "+q", "a/> q/one", "= none", "a/> q/one/>", "=e one"}},
		{"the top is cut", []string{"1/2/3/4/5/6/>", "+q", "4/5/6/> q/a/>", "=e a"}},
		{"the top is cut in mid-turn", []string{"1/2/3/>", "+q", "1/2/3/> q/a/b/c/d", "b/c/d/e/f", "d/e/f/g/>", "=e a/b/c/d/e/f/g"}},
		{"the top is cut within a line", []string{"one long line/2/3/4/>", "+q", "long line/2/3/4/> q/a/>", "=e a"}},
		{"our text is cut where it wraps", []string{"1/2/>", "+some long question", "1/2/> some long question/a/b/c/d", "question/a/b/c/d/e/>", "=e a/b/c/d/e"}},
		{"history cleared, the screen stays", []string{"1/2/3/4/5/>", "4/5/>", "= none", "+q", "4/5/> q/a/>", "=e a"}},
		{"history cleared and more", []string{"1/2/3/4/5/>", "+q", "5/> q/a/>", "=e a"}},
		{"all cleared, nothing new", []string{"1/2/3/>", ">", "= none"}},
		{"all cleared", []string{"1/2/3/>", "+q", "1/2/3/> q", "a/b/>", "=e [… unknown number of lines skipped]/a/b"}},
		{"all cleared, our text below", []string{"1/2/3/>", "+q", "banner/> q/a/>", "=e [… unknown number of lines skipped]/banner/a"}},
		{"all cleared, old text of ours", []string{"1/2/3/>", "+question", "1/2/3/> question/a/>", "=e a", "banner/> question/x/>", "= [… unknown number of lines skipped]/banner/x"}},
		{"cleared in mid-turn, seen words stay", []string{"1/2/3/>", "+q", "1/2/3/> q/a/b/c", "x/y/z/>", "=e a/b/[… unknown number of lines skipped]/x/y/z"}},
		{"the end of our text is all that is left of it", []string{"1/2/3/>", "+some very long question", "long question/a/b/>", "=e [… unknown number of lines skipped]/a/b"}},
		{"the end of our text of several lines", []string{"1/2/3/>", "+one\ntwo\n\nthree of them\nfour", "... three of them/... four/a/b/>", "=e [… unknown number of lines skipped]/a/b"}},
		{"its middle, and its end", []string{
			"1/2/3/>", "+one\ntwo of them\nthree\nfour of them", "... two of them/... three", "... four of them/a/>",
			"=e [… unknown number of lines skipped]/[… unknown number of lines skipped]/a",
		}},
		{"words like a middle of our text", []string{"1/2/3/>", "+one\ntwo\nthree", "two/a/>", "= [… unknown number of lines skipped]/two/a"}},
		{"the screen pushed into history", []string{"1/2/>", "+q", "1/2/> q/a/>/b/>", "=e a/b"}},
		{"a quotation with a blank line", []string{"1/>", "+q", "1/> q/a/> x/>/> y/>/b/>", "=e a/> x/>/> y/b"}},
		{"a draft drawn again", []string{"1/>", "1/> dra/> draft/a/>", "=p a"}},
		{"an old line changes in place", []string{"1/2/3/50%/5/>", "1/2/3/100%/5/>", "= none", "+q", "1/2/3/100%/5/> q/a/>", "=e a"}},
		{"an old line goes", []string{"1/2/3/4/5/6/7/>", "1/2/4/5/6/7/>", "= none"}},
		{"an old line goes, late", []string{"1/2/3/4/5/6/7/>", "1/2/3/4/5/7/>", "= none", "+q", "1/2/3/4/5/7/> q/a/>", "=e a"}},
		{"an old line comes", []string{"1/2/3/4/5/6/7/>", "1/2/3/4/x/5/6/7/> q/a/>", "=p a"}},
		{"a blank pane", []string{"·", "+q", "> q/a/>", "=e a"}},
		{"a baseline in mid-work", []string{"1/2/wor", "1/2/working/a/>", "= a", "+q", "1/2/working/a/> q/b/>", "=e b"}},
		{"a baseline on a spinner", []string{"1/2/| busy", "1/2// busy", "1/2/a/>", "= a"}},
		{"lines of other protocols", []string{">", "+q", "> q/%begin 1 2 1/%output x/%end 1 2 1/>", "=e %begin 1 2 1/%output x/%end 1 2 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr := New(prompt, "... ")
			tr.Baseline(top(paper(tt.steps[0])))
			for _, step := range tt.steps[1:] {
				switch step[0] {
				case '+':
					tr.Expect(step[1:])
				case '-':
					tr.Unexpect(step[1:])
				case '=':
					signs, words, _ := strings.Cut(step[1:], " ")
					turn, ok := tr.Turn(true)
					if words == "none" {
						assert.False(t, ok, "%+v", turn)
						continue
					}
					require.True(t, ok, step)
					assert.Equal(t, strings.Join(paper(words), "\n"), turn.Words)
					assert.Equal(t, strings.Count(signs, "e"), turn.Echoes, "echoes")
					assert.Equal(t, strings.Contains(signs, "p"), turn.Person, "person")
					assert.Equal(t, strings.Contains(words, "["), turn.Skipped, "skipped")
				default:
					assert.Zero(t, tr.Feed(top(paper(step))))
				}
			}
		})
	}
}

func TestTracker_Pending(t *testing.T) {
	tr := New(prompt)
	tr.Baseline(top(paper("a/>")))
	assert.Zero(t, tr.Pending())
	tr.Expect("question")
	assert.Equal(t, 1, tr.Pending())
	tr.Feed(top(paper("a/> quest")))
	assert.Equal(t, 1, tr.Pending(), "half drawn")
	tr.Feed(top(paper("a/> question")))
	assert.Equal(t, 1, tr.Pending(), "it stands in the composer")
	tr.Feed(top(paper("a/tick/> question")))
	assert.Equal(t, 1, tr.Pending(), "it still does")
	tr.Feed(top(paper("a/tick/> question/w")))
	assert.Zero(t, tr.Pending(), "taken")
	_, ok := tr.Turn(true)
	assert.False(t, ok)
	tr.Feed(top(paper("a/tick/> question/words/>")))
	turn, ok := tr.Turn(true)
	assert.True(t, ok)
	assert.Equal(t, "tick\nwords", turn.Words)
	assert.Zero(t, tr.Pending())
}

func TestTracker_Unfinished(t *testing.T) {
	for shown, want := range map[string]int{
		"a/>":                               0, // it does not echo, or not yet
		"a/> on":                            len(">on"),
		"a/> one":                           len(">one"),
		"a/> one/... tw":                    len(">one...tw"),
		"a/> one/tw":                        len(">onetw"),
		"a/> one/... two/... three":         0,
		"a/> one/... two/... three/words":   0,
		"a/> one/... two/tick/> one/... tw": len(">one...tw"),
		"a/> one/... two/tick":              0, // left standing
		"a/> by hand":                       0,
	} {
		tr := New(prompt, "... ")
		tr.Baseline(top(paper("a/>")))
		tr.Expect("one\ntwo\nthree")
		tr.Feed(top(paper(shown)))
		assert.Equal(t, want, tr.Unfinished(), shown)
	}
}

func TestTracker_Turn_withoutPrompt(t *testing.T) {
	tr := New(prompt)
	tr.Baseline(top(paper("a/>")))
	tr.Expect("q")
	tr.Feed(top(paper("a/> q/last words")))
	turn, ok := tr.Turn(false)
	require.True(t, ok)
	assert.Equal(t, Turn{Words: "last words", Echoes: 1}, turn)
	_, ok = tr.Turn(false)
	assert.False(t, ok, "said once")
	tr.Feed(top(paper("a/> q/last words/Bye./$")))
	turn, ok = tr.Turn(false)
	require.True(t, ok)
	assert.Equal(t, "Bye.\n$", turn.Words)
}

// Partial captures: one that agrees with nothing is asked for again, deeper; lines that were
// given up are marked.
func TestTracker_Feed_need(t *testing.T) {
	old := numbered("old", 50)
	tr := New(prompt)
	tr.Baseline(top(append(old, ">")))
	tr.Expect("q")
	tail := append(numbered("new", 40), ">")
	assert.Equal(t, deeper, tr.Feed(Capture{Lines: tail}))
	assert.Equal(t, 1, tr.Pending(), "nothing was taken in")
	all := append(append(append([]string{}, old[20:]...), "> q"), tail...)
	assert.Zero(t, tr.Feed(Capture{Lines: all}), "deep enough")
	turn, ok := tr.Turn(true)
	require.True(t, ok)
	assert.Equal(t, strings.Join(numbered("new", 40), "\n"), turn.Words)

	again := append(numbered("other", 40), ">")
	assert.Equal(t, deeper, tr.Feed(Capture{Lines: again}))
	assert.Equal(t, deepest, tr.Feed(Capture{Lines: again}))
	assert.Zero(t, tr.Feed(Capture{Lines: again}), "that is all there is")
	turn, ok = tr.Turn(true)
	require.True(t, ok)
	assert.True(t, turn.Skipped)
	assert.Equal(t, marker(unknown)+"\n"+strings.Join(numbered("other", 40), "\n"), turn.Words)
}

// The same line over and over: only the top of the history tells how many there are.
func TestTracker_Feed_needWhereLinesRepeat(t *testing.T) {
	term := newTerminal(40, 10, 2_000)
	r := newREPL(term, "> ")
	r.say("welcome")
	tr := New(prompt)
	tr.Baseline(term.capture(100))
	said := 0
	for range 200 {
		r.unasked("tick")
		look(tr, term, 20)
		if turn, ok := tr.Turn(true); ok {
			said += strings.Count(turn.Words, "tick")
		}
	}
	assert.Equal(t, 200, said)
}

func TestTracker_Turn_truncated(t *testing.T) {
	tr := New(prompt)
	tr.Baseline(top(paper("a/b/c/>")))
	tr.Expect("q")
	long := strings.Repeat("x", 1_000)
	var all []string
	for i := range 3_000 {
		all = append(all, fmt.Sprintf("%06d %s", i, long))
	}
	shown := append(paper("a/b/c/> q"), all...)
	tr.Feed(top(shown))
	tr.Feed(top(append(shown, ">")))
	turn, ok := tr.Turn(true)
	require.True(t, ok)
	assert.True(t, turn.Truncated)
	assert.True(t, turn.Skipped)
	assert.LessOrEqual(t, len(turn.Words), message.MaxBody)
	lines := strings.Split(turn.Words, "\n")
	n := len(lines) - 1
	assert.Equal(t, all[:n-1], lines[:n-1], "whole lines, but for the last")
	assert.Equal(t, marker(3_000-n), lines[n])
}

// A turn without end: the log does not grow, and the missing lines are counted.
func TestTracker_bound(t *testing.T) {
	t.Parallel()
	tr := New(prompt)
	tr.Baseline(top(paper("a/b/c/>")))
	line := strings.Repeat("x", 100)
	n := 0
	window := paper("a/b/c/> q")
	for range 500 {
		for range 400 {
			window = append(window, fmt.Sprintf("%08d %s", n, line))
			n++
		}
		window = window[max(0, len(window)-600):]
		require.Zero(t, tr.Feed(Capture{Lines: window}))
		require.Less(t, len(tr.log), 20_000)
	}
	require.Zero(t, tr.Feed(Capture{Lines: append(window, ">")}))
	turn, ok := tr.Turn(true)
	require.True(t, ok)
	assert.True(t, turn.Truncated)
	lines := strings.Split(turn.Words, "\n")
	assert.Equal(t, marker(n-(len(lines)-1)), lines[len(lines)-1])
	require.Less(t, len(tr.log), 3*anchorMax)
}

// numbered makes n lines that differ.
func numbered(name string, n int) []string {
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf("%s %d", name, i)
	}
	return lines
}

// top is a capture of all that was ever printed.
func top(lines []string) Capture { return Capture{Lines: lines, Complete: true} }

// paper reads lines in the notation of the tables above.
func paper(s string) []string {
	lines := strings.Split(s, "/")
	for i, l := range lines {
		if l == "·" {
			lines[i] = ""
		}
	}
	return lines
}

// After a change of the width, a blank that ends a line may stand alone in the row at the top of a
// capture; that row is no line of its own.
func TestTracker_blankThatWrapped(t *testing.T) {
	tr := New(prompt)
	tr.Baseline(Capture{Lines: []string{"old", ">"}, Complete: true, Rows: 2, Width: 20})
	tr.Expect("a longer one")
	tr.Feed(Capture{Lines: []string{"old", "> a longer", "word", "two"}, Complete: true, Rows: 4, Width: 20})
	tr.Feed(Capture{Lines: []string{"", "word", "two", "> a longer one", "three", ">"}, Rows: 9, Width: 10})
	for need := 1; need > 0; {
		need = tr.Feed(Capture{Lines: []string{"", "word", "two", "> a longer one", "three", ">"}, Rows: 9, Width: 10})
	}
	turn, ok := tr.Turn(true)
	require.True(t, ok)
	assert.Equal(t, "word\ntwo\nthree", turn.Words)
	assert.Equal(t, 1, turn.Echoes)
}

// A text is not the same as a text that was taken together with a person's words.
func TestTracker_whatIsTakenWithOurText(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		shows   []string
		pending int
		mingled bool
	}{
		"it stands in the composer":            {[]string{"> hello"}, 1, false},
		"beside a person's words":              {[]string{"> hello by hand"}, 1, true},
		"it was taken":                         {[]string{"> hello", "ok", ">"}, 0, false},
		"with a person's words":                {[]string{"> hello by hand", "ok", ">"}, 0, true},
		"with words before it":                 {[]string{"> by hand hello", ">"}, 0, true},
		"without it":                           {[]string{"> by hand", "ok", ">"}, 1, false},
		"after what a person sent by itself":   {[]string{"> by hand", "ok", "> hello", "ok", ">"}, 0, false},
		"and then a person sent something too": {[]string{"> hello", "ok", "> by hand", "ok", ">"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := New(prompt)
			require.Zero(t, tr.Feed(Capture{Lines: []string{">"}, Complete: true, Width: 80, Rows: 1}))
			tr.Expect("hello")
			require.Zero(t, tr.Feed(Capture{Lines: c.shows, Complete: true, Width: 80, Rows: len(c.shows)}))
			assert.Equal(t, c.pending, tr.Pending())
			assert.Equal(t, c.mingled, tr.Mingled())
		})
	}
}

// tmux joins the row of a text that ends exactly at the right edge with what the program prints below it.
func TestTracker_ourTextEndsAtTheEdge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		width int
		text  string
		after []string
		want  Turn
	}{
		"one row":             {10, "12345678", []string{"> 12345678you said it", ">"}, Turn{Words: "you said it", Echoes: 1}},
		"two rows":            {10, "123456789012345678", []string{"> 123456789012345678yes", "more", ">"}, Turn{Words: "yes\nmore", Echoes: 1}},
		"wide characters":     {10, "日本語界", []string{"> 日本語界yes", ">"}, Turn{Words: "yes", Echoes: 1}},
		"not at the edge":     {11, "12345678", []string{"> 12345678 by hand", "ok", ">"}, Turn{Words: "ok", Echoes: 1, Person: true}},
		"not all of our text": {10, "123456789", []string{"> 12345678by hand", "ok", ">"}, Turn{Words: "ok", Person: true}},
		"last of two lines":   {10, "first\nsecond1", []string{"> first", ".. second1you said it", ">"}, Turn{Words: "you said it", Echoes: 1}},
		"without its prompt":  {10, "first\nsecond 123", []string{"> first", "second 123you said it", ">"}, Turn{Words: "you said it", Echoes: 1}},
		"first of two lines":  {10, "12345678\nsecond", []string{"> 12345678.. second", "yes", ">"}, Turn{Words: "yes", Echoes: 1}},
		"each of three lines": {10, "12345678\nabcdefg\n日本語1", []string{"> 12345678.. abcdefg.. 日本語1yes", ">"}, Turn{Words: "yes", Echoes: 1}},
		"lines and rows":      {10, "123456789012345678\nabcdefghijklmnopq", []string{"> 123456789012345678.. abcdefghijklmnopqyes", ">"}, Turn{Words: "yes", Echoes: 1}},
		"over a longer draft": {10, "123", []string{"> 123     you said it", ">"}, Turn{Words: "you said it", Echoes: 1}},
		"over three rows":     {10, "123", []string{"> 123     yes       > "}, Turn{Words: "yes", Echoes: 1}},
		"two rows over three": {10, "1234567890", []string{"> 1234567890        yes       > "}, Turn{Words: "yes", Echoes: 1}},
		"a prompt that wraps": {10, "123", []string{"> 123", "he said: > go on", ">"}, Turn{Words: "he said: > go on", Echoes: 1}},
		"two lines, by hand":  {10, "first\nsecond12", []string{"> first", ".. second1by hand", "ok", ">"}, Turn{Words: "ok", Person: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := New(prompt, ".. ")
			feed := func(lines ...string) {
				require.Zero(t, tr.Feed(Capture{Lines: lines, Complete: true, Width: c.width, Rows: len(lines)}))
			}
			feed(">")
			tr.Expect(c.text)
			feed(c.after...)
			assert.Equal(t, 1-c.want.Echoes, tr.Pending())
			got, ok := tr.Turn(true)
			require.True(t, ok)
			assert.Equal(t, c.want, got)
		})
	}
}
