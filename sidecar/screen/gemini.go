package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func init() {
	register("gemini", dialect{
		judge: picture.gemini,
		field: func(p picture) (field, bool) {
			box, ok := p.geminiBox()
			p.CursorX, p.CursorY = box.x, box.y
			return field{picture: p, first: box.first, last: box.last, foot: box.foot}, ok
		},
		talk:   picture.geminiTalk,
		partly: func(f field) bool { return f.last-f.first+1 > f.a.Composer.Most }, // it shows no mark for hidden rows
		clear:  field.geminiClear,
		counts: func(a profile.Agent, text string, numbers []int) bool { // the number of its lines if there are many, else of its characters as JavaScript counts them
			n := strings.Count(text, "\n") + 1
			if n <= a.Long.Breaks+1 {
				n = len(utf16.Encode([]rune(text)))
			}
			return numbers[0] == n
		},
		breaks: true,
	})
}

// gemini judges a screen of Gemini CLI:
//
//	 ⠸ Thinking... (esc to cancel, 2s)        ? for shortcuts    what is under way; a hint for an empty composer
//	─────────────────────────────────────────────────────────    a rule as wide as the pane
//	 Shift+Tab to accept edits                                   the mode
//	                                                             the edge of a box: blank, ▄ or a rule
//	 > text, or dim words                                        > or, if it acts without asking, *
//	                                                             the other edge: blank, ▀ or a rule
//	 workspace (/directory)        sandbox             /model    the foot: names, and what they stand for
//	 /home/ada/plans               no sandbox           flash
//
// Most dialogs stand where the composer stood, and some above a composer that takes no keys. The terminal's cursor
// says nothing: it is hidden, and stands anywhere. Gemini CLI paints a cursor of its own, unless the terminal has
// reported that it lost the focus, or something else has the keys.
func (p picture) gemini() Verdict {
	v := p.geminiScreen()
	says := fmt.Sprintf("the title is %q", clip(strings.TrimSpace(p.Title)))
	switch {
	case v.State == message.Blocked:
	case p.geminiTitle("✋"):
		v.State, v.Why, v.MayType = message.Blocked, DialogOpen, false
		v = v.with("title", says)
	case p.geminiTitle("✦"), p.geminiTitle("⏲"):
		v.State, v.Why, v.MayType = message.Working, message.AgentWorking, false
		v = v.with("title", says)
	}
	return v
}

// geminiTitle reports whether the title begins with that sign.
func (p picture) geminiTitle(sign string) bool { return strings.HasPrefix(p.Title, sign) }

// geminiReady is the sign of a title while nothing is under way.
const geminiReady = "◇"

func (p picture) geminiScreen() Verdict {
	box, ok := p.geminiBox()
	if !ok {
		return p.geminiNoComposer()
	}
	c := Composer{Live: true, Text: p.text(box.first, box.last)}
	place := p.line(box.first)
	dim := ""
	if box.first == box.last && !box.command && (ghost(place) || p.geminiSecondary(box, place)) {
		dim = strings.TrimSpace(words(place))
	}
	if slices.Contains(p.a.Composer.Ghosts, dim) || profile.Has(dim, p.a.Marks.Normal) {
		c.Empty, c.Text = true, ""
	}
	if state, why, says := p.geminiBars(box); why != "" {
		return composing(state, why, says, c)
	}
	switch {
	case box.command:
		c.Empty = false
		return composing(message.Draft, message.InComposer, "the composer takes a command of the shell", c)
	case !c.Empty && !p.geminiFooted(box):
		return composing(message.Blocked, DialogOpen, "a list, or something unknown, below the composer", c)
	case !c.Empty && c.Text == "":
		return composing(message.Draft, message.InComposer, "the composer holds blanks: empty, it would show its own words", c)
	case !c.Empty:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(c.Text)), c)
	}
	_, insert := p.marked(box.foot, p.Height-1, p.a.Marks.Insert)
	insert = insert || profile.Has(dim, []string{"NORMAL mode"})
	if profile.Has(dim, p.a.Marks.Normal) {
		v := composing(message.Blocked, VimNormal, "vim keys, not in INSERT mode", c)
		v.Vim = true
		return v
	}
	status := strings.TrimSpace(p.plain(box.rule - 1))
	hinted := slices.Contains(p.a.Marks.Live, status)
	ready := p.geminiTitle(geminiReady)
	switch {
	case !p.geminiFooted(box):
		c.Empty = false
		return composing(message.Unknown, message.NotEmpty, "something unknown below the composer", c)
	case status != "" && !hinted:
		c.Empty = false
		return composing(message.Unknown, message.UnknownScreen, fmt.Sprintf("text above the composer: %q", clip(status)), c)
	case !ready && !hinted:
		c.Empty = false
		return composing(message.Unknown, message.UnknownScreen, "neither the title nor the screen shows that the agent is idle", c)
	case !ready && !box.painted:
		c.Empty = false
		return composing(message.Unknown, message.UnknownScreen, "no cursor is painted in the composer", c)
	}
	v := composing(message.Idle, "", fmt.Sprintf("a composer with its own words in it, %q", clip(dim)), c)
	if hinted {
		v = v.with("screen", fmt.Sprintf("text above it: %q", status))
	}
	if ready {
		v = v.with("title", fmt.Sprintf("the title is %q", clip(strings.TrimSpace(p.Title))))
	}
	v.MayType, v.Vim = true, insert
	return v
}

// geminiSecondary reports whether characters have the colour of the names in the foot. If that differs from the
// colour of the values below them, it is not the colour of a draft either. On a terminal with few colours nothing
// is dim.
func (p picture) geminiSecondary(box geminiBox, place []cell) bool {
	if box.foot+1 >= p.Height || !p.geminiFooted(box) {
		return false
	}
	name, _ := at(p.row(box.foot), 1)
	value, ok := at(p.row(box.foot+1), 1)
	if !ok || name.blank() || value.blank() || name.colour == value.colour {
		return false
	}
	return len(place) > 0 && place[0].blank() && !slices.ContainsFunc(place, func(c cell) bool { return !c.blank() && c.colour != name.colour })
}

// geminiBars returns what keeps keys from the composer, or Enter from submitting its text.
func (p picture) geminiBars(box geminiBox) (state message.PaneState, why message.Reason, says string) {
	if row, ok := p.marked(0, box.rule-1, p.a.Marks.Modal); ok {
		return message.Blocked, DialogOpen, fmt.Sprintf("text above the composer: %q", clip(row))
	}
	if row, ok := p.geminiChoice(box.rule); ok {
		return message.Blocked, DialogOpen, fmt.Sprintf("a choice above the composer: %q", clip(row))
	}
	if row, ok := p.marked(box.rule-geminiStatus, box.rule-1, p.a.Marks.Working); ok {
		return message.Working, message.AgentWorking, fmt.Sprintf("text above the composer: %q", clip(row))
	}
	return "", "", ""
}

// geminiStatus is how many rows above the rule may show what is under way: waiting prompts, and what the agent
// does.
const geminiStatus = 8

// geminiChoice finds the mark of a choice in the last box above a row, if nothing else stands between the box and
// that row.
func (p picture) geminiChoice(above int) (string, bool) {
	end := above - 1
	for ; end >= 0 && above-end <= geminiStatus; end-- {
		if row := strings.TrimLeft(p.plain(end), " "); strings.HasPrefix(row, "╰") {
			break
		}
	}
	if end < 0 || above-end > geminiStatus {
		return "", false
	}
	for y := end - 1; y >= 0; y-- {
		row := strings.TrimLeft(p.plain(y), " ")
		if strings.HasPrefix(row, "╭") {
			break
		}
		if strings.HasPrefix(strings.TrimLeft(row, "│ "), "● ") {
			return strings.Trim(row, "│ "), true
		}
	}
	return "", false
}

// geminiClear reports whether nothing keeps Enter from submitting what stands in the composer.
func (f field) geminiClear() bool {
	box, ok := f.geminiBox()
	if !ok || box.command || !f.geminiFooted(box) {
		return false
	}
	if _, why, _ := f.geminiBars(box); why != "" {
		return false
	}
	for _, sign := range []string{"✋", "✦", "⏲"} {
		if f.geminiTitle(sign) {
			return false
		}
	}
	status := strings.TrimSpace(f.plain(box.rule - 1))
	_, insert := f.marked(box.foot, f.Height-1, f.a.Marks.Insert)
	_, normal := f.marked(box.foot, f.Height-1, f.a.Marks.Normal)
	return (status == "" || slices.Contains(f.a.Marks.Live, status)) &&
		(box.painted || f.geminiTitle(geminiReady)) && !normal && (!f.Vim || insert)
}

// geminiBox is the place of a composer of Gemini CLI: its rows and its cursor.
type geminiBox struct {
	rule        int
	first, last int // of its text
	foot        int // the first row below the box that is not blank, or the height
	command     bool
	painted     bool // a cursor is painted; else x and y are the end of the text
	x, y        int
}

// geminiBox finds the lowest composer.
func (p picture) geminiBox() (geminiBox, bool) {
	for y := p.Height - 1; y >= 2; y-- {
		glyph, ok := p.geminiGlyph(y)
		if !ok || !p.geminiEdge(y-1, "▄") {
			continue
		}
		for rule := y - 2; rule > 0 && rule >= y-1-geminiModes; rule-- {
			if p.rule(rule) {
				box := geminiBox{rule: rule, first: y, command: slices.Contains(p.a.Composer.Modes, glyph)}
				p.geminiText(&box)
				return box, true
			}
		}
	}
	return geminiBox{}, false
}

// geminiModes is how many rows the mode takes at most.
const geminiModes = 4

// geminiGlyph returns the glyph in the first row of a composer. Only a glyph stands in the second column between
// blanks.
func (p picture) geminiGlyph(y int) (string, bool) {
	row := p.row(y)
	before, _ := at(row, 0)
	glyph, ok := at(row, 1)
	behind, _ := at(row, 2)
	if !ok || !before.blank() || !behind.blank() {
		return "", false
	}
	return glyph.text, glyph.text == p.a.Composer.Glyph || glyph.text == "*" || slices.Contains(p.a.Composer.Modes, glyph.text)
}

// geminiEdge reports whether a row is the edge of a composer's box: blank, of half blocks, or a rule.
func (p picture) geminiEdge(y int, block string) bool {
	row := p.plain(y)
	return row == "" || strings.Trim(row, block) == "" || strings.Trim(row, p.a.Composer.Rule) == ""
}

// geminiText finds the end of the text in a box, and its cursor. Rows of text leave the first columns free; the
// rows below them do not.
func (p picture) geminiText(box *geminiBox) {
	box.last, box.foot = box.first, p.Height
	for y := box.first; y < p.Height; y++ {
		row := p.row(y)
		if y > box.first && slices.ContainsFunc(row, func(c cell) bool { return c.column < p.a.Composer.Text && !c.blank() }) {
			box.foot = y
			break
		}
		if y > box.first && p.geminiNames(y) {
			box.foot = y
			break
		}
		if p.plain(y) != "" {
			box.last = y
		}
		for _, c := range row {
			if c.reverse && c.column >= p.a.Composer.Text && !box.painted {
				box.painted, box.x, box.y, box.last = true, c.column, y, y
			}
		}
		if !box.painted && y+1 < p.Height && p.pens[y+1].reverse { // the cursor is on a blank, which the capture has dropped
			box.painted, box.x, box.y, box.last = true, p.a.Composer.Text, y, y
			if n := len(row); n > 0 {
				box.x = max(box.x, row[n-1].column+cellsOf(row[n-1]))
			}
		}
	}
	if box.foot < p.Height && p.geminiEdge(box.foot, "▀") {
		for box.foot++; box.foot < p.Height && p.plain(box.foot) == ""; box.foot++ {
		}
	}
	if !box.painted {
		box.y, box.x = box.last, p.a.Composer.Text
		if row := p.line(box.last); len(row) > 0 {
			box.x = row[len(row)-1].column + cellsOf(row[len(row)-1])
		}
	}
}

// geminiNames reports whether a row holds the names in the foot. With vim keys, the first field has no name.
func (p picture) geminiNames(y int) bool {
	if y+1 >= p.Height || p.plain(y-1) != "" || !profile.Has(p.plain(y), p.a.Marks.Held) {
		return false
	}
	below, ok := at(p.row(y+1), 1)
	return ok && !below.blank()
}

// geminiFooted reports whether only the foot of a composer that takes text stands below it, or nothing: names, and
// their values.
func (p picture) geminiFooted(box geminiBox) bool {
	if box.foot >= p.Height {
		return true
	}
	names := fieldsOf(p.row(box.foot))
	if !profile.Has(p.plain(box.foot), p.a.Marks.Held) || box.foot+1 >= p.Height {
		return false
	}
	values := fieldsOf(p.row(box.foot + 1))
	if len(values) < len(names) || names[len(names)-1][1] != values[len(values)-1][1] {
		return false
	}
	for _, name := range names[:len(names)-1] { // the last value ends where its name ends
		if !slices.ContainsFunc(values, func(value [2]int) bool { return value[0] == name[0] }) {
			return false
		}
	}
	// Gemini CLI may have left an older drawing of the same foot below it, in other columns if the pane's width has
	// changed.
	foot := [][]string{nil, strings.Fields(p.plain(box.foot)), strings.Fields(p.plain(box.foot + 1))}
	for y := box.foot + 2; y < p.Height; y++ {
		row := strings.Fields(p.plain(y))
		if !slices.ContainsFunc(foot, func(drawn []string) bool { return slices.Equal(drawn, row) }) {
			return false
		}
	}
	return true
}

// geminiNoComposer judges a screen without a composer.
func (p picture) geminiNoComposer() Verdict {
	last := p.lastText()
	if last < 0 {
		return verdict(message.Unknown, message.UnknownScreen, "the screen is blank")
	}
	for y := last; y >= 0 && y > last-geminiDialog; y-- {
		if row := strings.Trim(p.plain(y), "│ "); strings.HasPrefix(row, "● ") {
			return verdict(message.Blocked, DialogOpen, fmt.Sprintf("no composer, but a choice: %q", clip(row)))
		}
	}
	if mark, ok := p.marked(last-geminiDialog, last, p.a.Marks.Dialog); ok {
		return verdict(message.Blocked, DialogOpen, fmt.Sprintf("no composer; below: %q", clip(mark)))
	}
	return verdict(message.Unknown, message.UnknownScreen, "no composer: no glyph below a rule as wide as the pane")
}

// geminiDialog is how many of the last rows may belong to a dialog.
const geminiDialog = 30

// geminiTalk reads the last turn above the composer:
//
//	 > text        a prompt
//	✦ text         words, indented by two
//	╭──────        the box of a call, down to the next one that begins with ╰
//
// The agent's words never stand in the first two columns, whatever they quote.
func (p picture) geminiTalk() (Talk, bool) {
	box, ok := p.geminiBox()
	if !ok {
		return Talk{}, false
	}
	end := box.rule - 1
	begin := end - 1
	for ; begin >= 0; begin-- {
		if _, ok := p.geminiGlyph(begin); ok {
			break
		}
	}
	said := talk{Talk: Talk{Whole: begin >= 0}, in: begin < 0, began: begin < 0}
	if begin >= 0 {
		said.prompt = append(said.prompt, words(p.line(begin)))
	}
	for y := begin + 1; y < end; y++ {
		row, plain := p.row(y), p.plain(y)
		first, _ := at(row, 0)
		second, _ := at(row, 1)
		switch {
		case first.text == p.a.Speech.Bullet:
			said.in, said.began = true, true
			said.text = append(said.text, words(from(row, 2)))
		case first.text == p.a.Speech.Result:
			said.in, said.began, said.text, said.Whole = false, true, nil, true
		case !first.blank(), !second.blank(), plain != "" && dimmed(row):
			said.Cut = said.Cut || profile.Has(plain, p.a.Speech.Cut)
			said.in = false
		case said.in:
			said.text = append(said.text, words(from(row, 2)))
		case !said.began:
			said.prompt = append(said.prompt, words(p.line(y)))
		}
	}
	return said.end(), true
}

// cellsOf returns how many cells a character takes.
func cellsOf(c cell) int { return max(1, ansi.StringWidth(c.text)) }

// fieldsOf returns the first and the last column of each field of a row. Two blanks separate fields.
func fieldsOf(row []cell) (all [][2]int) {
	gap := 2
	for _, c := range row {
		switch {
		case c.blank():
			gap++
		case gap >= 2:
			all = append(all, [2]int{c.column, c.column})
			gap = 0
		default:
			all[len(all)-1][1] = c.column
			gap = 0
		}
	}
	return all
}
