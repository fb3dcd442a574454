package delta

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
)

// Turn ends a turn, if there is one. With promptBack, the composer must be the last thing
// shown, empty or with a draft that stays where it is; what stands above it is the turn.
// Without promptBack, no prompt will come back: all that is shown is the turn. ok is false if
// the composer is not shown, or if there is nothing to tell.
func (t *Tracker) Turn(promptBack bool) (turn Turn, ok bool) {
	end := t.composer()
	switch {
	case end > t.start:
	case promptBack || t.start >= len(t.log):
		return Turn{}, false
	case end < 0:
		end = len(t.log)
	}
	standing := ""
	if end < len(t.log) {
		standing, _ = t.prompt.Rest(t.log[end].text)
	}
	r := t.read(t.log[t.start:end], settled, standing)
	t.spent = append(t.spent, t.expected[:r.used]...)
	t.expected = slices.Clone(t.expected[r.used:])
	if n := len(t.spent) - spentMax; n > 0 {
		t.spent = slices.Clone(t.spent[n:])
	}
	if r.gaps && end == len(t.log)-1 {
		if rest, _ := t.prompt.Rest(t.log[end].text); rest == "" {
			t.expected = nil // the composer is empty, and lines are missing: the echoes were among them
		}
	}
	turn = t.words(r)
	t.settle(min(end, len(t.log)-1))
	return turn, turn.Words != "" || turn.Echoes > 0 || turn.Person
}

// composer returns the index of the line in which the composer at the end of the log begins, or -1.
func (t *Tracker) composer() int {
	for i := len(t.log) - 1; i >= t.start && t.log[i].gap == 0; i-- {
		if _, ok := t.prompt.Rest(t.log[i].text); ok {
			return i
		}
		if !t.continues(t.log[i].text) {
			break
		}
	}
	return -1
}

// extent says how lines are read.
type extent int

const (
	settled    extent = iota // all of them stand above the composer
	inProgress               // the last of them may be the composer
)

// said is what the lines of a turn were found to hold.
type said struct {
	lines  []line // words, with gaps
	echoes int
	used   int // of the expected texts: the echoes and those before them that never came
	person bool
	gaps   bool

	mingled bool // a text of ours stands in one line with what a person typed beside it
}

// read takes apart the lines from the open line on. standing is what stands in the composer below
// them, if anything: it tells a draft that was drawn again from one that was sent.
func (t *Tracker) read(lines []line, ext extent, standing string) said {
	var r said
	draft, afterGap := "", false // what a person sent
	for i := 0; i < len(lines); {
		l := lines[i]
		if l.gap != 0 {
			r.lines = append(r.lines, l)
			r.gaps, afterGap = true, true
			i++
			n := t.cutEcho(lines, i, ext, standing, &r)
			if n == 0 && l.gap == unknown && i < len(lines) && lines[i].gap == 0 && lines[i].text == "" {
				n = 1 // it may be the blanks at the end of a line that was cut
			}
			i += n
			continue
		}
		rest, prompted := t.prompt.Rest(l.text)
		if !prompted {
			known := i == 0 && t.open != "" && strings.HasPrefix(l.text, t.open) && !t.opensWithPrompt()
			if !known { // a known line was begun before the turn, and told then
				r.lines = append(r.lines, l)
			}
			i++
			continue
		}
		if n := t.takeEcho(lines, i, ext, afterGap, &r); n > 0 {
			i += n
			continue
		}
		if ext == settled || i+1 < len(lines) { // otherwise somebody may have typed on
			if parted, ok := t.partedAtEdge(lines, i, r.used); ok {
				lines = parted
				continue
			}
		}
		if n := t.halfDrawn(lines, i, standing); n > 0 {
			i += n
			continue
		}
		switch {
		case i == 0 && rest == "":
		case i == 0 && !t.redrawn(lines[1:], rest) && standing != "" && strings.HasPrefix(ink(standing), ink(rest)):
			// A draft that still stands in the composer.
		case i == 0:
			r.person, draft = true, rest
			if (ext == settled || i+1 < len(lines)) && r.used < len(t.expected) && shown.Within(t.expected[r.used], ink(rest)) {
				r.used, r.echoes, r.mingled = r.used+1, r.echoes+1, true
			}
			for i+1 < len(lines) && t.continues(lines[i+1].text) {
				i++
			}
		case draft != "" && strings.HasPrefix(ink(rest), ink(draft)):
			draft = rest // drawn again, further down, with more of it
		default:
			r.lines = append(r.lines, l)
		}
		i++
	}
	return r
}

// takeEcho returns the number of lines at i that show a text of ours, as the composer would: the next
// one expected, or one that was taken already, or a later one. In the last case those before it never
// showed, and are given up.
func (t *Tracker) takeEcho(lines []line, i int, ext extent, afterGap bool, r *said) int {
	if n := t.nextEcho(lines, i, r.used, min(r.used+1, len(t.expected)), ext, r); n > 0 {
		return n
	}
	if n := t.staleEcho(lines, i, afterGap || i == 0 && t.opensWithOurs(), r.used); n > 0 {
		return n
	}
	return t.nextEcho(lines, i, r.used+1, len(t.expected), ext, r)
}

// nextEcho returns the number of lines at i that show one of the expected texts numbered from up to, not including, to.
func (t *Tracker) nextEcho(lines []line, i, from, to int, ext extent, r *said) int {
	for k := from; k < to; k++ {
		n := t.echoAt(lines, i, t.expected[k])
		if n == 0 {
			continue
		}
		if ext == settled || i+n < len(lines) { // otherwise it still stands in the composer
			r.used, r.echoes = k+1, r.echoes+1
		}
		return n
	}
	return 0
}

// staleEcho returns the number of lines at i that show a text that was taken already: the
// program drew it again to print something above it, and what it had drawn first was left
// standing. Texts of earlier turns come back only if the place in the log was lost, or if
// the program was drawing one when the turn ended.
func (t *Tracker) staleEcho(lines []line, i int, earlier bool, used int) int {
	stale := t.expected[:used]
	if earlier {
		stale = slices.Concat(t.spent, stale)
	}
	for _, text := range stale {
		if n := t.echoAt(lines, i, text); n > 0 {
			return n
		}
	}
	return 0
}

// halfDrawn returns the number of lines at i that show the beginning of an expected text that is
// drawn whole further down, or in the composer, or may be where lines are missing: the program had
// to print something while the text was being typed, or could not reach what had left its screen.
func (t *Tracker) halfDrawn(lines []line, i int, standing string) int {
	for _, text := range t.expected {
		n, _ := t.drawn(lines, i, text)
		if n > 0 && (t.drawnAgain(lines[i+1:], text, standing) || hasGap(lines[i+1:])) {
			return n
		}
	}
	return 0
}

func hasGap(lines []line) bool {
	return slices.ContainsFunc(lines, func(l line) bool { return l.gap != 0 })
}

// drawnAgain reports whether the lines, or the composer below them, show the text.
func (t *Tracker) drawnAgain(lines []line, text, standing string) bool {
	if standing != "" && begins(text, standing) {
		return true
	}
	for j := range lines {
		if t.echoAt(lines, j, text) > 0 {
			return true
		}
	}
	return false
}

// redrawn reports whether a line further down shows a text that begins with rest.
func (t *Tracker) redrawn(lines []line, rest string) bool {
	return slices.ContainsFunc(lines, func(l line) bool {
		more, ok := t.prompt.Rest(l.text)
		return ok && l.gap == 0 && strings.HasPrefix(ink(more), ink(rest))
	})
}

// provenEnd is the length, in bytes of ink, from which the end of a text proves that the text was
// taken. A shorter end is still kept out of the words: a marker stands there anyway.
const provenEnd = 8

// cutEcho returns the number of lines, from i on, that are a piece of a text of ours whose beginning
// is missing.
func (t *Tracker) cutEcho(lines []line, i int, ext extent, standing string, r *said) int {
	for k := r.used; k < len(t.expected); k++ {
		again := t.drawnAgain(lines[i:], t.expected[k], standing)
		n, shown := t.stretch(lines, i, t.expected[k], again)
		if n == 0 {
			continue
		}
		if taken := ext == settled || i+n < len(lines); taken && !again && shown >= provenEnd {
			r.used, r.echoes = k+1, r.echoes+1
		}
		return n
	}
	for _, text := range slices.Concat(t.spent, t.expected[:r.used]) {
		if n, _ := t.stretch(lines, i, text, false); n > 0 {
			return n
		}
	}
	// As in halfDrawn, the whole text may have been drawn where more lines are missing. Then this one line, beside which a
	// marker stands, may be our own, though it proves nothing about the text.
	if i < len(lines) && lines[i].gap == 0 && hasGap(lines[i+1:]) {
		piece := ink(lines[i].text)
		if piece != "" && slices.ContainsFunc(t.expected[r.used:], func(text string) bool { return strings.Contains(text, piece) }) {
			return 1
		}
	}
	return 0
}

// opensWithOurs reports whether the beginning of a text that was taken stood in the composer
// when the last turn ended.
func (t *Tracker) opensWithOurs() bool {
	rest, _ := t.prompt.Rest(t.open)
	return rest != "" && slices.ContainsFunc(t.spent, func(text string) bool { return begins(text, rest) })
}

// begins reports whether the beginning of a text of ours is shown.
func begins(text, line string) bool {
	_, ok := shown.Follow(text, ink(line))
	return ok
}

func (t *Tracker) opensWithPrompt() bool {
	_, ok := t.prompt.Rest(t.open)
	return ok
}

// words puts a turn together. It cuts blank lines and bare prompts around the words, turns gaps into
// markers, and keeps to message.MaxBody bytes.
func (t *Tracker) words(r said) Turn {
	turn := Turn{Person: r.person, Echoes: r.echoes, Skipped: r.gaps}
	lines := t.withoutPrompts(r.lines)
	blank := func(l line) bool { return l.gap == 0 && l.text == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if !slices.ContainsFunc(lines, func(l line) bool { return l.gap == 0 && l.text != "" }) {
		return turn
	}
	const room = 64 // for the marker
	var b strings.Builder
	for i, l := range lines {
		text := l.text
		if l.gap != 0 {
			text = marker(l.gap)
		}
		left := message.MaxBody - b.Len() - 1
		if len(text) > left || (i < len(lines)-1 && len(text) > left-room) {
			left = max(0, left-room)
			for left > 0 && left < len(text) && !utf8.RuneStart(text[left]) {
				left--
			}
			gone := 0
			for _, l := range lines[i:] {
				gone = plus(gone, l)
			}
			if l.gap == 0 && left > 0 {
				if i > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(text[:min(left, len(text))])
				if gone != unknown {
					gone--
				}
			}
			if gone != 0 {
				b.WriteByte('\n')
				b.WriteString(marker(gone))
				turn.Skipped = true
			}
			turn.Truncated = true
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	turn.Words = b.String()
	return turn
}

// withoutPrompts drops empty composers that were left standing, as by a clear of the screen. Between
// two lines that begin like the prompt they belong to a quotation, and stay.
func (t *Tracker) withoutPrompts(lines []line) []line {
	var out []line
	quoted := false // the last line kept begins like the prompt
	for i, l := range lines {
		rest, prompted := t.prompt.Rest(l.text)
		if l.gap == 0 && prompted && rest == "" && !(quoted && t.quotes(lines[i+1:])) {
			continue
		}
		quoted = l.gap == 0 && prompted
		out = append(out, l)
	}
	return out
}

// quotes reports whether the first line that is more than the bare prompt begins like the prompt.
func (t *Tracker) quotes(lines []line) bool {
	for _, l := range lines {
		rest, prompted := t.prompt.Rest(l.text)
		if l.gap != 0 || !prompted || rest != "" {
			return l.gap == 0 && prompted
		}
	}
	return false
}

// marker stands where lines are missing.
func marker(lines int) string {
	if lines == unknown {
		return "[… unknown number of lines skipped]"
	}
	return fmt.Sprintf("[… %d lines skipped]", lines)
}
