package delta

import (
	"strings"
)

// Test helpers: a terminal with history, as tmux keeps it, and a line program in it.

// terminal is the main screen of a pane with its history. All characters are one cell.
type terminal struct {
	width, height, limit int
	history              []trow
	screen               []trow
	x, y                 int
}

type trow struct {
	cells   []rune // 0 is a cell that was never written
	wrapped bool   // goes on in the next row
}

func newTerminal(width, height, limit int) *terminal {
	t := &terminal{width: width, height: height, limit: limit}
	t.screen = make([]trow, height)
	return t
}

func (t *terminal) print(text string) {
	for _, r := range text {
		switch r {
		case '\r':
			t.x = 0
		case '\n':
			t.screen[t.y].wrapped = false
			t.x = 0
			t.down()
		default:
			if t.x == t.width {
				t.screen[t.y].wrapped = true
				t.x = 0
				t.down()
			}
			row := &t.screen[t.y]
			for len(row.cells) <= t.x {
				row.cells = append(row.cells, 0)
			}
			row.cells[t.x] = r
			t.x++
		}
	}
}

func (t *terminal) down() {
	if t.y < t.height-1 {
		t.y++
		return
	}
	t.scroll()
}

func (t *terminal) scroll() {
	t.push(t.screen[0])
	copy(t.screen, t.screen[1:])
	t.screen[t.height-1] = trow{}
}

// push puts a row into the history; at the limit the oldest tenth goes at once.
func (t *terminal) push(r trow) {
	if len(t.history) >= t.limit {
		t.history = append([]trow(nil), t.history[max(1, t.limit/10):]...)
	}
	t.history = append(t.history, r)
}

// eraseLine clears the logical line of the cursor and all below, and goes to its start:
// CR, CUU, ED0. In the top row tmux takes that for a clear of the screen.
func (t *terminal) eraseLine() {
	for t.y > 0 && t.screen[t.y-1].wrapped {
		t.y--
	}
	if t.y == 0 {
		t.clear()
		return
	}
	for i := t.y; i < t.height; i++ {
		t.screen[i] = trow{}
	}
	t.x = 0
}

// wipe clears the row of the cursor: CR, EL.
func (t *terminal) wipe() {
	t.screen[t.y] = trow{}
	t.x = 0
}

// clear is ED2 after home: what is shown goes into the history.
func (t *terminal) clear() {
	last := -1
	for i, r := range t.screen {
		if len(r.cells) > 0 {
			last = i
		}
	}
	for i := 0; i <= last; i++ {
		t.push(t.screen[i])
	}
	t.screen = make([]trow, t.height)
	t.x, t.y = 0, 0
}

// clearHistory is ED3, or clear-history.
func (t *terminal) clearHistory() { t.history = nil }

// resize reflows everything, as tmux does.
func (t *terminal) resize(width, height int) {
	lines := [][]rune{nil}
	all := append(append([]trow(nil), t.history...), t.screen[:t.y+1]...)
	for i, r := range all {
		n := len(lines) - 1
		if r.wrapped && i < len(all)-1 {
			row := append([]rune(nil), r.cells...)
			for len(row) < t.width {
				row = append(row, ' ')
			}
			lines[n] = append(lines[n], row...)
			continue
		}
		lines[n] = append(lines[n], r.cells...)
		if i < len(all)-1 {
			lines = append(lines, nil)
		}
	}
	var rows []trow
	for _, l := range lines {
		for len(l) > width {
			rows = append(rows, trow{cells: append([]rune(nil), l[:width]...), wrapped: true})
			l = l[width:]
		}
		rows = append(rows, trow{cells: append([]rune(nil), l...)})
	}
	t.width, t.height = width, height
	t.history = nil
	for len(rows) > height {
		t.push(rows[0])
		rows = rows[1:]
	}
	t.screen = make([]trow, height)
	copy(t.screen, rows)
	t.y = len(rows) - 1
	t.x = len(rows[t.y].cells)
}

// capture gives the last rows of the history, which may be more than there are, and the
// screen, joined and trimmed.
func (t *terminal) capture(history int) (c Capture) {
	from := max(0, len(t.history)-history)
	rows := append(append([]trow(nil), t.history[from:]...), t.screen...)
	var b strings.Builder
	for i, r := range rows {
		for _, c := range r.cells {
			if c == 0 {
				c = ' '
			}
			b.WriteRune(c)
		}
		if r.wrapped && i < len(rows)-1 {
			continue
		}
		c.Lines = append(c.Lines, strings.TrimRight(b.String(), " "))
		b.Reset()
	}
	c.Rows, c.Width = len(t.history)+t.height, t.width
	if cut := max(1, t.limit/10); len(t.history) >= t.limit-cut {
		c.Cut = cut
	}
	c.Complete = from == 0 && c.Cut == 0
	return c
}

// repl is a line program: a prompt, a line, output, the prompt again.
type repl struct {
	*terminal
	prompt  string
	pending string // in the composer
	busy    bool
	printed []string
}

func newREPL(t *terminal, prompt string) *repl {
	r := &repl{terminal: t, prompt: prompt}
	r.print(prompt)
	return r
}

// key types text into the composer, with what is needed to draw it.
func (r *repl) key(text string) {
	r.pending += text
	r.print(text)
}

func (r *repl) enter() {
	r.pending, r.busy = "", true
	r.print("\n")
}

func (r *repl) say(lines ...string) {
	for _, l := range lines {
		r.print(l + "\n")
		r.printed = append(r.printed, l)
	}
}

func (r *repl) done() {
	r.busy = false
	r.print(r.prompt)
}

// unasked prints while the prompt is shown: the composer is erased and drawn again.
func (r *repl) unasked(lines ...string) {
	r.eraseLine()
	r.say(lines...)
	r.print(r.prompt + r.pending)
}

// plainPrompt is a literal prompt.
type plainPrompt string

func (p plainPrompt) Rest(line string) (string, bool) {
	if line == strings.TrimRight(string(p), " ") {
		return "", true
	}
	rest, ok := strings.CutPrefix(line, string(p))
	return strings.TrimRight(rest, " "), ok
}

// look feeds a capture as the loop of a pane does, asking for more where it is needed.
func look(t *Tracker, term *terminal, history int) {
	for {
		need := t.Feed(term.capture(history))
		if need == 0 {
			return
		}
		history = max(need, history)
	}
}
