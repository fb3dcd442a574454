package screen

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

func init() {
	register("claude", dialect{
		judge: picture.claude,
		field: func(p picture) (field, bool) {
			top, bottom, ok := p.frame()
			return field{picture: p, first: top + 1, last: bottom - 1, foot: bottom + 1}, ok
		},
		talk: func(p picture) (Talk, bool) {
			top, _, ok := p.frame()
			if !ok {
				return Talk{}, false
			}
			return p.converse(top)
		},
		partly: func(f field) bool { // its first row has scrolled out of the composer
			_, _, ok := f.glyph(f.first)
			return !ok
		},
		clear: func(f field) bool {
			_, working := f.claudeBusy(f.first-1, f.foot-1)
			return f.unbarred() && !working && !f.listed(f.first-1) && f.claudeFooted()
		},
		counts: func(_ profile.Agent, text string, numbers []int) bool { // the number of the paste, then the number of its line breaks if it has any
			n := strings.Count(text, "\n")
			return len(numbers) == 1 && n == 0 || len(numbers) == 2 && numbers[1] == n
		},
	})
}

// claude judges a screen of Claude Code:
//
//	· Pondering… (3s · ↓ 2 tokens)            while a turn is under way
//	                      ◐ medium · /effort
//	──────────────────────────────────────    a rule as wide as the pane
//	❯ text, or dim words                      ❯ and a no-break space; dim while a turn is under way
//	──────────────────────────────────────
//	  ⏸ manual mode on · ? for shortcuts      the mode, and hints; a status line may stand above
//
// Its dialogs stand where the composer stood, and the cursor stands on their glyph.
func (p picture) claude() Verdict {
	top, bottom, ok := p.frame()
	if !ok {
		return p.noComposer("no composer: no two rules with the cursor and its glyph between them")
	}
	first, last := top+1, bottom-1
	glyph, mode, shown := p.glyph(first)
	c := Composer{Live: true, Text: p.text(first, last)}
	place := from(p.row(first), p.a.Composer.Text)
	if first == last && shown && (len(place) == 0 || ghost(place)) {
		c.Empty, c.Text = true, ""
	}
	if says, ok := p.claudeBusy(top, bottom); ok {
		return composing(message.Working, message.AgentWorking, says, c)
	}

	// A person has typed something.
	switch {
	case !shown:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds more than it shows: %q", clip(c.Text)), c)
	case !c.Empty && p.listed(top):
		return composing(message.Blocked, DialogOpen, fmt.Sprintf("a list is open over the composer: %q", clip(strings.TrimSpace(p.plain(top-1)))), c)
	case mode:
		c.Empty = false
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer takes a command: its glyph is %q", glyph.text), c)
	case !c.Empty:
		return composing(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(c.Text)), c)
	case p.CursorX > p.a.Composer.Text:
		c.Empty = false
		return composing(message.Draft, message.InComposer, "the cursor is past the beginning of the composer", c)
	case p.CursorX < p.a.Composer.Text:
		return verdict(message.Unknown, message.UnknownScreen, "the cursor is before the composer's text")
	}

	// Something takes the keys away from the composer.
	if mark, ok := p.marked(top-2, top-1, p.a.Marks.Scrolled); ok {
		return composing(message.History, ScrolledUp, fmt.Sprintf("text above the composer: %q", clip(mark)), c)
	}
	if mark, ok := p.marked(bottom+1, p.Height-1, p.a.Marks.Modal); ok {
		return composing(message.Blocked, DialogOpen, fmt.Sprintf(textBelow, clip(mark)), c)
	}
	mark, insert := p.marked(bottom+1, p.Height-1, p.a.Marks.Insert)
	if normal, ok := p.marked(bottom+1, p.Height-1, p.a.Marks.Normal); ok || p.Vim && !insert {
		v := composing(message.Blocked, VimNormal, "vim keys, not in INSERT mode", c)
		v.Vim = true
		if ok {
			v = v.with("screen", fmt.Sprintf(textBelow, clip(normal)))
		}
		return v
	}
	if !insert {
		if mark, ok = p.marked(bottom+1, p.Height-1, p.a.Marks.Live); !ok {
			c.Empty = false
			return composing(message.Unknown, message.NotEmpty, "nothing familiar below the composer", c)
		}
	}
	v := composing(message.Idle, "", fmt.Sprintf("a framed composer, bright, the cursor at its beginning, and below it %q", clip(mark)), c)
	if len(place) > 0 {
		v = v.with("screen", fmt.Sprintf("the words in it are a suggestion: %q", clip(words(place))))
	}
	v.MayType, v.Vim = true, insert
	return v
}

// claudeBusy reports whether a turn is under way, and what shows it.
func (p picture) claudeBusy(top, bottom int) (says string, ok bool) {
	if glyph, _, ok := p.glyph(top + 1); ok && glyph.faint() {
		return "the composer's glyph is dim", true
	}
	row, ok := p.spinner(top)
	if !ok {
		row, ok = p.waits(top)
	}
	if ok {
		return fmt.Sprintf("text above the composer: %q", clip(row)), true
	}
	row, ok = p.marked(bottom+1, p.Height-1, p.a.Marks.Working)
	return fmt.Sprintf("text below the composer: %q", clip(row)), ok
}

// listed reports whether a list of completions stands right above the composer's rule. Otherwise that row is blank,
// or holds a hint that ends at the right edge. The items of a list begin with four blanks, or with a mark after two
// blanks.
func (p picture) listed(top int) bool {
	if top < 1 {
		return false
	}
	return p.plain(top-1) != "" && (!p.hint(top-1) || p.goesOn(top-1))
}

// goesOn reports whether a row is the second one of a list's item. Such a row begins below the words that describe
// the item.
func (p picture) goesOn(y int) bool {
	row := p.row(y)
	if y < 1 || len(row) == 0 {
		return false
	}
	item, left := p.plain(y-1), 0
	for left < len(row) && row[left].blank() {
		left++
	}
	before, _ := at(p.row(y-1), left-2)
	gap, _ := at(p.row(y-1), left-1)
	word, ok := at(p.row(y-1), left)
	return (strings.HasPrefix(item, "    ") || strings.HasPrefix(item, "  ❯ ")) && ok && !word.blank() && gap.blank() && before.blank()
}

// hint reports whether a row is a hint at the right edge.
func (p picture) hint(y int) bool {
	row := p.plain(y)
	text := strings.TrimLeft(row, " ")
	left := len(row) - len(text)
	return text != "" && ansi.StringWidth(row) == p.Width-2 && (left >= hintIndent || left == 2 && text[0] >= 'A' && text[0] < utf8.RuneSelf)
}

// hintIndent is the least indentation of a hint at the right edge, unless the hint fills the row.
const hintIndent = 10

// frame finds the rules around the composer with the cursor.
func (p picture) frame() (top, bottom int, ok bool) {
	for top = p.CursorY - 1; top >= 0 && !p.rule(top); top-- {
	}
	for bottom = p.CursorY + 1; bottom < p.Height && !p.rule(bottom); bottom++ {
	}
	if top < 0 || bottom >= p.Height || p.rule(p.CursorY) {
		return 0, 0, false
	}
	further := top + 1
	if _, _, ok := p.glyph(further); ok {
		further++
	} else if !strings.Contains(p.plain(top), " ↑ ") { // the rows above have scrolled out of the composer
		return 0, 0, false
	}
	for y := further; y < bottom; y++ {
		// The further rows of a draft stand below the text of the first row.
		for _, c := range p.row(y) {
			if c.column < p.a.Composer.Text && !c.blank() {
				return 0, 0, false
			}
		}
	}
	return top, bottom, true
}

// spinners are the characters of the spinner in column 0, before a word and an ellipsis. Answers are indented.
const spinners = "·✢✳✶✻✽*"

func (p picture) spinner(top int) (string, bool) {
	for y := top - 1; y >= 0; y-- {
		row := p.plain(y)
		for _, r := range row {
			if strings.ContainsRune(spinners, r) && strings.HasPrefix(row, string(r)+" ") {
				word, rest, ok := strings.Cut(row, "…")
				if ok && len(strings.Fields(word)) >= 2 && (rest == "" || strings.HasPrefix(rest, " (")) {
					return row, true
				}
			}
			break
		}
	}
	return "", false
}

// waits finds the line at the end of the conversation while agents that Claude Code has started are at work. Claude
// Code continues by itself when they have finished.
func (p picture) waits(top int) (string, bool) {
	for y := top - 1; y >= 0; y-- {
		row := p.plain(y)
		if row == "" || strings.HasPrefix(row, "          ") { // hints at the right edge
			continue
		}
		first, rest, _ := strings.Cut(row, " ")
		return row, strings.Contains(spinners, first) && first != "" && strings.HasPrefix(rest, "Waiting for ") && strings.Contains(rest, " to finish")
	}
	return "", false
}

// claudeFooted reports whether the last row below the composer is the one below a composer that takes text: the
// mode, which a hint at the right edge may follow.
func (f field) claudeFooted() bool {
	if f.foot == f.Height {
		return f.Alternate && f.Height < footless && f.last-f.first+1 >= f.a.Composer.Least && !f.Vim
	}
	last := f.lastText()
	if last > f.foot && f.hint(last) {
		last--
	}
	for y := f.foot; y < last; y++ {
		if f.rule(y) { // another composer, or a dialog
			return false
		}
	}
	if last < f.foot {
		return false
	}
	row := strings.TrimLeft(f.plain(last), " ")
	begins := func(mark string) bool { return strings.HasPrefix(row, mark) }
	return slices.ContainsFunc(f.a.Marks.Insert, begins) ||
		!f.Vim && (slices.ContainsFunc(f.a.Marks.Live, begins) || slices.ContainsFunc(f.a.Marks.Held, begins))
}

// footless is the height of panes below which a composer of several rows may leave no row for its foot.
const footless = 15
