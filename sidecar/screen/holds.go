package screen

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Holds reports whether the composer shows exactly this text of ours and nothing else: the prompt, the text, and
// the cursor right behind it. It ignores line breaks made by wrapping, and the continuation prompts of prof. A part
// of the text, or more than the text, is never enough, except for what terminals drop from characters (package
// shown). A text taller than the screen is found only if Lines reaches back to its prompt. A text that exactly
// fills its last row looks the same right after it was submitted, while nothing is printed yet.
func Holds(s Screen, p Prompt, text string, prof profile.Profile) bool {
	_, at := composed(s, p, text, prof)
	return at >= 0
}

// Without returns the lines as they were before text was typed: everything above the composer, and its prompt
// alone. The composer must hold text as for Holds.
func Without(s Screen, p Prompt, text string, prof profile.Profile) (lines []string, ok bool) {
	lines, at := composed(s, p, text, prof)
	if at < 0 {
		return nil, false
	}
	rest, _ := p.Rest(lines[at])
	above := append([]string(nil), lines[:at]...)
	return append(above, trim(strings.TrimSuffix(trim(lines[at]), rest))), true
}

// ComposerRow returns the visible row in which the composer begins that holds exactly this text, as for Holds. It
// reports false if that row has left the screen.
func ComposerRow(s Screen, p Prompt, text string, prof profile.Profile) (row int, ok bool) {
	rows := plain(s.Rows)
	last := lastText(rows)
	want := shown.Ink(text)
	for row := last; row >= 0; row-- {
		rest, begins := p.Rest(rows[row])
		if !begins || rest == "" {
			continue
		}
		used, ok := shown.Follow(want, shown.Ink(rest))
		if ok && shows(rows[row+1:last+1], want[used:], prof.Continuations) {
			return row, true
		}
	}
	return 0, false
}

// composed finds the line at which the composer begins that shows exactly this text of ours and nothing else, among
// the lines of the screen as far as they reach. It returns -1 if there is none.
func composed(s Screen, p Prompt, text string, prof profile.Profile) (lines []string, at int) {
	if s.InMode || s.Alternate || !s.sound() || p.IsZero() || ink(text) == "" {
		return nil, -1
	}
	rows := plain(s.Rows)
	last := lastText(rows)
	if last < 0 || !s.cursorEnds(rows, last, p, text, prof.Continuations) {
		return nil, -1
	}
	lines = s.Lines
	if len(lines) == 0 {
		lines = rows
	}
	end := lastText(lines)
	if end < 0 || !strings.HasSuffix(ink(lines[end]), ink(rows[last])) {
		return nil, -1
	}
	lines = lines[:end+1]
	if prof.Reads == profile.Joined {
		// One line; only a program that wraps by itself shows it as several.
		rest, ok := p.Rest(lines[end])
		if ok && shown.Same(shown.Ink(text), shown.Ink(rest)) {
			return lines, end
		}
	}
	want := shown.Ink(text)
	for i := end; i >= 0; i-- {
		rest, ok := p.Rest(lines[i])
		if !ok || rest == "" {
			continue
		}
		used, ok := shown.Follow(want, shown.Ink(rest))
		if ok && shows(lines[i+1:], want[used:], prof.Continuations) {
			return lines, i
		}
	}
	return nil, -1
}

// shows reports whether the lines, each with or without a continuation prompt, make up exactly the rest of the
// text.
func shows(lines []string, want string, continuations []string) bool {
	at := map[int]bool{0: true} // how much of want may have been shown so far
	for _, line := range lines {
		next := map[int]bool{}
		for _, piece := range pieces(line, continuations) {
			for n := range at {
				if used, ok := shown.Follow(want[n:], piece); ok {
					next[n+used] = true
				}
			}
		}
		if len(next) == 0 {
			return false
		}
		at = next
	}
	for n := range at {
		if shown.Over(want[n:]) {
			return true
		}
	}
	return false
}

// pieces returns the possible readings of a line of a composer: as it is, and without a continuation prompt.
func pieces(line string, continuations []string) []string {
	ways := []string{shown.Ink(line)}
	for _, c := range continuations {
		if rest, ok := strings.CutPrefix(line, c); ok {
			ways = append(ways, shown.Ink(rest))
		} else if trim(c) != "" && trim(line) == trim(c) {
			ways = append(ways, "")
		}
	}
	return ways
}

// cursorEnds reports whether the cursor stands right behind the last text shown and behind the blanks and line
// breaks at the end of our own text. After a line break, the last row may show only a continuation prompt.
func (s Screen) cursorEnds(rows []string, last int, p Prompt, text string, continuations []string) bool {
	blanks := len(text) - len(strings.TrimRight(text, " "))
	for _, c := range continuations {
		if trim(c) == rows[last] && strings.HasSuffix(text, "\n") {
			blanks = len(c) - len(trim(c))
		}
	}
	if breaks := len(text) - len(strings.TrimRight(text, "\n")); breaks > 0 && s.CursorY == last+breaks && s.CursorX == 0 {
		return true // our own text ends in line breaks
	}
	least, most := widths(rows[last])
	if rest, ok := p.Rest(rows[last]); ok && shown.Same(shown.Ink(text), shown.Ink(rest)) {
		// The program has also counted the characters that tmux drops.
		_, drawn := widths(rest)
		_, sent := widths(strings.TrimRight(text, " "))
		most += max(0, sent-drawn)
	}
	for width := least; width <= most; width++ {
		want := width + blanks
		switch {
		case s.CursorY == last && s.CursorX == want:
			return true
		case want < s.Width:
		case s.CursorY == last && s.CursorX == s.Width-1: // the cursor stays on the last cell until more comes
			return true
		case s.CursorY == last+1 && s.CursorX == want-s.Width:
			return true
		}
	}
	return false
}

// widths returns the least and the most cells that a row may take. Versions of tmux, and the programs, disagree
// about the widths of symbols and of characters composed of several others.
func widths(row string) (least, most int) {
	for len(row) > 0 {
		cluster, graphemes := ansi.FirstGraphemeCluster(row, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		row = row[len(cluster):]
		characters := ansi.StringWidthWc(cluster)
		low, high := min(graphemes, characters), max(graphemes, characters)
		if first, size := utf8.DecodeRuneInString(cluster); size < len(cluster) || first >= 0x1f000 && !unicode.IsLetter(first) {
			low = min(low, 1)
			apart := 0
			for _, r := range cluster {
				if !unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
					apart += 2
				}
			}
			high = max(high, apart)
		}
		least, most = least+low, most+high
	}
	return least, most
}

// Straight reports whether a line editor is expected to draw the text behind its prompt so that Holds finds it, in
// a pane of that width. An editor counts cells to know where its rows end. If tmux draws a character narrower than
// the editor assumes, as it does with composed emoji, the editor's rows end before those of the pane, and it draws
// over them. So no row may end after such a character in its line.
func Straight(p Prompt, text string, width int) bool {
	least, most := 0, promptMax
	if p.re == nil {
		most = ansi.StringWidth(p.text)
		least = most
	}
	for line := range strings.SplitSeq(text, "\n") {
		if !straight(least, most, line, width) {
			return false
		}
		least = 0 // a continuation prompt, or none
	}
	return true
}

// straight is Straight for one line, behind a prompt of least to most cells.
func straight(least, most int, line string, width int) bool {
	agreed, rest, narrower := cells(line)
	if !narrower {
		return true
	}
	for column := least; column <= most; column++ {
		at := column
		for _, n := range agreed {
			if at+n > width {
				at = 0
			}
			at += n
		}
		if at+rest >= width {
			return false
		}
	}
	return true
}

// StraightFrom returns a width from which on the text is Straight.
func StraightFrom(p Prompt, text string) (width int) {
	most := promptMax
	if p.re == nil {
		most = ansi.StringWidth(p.text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		agreed, rest, narrower := cells(line)
		if !narrower {
			continue
		}
		for _, n := range agreed {
			rest += n
		}
		width = max(width, most+rest+1)
	}
	return width
}

// cells returns the widths of the characters of a line before the first one on which an editor and tmux disagree,
// and the greatest width of the rest. narrower reports that tmux draws one of the characters narrower.
func cells(line string) (agreed []int, rest int, narrower bool) {
	for len(line) > 0 {
		cluster, graphemes := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
		if cluster == "" {
			break
		}
		line = line[len(cluster):]
		characters := ansi.StringWidthWc(cluster)
		narrower = narrower || graphemes < characters
		if rest > 0 || graphemes != characters {
			rest += max(graphemes, characters)
		} else {
			agreed = append(agreed, characters)
		}
	}
	return agreed, rest, narrower
}
