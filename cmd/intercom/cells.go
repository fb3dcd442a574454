package main

import (
	"strings"

	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// cellsOf is how many cells a terminal may need for a line of text.
func cellsOf(line string) int { return plaintext.Width(line) }

// padded is a line that takes so many cells, cut or with blanks behind it.
func padded(line string, width int) string { return plaintext.Pad(line, width) }

// broken are the rows of a line, none wider than width where a character is not.
func broken(line string, width int) []string { return plaintext.Wrap(line, width) }

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

func cut(line string, width int) string { return plaintext.Cut(line, width) }
