package screen

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func init() {
	register("opencode", dialect{
		judge:  picture.opencode,
		field:  picture.opencodeField,
		talk:   picture.opencodeTalk,
		partly: func(f field) bool { return f.last-f.first >= f.a.Composer.Least }, // it shows no mark for hidden rows
		clear:  func(f field) bool { return f.unbarred() && f.block.clear() },
		counts: func(a profile.Agent, text string, numbers []int) bool { // the number of its lines
			return len(numbers) == 1 && isLong(a, text) && numbers[0] == 1+strings.Count(strings.TrimSpace(text), "\n")
		},
		after: " ",
	})
}

// opencode judges a screen of opencode:
//
//	┃                                        blank
//	┃  text, or on the home screen dim words
//	┃                                        blank
//	┃  Build · Model Provider                "Shell" alone while a shell's command is typed
//	╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀
//	   /work                 ctrl+p commands "esc interrupt" while a turn is under way
//
// Its questions stand where the composer stood, and its pickers over everything. During both the cursor is hidden,
// or stands outside such a block. A list of completions stands right above the block, with a bar on either side.
func (p picture) opencode() Verdict {
	if !p.CursorVisible {
		return p.noOpencode("no composer: the cursor is hidden")
	}
	b, ok := p.block()
	if !ok {
		return p.noOpencode("no composer: the cursor is in no block with a lower edge and the names of agent and model")
	}
	c := Composer{Live: true, Text: b.text(b.first, b.last)}
	suggests := b.suggests()
	if suggests || b.first == b.last && c.Text == "" && b.inSession() {
		c.Empty, c.Text = true, ""
	}
	if mark, ok := b.marked(b.edge+1, b.edge+footRows, p.a.Marks.Working); ok {
		return composing(message.Working, message.AgentWorking, fmt.Sprintf(textBelow, clip(mark)), c)
	}
	if row, ok := b.unanswered(); ok {
		return composing(message.Working, message.AgentWorking, fmt.Sprintf("the last prompt has no answer yet: %q", clip(row)), c)
	}
	switch {
	case b.listed:
		return composing(message.Blocked, DialogOpen, "a list is open over the composer", c)
	case !b.named():
		c.Empty = false
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer takes a command: it names %q", clip(strings.TrimSpace(b.plain(b.edge-1)))), c)
	case b.waits():
		return composing(message.Blocked, DialogOpen, "the composer's bar is grey: the next key is a command", c)
	}
	if mark, ok := b.marked(b.edge+1, b.edge+footRows, p.a.Marks.Modal); ok {
		return composing(message.Blocked, DialogOpen, fmt.Sprintf(textBelow, clip(mark)), c)
	}
	mark, live := b.live()
	switch {
	case c.Text == "" && !live:
		c.Empty = false
		return composing(message.Unknown, message.NotEmpty, "nothing familiar below the composer", c)
	case !c.Empty && c.Text == "":
		// It may also be an empty composer of another version: 1.17.11 has one row more.
		return composing(message.Unknown, message.NotEmpty, "the composer holds blanks or line breaks", c)
	case !c.Empty:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(c.Text)), c)
	case b.CursorX > p.a.Composer.Text:
		c.Empty = false
		return composing(message.Draft, message.InComposer, "the cursor is past the beginning of the composer", c)
	case b.CursorX != p.a.Composer.Text || b.CursorY != b.first:
		return verdict(message.Unknown, message.UnknownScreen, "the cursor is not at the beginning of the composer")
	}
	if !b.alone() {
		return verdict(message.Unknown, message.UnknownScreen, "something unknown below the composer")
	}
	v := composing(message.Idle, "", fmt.Sprintf("a composer that names agent and model, the cursor at its beginning, and below it %q", clip(mark)), c)
	if suggests {
		v = v.with("screen", fmt.Sprintf("the words in it are a suggestion: %q", clip(b.text(b.first, b.last))))
	}
	v.MayType = true
	return v
}

// footRows is how many rows below the composer belong to it.
const footRows = 1

// block is the composer with the cursor, cut out of its screen together with what stands above and below it.
// Columns are counted from its bar.
type block struct {
	picture
	whole       picture
	first, last int  // the rows of its text
	edge        int  // the row of its lower edge
	listed      bool // a list stands right above
}

// The lower edge of a composer: its corner, and the characters after it.
const (
	edgeCorner = "╹"
	edgeLine   = "▀"
)

// sidebar is the width of the sidebar of a session, and margin that of the blanks beside a composer.
const (
	sidebar = 42
	margin  = 2
)

func (p picture) block() (block, bool) {
	left, ok := p.bar(p.CursorY)
	if !ok || p.CursorX < left+p.a.Composer.Text {
		return block{}, false
	}
	edge := p.CursorY + 1
	for edge < p.Height && p.barred(edge, left) {
		edge++
	}
	right := p.edgeEnds(edge, left)
	if !p.placed(left, right) || p.CursorX >= right {
		return block{}, false
	}
	b := block{picture: p.cut(left, right), whole: p, edge: edge, last: edge - 3}
	top := p.CursorY
	for top > 0 && p.barred(top-1, left) && !b.walled(top-1) {
		top--
	}
	b.first = top + 1
	b.listed = top > 0 && p.barred(top-1, left)
	if top < 1 || b.last < b.first || p.CursorY < b.first || p.CursorY > b.last || b.inside(top) || b.inside(edge-2) {
		return block{}, false
	}
	for y := b.first; y <= b.last; y++ {
		for _, c := range b.row(y) {
			if c.column > 0 && c.column < b.a.Composer.Text && !c.blank() || b.walled(y) {
				return block{}, false
			}
		}
	}
	return b, true
}

// bar returns the column of the bar at the beginning of a row.
func (p picture) bar(y int) (column int, ok bool) {
	for _, c := range p.row(y) {
		if !c.blank() {
			return c.column, c.text == p.a.Composer.Glyph
		}
	}
	return 0, false
}

func (p picture) barred(y, column int) bool {
	have, ok := p.bar(y)
	return ok && have == column
}

// edgeEnds returns the column after the lower edge in a row, if one begins in column left; otherwise 0.
func (p picture) edgeEnds(y, left int) int {
	if y >= p.Height {
		return 0
	}
	end := 0
	for _, c := range p.row(y) {
		switch {
		case c.column < left && c.blank():
		case c.column == left && c.text == edgeCorner, c.column > left && c.column == end && c.text == edgeLine:
			end = c.column + 1
		case c.column <= left:
			return 0
		}
	}
	return end
}

// placed reports whether a block stands where composers stand: in the middle, or on the left beside a sidebar. If
// not, something covers a part of it.
func (p picture) placed(left, right int) bool {
	before, behind := left, p.Width-right
	return before >= margin && right-left > 2*p.a.Composer.Text && (before-behind <= 1 && behind-before <= 1 || before == margin && behind == margin+sidebar)
}

// cut returns the picture of the columns from left up to right.
func (p picture) cut(left, right int) picture {
	c := &canvas{raw: p.raw, pens: p.pens, cells: make([][]cell, p.Height), done: make([]bool, p.Height), plains: make([]*string, p.Height)}
	for y := range p.Height {
		c.done[y] = true
		for _, one := range p.row(y) {
			if one.column >= left && one.column < right {
				one.column -= left
				c.cells[y] = append(c.cells[y], one)
			}
		}
		row := trim(words(c.cells[y]))
		c.plains[y] = &row
	}
	p.canvas, p.CursorX, p.Width = c, p.CursorX-left, right-left
	return p
}

// walled reports whether a row of the block has a bar on its right side too, as lists have.
func (b block) walled(y int) bool {
	c, ok := at(b.row(y), b.Width-1)
	return ok && !c.blank()
}

// inside reports whether a row has anything after the bar.
func (b block) inside(y int) bool { return len(from(b.row(y), 1)) > 0 }

// suggests reports whether the composer shows the placeholder of an empty one.
func (b block) suggests() bool {
	less, word := b.colours()
	for y := b.first; y <= b.last; y++ {
		for _, c := range b.line(y) {
			if !c.blank() && (c.colour != less || less == word) {
				return false
			}
		}
	}
	for _, words := range b.a.Composer.Ghosts {
		if strings.HasPrefix(b.text(b.first, b.last), words) {
			return true
		}
	}
	return false
}

// inSession reports whether the composer is that of a session, which is empty without any words. The directory
// stands below it. The composer of the home screen shows suggestions.
func (b block) inSession() bool {
	c, ok := b.opening(b.edge + 1)
	return ok && c.column == 1
}

// waits reports whether the model's name, the bar or the edge below is grey: the first key of a command was
// pressed, and the next one decides.
func (b block) waits() bool {
	if less, word := b.colours(); less == word && less != 0 {
		return true
	}
	for y := b.first - 1; y <= b.edge; y++ {
		if c, ok := b.opening(y); ok && c.faint() {
			return true
		}
	}
	return false
}

// alone reports whether only familiar rows stand below the composer's foot: on the home screen a tip, and at the
// very end the directory and the version.
func (b block) alone() bool {
	session, tip := b.inSession(), false
	for y := b.edge + footRows + 1; y < b.Height; y++ {
		row := strings.TrimSpace(b.whole.plain(y))
		switch tip = tip && row != "" || strings.HasPrefix(row, "● Tip "); {
		case row == "", tip && !session:
		case session, y < b.Height-homeFoot, strings.ContainsAny(row, b.a.Composer.Glyph+edgeCorner+edgeLine), profile.Has(row, b.a.Marks.Live):
			return false
		}
	}
	return true
}

// live finds the row below the composer that shows that opencode waits. Its keys have the colour of words; behind a
// panel everything is darker.
func (b block) live() (string, bool) {
	_, word := b.colours()
	for y := b.edge + 1; y <= b.edge+footRows && y < b.Height; y++ {
		for _, mark := range b.a.Marks.Live {
			before, _, ok := strings.Cut(b.plain(y), mark)
			if key, found := at(b.row(y), ansi.StringWidth(before)-1); ok && found && key.colour == word {
				return strings.TrimSpace(b.plain(y)), true
			}
		}
	}
	return "", false
}

// colours returns the colour of secondary text and that of words, whatever the theme. The composer names agent and
// model in them.
func (b block) colours() (less, word int) {
	found := false
	for _, c := range b.row(b.edge - 1) {
		switch {
		case found && !c.blank():
			return less, c.colour
		case c.text == "·":
			less, found = c.colour, true
		}
	}
	return less, less
}

// homeFoot is how many rows the end of the home screen takes.
const homeFoot = 3

// named reports whether the composer names its agent and model.
func (b block) named() bool {
	_, model, ok := strings.Cut(b.plain(b.edge-1), " · ")
	return ok && strings.TrimSpace(model) != ""
}

// prompted finds the last prompt in the conversation: a block whose bar has the colour of the composer's bar, or of
// an agent that has answered. The blocks of tools and errors have other colours.
func (b block) prompted() (first, last int, ok bool) {
	ours := map[int]bool{}
	for y := 0; y <= b.first; y++ {
		if c, found := b.opening(y); found && (y == b.first || c.text == ended) {
			ours[c.colour] = true
		}
	}
	for last = b.first - 2; last >= 0; last-- {
		if c, found := b.opening(last); !found || c.text != b.a.Composer.Glyph || c.column != 0 || !ours[c.colour] {
			continue
		}
		for first = last; first > 0 && b.barred(first-1, 0); first-- {
		}
		return first, last, true
	}
	return 0, 0, false
}

// ended is the mark below an answer.
const ended = "▣"

// opening returns the first non-blank character of a row.
func (p picture) opening(y int) (cell, bool) {
	if y < 0 || y >= p.Height {
		return cell{}, false
	}
	for _, c := range p.row(y) {
		if !c.blank() {
			return c, true
		}
	}
	return cell{}, false
}

// unanswered finds a prompt that stands last in the conversation, without any answer below it.
func (b block) unanswered() (string, bool) {
	first, last, ok := b.prompted()
	if !ok {
		return "", false
	}
	for y := last + 1; y < b.first-1; y++ {
		if b.plain(y) != "" {
			return "", false
		}
	}
	return b.text(first, last), true
}

// calls are the signs before calls of tools.
const calls = "$→←✱%◈⚙~│#⟳"

// opencodeTalk reads the last turn above the composer:
//
//	┃  text                        a prompt, in a block
//	   text                        words, or a call of a tool, which a sign begins
//	┃  $ ls                        a call of a tool with its result, in a block
//	   ▣  Build · Model · 2.1s     the end, without a time as long as the turn is open
func (p picture) opencodeTalk() (t Talk, ok bool) {
	b, ok := p.block()
	if !ok {
		return Talk{}, false
	}
	first, last, ok := b.prompted()
	t.Whole = ok
	begin := 0
	if ok {
		t.Prompt, begin = strings.Trim(b.text(first, last), "\n"), last+1
		t.Whole = first > 0 || !b.inside(first) // otherwise it begins above the screen
	}
	var said []string
	for y := begin; y < b.first-1; y++ {
		c, found := b.opening(y)
		row := strings.TrimSpace(b.plain(y))
		switch {
		case !found:
			said = append(said, "")
		case c.text == ended:
			t.Cut = t.Cut || profile.Has(row, b.a.Speech.Cut)
		case c.column == 0: // a block of a tool or of an error
			said = nil
		case c.column == b.a.Composer.Text && strings.Contains(calls, c.text) && strings.HasPrefix(row, c.text+" "):
			said = nil
		default:
			said = append(said, words(from(b.row(y), b.a.Composer.Text)))
		}
	}
	t.Words = strings.Trim(strings.Join(said, "\n"), "\n")
	return t, true
}

// noOpencode judges a screen without a live composer.
func (p picture) noOpencode(says string) Verdict {
	for y := range p.Height {
		title, _, ok := strings.Cut(strings.Replace(p.plain(y), "  esc/enter", "  esc  ", 1)+"  ", "  esc  ")
		if strings.HasPrefix(strings.TrimSpace(title), p.a.Composer.Glyph+"  △ ") {
			return verdict(message.Blocked, DialogOpen, fmt.Sprintf("it asks %q", clip(strings.TrimSpace(title))))
		}
		if ok && strings.TrimSpace(title) != "" {
			return verdict(message.Blocked, DialogOpen, fmt.Sprintf("a panel is open: %q", clip(strings.TrimSpace(title))))
		}
	}
	return p.noComposer(says)
}

// opencodeField returns the composer as a field, to search it for our text.
func (p picture) opencodeField() (field, bool) {
	if !p.CursorVisible {
		return field{}, false
	}
	b, ok := p.block()
	return field{picture: b.picture, first: b.first, last: b.last, foot: b.edge + 1, block: &b}, ok
}

// clear reports whether nothing keeps Enter from submitting what stands in the composer.
func (b block) clear() bool {
	_, open := b.unanswered()
	_, live := b.live()
	return live && b.named() && !open && !b.listed && !b.waits() && b.alone()
}
