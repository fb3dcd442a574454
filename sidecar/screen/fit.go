package screen

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Fitted is the text as it is to be typed into the composer of the agent of that view, so that
// JudgeOwn can find it Whole. A text that is taller than the composer is scrolled, and nobody
// sees what else stands in it; one that is long enough is shown in one line, whatever the size
// of the pane. What is put behind the text for that, blanks or line breaks, the agent drops
// before its model sees it. So it goes with a text that fits, and that the agent draws in other
// cells than tmux does. It is false where nothing can make the text fit.
func Fitted(v View, a profile.Agent, text string) (fitted string, ok bool) {
	c := a.Composer
	width := v.Width - c.Text - c.Right
	if f, ok := fieldOf(v, a); ok {
		width = f.Width - c.Text - c.Right
	}
	if v.Width <= 0 || v.Height <= 0 || width < leastWidth {
		return text, false
	}
	most := max(c.Least, v.Height/2-c.Less)
	if c.Most > 0 {
		most = max(c.Least, min(c.Most, v.Height-c.Less))
	}
	if isLong(a, text) || rowsOf(text, width) <= most && (!c.Miscounts || single(text)) {
		return text, true
	}
	switch have := utf8.RuneCountInString(text); {
	case a.Long.Trimmed: // nothing that is put behind it counts
		return text, false
	case a.Long.Breaks > 0:
		return text + strings.Repeat("\n", a.Long.Breaks+1-strings.Count(text, "\n")), true
	case a.Long.Chars > 0:
		return text + strings.Repeat(" ", max(0, a.Long.Chars+1-have)), true
	}
	return text, false
}

// Lead are the line breaks that have to stand between the head of a text and its words, so that an
// agent shows it in one line which draws it in other cells than tmux does: "" where it is as it is,
// or where Fitted can put something behind it.
func Lead(a profile.Agent, text string) string {
	if !a.Composer.Miscounts || !a.Long.Trimmed || isLong(a, text) || single(text) {
		return ""
	}
	return strings.Repeat("\n", a.Long.Breaks+1)
}

// isLong reports whether the agent is sure to show a paste of that text in one line.
func isLong(a profile.Agent, text string) bool {
	if a.Long.Trimmed { // its characters are those of JavaScript
		text = strings.TrimSpace(text)
		if len(utf16.Encode([]rune(text))) > a.Long.Chars {
			return true
		}
	}
	return a.Long.Breaks > 0 && strings.Count(text, "\n") > a.Long.Breaks
}

// leastWidth is the width of a composer in which the line for a long text has room.
const leastWidth = 34

// rowsOf is how many rows of that width a text takes at most, wrapped between words.
func rowsOf(text string, width int) (rows int) {
	for line := range strings.SplitSeq(text, "\n") {
		rows++
		used := 0
		for word := range strings.SplitAfterSeq(line, " ") {
			w := ansi.StringWidth(word) + (tabStop-1)*strings.Count(word, "\t")
			if used+w > width && used > 0 {
				rows, used = rows+1, 0
			}
			for ; w > width; w -= width - 1 { // a wide character may leave the last cell
				rows++
			}
			used += w
		}
		if used == width {
			rows++ // for the cursor
		}
	}
	return rows
}

// Rows is how many rows a line editor needs at least for a text in a pane of that width.
func Rows(text string, width int) (rows int) {
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + max(0, ansi.StringWidth(line)-1)/width
	}
	return rows
}
