package persona

import (
	"fmt"
	"strings"
	"time"
)

// tuiSpinner has the frames of the spinner.
var tuiSpinner = []rune("·✢✳✶✻✽")

// show updates the screen in one write: the rows that have changed, and the cursor.
func (t *tui) show() {
	width, height := t.term.size()
	block, x, y := t.below(width, height)
	space := max(height-len(block), 0)
	rows := t.above(width, space)
	for len(rows) < space {
		rows = append(rows, "")
	}
	if q := t.query; q != nil {
		switch q.where {
		case "above":
			text := t.above(width, max(space-len(q.lines), 0))
			rows = append(append(text, q.lines...), make([]string, max(0, space-len(text)-len(q.lines)))...)
		case "over", "top":
			at := 0
			if q.where == "over" {
				at = max(0, (space-len(q.lines))/2)
			}
			copy(rows[min(at, len(rows)):], q.lines)
		case "foot":
			block[len(block)-1] = q.lines[0]
		}
	}
	rows = append(rows, block...)
	y += space
	if len(rows) > height { // a tiny terminal shows the lowest rows
		y -= len(rows) - height
		rows = rows[len(rows)-height:]
	}

	var b strings.Builder
	for i, row := range rows {
		if i >= len(t.frame) || t.frame[i] != row {
			fmt.Fprintf(&b, "\x1b[%d;1H%s%s", i+1, row, clearLine)
		}
	}
	t.frame = rows
	if t.displaced {
		x = max(x-2, 0)
	}
	fmt.Fprintf(&b, "\x1b[%d;%dH", max(y, 0)+1, x+1)
	if t.unseen || t.dialog != nil {
		b.WriteString(cursorOff)
	} else {
		b.WriteString(cursorOn)
	}
	t.term.write(b.String())
}

// above returns the end of the transcript, as many rows as fit.
func (t *tui) above(width, space int) []string {
	var rows []string
	for i := len(t.transcript) - 1; i >= 0 && len(rows) < space; i-- {
		paragraph := []string{}
		for j, line := range strings.Split(t.transcript[i], "\n") {
			if j > 0 {
				line = "  " + line
			}
			paragraph = append(paragraph, fold(printable(line), width)...)
		}
		rows = append(paragraph, rows...)
	}
	return rows[max(len(rows)-space, 0):]
}

// below returns the block under the transcript, and the position of the cursor in it: the status and the composer, or
// the dialog instead.
func (t *tui) below(width, height int) (rows []string, x, y int) {
	inner := max(width-4, 1)
	bar := strings.Repeat("─", max(width-2, 0))
	box := func(lines []string) {
		rows = append(rows, "╭"+bar+"╮")
		for _, line := range lines {
			rows = append(rows, "│ "+line+strings.Repeat(" ", max(inner-textWidth(line), 0))+" │")
		}
		rows = append(rows, "╰"+bar+"╯")
	}

	if t.dialog != nil {
		lines := append([]string{"Do you want to run this command?"}, fold(printable("  "+t.dialogCommand), inner)...)
		for i, choice := range choices {
			mark := "  "
			if i == t.dialog.choice {
				mark = "❯ "
				y = len(lines) + 1
			}
			lines = append(lines, fmt.Sprintf("%s%d. %s", mark, i+1, choice))
		}
		for i, line := range lines {
			lines[i] = fold(line, inner)[0]
		}
		box(lines)
		return append(rows, "  Enter to confirm · Esc to cancel"), 2, y
	}

	status := ""
	if t.working {
		gone := time.Since(t.began)
		frame := int(gone/(100*time.Millisecond)) % len(tuiSpinner)
		status = fmt.Sprintf("%c Working… (%ds · esc to interrupt)", tuiSpinner[frame], int(gone.Seconds()))
	}
	rows = append(rows, fold(status, width)[0])
	lines := t.composed(inner)
	// Of a long draft, the end is shown.
	lines = lines[max(len(lines)-max(height-5, 1), 0):]
	box(lines)
	last := lines[len(lines)-1]
	if q := t.query; q != nil && q.where == "inside" {
		lines[0] += q.lines[0]
		rows = rows[:1]
		box(lines)
	}
	rows = append(rows, "  ? for shortcuts")
	if q := t.query; q != nil && q.where == "below" {
		rows = append(rows, q.lines...)
	}
	return rows, min(2+textWidth(last), width-1), 1 + len(lines)
}

// composed returns the composer's text in rows of at most that width, the prompt before the first row and blanks before
// the others.
func (t *tui) composed(width int) []string {
	lead := t.prompt
	indent := strings.Repeat(" ", textWidth(t.prompt))
	var rows []string
	for _, line := range strings.Split(t.composer, "\n") {
		for _, part := range fold(printable(line), max(width-textWidth(lead), 1)) {
			rows = append(rows, lead+part)
			lead = indent
		}
	}
	if textWidth(rows[len(rows)-1]) >= width { // the cursor needs a cell of its own
		rows = append(rows, lead)
	}
	return rows
}

// printable returns text without characters that would move the cursor; a tab becomes four blanks.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\t", "    "))
}
