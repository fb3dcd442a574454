package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Own is how a text that we typed stands in an agent's composer.
type Own int

// The ways. Only with Whole may Enter be pressed.
const (
	Absent Own = iota // it is not there, or cannot be told
	Among             // it is there, with more than it, with less, or with something over it
	Whole             // it, or what the agent shows instead of a long paste, and nothing else; the cursor is behind it
)

// JudgeOwn tells how text stands in the composer of the agent of that view. Blanks and line
// breaks are looked through: agents wrap, trim and indent. A composer that shows a part of
// its text only is never Whole, since a person's words may stand where it is not seen (see
// Fitted); nor is one while a turn is under way, with a list, a dialog or a panel over it,
// or where letters are commands.
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

// Placeholder is what the agent of that view shows in its composer instead of a long paste,
// whoever has pasted it, "" if it shows nothing of the kind.
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

// OwnTail is a piece of what the composer of the agent of that view shows left of the cursor
// and above it, by the rules of Tail, with a letter or a digit in it: what must still be on
// the screen when Enter comes. It is empty where no composer is live or it shows nothing of
// that kind.
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

// tailEnough is the width of a piece that hardly anything else on a screen looks like.
const tailEnough = 6

func alphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// field is a composer with the cursor in it, as an agent shows it.
type field struct {
	picture
	first, last int    // the rows of its text
	foot        int    // the first row below it
	block       *block // of opencode
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

// hasPart reports whether the composer shows something of the text: all of it beside other
// words, the beginning, or a row of it.
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

// rowEnough is how much of a row is to be ours, in bytes, so that it is hardly somebody
// else's.
const rowEnough = 12

// pasted counts the lines that the agent may have put there instead of the text, and tells
// what else stands there.
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

// match reads a pattern, with a %d for each number, at the beginning of text.
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

// endsAt reports whether the cursor stands right behind the text, and nothing behind it. The
// blanks and line breaks at the text's end are where they can be: in its row, or below.
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
		return true // behind a line break that Enter has left there; it is dropped like blanks
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

// spread is the least and the most cells that a row may take: besides versions of tmux, the
// agents differ. Some join two letters of Arabic into one cell, as printers do, a symbol made into
// an emoji may be as narrow as the symbol, and what tmux does not know takes one cell, with a blank
// of the agent's behind it.
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

// blank is the width of a blank at the end of a text, as the agent draws it.
func (f field) blank(r rune) int {
	if r == '\t' {
		return f.a.Composer.Tab
	}
	return ansi.StringWidth(string(r))
}

// edge is how many cells at the right agents leave free, at most.
const edge = 4

// Breaks counts the Enters behind our text that were taken for line breaks of it: the text is
// Whole, as JudgeOwn has it, and the cursor stands that many rows below its end. An Enter by
// which they become more is used up, and another one may be typed; where they are as many as
// before it, nobody can tell.
func Breaks(v View, a profile.Agent, text string) (n int) {
	f, ok := fieldOf(v, a)
	if !ok || !f.breaks || JudgeOwn(v, a, text) != Whole {
		return 0
	}
	if lines, others := f.pasted(f.text(f.first, f.last), text); strings.HasSuffix(text, "\n") && (lines != 1 || others != "") {
		return 0 // they may be the text's own
	}
	if f.CursorY != f.last || f.CursorX != a.Composer.Text {
		return 0
	}
	for y := f.last; y > f.first && len(f.line(y)) == 0; y-- {
		n++
	}
	return n
}

// unbarred reports whether its glyph is that of a composer that takes prompts, and no mark
// around it tells that Enter does something else now.
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
