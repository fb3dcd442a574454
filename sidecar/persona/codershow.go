package persona

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// frameEvery is the time between two frames of a spinner.
const frameEvery = 100 * time.Millisecond

// shows returns what the screen must show now.
func (c *coder) shows() string {
	switch {
	case c.lie != "":
		return c.lie
	case c.question != nil:
		return c.question.shows
	case c.working:
		return showsWorking
	}
	return showsIdle
}

// spin redraws the screen for as long as something turns on it.
func (c *coder) spin() {
	turn, asked := c.turn, c.question
	var spin func()
	spin = func() {
		if c.turn == turn && c.question == asked && (c.working || asked != nil) {
			c.show()
			c.loop.after(frameEvery, spin)
		}
	}
	spin()
}

// wheel returns the frame of a spinner, by the time since the turn began.
func (c *coder) wheel(frames []rune) string {
	return string(frames[int(time.Since(c.began)/frameEvery)%len(frames)])
}

// show updates the screen in one write: the rows that have changed, the title and the cursor.
func (c *coder) show() {
	if c.lent {
		return
	}
	width, height := c.term.size()
	shows := c.shows()
	b := c.like.below(shows, width, height)
	rows, y := b.rows, b.y
	if over := len(rows) - height; over > 0 { // a tiny terminal shows the lowest rows
		rows, y = rows[over:], y-over
	}
	space := height - len(rows)
	above := c.above(width, space)
	for len(above) < space {
		above = append(above, "")
	}
	rows, y = append(above, rows...), y+space

	var out strings.Builder
	if title := c.like.title(shows); title != c.named {
		c.named = title
		out.WriteString("\x1b]0;" + title + "\a")
	}
	for i, row := range rows {
		if i >= len(c.frame) || c.frame[i] != row {
			fmt.Fprintf(&out, "\x1b[%d;1H\x1b[m%s\x1b[m%s", i+1, painted(row, width), clearLine)
		}
	}
	c.frame = rows
	switch {
	case b.hidden && b.x >= width: // parked after the very last cell
		fmt.Fprintf(&out, "%s\x1b[%d;%dH ", cursorOff, height, width)
	case b.hidden:
		fmt.Fprintf(&out, "%s\x1b[%d;%dH", cursorOff, max(y, 0)+1, b.x+1)
	default:
		fmt.Fprintf(&out, "\x1b[%d;%dH%s", max(y, 0)+1, b.x+1, c.like.cursorOn())
	}
	c.term.write(out.String())
}

// above returns the conversation: all of it from the top, or its end if it is longer.
func (c *coder) above(width, space int) []string {
	rows := append([]string{""}, c.like.header(width)...)
	rows = append(rows, "", "")
	told := c.told
	if c.working && c.lie == showsIdle { // the lie shows the turn as ended
		told = append(told[:len(told):len(told)], paragraph{kind: ofEnd})
	}
	for _, p := range told {
		rows = append(rows, c.like.paint(p, width)...)
		rows = append(rows, "")
	}
	if n := len(rows) - space; n > 0 {
		rows = rows[n:]
	}
	return append([]string(nil), rows...)
}

// standing returns the content that the composer shows.
func (c *coder) standing() []piece {
	if c.lie == showsEmpty {
		return nil
	}
	return c.composer
}

// composed returns the content of the composer in rows of at most that width, and the width of the last row.
func (c *coder) composed(width int) (rows []string, end int) {
	var text strings.Builder
	for _, p := range c.standing() {
		if p.shown != "" {
			text.WriteString(p.shown)
		} else {
			text.WriteString(p.text)
		}
	}
	for line := range strings.SplitSeq(text.String(), "\n") {
		rows = append(rows, fold(printable(line), max(width, 1))...)
	}
	return rows, textWidth(rows[len(rows)-1])
}

// shortened reports whether the composer shows a placeholder for one of its pastes.
func (c *coder) shortened() bool {
	for _, p := range c.standing() {
		if p.shown != "" {
			return true
		}
	}
	return false
}

// lines paints a text: its first row after lead, all others after equally many blanks.
func lines(text string, width int, lead string, paint func(row string) string) (rows []string) {
	blanks := strings.Repeat(" ", textWidth(lead))
	for line := range strings.SplitSeq(text, "\n") {
		for _, part := range fold(printable(line), max(width-len(blanks)-1, 1)) {
			if paint != nil {
				part = paint(part)
			}
			rows = append(rows, lead+part)
			lead = blanks
		}
	}
	return rows
}

// rightward returns a row with a text at its right edge.
func rightward(left, right string, width int) string {
	gap := max(width-textWidth(left)-textWidth(right), 1)
	return left + strings.Repeat(" ", gap) + right
}

// painted returns a row with its attributes, cut to the width: a longer one would wrap.
func painted(row string, width int) string {
	var out strings.Builder
	for len(row) > 0 {
		if n := sequence([]byte(row)); row[0] == 0x1b && n > 0 {
			out.WriteString(row[:n])
			row = row[n:]
			continue
		}
		r, size := utf8.DecodeRuneInString(row)
		if width -= runeWidth(r); width < 0 {
			break
		}
		out.WriteString(row[:size])
		row = row[size:]
	}
	return out.String()
}

// cut shortens text to one row.
func cut(text string, width int) string { return fold(printable(text), max(width, 1))[0] }
