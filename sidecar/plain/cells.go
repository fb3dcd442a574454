package plain

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A terminal shows a row of text in cells, and what does not fit into its last one is not seen.
// Terminals, and versions of tmux, differ in how many cells a character takes, so text is
// measured by the most that any of them may need.

// Cells is how many cells a terminal may need for r. It is never 0: a mark that combines with
// the character before it has a cell of its own in a terminal that does not know it.
func Cells(r rune) int {
	if r < 0x80 {
		return 1
	}
	return max(1, ansi.StringWidthWc(string(r)))
}

// Width is how many cells a terminal may need for a line of text.
func Width(line string) (n int) {
	for _, r := range line {
		n += Cells(r)
	}
	return n
}

// Cut shortens a line to so many cells, and says by its last one that it did.
func Cut(line string, width int) string {
	if Width(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	return First(line, width-1) + "…"
}

// Pad is a line that takes so many cells, cut or with blanks behind it.
func Pad(line string, width int) string {
	line = Cut(line, width)
	return line + strings.Repeat(" ", max(0, width-Width(line)))
}

// First is as much of the beginning of a line as so many cells hold for certain, and does
// not part what is drawn as one character.
func First(line string, width int) string {
	end := 0
	for end < len(line) {
		if line[end] >= ' ' && line[end] < 0x7f && (end+1 == len(line) || line[end+1] < 0x80) { // nothing joins two of ASCII
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

// Row is the beginning of a line that is shown in a row of so many cells, at least a character.
func Row(line string, width int) string {
	if fits := First(line, width); fits != "" || line == "" {
		return fits
	}
	// What is drawn as one character may be made of more than a row holds.
	end := 0
	for i, r := range line {
		if width -= Cells(r); width < 0 && i > 0 {
			return line[:i]
		}
		end = i + len(string(r))
	}
	return line[:end]
}

// Wrap are the rows of a line, none wider than width where a character is not. They are
// parted at blanks where there are any, which are left out then.
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
