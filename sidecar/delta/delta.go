// Package delta turns successive captures of a pane into what its line program said:
// every line once, in order, without what was typed into it, and with an explicit marker
// where lines are missing. It works on sequences, never on sets of lines, so that the
// same answer given twice counts twice. It is pure: a Tracker belongs to the goroutine
// that made it, which is the loop of its pane.
//
// A Tracker keeps one log of joined lines:
//
//	log:  │ old lines (anchors) │ open line │ new lines … │ composer
//	                              ▲ start
//
// The open line is the prompt as it stood when the last turn ended. It is the one line
// that changes in place: input extends it, or the program erases it to print something
// unasked. Each capture is laid over the log where their lines agree (align.go) and, as far
// as tmux counts rows, stand in the same rows (rows.go). It replaces what it overlaps from
// the open line on, so that spinners and redraws leave nothing behind. If a capture agrees
// with nothing, a gap is noted between it and the log. At the end of a turn the lines from
// the open line to the composer are read (read.go): what we typed (echo.go) and what a
// person typed is taken out, and the rest are words.
package delta

import (
	"slices"
	"strings"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	anchorMax = 2_000   // old lines kept to find the place again
	deeper    = 2_000   // rows of history asked for if a capture agrees with nothing
	deepest   = 20_000  // asked for once more before lines are given up
	spentMax  = 64      // echoes remembered after they were taken
	expectMax = 256     // echoes waited for; beyond, the oldest is forgotten
	keepLines = 200_000 // of one turn, if they are that short; else message.MaxBody bytes
)

// unknown is the length of a gap that nobody counted.
const unknown = -1

// Prompt recognises the composer of a line program.
type Prompt interface {
	// Rest reports whether a captured line, its trailing blanks cut, begins with the
	// prompt, and what follows it; "" where the composer is empty.
	Rest(line string) (rest string, ok bool)
}

// Turn is what happened in the pane since the turn before.
type Turn struct {
	Words     string // what the program printed; lines are parted by "\n"
	Skipped   bool   // lines are missing; the words say where, unless there are none
	Person    bool   // somebody else typed into the composer
	Echoes    int    // expected texts that were seen to be taken
	Truncated bool   // words beyond message.MaxBody were cut
}

// Capture is what a pane shows: history and visible screen, plain, with wrapped lines joined and
// the blanks at their ends cut.
type Capture struct {
	Lines    []string
	Complete bool // they begin at the top of a history that has lost no line to its limit
	Rows     int  // of the history and visible: all rows above the end of the lines
	Width    int  // in cells; 0: neither this nor Rows is known
	Cut      int  // rows that go at once when the history reaches its limit; 0: it has not reached it
}

// Tracker follows one pane.
type Tracker struct {
	prompt Prompt
	more   []string // continuation prompts

	log   []line
	start int    // of the open line in log
	open  string // the open line as it stood when it became that
	top   bool   // the first line behind the last gap was the top of a whole history
	on    stand
	based bool
	asked int // rows of history asked for and not yet seen to suffice

	expected []string       // ink of what is typed, in order
	breaks   map[string]int // line breaks at the ends of those, where they have any
	spent    []string       // ink of what was taken
}

// line is a line of the log, or, with gap set, a place where lines are missing: their
// number, or unknown.
type line struct {
	text string
	gap  int
}

// New makes a Tracker for the program with that prompt. The continuations are what its
// composer may show before each line but the first.
func New(prompt Prompt, continuations ...string) *Tracker {
	return &Tracker{prompt: prompt, more: continuations}
}

// Baseline takes what the pane shows now as old: only what comes after it is new. Texts
// still expected stay expected.
func (t *Tracker) Baseline(shown Capture) {
	c, on := t.captured(shown)
	t.log = t.log[:0]
	for _, text := range c {
		t.log = append(t.log, line{text: strings.Clone(text)})
	}
	t.based, t.top, t.asked, t.on = true, shown.Complete, 0, on
	t.settle(len(t.log) - 1)
}

// Expect says that text is about to be typed into the pane. Its echo is taken out of the
// words once; echoes come in the order of the calls.
func (t *Tracker) Expect(text string) {
	breaks := len(text) - len(strings.TrimRight(text, "\n"))
	if text = ink(text); text == "" {
		return
	}
	delete(t.breaks, text)
	if breaks > 0 {
		if len(t.breaks) >= expectMax || t.breaks == nil {
			t.breaks = map[string]int{}
		}
		t.breaks[text] = breaks
	}
	if len(t.expected) == expectMax {
		t.expected = t.expected[1:]
	}
	t.expected = append(t.expected, text)
}

// Unexpect takes back the newest Expect of that text: it was not typed after all.
func (t *Tracker) Unexpect(text string) {
	text = ink(text)
	for i := len(t.expected) - 1; i >= 0; i-- {
		if t.expected[i] == text {
			t.expected = append(t.expected[:i:i], t.expected[i+1:]...)
			return
		}
	}
}

// Pending returns the number of expected texts that were not seen to be taken. A text is taken
// when something stands below it, so that it no longer is the composer.
func (t *Tracker) Pending() int {
	if len(t.expected) == 0 {
		return 0
	}
	return len(t.expected) - t.read(t.log[min(t.start, len(t.log)):], inProgress, "").used
}

// Mingled reports whether an expected text is shown together with what somebody else has typed
// beside it. It was taken like that, unless it still stands in the composer.
func (t *Tracker) Mingled() bool {
	return len(t.expected) > 0 && t.read(t.log[min(t.start, len(t.log)):], settled, "").mingled
}

// Unfinished returns how many bytes of ink are shown of an expected text whose echo is just being
// drawn: what is shown ends with the text's beginning, and not with all of it. 0: there is none.
func (t *Tracker) Unfinished() (inked int) {
	lines := t.log[min(t.start, len(t.log)):]
	for i := len(lines) - 1; i >= 0 && lines[i].gap == 0; i-- {
		inked += inkLen(lines[i].text)
		if _, prompted := t.prompt.Rest(lines[i].text); !prompted {
			continue
		}
		for _, text := range t.expected {
			if n, whole := t.drawn(lines, i, text); n > 0 && !whole && i+n == len(lines) {
				return inked
			}
		}
	}
	return 0
}

// Feed takes in a capture. If the capture agrees with nothing known, or with too many places, and
// there is more history, Feed takes nothing in: need says how many rows of history the caller
// should capture and feed at once. Otherwise need is 0. A caller that cannot capture that much
// feeds what it has: after two requests the capture is taken as it is.
func (t *Tracker) Feed(shown Capture) (need int) {
	if !t.based {
		t.Baseline(shown)
		return 0
	}
	complete := shown.Complete
	c, on := t.captured(shown)
	if len(c) == 0 {
		return 0 // nothing is shown: the next capture tells what that meant
	}
	fit := t.align(c, on, shown)
	switch {
	case complete:
	case !fit.found && t.asked < deepest:
		t.asked = map[bool]int{true: deeper, false: deepest}[t.asked < deeper]
		return t.asked
	case fit.found && !fit.sure && t.asked < deeper:
		t.asked = deeper
		return t.asked
	}
	t.asked, t.on = 0, on
	if fit.found {
		t.splice(c, fit, complete)
	} else {
		t.skip(c, complete)
	}
	t.bound()
	return 0
}

// splice lays the capture over the log where the two agree.
func (t *Tracker) splice(c []string, fit fit, complete bool) {
	live := t.live()
	switch {
	case fit.from == t.start && t.start >= live && (complete || fit.at >= t.start-live):
		// The capture holds all known old lines, and all that is new.
		t.start, t.top = live+fit.at, complete
		fit.at, fit.from = 0, live
	case fit.from < t.start: // old lines have changed: they are new again
		t.start, t.top = fit.from, false
	case fit.from == live:
		t.top = complete && fit.at == 0
	default:
		t.top = t.top && fit.at > 0
	}
	t.log = t.log[:fit.from]
	for _, text := range c[fit.at:] {
		t.log = append(t.log, line{text: strings.Clone(text)})
	}
}

// skip notes that the capture does not follow from what was known.
func (t *Tracker) skip(c []string, complete bool) {
	if n := len(t.log) - 1; n > t.start {
		t.log = t.log[:n] // it may have been a spinner, or half a line
	}
	if n := len(t.log); n > 0 && t.log[n-1].gap != 0 {
		t.log[n-1].gap = unknown
	} else {
		t.log = append(t.log, line{gap: unknown})
	}
	for _, text := range c {
		t.log = append(t.log, line{text: strings.Clone(text)})
	}
	t.top = complete
}

// live returns the index of the first line behind the last gap: no capture reaches across a gap.
func (t *Tracker) live() int {
	for i := len(t.log) - 1; i >= 0; i-- {
		if t.log[i].gap != 0 {
			return i + 1
		}
	}
	return 0
}

// bound keeps the log from growing: old lines beyond the anchors go, and so does the
// middle of a turn that is far longer than any message may be.
func (t *Tracker) bound() {
	if n := t.start - anchorMax; n > 0 {
		t.log = append(t.log[:0:0], t.log[n:]...)
		t.start = anchorMax
		t.top = t.top && t.live() > 0
	}
	bytes, keep := 0, 0
	for i := t.start; i < len(t.log); i++ {
		bytes += len(t.log[i].text) + 1
		if keep == 0 && (bytes > message.MaxBody || i-t.start == keepLines) {
			keep = i + 1
		}
	}
	tail := len(t.log) - anchorMax
	if keep == 0 || tail-keep < anchorMax {
		return
	}
	gone := 0
	for _, l := range t.log[keep:tail] {
		gone = plus(gone, l)
	}
	log := append(t.log[:0:0], t.log[:keep]...)
	log = append(log, line{gap: gone})
	t.log = append(log, t.log[tail:]...)
	t.top = false
}

// plus adds a line, or the lines that are missing in its place, to a number of missing lines.
func plus(n int, l line) int {
	switch {
	case n == unknown || l.gap == unknown:
		return unknown
	case l.gap != 0:
		return n + l.gap
	}
	return n + 1
}

// settle makes the line at index i of the log, which may be -1, the open line: all lines before it
// are old.
func (t *Tracker) settle(i int) {
	lo := t.live()
	i = max(i, lo)
	if lo > 0 {
		t.log = append(t.log[:0:0], t.log[lo:]...)
		i -= lo
	}
	t.start, t.open = i, ""
	if i < len(t.log) {
		t.open = t.log[i].text
	}
	t.bound()
}

// captured copies a capture without the blanks at the ends of its lines, and without the
// blank rows below its text.
func captured(lines []string) []string {
	n := len(lines)
	for n > 0 && trim(lines[n-1]) == "" {
		n--
	}
	c := make([]string, n)
	for i := range c {
		c[i] = strings.ToValidUTF8(trim(lines[i]), "\uFFFD")
	}
	return c
}

// captured returns the lines of a capture and where they stand. A line is parted where a row begins with the prompt
// and the row above ends in blanks: a row once filled by a draft counts as wrapped in tmux, whatever is drawn in it
// later, and joins the row below.
func (t *Tracker) captured(from Capture) (c []string, on stand) {
	c = captured(from.Lines)
	on = standOf(from, c)
	for i := 0; i < len(c); i++ {
		if at := t.promptAtEdge(c[i], from.Width); at > 0 {
			c = slices.Insert(c, i+1, c[i][at:])
			c[i] = trim(c[i][:at])
		}
	}
	return c, on
}

// promptAtEdge returns where in a line of several rows a further row begins with the prompt, below a row that
// ends in blanks; 0 if none does.
func (t *Tracker) promptAtEdge(line string, width int) int {
	if width == 0 || len(line) <= width {
		return 0
	}
	cells := span{}
	for at, r := range line {
		if padded(line[:at]) && edge(cells, width) {
			if _, ok := t.prompt.Rest(line[at:]); ok {
				return at
			}
		}
		cells = cells.and(cellsOf(r))
	}
	return 0
}

// padded reports whether a row was drawn over a longer one. A single blank does not say so: it may stand between two
// words of a wrapped line.
func padded(row string) bool { return strings.HasSuffix(row, "  ") }

func trim(s string) string { return strings.TrimRightFunc(s, unicode.IsSpace) }
