package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Own says how a text that we typed stands in an agent's composer.
type Own int

// Enter may be pressed only with Whole.
const (
	Absent Own = iota // the text is not there, or cannot be recognised
	Among             // the text is there, but with something more, with something missing, or with something over it
	Whole             // only the text is there, or the agent's placeholder for a long paste; the cursor is behind it
)

// JudgeOwn returns how text stands in the composer of the view's agent. It ignores blanks and line breaks, since
// agents wrap, trim and indent. A composer that shows only a part of its text is never Whole, since a person's
// words may stand in the hidden part (see Fitted). Neither is a composer during a turn, with a list, a dialog or a
// panel over it, or in which letters are commands.
func JudgeOwn(v View, a profile.Agent, text string) Own {
	f, ok := fieldOf(v, a)
	if !ok {
		return Absent
	}
	stands := f.text(f.first, f.last)
	lines, others := f.pasted(stands, text)
	instead := lines == 1 && others == ""
	whole := instead || shown.Same(shown.Ink(text), shown.Ink(stands))
	switch {
	case whole && !f.partly(f) && f.endsAt(text, instead) && f.clear(f):
		return Whole
	case whole || lines > 0 || hasPart(text, stands):
		return Among
	}
	return Absent
}

// Placeholder returns the placeholder that the view's agent shows in its composer for a long paste, whoever pasted
// it, or "" if there is none.
func Placeholder(v View, a profile.Agent) string {
	f, ok := fieldOf(v, a)
	if !ok {
		return ""
	}
	text := f.text(f.first, f.last)
	for _, pattern := range a.Pasted {
		for at := range text {
			if _, size, ok := match(pattern, text[at:]); ok {
				return text[at : at+size]
			}
		}
	}
	return ""
}

// OwnTail returns a piece of the text that the composer of the view's agent shows left of the cursor and above it,
// chosen by the rules of Tail, with at least one letter or digit: it must still be on the screen when Enter comes.
// It is empty if no composer is live or if it shows no such piece.
func OwnTail(v View, a profile.Agent) string {
	f, ok := fieldOf(v, a)
	if !ok {
		return ""
	}
	best := ""
	for y := min(f.CursorY, f.last); y >= f.first && ansi.StringWidth(best) < tailEnough; y-- {
		to := f.Width
		if y == f.CursorY {
			to = f.CursorX
		}
		row := f.line(y)
		for i, c := range row {
			if c.column >= to {
				row = row[:i]
				break
			}
		}
		if piece := tailOf(words(row)); ansi.StringWidth(piece) > ansi.StringWidth(best) && strings.ContainsFunc(piece, alphanumeric) {
			best = piece
		}
	}
	return best
}

// tailEnough is the width of a piece that is very unlikely to stand elsewhere on a screen.
const tailEnough = 6

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// field is a composer with the cursor, as an agent shows it.
type field struct {
	picture
	first, last int    // the rows of its text
	foot        int    // the first row below it
	block       *block // only for opencode
}

func fieldOf(v View, a profile.Agent) (field, bool) {
	if v.InMode || !v.whole() {
		return field{}, false
	}
	p, ok := newPicture(v, a)
	if !ok {
		return field{}, false
	}
	return p.field(p)
}

// hasPart reports whether the composer shows a part of the text: all of it among other words, its beginning, or a
// row of it.
func hasPart(text, stands string) bool {
	want, have := shown.Ink(text), shown.Ink(stands)
	first, _, _ := strings.Cut(text, "\n")
	if have == "" || want == "" {
		return false
	}
	if _, begins := shown.Follow(want, have); begins {
		return true
	}
	if shown.Within(want, have) || shown.Within(shown.Ink(first), have) || len(have) >= rowEnough && strings.Contains(want, have) {
		return true
	}
	for row := range strings.SplitSeq(stands, "\n") {
		if row = shown.Ink(row); len(row) >= rowEnough && strings.Contains(want, row) {
			return true
		}
	}
	return false
}

// rowEnough is how many bytes of a row must be ours for the row to be hardly somebody else's.
const rowEnough = 12

// pasted counts the placeholders that the agent may show instead of the text, and returns everything else.
func (p picture) pasted(shown, text string) (lines int, others string) {
	var rest strings.Builder
	for at := 0; at < len(shown); {
		size := 0
		for _, pattern := range p.a.Pasted {
			if pattern[0] != shown[at] {
				continue
			}
			if numbers, n, ok := match(pattern, shown[at:]); ok && p.counts(p.a, text, numbers) {
				lines++
				size = n
				break
			}
		}
		if size == 0 {
			size = 1
			rest.WriteByte(shown[at])
		}
		at += size
	}
	return lines, strings.TrimSpace(rest.String())
}

// match matches a pattern, with a %d for each number, at the beginning of text.
func match(pattern, text string) (numbers []int, size int, ok bool) {
	whole := len(text)
	for {
		before, after, more := strings.Cut(pattern, "%d")
		if !strings.HasPrefix(text, before) {
			return nil, 0, false
		}
		text = text[len(before):]
		if !more {
			return numbers, whole - len(text), true
		}
		digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
		if digits == 0 || digits > 9 {
			return nil, 0, false
		}
		n := 0
		for _, d := range text[:digits] {
			n = 10*n + int(d-'0')
		}
		numbers, text, pattern = append(numbers, n), text[digits:], after
	}
}

// endsAt reports whether the cursor stands right behind the text with nothing after it. The blanks and line breaks
// at the end of the text may be in its row or below.
func (f field) endsAt(text string, instead bool) bool {
	y := f.last
	for y >= f.first && len(f.line(y)) == 0 {
		y--
	}
	if y < f.first {
		return false
	}
	blanks := ""
	switch {
	case instead:
		blanks = f.after
	default:
		blanks = text[len(strings.TrimRightFunc(text, unicode.IsSpace)):]
	}
	begin := f.a.Composer.Text
	if f.breaks && f.CursorY > y && f.CursorX == begin {
		return true // behind a line break that an Enter has left; the agent drops it like blanks
	}
	least, most := spread(words(f.line(y)))
	for x := begin + least; x <= begin+most; x++ {
		if f.CursorY == y+1 && !strings.Contains(blanks, "\n") && x+len(blanks) >= f.Width-edge && f.CursorX >= begin && f.CursorX <= begin+len(blanks) {
			return true
		}
		toY, toX := y, x
		for _, r := range blanks {
			if toX += f.blank(r); r == '\n' {
				toY, toX = toY+1, begin
			}
		}
		if f.CursorY == toY && f.CursorX == toX {
			return true
		}
	}
	return false
}

// spread returns the least and the most cells that a row may take. In addition to versions of tmux, the agents
// differ: some join two Arabic letters into one cell, as printers do; a symbol turned into an emoji may be as
// narrow as the symbol; and a character unknown to tmux takes one cell, followed by a blank of the agent's.
func spread(row string) (least, most int) {
	_, most = widths(row)
	for _, joined := range []string{"لا", "لأ", "لإ", "لآ"} {
		least -= strings.Count(row, joined)
	}
	for len(row) > 0 {
		cluster, width := ansi.FirstGraphemeCluster(row, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		first, _ := utf8.DecodeRuneInString(cluster)
		width = min(width, ansi.StringWidthWc(cluster), ansi.StringWidthWc(string(first)))
		if !Steady(cluster) {
			width = min(width, 1)
		}
		least += width
		row = row[len(cluster):]
	}
	return least, most
}

// blank returns the width of a blank at the end of a text, as the agent draws it.
func (f field) blank(r rune) int {
	if r == '\t' {
		return f.a.Composer.Tab
	}
	return ansi.StringWidth(string(r))
}

// edge is how many cells agents leave free on the right, at most.
const edge = 4

// Breaks counts the Enters after our text that were taken for line breaks: the text is Whole, as in JudgeOwn, and
// the cursor stands that many rows below its end. If an Enter increases the count, it is used up, and another one
// may be typed. If the count stays the same, the effect of the Enter is unknown.
func Breaks(v View, a profile.Agent, text string) (n int) {
	f, ok := fieldOf(v, a)
	if !ok || !f.breaks || JudgeOwn(v, a, text) != Whole {
		return 0
	}
	if lines, others := f.pasted(f.text(f.first, f.last), text); strings.HasSuffix(text, "\n") && (lines != 1 || others != "") {
		return 0 // the line breaks may be the text's own
	}
	if f.CursorY != f.last || f.CursorX != a.Composer.Text {
		return 0
	}
	for y := f.last; y > f.first && len(f.line(y)) == 0; y-- {
		n++
	}
	return n
}

// unbarred reports whether the glyph is that of a composer that takes prompts, and no mark around the composer
// shows that Enter would do something else.
func (f field) unbarred() bool {
	if glyph, mode, ok := f.glyph(f.first); !ok || mode || glyph.faint() {
		return false
	}
	marks := f.a.Marks
	for _, area := range []struct {
		first, last int
		marks       []string
	}{
		{f.first - 2, f.first - 1, marks.Scrolled},
		{f.foot, f.Height - 1, marks.Working},
		{f.foot, f.Height - 1, marks.Modal},
		{f.foot, f.Height - 1, marks.Normal},
	} {
		if _, found := f.marked(area.first, area.last, area.marks); found {
			return false
		}
	}
	return true
}
