package screen

import (
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Fitted returns the text as it must be typed into the composer of the view's agent so that JudgeOwn can find it
// Whole. A text that is taller than the composer scrolls, and then nobody sees what else the composer holds. A text
// that is long enough is shown as one line, whatever the size of the pane. To make a text long enough, Fitted
// appends blanks or line breaks, which the agent drops before its model sees them. It does so too for a text that
// has room but that the agent draws in other cells than tmux does. It reports false if nothing makes the text fit.
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
	case a.Long.Trimmed: // nothing that is appended counts
		return text, false
	case a.Long.Breaks > 0:
		return text + strings.Repeat("\n", a.Long.Breaks+1-strings.Count(text, "\n")), true
	case a.Long.Chars > 0:
		return text + strings.Repeat(" ", max(0, a.Long.Chars+1-have)), true
	}
	return text, false
}

// Lead returns the line breaks that must stand between the head of a text and its words so that the agent shows the
// text as one line. They are needed if the agent draws the text in other cells than tmux does. Lead returns "" if
// the text needs none, or if Fitted can append something.
func Lead(a profile.Agent, text string) string {
	if !a.Composer.Miscounts || !a.Long.Trimmed || isLong(a, text) || single(text) {
		return ""
	}
	return strings.Repeat("\n", a.Long.Breaks+1)
}

// isLong reports whether the agent certainly shows a paste of that text as one line.
func isLong(a profile.Agent, text string) bool {
	if a.Long.Trimmed { // it counts characters as JavaScript does
		text = strings.TrimSpace(text)
		if len(utf16.Encode([]rune(text))) > a.Long.Chars {
			return true
		}
	}
	return a.Long.Breaks > 0 && strings.Count(text, "\n") > a.Long.Breaks
}

// leastWidth is the width of a composer that has room for the line that stands for a long text.
const leastWidth = 34

// rowsOf returns how many rows of that width a text takes at most, wrapped between words.
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

// Rows returns how many rows a line editor needs at least for a text in a pane of that width.
func Rows(text string, width int) (rows int) {
	for line := range strings.SplitSeq(text, "\n") {
		rows += 1 + max(0, ansi.StringWidth(line)-1)/width
	}
	return rows
}
