package ui

import (
	"strings"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// line is a line that a person types, and the position of the cursor in it, in characters. It is a value.
type line struct {
	text []rune
	at   int
}

func (l line) String() string { return string(l.text) }

// press returns the line after a key. A key without a meaning here changes nothing.
func (l line) press(k key) line {
	switch k.name {
	case "left", "ctrl+b":
		l.at = max(0, l.at-1)
	case "right", "ctrl+f":
		l.at = min(len(l.text), l.at+1)
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.text)
	case "backspace", "ctrl+h":
		return l.cut(l.at-1, l.at)
	case "delete":
		return l.cut(l.at, l.at+1)
	case "ctrl+u":
		return l.cut(0, l.at)
	case "ctrl+w":
		from := l.at
		for from > 0 && unicode.IsSpace(l.text[from-1]) {
			from--
		}
		for from > 0 && !unicode.IsSpace(l.text[from-1]) {
			from--
		}
		return l.cut(from, l.at)
	default:
		return l.insert(k.text)
	}
	return l
}

// insert inserts text at the cursor. It leaves out characters that act on a terminal, and replaces a line break
// with a blank.
func (l line) insert(text string) line {
	var typed []rune
	for _, r := range strings.ToValidUTF8(text, "") {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			typed = append(typed, ' ')
		case !plain.Acts(r):
			typed = append(typed, r)
		}
	}
	l.text = append(append(append([]rune{}, l.text[:l.at]...), typed...), l.text[l.at:]...)
	l.at += len(typed)
	return l
}

// cut removes the characters between from and to, as far as they exist.
func (l line) cut(from, to int) line {
	from, to = max(0, from), min(len(l.text), to)
	if from < to {
		l.text = append(append([]rune{}, l.text[:from]...), l.text[to:]...)
		l.at = from
	}
	return l
}

// rows returns the rows of the line after a mark, including blanks at its end, and the position of the cursor
// in them.
func (l line) rows(width int) (rows []string, cursor at) {
	const mark = "> "
	before := parted(mark+plain.Line(string(l.text[:l.at]))+"_", width) // the cursor needs a cell, too
	last := before[len(before)-1]
	cursor = at{plain.Width(strings.TrimSuffix(last, "_")), len(before) - 1}
	rows = parted(mark+plain.Line(string(l.text)), width)
	for len(rows) <= cursor.y {
		rows = append(rows, "")
	}
	return rows, cursor
}

// parted returns the rows of a text, none wider than width unless a single character is.
func parted(text string, width int) (rows []string) {
	for {
		first := plain.Row(text, width)
		rows = append(rows, first)
		if text = text[len(first):]; text == "" {
			return rows
		}
	}
}
