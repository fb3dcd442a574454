package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

const tabStop = 8

// Plain returns a captured row as a person reads it: without escapes and control characters, with tabs expanded to
// columns of eight, and without trailing blanks. It accepts any bytes; invalid UTF-8 becomes U+FFFD.
func Plain(row string) string {
	row = strings.ToValidUTF8(ansi.Strip(strings.ToValidUTF8(row, "\uFFFD")), "\uFFFD")
	plain := true
	for _, r := range row {
		if unicode.IsControl(r) {
			plain = false
			break
		}
	}
	if !plain {
		row = expand(row)
	}
	return trim(row)
}

// expand replaces tabs by blanks and drops the other control characters.
func expand(row string) string {
	var b strings.Builder
	start := 0 // start of the text after the last tab, for its width
	column := 0
	for _, r := range row {
		switch {
		case r == '\t':
			column += ansi.StringWidth(b.String()[start:])
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
			start = b.Len()
		case unicode.IsControl(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// trim cuts the blanks at the end of a line, as tmux does when it captures.
func trim(line string) string { return strings.TrimRightFunc(line, unicode.IsSpace) }

// ink returns a line without what terminals and programs add or lose when they wrap and draw it: blanks, control
// characters, and marks without a cell of their own.
func ink(line string) string {
	clear := true
	for i := 0; i < len(line); i++ {
		if line[i] <= ' ' || line[i] >= utf8.RuneSelf {
			clear = false
			break
		}
	}
	if clear {
		return line
	}
	return strings.Map(func(r rune) rune {
		if r > ' ' && r < 0x7f {
			return r
		}
		if unicode.IsSpace(r) || unicode.IsControl(r) || unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
			return -1
		}
		return r
	}, line)
}

// lastText returns the index of the last line that is not blank, or -1.
func lastText(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if trim(lines[i]) != "" {
			return i
		}
	}
	return -1
}

// Cells returns what stands in the cells of a plain row from one column up to another.
func Cells(row string, from, to int) string { return ansi.Cut(row, from, to) }
