package screen

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Reasons not to type into an agent, in addition to those of package message.
const (
	DialogOpen message.Reason = "a dialog or a panel is open"
	ScrolledUp message.Reason = "the conversation is scrolled up"
	VimNormal  message.Reason = "the composer takes letters as commands"
)

// View is a capture of an agent's pane and what else is known, all of the same instant. Lines is not needed.
type View struct {
	Screen
	Title string
	// Vim says that the agent's composer has vim keys, as its settings or an earlier view showed. A Claude Code in
	// NORMAL mode looks like one without vim keys.
	Vim bool
}

// Verdict is the judgement of a view. MayType is true only if State is Idle.
type Verdict struct {
	State    message.PaneState
	MayType  bool
	Why      message.Reason // the reason, if MayType is false
	Composer Composer
	Vim      bool               // vim keys were seen: the next View needs to know
	Evidence []message.Evidence // the caller stamps their time
}

// Judge returns the state of an agent. A composer is live if all of it is there: the bright glyph in column 0, the
// rows that frame it, the cursor in it, and below it the foot of a composer and nothing that belongs to a dialog.
// It is empty if the cursor stands where the text begins and only characters painted as a placeholder follow. Codex
// always shows a placeholder; Claude Code shows no blanks behind its cursor. Anything unfamiliar is Unknown.
//
// A view alone never proves that a turn is over, only that it shows no sign of one. What the agent writes down
// takes precedence.
func Judge(v View, a profile.Agent) Verdict {
	switch {
	case v.InMode:
		return verdict(message.History, message.CopyMode, "the pane is in a mode")
	case !v.whole():
		return verdict(message.Unknown, message.UnknownScreen, "the capture is not whole")
	}
	p, ok := newPicture(v, a)
	if !ok {
		return verdict(message.Unknown, message.UnknownScreen, fmt.Sprintf("the screens of %q are not known", a.Name))
	}
	return p.judge(p)
}

// whole reports whether the capture can be read at all.
func (v View) whole() bool {
	return v.sound() && v.Height == len(v.Rows) && v.Width > 0 && v.CursorX <= v.Width
}

// picture is a view prepared for reading.
type picture struct {
	View
	a profile.Agent
	dialect
	*canvas
}

// newPicture reports false for an agent whose screens are not known.
func newPicture(v View, a profile.Agent) (picture, bool) {
	d, ok := dialects[a.Name]
	return picture{View: v, a: a, dialect: d, canvas: newCanvas(v.Rows)}, ok
}

// glyph finds the composer's glyph, or that of one of its modes, at the beginning of a row.
func (p picture) glyph(y int) (c cell, mode, ok bool) {
	c, ok = at(p.row(y), 0)
	if !ok {
		return c, false, false
	}
	gap, found := at(p.row(y), 1)
	if p.a.Composer.Gap != " " && (!found || gap.text != p.a.Composer.Gap) {
		return c, false, false
	}
	if found && !gap.blank() {
		return c, false, false
	}
	if c.text == p.a.Composer.Glyph {
		return c, false, true
	}
	for _, m := range p.a.Composer.Modes {
		if c.text == m {
			return c, true, true
		}
	}
	return c, false, false
}

// rule reports whether a row is a rule that frames a composer. It may contain a name.
func (p picture) rule(y int) bool {
	if y < 0 || y >= p.Height || p.a.Composer.Rule == "" {
		return false
	}
	row, r := p.plain(y), p.a.Composer.Rule
	return strings.HasPrefix(row, strings.Repeat(r, 3)) && strings.HasSuffix(row, r) && ansi.StringWidth(row) == p.Width
}

// text returns the text in the composer's rows, first to last.
func (p picture) text(first, last int) string {
	var lines []string
	for y := first; y <= last; y++ {
		lines = append(lines, words(p.line(y)))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// line returns a row of the composer, without the mark at its right edge.
func (p picture) line(y int) []cell {
	row := from(p.row(y), p.a.Composer.Text)
	if n := len(row); n > 0 && p.scrolls(row[n-1]) {
		row = from(row[:n-1], p.a.Composer.Text)
	}
	return row
}

// scrolls reports whether a character is the mark for rows that have scrolled out of sight. It stands at the right
// edge of a composer without rules.
func (p picture) scrolls(c cell) bool {
	return p.a.Composer.Rule == "" && c.dim && c.column >= p.Width-3 && strings.Contains("↑↓↕", c.text)
}

// marked finds a row in [first, last] that contains one of the marks.
func (p picture) marked(first, last int, marks []string) (string, bool) {
	for y := max(first, 0); y <= last && y < p.Height; y++ {
		if profile.Has(p.plain(y), marks) {
			return strings.TrimSpace(p.plain(y)), true
		}
	}
	return "", false
}

// noComposer judges a screen on which no composer is live.
func (p picture) noComposer(says string) Verdict {
	last := p.lastText()
	if last < 0 {
		return verdict(message.Unknown, message.UnknownScreen, "the screen is blank")
	}
	row := p.plain(p.CursorY)
	if before, after, ok := strings.Cut(row, p.a.Composer.Glyph); ok && strings.TrimSpace(before) == "" && p.CursorX == len(before) && after != "" {
		return verdict(message.Blocked, DialogOpen, fmt.Sprintf("the cursor is on the mark of a choice: %q", clip(strings.TrimSpace(row))))
	}
	if mark, ok := p.marked(last-dialogFoot, last, p.a.Marks.Dialog); ok {
		return verdict(message.Blocked, DialogOpen, fmt.Sprintf("no composer; below: %q", clip(mark)))
	}
	return verdict(message.Unknown, message.UnknownScreen, says)
}

// dialogFoot is how many rows above the last one may belong to the foot of a dialog.
const dialogFoot = 2

// textBelow is the evidence for a row below a composer.
const textBelow = "text below the composer: %q"

func verdict(state message.PaneState, why message.Reason, says string) Verdict {
	return Verdict{State: state, Why: why, Evidence: []message.Evidence{evidence("screen", says)}}
}

func (v Verdict) with(source, says string) Verdict {
	v.Evidence = append(v.Evidence, evidence(source, says))
	return v
}

func evidence(source, says string) message.Evidence {
	return message.Evidence{Source: source, Says: says, Weight: "exact"}
}

// composing returns a verdict on a screen whose composer is live.
func composing(state message.PaneState, why message.Reason, says string, c Composer) Verdict {
	v := verdict(state, why, says)
	v.Composer = c
	return v
}
