package plain

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A terminal shows a row of text in cells; what does not fit into the last one is not visible. Terminals, and
// versions of tmux, differ in how many cells a character takes, so text is measured by the most cells that any
// of them may need.

// Cells returns how many cells a terminal may need for r. It is never 0: a mark that combines with the
// character before it takes a cell of its own in a terminal that does not know it.
func Cells(r rune) int {
	if r < 0x80 {
		return 1
	}
	return max(1, ansi.StringWidthWc(string(r)))
}

// Width returns how many cells a terminal may need for a line of text.
func Width(line string) (n int) {
	for _, r := range line {
		n += Cells(r)
	}
	return n
}

// Cut shortens a line to that many cells; if it had to, the last one is "…".
func Cut(line string, width int) string {
	if Width(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	return First(line, width-1) + "…"
}

// Pad returns the line in exactly width cells, cut or padded with blanks.
func Pad(line string, width int) string {
	line = Cut(line, width)
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// First returns the longest beginning of a line that certainly fits into that many cells. It does not split
// what is drawn as one character.
func First(line string, width int) string {
	end := 0
	for end < len(line) {
		if line[end] >= ' ' && line[end] < 0x7f && (end+1 == len(line) || line[end+1] < 0x80) { // two ASCII characters are never drawn as one
			if width--; width < 0 {
				break
			}
			end++
			continue
		}
		whole, _ := ansi.FirstGraphemeCluster(line[end:], ansi.GraphemeWidth)
		if width -= Width(whole); width < 0 {
			break
		}
		end += len(whole)
	}
	return line[:end]
}

// Row returns the beginning of a line that a row of that many cells shows, but at least one character.
func Row(line string, width int) string {
	if fits := First(line, width); fits != "" || line == "" {
		return fits
	}
	// What is drawn as one character may consist of more than fits into a row.
	end := 0
	for i, r := range line {
		if width -= Cells(r); width < 0 && i > 0 {
			return line[:i]
		}
		end = i + len(string(r))
	}
	return line[:end]
}

// Wrap splits a line into rows, none wider than width unless a single character is. It breaks at blanks if
// there are any, and drops those blanks.
func Wrap(line string, width int) (rows []string) {
	for {
		fits := Row(line, width)
		if rest := line[len(fits):]; rest == "" {
			return append(rows, fits)
		} else if at := strings.LastIndexByte(line[:len(fits)+1], ' '); at > 0 {
			rows, line = append(rows, strings.TrimRight(line[:at], " ")), strings.TrimLeft(line[at:], " ")
		} else {
			rows, line = append(rows, fits), rest
		}
	}
}
