package main

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// A terminal shows a row of text in cells, and what does not fit into its last one is not seen.
// Terminals, and versions of tmux, differ in how many cells a character takes, so text is
// measured by the most that any of them may need.

// cells is how many cells a terminal may need for r. It is never 0: a mark that combines with
// the character before it has a cell of its own in a terminal that does not know it.
func cells(r rune) int {
	if r < 0x80 {
		return 1
	}
	return max(1, ansi.StringWidthWc(string(r)))
}

// cellsOf is how many cells a terminal may need for a line of text.
func cellsOf(line string) (n int) {
	for _, r := range line {
		n += cells(r)
	}
	return n
}

// cut shortens a line to so many cells, and says by its last one that it did.
func cut(line string, width int) string {
	if cellsOf(line) <= width {
		return line
	}
	if width < 1 {
		return ""
	}
	return firstCells(line, width-1) + "…"
}

// padded is a line that takes so many cells, cut or with blanks behind it.
func padded(line string, width int) string {
	line = cut(line, width)
	return line + strings.Repeat(" ", max(0, width-cellsOf(line)))
}

// firstCells is as much of the beginning of a line as so many cells hold for certain, and does
// not part what is drawn as one character.
func firstCells(line string, width int) string {
	end := 0
	for end < len(line) {
		whole, _ := ansi.FirstGraphemeCluster(line[end:], ansi.GraphemeWidth)
		if width -= cellsOf(whole); width < 0 {
			break
		}
		end += len(whole)
	}
	return line[:end]
}

// row is the beginning of a line that is shown in a row of so many cells, at least a character.
func row(line string, width int) string {
	if fits := firstCells(line, width); fits != "" || line == "" {
		return fits
	}
	// What is drawn as one character may be made of more than a row holds.
	end := 0
	for i, r := range line {
		if width -= cells(r); width < 0 && i > 0 {
			return line[:i]
		}
		end = i + len(string(r))
	}
	return line[:end]
}

// broken are the rows of a line, none wider than width where a character is not. They are
// parted at blanks where there are any, which are left out then.
func broken(line string, width int) (rows []string) {
	for {
		fits := row(line, width)
		if rest := line[len(fits):]; rest == "" {
			return append(rows, fits)
		} else if at := strings.LastIndexByte(line[:len(fits)+1], ' '); at > 0 {
			rows, line = append(rows, strings.TrimRight(line[:at], " ")), strings.TrimLeft(line[at:], " ")
		} else {
			rows, line = append(rows, fits), rest
		}
	}
}

const (
	tableGap  = 2 // blanks between two columns
	leastWide = 8 // cells that a column keeps, however narrow the terminal is
)

// tableLines are the lines of a table, of which the first row is the heading. Where width is
// not 0 they are no wider than that, as long as columns are left to be narrowed: the widest
// are first, and what they have no room for goes on below. Cells are made safe here.
func tableLines(rows [][]string, width int) (lines []string) {
	var columns []int // widths
	safe := make([][]string, len(rows))
	for y, cellsThere := range rows {
		for x, text := range cellsThere {
			if text = plainLine(text); x < len(cellsThere)-1 {
				text = orDash(text)
			}
			safe[y] = append(safe[y], text)
			if x == len(columns) {
				columns = append(columns, 0)
			}
			columns[x] = max(columns[x], cellsOf(text))
		}
	}
	if width > 0 {
		narrow(columns, width)
	}
	for _, texts := range safe {
		parts := make([][]string, len(texts))
		height := 1
		for x, text := range texts {
			parts[x] = broken(text, columns[x])
			height = max(height, len(parts[x]))
		}
		for y := range height {
			var line strings.Builder
			for x, part := range parts {
				text := ""
				if y < len(part) {
					text = part[y]
				}
				line.WriteString(padded(text, columns[x]) + strings.Repeat(" ", tableGap))
			}
			lines = append(lines, strings.TrimRight(line.String(), " "))
		}
	}
	return lines
}

// narrow takes from the widest columns what is too much for a table of that width.
func narrow(columns []int, width int) {
	total := -tableGap
	for _, w := range columns {
		total += w + tableGap
	}
	for ; total > width; total-- {
		widest := 0
		for x, w := range columns {
			if w > columns[widest] {
				widest = x
			}
		}
		if columns[widest] <= leastWide {
			return
		}
		columns[widest]--
	}
}
