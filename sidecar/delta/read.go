package delta

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Turn ends a turn, if there is one. With promptBack, the composer must be the last thing
// shown, empty or with a draft that stays where it is; what stands above it is the turn.
// Without, no prompt will come back: all that is shown is the turn. ok is false, and
// nothing changes, where the composer is not shown or nothing happened.
func (t *Tracker) Turn(promptBack bool) (turn Turn, ok bool) {
	end := t.composer()
	switch {
	case end > t.start:
	case promptBack || t.start >= len(t.log):
		return Turn{}, false
	case end < 0:
		end = len(t.log)
	}
	r := t.read(t.log[t.start:end], settled)
	for _, text := range t.expected[:r.used] {
		t.spent = append(t.spent, text)
	}
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
	return turn, turn.Words != "" || turn.Echoes > 0 || turn.Person || turn.Skipped
}

// composer is the index of the line in which the composer begins that ends the log, or -1.
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

// said is what lines were found to hold.
type said struct {
	lines  []line // words, with gaps
	echoes int
	used   int // of the expected texts: the echoes and those before them that never came
	person bool
	gaps   bool
}

// read takes apart the lines from the open line on.
func (t *Tracker) read(lines []line, ext extent) said {
	var r said
	i, afterGap := 0, false
	for i < len(lines) {
		l := lines[i]
		if l.gap != 0 {
			r.lines = append(r.lines, l)
			r.gaps, afterGap = true, true
			i++
			i += t.cutEcho(lines, i, &r)
			continue
		}
		rest, prompted := t.prompt.Rest(l.text)
		switch {
		case i == 0 && !prompted && !t.opensWithPrompt() && t.open != "" && strings.HasPrefix(l.text, t.open):
			i++ // begun before the turn, and known then
			continue
		case !prompted:
			r.lines = append(r.lines, l)
			i++
			continue
		}
		if n := t.takeEcho(lines, i, ext, &r); n > 0 {
			i += n
			continue
		}
		switch {
		case i == 0 && rest == "":
		case rest != "" && t.halfDrawn(lines, i, r.used):
		case i == 0:
			r.person = true
			if r.used < len(t.expected) && strings.Contains(ink(rest), t.expected[r.used]) {
				r.used, r.echoes = r.used+1, r.echoes+1 // ours, and theirs with it
			}
			for i+1 < len(lines) && t.continues(lines[i+1].text) {
				i++
			}
		case afterGap && slices.Contains(t.spent, ink(rest)):
		default:
			r.lines = append(r.lines, l)
		}
		i++
	}
	return r
}

// takeEcho is the number of lines at i that show the next expected text. Expected texts
// before it never showed, and are given up.
func (t *Tracker) takeEcho(lines []line, i int, ext extent, r *said) int {
	for k := r.used; k < len(t.expected); k++ {
		n := t.echoAt(lines, i, t.expected[k])
		if n == 0 {
			continue
		}
		if ext == inProgress && i+n == len(lines) {
			return n // it still stands in the composer
		}
		r.used, r.echoes = k+1, r.echoes+1
		for i+n < len(lines) { // the same, drawn again below
			again := t.echoAt(lines, i+n, t.expected[k])
			if again == 0 || slices.Contains(t.expected[r.used:], t.expected[k]) {
				break
			}
			n += again
		}
		return n
	}
	return 0
}

// halfDrawn reports whether line i shows the beginning of an expected text that is drawn
// whole further down: the program had to print something while it was being typed.
func (t *Tracker) halfDrawn(lines []line, i, used int) bool {
	rest, _ := t.prompt.Rest(lines[i].text)
	for _, text := range t.expected[used:] {
		if !strings.HasPrefix(text, ink(rest)) {
			continue
		}
		for j := i + 1; j < len(lines); j++ {
			if lines[j].gap == 0 && t.echoAt(lines, j, text) > 0 {
				return true
			}
		}
	}
	return false
}

// cutEcho is the number of lines, from i on, that are the end of a text of ours whose
// beginning is missing.
func (t *Tracker) cutEcho(lines []line, i int, r *said) int {
	for k := r.used; k < len(t.expected); k++ {
		if n := echoEnd(lines, i, t.expected[k]); n > 0 {
			r.used, r.echoes = k+1, r.echoes+1
			return n
		}
	}
	for _, text := range t.spent {
		if n := echoEnd(lines, i, text); n > 0 {
			return n
		}
	}
	return 0
}

func (t *Tracker) opensWithPrompt() bool {
	_, ok := t.prompt.Rest(t.open)
	return ok
}

// words puts a turn together: blank lines and bare prompts around the words are cut, gaps
// become markers, and all of it is at most message.MaxBody bytes.
func (t *Tracker) words(r said) Turn {
	turn := Turn{Person: r.person, Echoes: r.echoes, Skipped: r.gaps}
	lines := r.lines
	bare := func(l line) bool {
		if l.gap != 0 {
			return false
		}
		rest, ok := t.prompt.Rest(l.text)
		return l.text == "" || ok && rest == ""
	}
	for len(lines) > 0 && bare(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && bare(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	if !slices.ContainsFunc(lines, func(l line) bool { return l.gap == 0 && !bare(l) }) {
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

// marker stands where lines are missing.
func marker(lines int) string {
	if lines == unknown {
		return "[… unknown number of lines skipped]"
	}
	return fmt.Sprintf("[… %d lines skipped]", lines)
}
