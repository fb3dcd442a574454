package delta

import (
	"unicode"
	"unicode/utf8"
)

// What a program prints may look like what it printed before, to the last line: the same
// answer, the same long text typed twice. tmux counts the rows that have gone by, which tells
// the two apart: from one capture to the next a line of the log keeps its row, counted from the
// top of the history, unless the history was cut or cleared, or the width changed.

// stand is where the lines of a log or a capture stand.
type stand struct {
	end   int // rows above the end of the last line, counted from the top of the history
	width int // in cells; 0: nothing is known
}

// standOf returns where c stands, the lines that are kept of a capture.
func standOf(from Capture, c []string) stand {
	return stand{end: from.Rows - (len(from.Lines) - len(c)), width: from.Width}
}

// span is a number of rows or cells, as far as it is known.
type span struct{ least, most int }

// and returns the sum of two spans.
func (s span) and(more span) span { return span{s.least + more.least, s.most + more.most} }

// edge reports whether a row may end behind so many cells.
func edge(cells span, width int) bool {
	return cells.least > 0 && cells.most/width*width >= cells.least
}

// rowsOf returns how many rows a line takes, as far as that is known: how wide characters are drawn
// is up to other programs, and blanks that were cut may have taken another row.
func rowsOf(line string, width int) span {
	least, most := 0, 0
	for i := 0; i < len(line); {
		if line[i] < utf8.RuneSelf {
			least, most, i = least+1, most+1, i+1
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		i += n
		cells := cellsOf(r)
		least, most = least+cells.least, most+cells.most
	}
	if most == least {
		return span{max(1, (least+width-1)/width), most/width + 1}
	}
	return span{max(1, (least+width-1)/width), most/(width-1) + 1}
}

// cellsOf returns how many cells a character may take.
func cellsOf(r rune) span {
	switch {
	case r < utf8.RuneSelf:
		return span{1, 1}
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return span{0, 0}
	case r >= 0x1f000: // may be a part of an emoji
		return span{0, 2}
	case r < 0x1100:
		return span{1, 1}
	}
	return span{1, 2}
}

// tally counts the rows of lines from their end up, as far as it is asked to.
type tally struct {
	text  func(i int) string
	lines int
	width int
	sums  []span // of the last lines: of none, of the last one, and so on
}

// from returns how many rows the lines from i on take.
func (y *tally) from(i int) span {
	if y.sums == nil {
		y.sums = []span{{}}
	}
	for n := len(y.sums); n <= y.lines-i; n++ {
		rows, sum := rowsOf(y.text(y.lines-n), y.width), y.sums[n-1]
		y.sums = append(y.sums, span{sum.least + rows.least, sum.most + rows.most})
	}
	return y.sums[y.lines-i]
}

// counts reports whether the rows of log and capture can be compared, and prepares for that.
func (a *aligner) counts() bool {
	if a.on.width < 2 || a.on.width != a.t.on.width {
		return false
	}
	log := a.t.log[a.lo:]
	a.logRows = tally{text: func(i int) string { return log[i].text }, lines: len(log), width: a.on.width}
	a.capRows = tally{text: func(i int) string { return a.c[i] }, lines: len(a.c), width: a.on.width}
	return true
}

// moved returns by how many rows line i of the log would have moved if it were line j of the
// capture.
func (a *aligner) moved(i, j int) span {
	log, c, by := a.logRows.from(i), a.capRows.from(j), a.on.end-a.t.on.end
	return span{by - c.most + log.least, by - c.least + log.most}
}

// move returns by how many rows a place would move the lines of the log; ok is false if the place
// has none of them.
func (a *aligner) move(p place) (by span, ok bool) {
	i := min(len(a.logs), len(a.caps)+p.shift) - 1
	if i < 0 || i-p.shift < 0 {
		return span{}, false
	}
	if a.equal(i, i-p.shift) { // then its end tells as much, and more if it was cut
		i++
	}
	return a.moved(i, i-p.shift), true
}

// keeps reports whether a place may leave the lines in their rows or, if rows may have been cut from
// the top of the history, move them by such cuts alone.
func (a *aligner) keeps(p place) bool {
	by, ok := a.move(p)
	switch {
	case !ok || by.least > 0:
		return false
	case by.most >= 0:
		return true
	case a.cut == 0:
		return false
	}
	return by.most-(by.most%a.cut+a.cut)%a.cut >= by.least
}

// exactly reports whether a place leaves the lines in their rows beyond doubt.
func (a *aligner) exactly(p place) bool {
	by, ok := a.move(p)
	return ok && a.cut == 0 && by == span{}
}

// kept returns the shifts of the places that may leave the end of the log in its row.
func (a *aligner) kept() (shifts []int) {
	if a.cut > 0 {
		return nil
	}
	end := len(a.logs)
	for j := len(a.caps); j >= 0 && len(shifts) < candidates; j-- {
		by := a.moved(end, j)
		if by.most < 0 {
			break
		}
		if by.least <= 0 {
			shifts = append(shifts, end-j)
		}
	}
	return shifts
}

// beyond reports whether the end of the log stood above all that the capture shows.
func (a *aligner) beyond() bool {
	return a.cut == 0 && a.moved(len(a.logs), 0).least > 0
}
