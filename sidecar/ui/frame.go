package ui

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/plain"
)

// The styles of rows. Few things are marked: the current row, what needs a person, and what went wrong.
const (
	normal = ""
	faint  = "\x1b[2m"
	bold   = "\x1b[1m"
	picked = "\x1b[7m"
	urgent = "\x1b[33m"
	wrong  = "\x1b[31m"
	reset  = "\x1b[0m"
)

// styled returns one of the screen's own texts in a style; its width stays the same.
func styled(style, text string) string {
	if style == normal || text == "" {
		return text
	}
	return style + text + reset
}

// at is the position of a cursor.
type at struct{ x, y int }

// frame returns all that the screen shows, and the position of the cursor, nil for none.
func (m model) frame() (string, *at) {
	if m.width < 1 || m.height < 1 {
		return "", nil
	}
	foot := m.foot()
	room := max(1, m.height-len(foot))
	lines := m.top().view(m, m.width, room)
	if len(lines) > room {
		lines = lines[:room]
	}
	for len(lines) < room {
		lines = append(lines, "")
	}
	lines = append(lines, foot...)
	var cursor *at
	if x, ok := m.top().(interface {
		cursor(m model, width, height int) at
	}); ok {
		c := x.cursor(m, m.width, room)
		cursor = &c
	}
	return strings.Join(lines[:min(len(lines), m.height)], "\n"), cursor
}

// mostSaid is how many rows the outcome of an action may take.
const mostSaid = 3

// foot returns the bottom of the screen: the keys, and above them the outcome of the last action.
func (m model) foot() (lines []string) {
	lines = m.saidRows()
	for _, part := range keyRows(m.top().help(m), m.width) {
		lines = append(lines, styled(faint, part))
	}
	return lines[max(0, len(lines)-max(1, m.height/2)):]
}

// saidRows returns the rows with the outcome of the last action.
func (m model) saidRows() (rows []string) {
	if m.says == "" {
		return nil
	}
	style := bold
	if m.bad {
		style = wrong
	}
	said := indented(plain.Line(m.says), 1, m.width)
	for _, part := range said[:min(len(said), mostSaid)] {
		rows = append(rows, styled(style, part))
	}
	return rows
}

// keyRows arranges keys and what they do into rows. It breaks none of them.
func keyRows(keys []string, width int) (rows []string) {
	row := ""
	for _, k := range keys {
		next := row + "  " + k
		if row == "" {
			next = " " + k
		}
		if plain.Width(next) > width && row != "" {
			rows, next = append(rows, plain.Cut(row, width)), " "+k
		}
		row = next
	}
	if row != "" {
		rows = append(rows, plain.Cut(row, width))
	}
	return rows
}

// rule separates two areas.
func rule(title string, width int) string {
	line := "──"
	if title != "" {
		line += " " + plain.Cut(plain.Line(title), max(1, width-6)) + " "
	}
	return styled(faint, plain.First(line+strings.Repeat("─", max(0, width-plain.Width(line))), width))
}

// item is a row of a list.
type item struct {
	id    string // identifies the item when the list changes
	cells []string
	style string
	head  bool // a heading, which cannot be chosen
}

// list is a position in a list, and its filter.
type list struct {
	at     string // id of the current item
	row    int    // the item's row, used if the item is gone
	filter string
	typing bool // the person types the filter
}

// matching returns the items that pass the filter.
func (l list) matching(all []item) (some []item) {
	if l.filter == "" {
		return all
	}
	words := strings.Fields(strings.ToLower(l.filter))
	for _, x := range all {
		text := strings.ToLower(strings.Join(x.cells, " "))
		fits := !x.head
		for _, w := range words {
			fits = fits && strings.Contains(text, w)
		}
		if fits {
			some = append(some, x)
		}
	}
	return some
}

// chosen returns the index of the current item, -1 in an empty list.
func (l list) chosen(all []item) int {
	last := -1
	for i, x := range all {
		if x.head {
			continue
		}
		if x.id == l.at {
			return i
		}
		if last < 0 || i <= l.row {
			last = i
		}
	}
	return last
}

// move moves by that many items.
func (l list) move(all []item, by int) list {
	i := l.chosen(all)
	if i < 0 {
		return l
	}
	step := 1
	if by < 0 {
		step, by = -1, -by
	}
	for next := i + step; by > 0 && next >= 0 && next < len(all); next += step {
		if !all[next].head {
			i, by = next, by-1
		}
	}
	l.at, l.row = all[i].id, i
	return l
}

// view returns height rows of the list, with the current item near the middle.
func (l list) view(all []item, flex, width, height int) (lines []string) {
	texts := columns(all, flex, width)
	chosen := l.chosen(all)
	from := min(max(0, chosen-height/2), max(0, len(all)-height))
	for i := from; i < min(len(all), from+height); i++ {
		switch {
		case i == chosen:
			lines = append(lines, styled(picked, plain.Pad(texts[i], width)))
		case all[i].head:
			lines = append(lines, styled(faint, texts[i]))
		default:
			lines = append(lines, styled(all[i].style, texts[i]))
		}
	}
	return lines
}

const (
	gap       = 2  // blanks between columns
	leastCell = 6  // minimum width of a column
	mostCell  = 30 // maximum width of a column that is not the flexible one
)

// columns returns the rows of a table, with each cell made safe and cut. The flexible column gets the space
// that the others leave, and shrinks first. A cell also takes the space of empty cells after it.
func columns(all []item, flex, width int) (texts []string) {
	var widths []int
	for _, x := range all {
		for i, cell := range x.cells {
			if x.head {
				continue
			}
			if i == len(widths) {
				widths = append(widths, 0)
			}
			w := plain.Width(plain.Line(cell))
			if i != flex {
				w = min(w, mostCell)
			}
			widths[i] = max(widths[i], w)
		}
	}
	total := 1
	for i, w := range widths {
		if i != flex && w > 0 {
			total += w + gap
		}
	}
	if flex < len(widths) {
		widths[flex] = max(leastCell, width-total)
		total += widths[flex]
	}
	for ; total > width; total-- {
		widest := 0
		for i, w := range widths {
			if w > widths[widest] {
				widest = i
			}
		}
		if widths[widest] <= leastCell {
			break
		}
		widths[widest]--
	}
	for _, x := range all {
		if x.head {
			texts = append(texts, plain.Cut(strings.TrimRight(" "+plain.Line(strings.Join(x.cells, " ")), " "), width))
			continue
		}
		var row strings.Builder
		row.WriteByte(' ')
		begun := false
		for i, cell := range x.cells {
			room := widths[i]
			if room == 0 || begun && cell == "" {
				continue // the cell before it takes its space
			}
			begun = true
			for j := i + 1; j < len(x.cells) && x.cells[j] == ""; j++ {
				if widths[j] > 0 {
					room += gap + widths[j]
				}
			}
			row.WriteString(plain.Pad(plain.Line(cell), room) + strings.Repeat(" ", gap))
		}
		texts = append(texts, plain.Cut(strings.TrimRight(row.String(), " "), width))
	}
	return texts
}

// wrapped returns the rows of a text that somebody else wrote.
func wrapped(text string, width int) (rows []string) {
	for line := range strings.SplitSeq(strings.TrimRight(plain.Text(text), "\n"), "\n") {
		rows = append(rows, plain.Wrap(line, width)...)
	}
	return rows
}

// indented returns the rows of a text that somebody else wrote, each indented.
func indented(text string, by, width int) (rows []string) {
	for _, row := range wrapped(text, max(1, width-by)) {
		rows = append(rows, strings.Repeat(" ", by)+row)
	}
	return rows
}
