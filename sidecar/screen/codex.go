package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func init() {
	register("codex", dialect{
		judge: picture.codex,
		field: func(p picture) (field, bool) {
			first := p.codexComposer()
			if first < 0 || !p.CursorVisible {
				return field{}, false
			}
			last := p.codexEnd(first)
			return field{picture: p, first: first, last: last, foot: last + 1}, true
		},
		talk: func(p picture) (Talk, bool) {
			top := p.codexComposer()
			if top < 0 {
				return Talk{}, false
			}
			return p.converse(top)
		},
		partly: func(f field) bool {
			for y := f.first; y <= f.last; y++ {
				if row := from(f.row(y), f.a.Composer.Text); len(row) > 0 && f.scrolls(row[len(row)-1]) {
					return true
				}
			}
			return false
		},
		clear: func(f field) bool {
			_, working := f.openTurn(f.first)
			_, asks := f.openQuestion(f.first)
			return f.unbarred() && !working && !asks && !f.titleTurns() && !f.titleAsks() && !f.codexListed(f.first) && f.codexFooted()
		},
		counts: func(_ profile.Agent, text string, numbers []int) bool { // the number of its characters
			return len(numbers) == 1 && numbers[0] == utf8.RuneCountInString(text)
		},
	})
}

// codex judges a screen of Codex:
//
//	⋮                                      the conversation
//	• Working (3s • esc to interrupt)      while a turn is under way, but not always
//	  Worked for 3s • 17:36                at the end of a turn
//
//	› text, or dim words                   the glyph bold and not dim, the cursor visible
//
//	  GPT-6.1-Sol default · /work          status line, one row or more, or none yet
//	  ← for agents · ? for shortcuts       hints, shown for an empty composer only
//
// Its dialogs stand where the composer stood and hide the cursor, except for those with a text field. In these the
// glyph is not bold or not in column 0, and the words are different.
func (p picture) codex() Verdict {
	v := p.codexScreen()
	// The title shows what is under way when the screen does not; it never says idle.
	switch {
	case v.State == message.Blocked || v.State == message.History:
	case p.titleAsks():
		v.State, v.Why, v.MayType = message.Blocked, DialogOpen, false
		v = v.with("title", fmt.Sprintf("the title is %q", clip(p.Title)))
	case p.titleTurns():
		v.State, v.Why, v.MayType = message.Working, message.AgentWorking, false
		v = v.with("title", fmt.Sprintf("a wheel turns in the title, %q", clip(p.Title)))
	}
	return v
}

func (p picture) titleAsks() bool { return strings.Contains(p.Title, "Action Required") }

func (p picture) titleTurns() bool {
	first, _, _ := strings.Cut(p.Title, " ")
	return first != "" && strings.Trim(first, wheels) == ""
}

// wheels are the characters of the spinner in the title of Codex.
const wheels = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"

func (p picture) codexScreen() Verdict {
	if !p.CursorVisible {
		return p.noComposer("the cursor is hidden, but Codex always shows it in its composer")
	}
	first := p.codexComposer()
	if first < 0 {
		return p.noComposer("no composer: no bright glyph with the cursor in its text")
	}
	end := p.codexEnd(first)
	glyph, mode, _ := p.glyph(first)
	place := p.line(first)
	c := Composer{Live: true, Text: p.text(first, end)}
	if first == end && ghost(place) && slices.Contains(p.a.Composer.Ghosts, strings.TrimSpace(words(place))) {
		c.Empty, c.Text = true, ""
	}

	if mark, ok := p.marked(first-2, first-1, p.a.Marks.Scrolled); ok {
		return composing(message.History, ScrolledUp, fmt.Sprintf("text above the composer: %q", clip(mark)), c)
	}
	if row, ok := p.openTurn(first); ok {
		return composing(message.Working, message.AgentWorking, fmt.Sprintf("the last turn has no end: %q", clip(row)), c)
	}
	if row, ok := p.openQuestion(first); ok {
		return composing(message.Blocked, DialogOpen, fmt.Sprintf("the agent has asked %q", clip(row)), c)
	}
	switch {
	case !c.Empty && p.codexListed(first):
		return composing(message.Blocked, DialogOpen, "a list is open over the composer", c)
	case mode:
		c.Empty = false
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer takes a command: its glyph is %q", glyph.text), c)
	case ghost(place) && !c.Empty:
		return composing(message.Blocked, DialogOpen, fmt.Sprintf("the field is for something else: %q", clip(words(place))), Composer{})
	}
	if mark, ok := p.marked(end+1, p.Height-1, p.a.Marks.Modal); ok {
		return composing(message.Blocked, DialogOpen, fmt.Sprintf(textBelow, clip(mark)), c)
	}
	switch {
	case !c.Empty && c.Text == "":
		return composing(message.Draft, message.InComposer, "the composer holds blanks: empty, it would show its own words", c)
	case !c.Empty:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(c.Text)), c)
	case p.CursorX != p.a.Composer.Text || p.CursorY != first:
		return verdict(message.Unknown, message.UnknownScreen, "the cursor is not at the beginning of the composer")
	}
	_, insert := p.marked(end+1, p.Height-1, p.a.Marks.Insert)
	if normal, ok := p.marked(end+1, p.Height-1, p.a.Marks.Normal); ok {
		v := composing(message.Blocked, VimNormal, "vim keys, not in INSERT mode", c).with("screen", fmt.Sprintf(textBelow, clip(normal)))
		v.Vim = true
		return v
	}
	last := p.lastText()
	mark, ok := p.marked(max(end+1, last), last, p.a.Marks.Live)
	if !ok {
		c.Empty = false
		return composing(message.Unknown, message.NotEmpty, "the last row is not the hints for an empty composer", c)
	}
	if p.plain(first+1) != "" || first > 0 && p.plain(first-1) != "" {
		return verdict(message.Unknown, message.UnknownScreen, "the rows above and below the composer are not blank")
	}
	v := composing(message.Idle, "", fmt.Sprintf("a bright composer, the cursor at its beginning, its own words in it, and below it %q", clip(mark)), c)
	v.MayType, v.Vim = true, insert
	return v
}

// codexComposer returns the first row of the composer with the cursor, or -1.
func (p picture) codexComposer() int {
	if p.CursorX < p.a.Composer.Text {
		return -1
	}
	for y := p.CursorY; y >= 0; y-- {
		if c, _, ok := p.glyph(y); ok {
			if c.bold && !c.faint() {
				return y
			}
			return -1
		}
		for _, c := range p.row(y) {
			if c.column < p.a.Composer.Text && !c.blank() {
				return -1
			}
		}
	}
	return -1
}

// codexEnd returns the last row of the text in the composer that begins at row first. The first blank row below the
// cursor ends it.
func (p picture) codexEnd(first int) int {
	end := first
	for y := first + 1; y < p.Height && (p.plain(y) != "" || y <= p.CursorY); y++ {
		end = y
	}
	return end
}

// codexListed reports whether a list of completions stands over the composer. Otherwise two blank rows separate the
// composer from the conversation.
func (p picture) codexListed(first int) bool {
	return first < 2 || p.plain(first-1) != "" || p.plain(first-2) != ""
}

// openTurn finds a sign of an open turn above the composer: a row that shows work, or a person's last prompt
// without the end of its turn below it.
func (p picture) openTurn(first int) (string, bool) {
	for y := first - 1; y >= 0; y-- {
		row := p.plain(y)
		switch c, _ := at(p.row(y), 0); {
		case tellsOfWork(row):
			return row, true
		case c.text == "■", strings.HasPrefix(row, "  Worked for ") && dimmed(p.row(y)):
			return "", false
		case c.text == p.a.Composer.Glyph && c.faint():
			return row, true
		}
	}
	return "", false
}

// openQuestion finds a question that Codex has asked beside its composer since a person's last prompt. Text typed
// now would be the answer.
func (p picture) openQuestion(first int) (string, bool) {
	for y := first - 1; y >= 0; y-- {
		switch c, _ := at(p.row(y), 0); {
		case c.text == p.a.Composer.Glyph && c.faint():
			return "", false
		case strings.HasPrefix(p.plain(y), "? "):
			return p.plain(y), true
		}
	}
	return "", false
}

// tellsOfWork reports whether a row shows a turn under way. Such a row begins in column 0, where no answer stands.
func tellsOfWork(row string) bool {
	return (strings.HasPrefix(row, "• ") || strings.HasPrefix(row, "◦ ")) && strings.Contains(row, "s • esc to interrupt)")
}

func dimmed(row []cell) bool {
	for _, c := range row {
		if !c.blank() && !c.faint() {
			return false
		}
	}
	return true
}

// codexFooted reports whether only a blank row and then, if anything, the status line and a row of hints stand
// below the composer, as they do below one that takes text.
func (f field) codexFooted() bool {
	y := f.foot
	if y < f.Height && f.plain(y) != "" {
		return false
	}
	y++
	begin := y
	for y < f.Height && f.plain(y) != "" {
		y++
	}
	for below := y; below < f.Height; below++ {
		if f.plain(below) != "" {
			return false
		}
	}
	_, dialog := f.marked(begin, y-1, f.a.Marks.Dialog)
	_, insert := f.marked(begin, y-1, f.a.Marks.Insert)
	return !dialog && y-begin <= footMost && (begin < y || !f.Vim || insert)
}

// footMost is how many rows the foot of Codex takes at most: a status line of several rows, and the hints.
const footMost = 4
