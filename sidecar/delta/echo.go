package delta

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// ink returns those bytes of a text that are compared with what is shown.
func ink(text string) string { return shown.Ink(text) }

// inkLen returns len(ink(text)) without allocating the ink, since it is called for every line of every capture.
func inkLen(text string) int {
	n := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			return n + len(ink(text[i:]))
		case c > ' ' && c != 0x7f:
			n++
		}
	}
	return n
}

// echoAt returns the number of lines, from line i on, that show the prompt and exactly the
// expected text behind it, wrapped by the program or by its own line breaks; 0 if they do
// not.
func (t *Tracker) echoAt(lines []line, i int, text string) int {
	n, whole := t.drawn(lines, i, text)
	if !whole {
		return 0
	}
	return n + t.empty(lines[i+n:], t.breaks[text])
}

// partedAtEdge parts those lines, from line i on, that show an expected text, where a row of that text counts
// as wrapped in tmux: because the text ends at the right edge of the pane, or because a draft that was erased
// since once did. tmux then takes what the program prints below it, its answer or a continuation prompt,
// for the rest of the same line. ok is false if the lines show no such text.
func (t *Tracker) partedAtEdge(lines []line, i, used int) (parted []line, ok bool) {
	if t.on.width == 0 {
		return nil, false
	}
	for _, one := range t.expected[used:] {
		if parted, ok = t.partedFor(lines, i, one); ok {
			return parted, true
		}
	}
	return nil, false
}

// partedFor is partedAtEdge for one text. It parts one line after another, each at the first edge where that fits.
func (t *Tracker) partedFor(lines []line, i int, text string) (parted []line, ok bool) {
	for n, whole := t.drawn(lines, i, text); ; n, whole = t.drawn(lines, i, text) {
		if whole {
			return lines, parted != nil
		}
		k := i + n
		if k >= len(lines) || lines[k].gap != 0 {
			return nil, false
		}
		row, cells := lines[k].text, span{}
		parted = nil
		for at, r := range row {
			if edge(cells, t.on.width) && (padded(row[:at]) || trim(row[:at]) == row[:at]) {
				try := slices.Concat(lines[:k], []line{{text: trim(row[:at])}, {text: row[at:]}}, lines[k+1:])
				if shows, whole := t.drawn(try, i, text); whole || shows > n && t.continues(row[at:]) {
					parted = try
					break
				}
			}
			cells = cells.and(cellsOf(r))
		}
		if lines = parted; parted == nil {
			return nil, false
		}
	}
}

// drawn returns the number of lines, from line i on, that show the prompt and behind it the
// beginning of a text, and whether they show all of it.
func (t *Tracker) drawn(lines []line, i int, text string) (n int, whole bool) {
	rest, ok := t.prompt.Rest(lines[i].text)
	if !ok || rest == "" {
		return 0, false
	}
	first, ok := shown.Follow(text, ink(rest))
	if !ok {
		return 0, false
	}
	at := map[int]bool{first: true} // how much of text may have been shown so far
	for n = 1; !over(at, text) || n < len(lines)-i && lines[i+n].gap == 0 && t.goesOn(at, text, lines[i+n].text); n++ {
		if i+n == len(lines) || lines[i+n].gap != 0 {
			return n, false
		}
		next := map[int]bool{}
		for _, piece := range t.pieces(lines[i+n].text) {
			for from := range at {
				if used, ok := shown.Follow(text[from:], piece); ok {
					next[from+used] = true
				}
			}
		}
		if len(next) == 0 {
			return n, false
		}
		at = next
	}
	return n, true
}

// over reports whether all of a text may have been shown.
func over(at map[int]bool, text string) bool {
	for from := range at {
		if shown.Over(text[from:]) {
			return true
		}
	}
	return false
}

// goesOn reports whether a line shows what may be missing at the end of a text.
func (t *Tracker) goesOn(at map[int]bool, text, line string) bool {
	for _, piece := range t.pieces(line) {
		for from := range at {
			if used, ok := shown.Follow(text[from:], piece); ok && used > 0 {
				return true
			}
		}
	}
	return false
}

// empty returns the number of lines, at most most, that show a continuation prompt and nothing behind
// it: those of the line breaks at the end of a text.
func (t *Tracker) empty(lines []line, most int) (n int) {
	for n < min(most, len(lines)) && lines[n].gap == 0 && t.continues(lines[n].text) && slices.Contains(t.pieces(lines[n].text), "") {
		n++
	}
	return n
}

// pieces returns the ways to read a further line of a composer: as it is, or behind a continuation
// prompt.
func (t *Tracker) pieces(text string) []string {
	ways := []string{ink(text)}
	for _, c := range t.more {
		if rest, ok := strings.CutPrefix(text, c); ok {
			ways = append(ways, ink(rest))
		} else if trim(c) != "" && text == trim(c) {
			ways = append(ways, "")
		}
	}
	return ways
}

// continues reports whether a line shows a continuation prompt.
func (t *Tracker) continues(text string) bool {
	for _, c := range t.more {
		if trim(c) != "" && (strings.HasPrefix(text, c) || text == trim(c)) {
			return true
		}
	}
	return false
}

// startsMax is how many places in a text are tried as the end of a piece of it.
const startsMax = 4_096

// stretch returns the number of lines, from line i on, that show a piece of a text whose beginning is
// missing, and how many bytes of ink they show. The piece must be the end of the text, or go on until
// lines are missing again; if the text is drawn again below, any piece will do.
func (t *Tracker) stretch(lines []line, i int, text string, again bool) (n, inked int) {
	var at map[int]int // how much was shown, by where in the text it ends
	for k := i; k < len(lines) && lines[k].gap == 0; k++ {
		ways, next := t.pieces(lines[k].text), map[int]int{}
		for _, piece := range ways {
			if at == nil {
				starts(text, piece, next)
			}
			for end, inked := range at {
				if used, ok := shown.Follow(text[end:], piece); ok {
					next[end+used] = max(next[end+used], inked+used)
				}
			}
		}
		switch {
		case len(next) > 0:
			at = next
		case at != nil || !slices.Contains(ways, ""):
			return n, inked
		}
		if at[len(text)] > 0 {
			n, inked = k+1-i, at[len(text)]
		}
		cut := k+1 < len(lines) && lines[k+1].gap != 0
		for _, shown := range at {
			if again || cut && shown >= max(provenEnd, inked) {
				n, inked = k+1-i, shown
			}
		}
	}
	return n, inked
}

// starts notes where in the text a piece may end, for the last places where it stands.
func starts(text, piece string, ends map[int]int) {
	if piece == "" {
		return
	}
	for upTo := len(text); len(ends) < startsMax; {
		from := strings.LastIndex(text[:upTo], piece)
		if from < 0 {
			return
		}
		ends[from+len(piece)] = max(ends[from+len(piece)], len(piece))
		upTo = from + len(piece) - 1
	}
}
