package main

import (
	"slices"
	"strings"

	plaintext "github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// cellsOf returns the number of cells that a terminal may need for a line of text.
func cellsOf(line string) int { return plaintext.Width(line) }

// padded returns a line of exactly width cells, cut or with blanks behind it.
func padded(line string, width int) string { return plaintext.Pad(line, width) }

// broken wraps a line into rows no wider than width, unless a single character is wider.
func broken(line string, width int) []string { return plaintext.Wrap(line, width) }

const (
	tableGap  = 2 // blanks between two columns
	leastWide = 8 // cells that a column keeps on any terminal; more if a word of its heading needs them
)

// tableLines lays out a table whose first row is the heading. If width is not 0 and the table is wider, it leaves out
// the columns that are empty below their heading. Then it narrows the widest columns, and wraps their cells, until the
// table fits or no column can be narrowed further. It makes the cells safe to print.
func tableLines(rows [][]string, width int) (lines []string) {
	safe, columns := sized(rows)
	if width > 0 && total(columns) > width && len(rows) > 1 {
		safe, columns = sized(withoutEmpty(rows))
		narrow(columns, safe[0], width)
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

// sized returns rows that are safe to print, and the widths of their columns.
func sized(rows [][]string) (safe [][]string, columns []int) {
	safe = make([][]string, len(rows))
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
	return safe, columns
}

// withoutEmpty returns the rows of a table without the columns that have nothing below their heading.
func withoutEmpty(rows [][]string) [][]string {
	kept := make([][]string, len(rows))
	for x := range rows[0] {
		if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[x] != "" }) {
			continue
		}
		for y, row := range rows {
			kept[y] = append(kept[y], row[x])
		}
	}
	return kept
}

// total returns the width of a table with these columns.
func total(columns []int) int {
	all := -tableGap
	for _, w := range columns {
		all += w + tableGap
	}
	return all
}

// narrow takes cells from the widest columns until a table is no wider than width. It never cuts a word of a heading.
func narrow(columns []int, heading []string, width int) {
	for range total(columns) - width {
		widest := -1
		for x, w := range columns {
			if w > max(leastWide, longestWord(heading[x])) && (widest < 0 || w > columns[widest]) {
				widest = x
			}
		}
		if widest < 0 {
			return
		}
		columns[widest]--
	}
}

// longestWord returns the width of the widest word of a text.
func longestWord(text string) (width int) {
	for word := range strings.FieldsSeq(text) {
		width = max(width, cellsOf(word))
	}
	return width
}

func cut(line string, width int) string { return plaintext.Cut(line, width) }
