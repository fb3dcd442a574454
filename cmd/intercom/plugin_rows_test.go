package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Before a person approves a message, its popup shows every character, also of rows that end exactly at the edge, or one column
// beyond it, or with a wide character across it.
func TestU19_everyCharacterOfWhatIsApprovedIsSeen(t *testing.T) {
	t.Parallel()
	ends(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		sizes := [][2]int{{80, 24}, {81, 25}, {61, 17}, {44, 16}, {140, 30}}
		if all := tmuxtest.Versions(t); os.Getenv("INTERCOM_LONG") == "" && len(all) > 1 { // each size on one of the two
			if sizes = sizes[1:3]; v == all[0] {
				sizes = [][2]int{{80, 24}, {44, 16}, {140, 30}}
			}
		}
		st := newStage(t, v)
		st.load()
		claude, codex := st.gated()
		var lines []string
		word := 0
		letters := func(n int) (text string) { // no two parts of the message are equal
			for len(text) < n {
				text += fmt.Sprintf("%d-", word)
				word++
			}
			return text[:n]
		}
		for _, size := range sizes {
			inner := size[0]*9/10 - 2
			for _, n := range []int{inner - 2, inner - 1, inner, 2*inner - 2, 3*inner + 1} { // the text is indented by two
				lines = append(lines, letters(n), letters(n-1)+"語", letters(n-2)+"語", letters(n-3)+"語語", letters(n-2)+"e\u0301e\u0301", letters(n-1)+"🦀x")
			}
		}
		message := strings.Join(lines, "\n")
		claude.do(`:turn say ` + strings.ReplaceAll(message, "\n", `\n`))
		out, code := st.intercom("send", claude.pane, "go", "--timeout", "1m")
		require.Zero(t, code, out)
		require.Equal(t, message, st.toDecide().Envelope.Body)

		me := st.sit("base")
		for _, size := range sizes {
			me.resize(size[0], size[1])
			me.menu("i")
			me.sees("q closes")
			me.sees("a approve")
			me.press("a")
			me.sees("Approve it?")
			assert.Equal(t, plainly(message+"You are asked: the chat is set to approve=claude"), me.pages(size), "%v", size)
			me.press("q")
			me.sees("nothing was done")
			me.press("q")
			me.seesNot("q closes")
		}
		// Approved at the last size, the message goes out as it was shown.
		me.menu("i")
		me.sees("a approve")
		me.press("a")
		me.sees("read to its end")
		me.press("End")
		me.sees("y yes")
		me.press("y")
		tmuxtest.WaitFor(t, "it is heard", func() bool { return len(codex.received()) == 1 })
		assert.True(t, strings.HasSuffix(codex.received()[0], message))
	})
}

// plainly is text without whitespace, which wrapping may change.
func plainly(text string) string { return strings.Join(strings.Fields(text), "") }

// pages reads everything that an approval shows, page by page.
func (s *seat) pages(size [2]int) (shown string) {
	s.t.Helper()
	part := regexp.MustCompile(`(\d+) to (\d+) of (\d+) lines`)
	var all []string
	for {
		var from, to, last int
		var rows []string
		tmuxtest.WaitFor(s.t, "the next page", func() bool {
			_, rows = s.popup()
			m := part.FindStringSubmatch(strings.Join(strings.Fields(strings.Join(rows, " ")), " "))
			if m == nil {
				return false
			}
			_, _ = fmt.Sscan(strings.Join(m[1:], " "), &from, &to, &last)
			return to > len(all)
		})
		rows = rows[2+len(all)-from+1 : 2+to-from+1] // rows below the title
		all = append(all, rows...)
		if to == last {
			break
		}
		s.press("Space")
	}
	require.Contains(s.t, all[0], " to ", "%v", size)
	return plainly(strings.Join(all[1:], " "))
}

// popup is the content of an open popup, row by row, and its width.
func (s *seat) popup() (width int, rows []string) {
	for line := range strings.Lines(s.screen()) {
		from, to := strings.Index(line, "│"), strings.LastIndex(line, "│")
		if from < 0 || from == to {
			continue
		}
		inner := line[from+len("│") : to]
		rows, width = append(rows, inner), max(width, ansi.StringWidth(inner))
	}
	return width, rows
}

// A row is never measured narrower than a terminal draws it, and text that does not fit into it continues in the next one.
func TestU19_rowsAreMeasured(t *testing.T) {
	assert.Equal(t, 2, plaintext.Cells('語'))
	assert.Equal(t, 1, plaintext.Cells('\u0301'))
	assert.Equal(t, "ab…", cut("abcd", 3))
	assert.Equal(t, "日…", cut("日本語", 4))
	assert.Equal(t, "日… ", padded("日本語", 4))
	assert.Equal(t, "日本  ", padded("日本", 6))
	assert.Equal(t, []string{"one two", "three", "abcdefg", "hi"}, broken("one two three abcdefghi", 7))
	assert.Equal(t, []string{""}, broken("", 7))
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune("ab  日❤\ufe0f👩\u200d💻e\u0301ｱ가\u0e33ก\U000e0100"))).Draw(t, "text")
		width := rapid.IntRange(1, 12).Draw(t, "width")
		safe := plainLine(text)
		for _, lines := range [][]string{broken(safe, width), {cut(safe, width), padded(safe, width)}} {
			for _, line := range lines {
				assert.True(t, cellsOf(line) <= width || len([]rune(line)) == 1, "%q in %d", line, width)
			}
		}
		assert.Equal(t, plainly(safe), plainly(strings.Join(broken(safe, width), " ")))
	})
}

func TestU19_tablesFit(t *testing.T) {
	rows := [][]string{
		{"ID", "FROM", "WHY", "WORDS"},
		{"4d0c8ed2", "claude", "waiting for approval", "please run the tests of the whole module again"},
		{"4d0c8ed3", "日本語", "", "ok\x1b[2J"},
	}
	assert.Equal(t, []string{
		"ID        FROM    WHY                   WORDS",
		"4d0c8ed2  claude  waiting for approval  please run the tests of the whole module again",
		`4d0c8ed3  日本語  -                     ok\x1b[2J`,
	}, tableLines(rows, 0))
	assert.Equal(t, tableLines(rows, 0), tableLines(rows, 86))
	assert.Equal(t, []string{
		"ID        FROM    WHY            WORDS",
		"4d0c8ed2  claude  waiting for    please run",
		"                  approval       the tests of",
		"                                 the whole",
		"                                 module again",
		`4d0c8ed3  日本語  -              ok\x1b[2J`,
	}, tableLines(rows, 46))
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(rapid.StringOf(rapid.SampledFrom([]rune("a 日\n🦀é"))), 3, 3), 1, 4).Draw(t, "rows")
		rows = append([][]string{{"WHAT", "SUBSCRIBED BY", "日本"}}, rows...)
		width := rapid.IntRange(leastWide+len("SUBSCRIBED")+leastWide+2*tableGap, 60).Draw(t, "width")
		lines := tableLines(rows, width)
		assert.LessOrEqual(t, slices.Max(append([]int{0}, widths(lines)...)), width)
	})
}

func widths(lines []string) (all []int) {
	for _, line := range lines {
		all = append(all, cellsOf(line))
	}
	return all
}
