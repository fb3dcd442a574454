package screen

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cell is one character of a row and how it is painted.
type cell struct {
	pen
	text   string // one grapheme
	column int    // column of its first cell
}

// faint reports whether a character is less bright than plain text.
func (c cell) faint() bool { return c.dim || c.grey }

func (c cell) blank() bool { return strings.TrimSpace(c.text) == "" }

// pen is how a character is painted.
type pen struct {
	dim, bold, reverse bool
	ground             bool // it has a background of its own
	grey               bool // a grey foreground, which means dim where there are enough colours
	colour             int  // the foreground, for comparison; 0 is the default
}

// canvas holds rows with their attributes. An attribute stays in force until it is changed, even beyond the end of
// its row, since tmux writes only the changes.
type canvas struct {
	raw    []string
	pens   []pen // the pen at the beginning of each row
	cells  [][]cell
	done   []bool // whether a row is parsed: most never are
	plains []*string
}

func newCanvas(rows []string) *canvas {
	c := &canvas{raw: rows, pens: make([]pen, len(rows)), cells: make([][]cell, len(rows)), done: make([]bool, len(rows)), plains: make([]*string, len(rows))}
	var now pen
	for i, row := range rows {
		c.pens[i] = now
		for {
			at := strings.IndexByte(row, 0x1b)
			if at < 0 {
				break
			}
			seq, _, n, _ := ansi.DecodeSequence(row[at:], 0, nil)
			if n <= 0 {
				break
			}
			now.take(seq)
			row = row[at+n:]
		}
	}
	return c
}

// plain returns the text of a row as a person reads it.
func (c *canvas) plain(y int) string {
	if c.plains[y] == nil {
		row := Plain(c.raw[y])
		c.plains[y] = &row
	}
	return *c.plains[y]
}

// lastText returns the last row that is not blank, or -1.
func (c *canvas) lastText() int {
	for y := len(c.raw) - 1; y >= 0; y-- {
		if c.plain(y) != "" {
			return y
		}
	}
	return -1
}

// row returns the characters of a row.
func (c *canvas) row(y int) []cell {
	if c.done[y] {
		return c.cells[y]
	}
	c.done[y] = true
	row, now, column := strings.ToValidUTF8(c.raw[y], "\uFFFD"), c.pens[y], 0
	var state byte
	if row != "" {
		c.cells[y] = make([]cell, 0, utf8.RuneCountInString(row))
	}
	for len(row) > 0 {
		seq, width, n, next := ansi.DecodeSequence(row, state, nil)
		if n <= 0 {
			break
		}
		switch last := len(c.cells[y]) - 1; {
		case width > 0:
			c.cells[y] = append(c.cells[y], cell{text: seq, column: column, pen: now})
			column += width
		case seq[0] >= utf8.RuneSelf && last >= 0: // a mark that combines with the character before
			c.cells[y][last].text += seq
		default:
			now.take(seq)
		}
		row, state = row[n:], next
	}
	return c.cells[y]
}

// take applies a sequence to the pen, if it is one for attributes. Extended colours are consumed as a whole: a 2 or
// a 7 inside them is part of a colour.
func (now *pen) take(seq string) {
	body, ok := strings.CutPrefix(seq, "\x1b[")
	if !ok {
		return
	}
	if body, ok = strings.CutSuffix(body, "m"); !ok {
		return
	}
	var few [24]int // enough for all but forged sequences
	params, ok := parameters(few[:0], body)
	if !ok {
		return
	}
	for i := 0; i < len(params); i++ {
		switch n := params[i]; {
		case n == 0:
			*now = pen{}
		case n == 1:
			now.bold = true
		case n == 2:
			now.dim = true
		case n == 7:
			now.reverse = true
		case n == 22:
			now.bold, now.dim = false, false
		case n == 27:
			now.reverse = false
		case n == 39:
			now.grey, now.colour = false, 0
		case n == 49:
			now.ground = false
		case n >= 40 && n <= 47, n >= 100 && n <= 107:
			now.ground = true
		case n >= 30 && n <= 37, n > 90 && n <= 97:
			now.grey, now.colour = false, n
		case n == 90: // bright black
			now.grey, now.colour = true, n
		case n == 38 || n == 48 || n == 58:
			used, grey := extended(params[i+1:])
			i += used
			now.ground = now.ground || n == 48
			if n == 38 {
				now.grey, now.colour = grey, 1
				for _, p := range params[i-used+1 : i+1] {
					now.colour = now.colour<<8 | p&0xff
				}
			}
		}
	}
}

// styled stands for a parameter without meaning here: an underline style or a colour whose parts are all in one
// field, or an invalid number.
const styled = -1

// parameters appends the numbers of a sequence; a missing one is 0. It reports false if the sequence contains
// anything else.
func parameters(params []int, body string) ([]int, bool) {
	const most = 1 << 24
	n, colon := 0, false
	for i := 0; i <= len(body); i++ {
		switch {
		case i == len(body) || body[i] == ';':
			if colon || n > most {
				n = styled
			}
			params = append(params, n)
			n, colon = 0, false
		case body[i] == ':':
			colon = true
		case body[i] < '0' || body[i] > '9':
			return nil, false
		default:
			n = min(10*n+int(body[i]-'0'), most+1)
		}
	}
	return params, true
}

// extended reads what follows the 38 of a colour. It returns how many parameters belong to the colour, and whether
// it is a grey between black and white.
func extended(params []int) (used int, grey bool) {
	switch {
	case len(params) >= 2 && params[0] == 5:
		n := params[1]
		return 2, n == 8 || n >= 236 && n <= 251 || n == 59 || n == 102 || n == 145
	case len(params) >= 4 && params[0] == 2:
		rgb := params[1:4]
		low, high := min(rgb[0], rgb[1], rgb[2]), max(rgb[0], rgb[1], rgb[2])
		return 4, high-low <= 24 && low >= 48 && high <= 200
	}
	return len(params), false
}

// at returns the character in that column, and whether there is one.
func at(row []cell, column int) (cell, bool) {
	for _, c := range row {
		if c.column == column {
			return c, true
		}
	}
	return cell{}, false
}

// from returns the characters from that column on, without blanks at the end.
func from(row []cell, column int) []cell {
	for len(row) > 0 && row[0].column < column {
		row = row[1:]
	}
	for len(row) > 0 && row[len(row)-1].blank() {
		row = row[:len(row)-1]
	}
	return row
}

// words returns the text of characters.
func words(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(c.text)
	}
	return b.String()
}

// ghost reports whether characters are a placeholder or a suggestion: all dim, except perhaps the first, on which
// an agent may paint its cursor.
func ghost(row []cell) bool {
	if len(row) == 0 {
		return false
	}
	if row[0].reverse && !row[0].faint() {
		if row = row[1:]; len(row) == 0 {
			return false // one letter below the cursor may be a draft
		}
	}
	dim := false
	for _, c := range row {
		if c.blank() {
			continue
		}
		if !c.faint() {
			return false
		}
		dim = true
	}
	return dim
}
