package screen

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Why an agent is not typed into, where message has no reason of its own.
const (
	DialogOpen message.Reason = "a dialog or a panel is open"
	ScrolledUp message.Reason = "the conversation is scrolled up"
	VimNormal  message.Reason = "the composer takes letters as commands"
)

// View is a capture of an agent's pane and what is known beside it, all of the same instant.
// Lines are not needed.
type View struct {
	Screen
	Title string
	// Vim says that the agent's composer has vim keys, as its settings tell or an earlier
	// view did: one of Claude Code in NORMAL mode looks like one without vim keys.
	Vim bool
}

// Verdict is what a view says. MayType is true for Idle alone.
type Verdict struct {
	State    message.PaneState
	MayType  bool
	Why      message.Reason // why not, where MayType is false
	Composer Composer
	Vim      bool               // vim keys were seen: the next View needs to know
	Evidence []message.Evidence // the caller stamps their time
}

// Judge tells the state of an agent. A composer is live if all of it is there: the glyph in
// column 0, bright, the rows that frame it, the cursor in it, and below it what stands below
// a composer and nothing that stands below a dialog. It is empty if the cursor stands where
// the text begins and nothing follows but what is painted as a placeholder; Codex has one
// always, Claude Code shows nothing of blanks behind its cursor. Whatever is not known is
// Unknown.
//
// A view alone never says that a turn is over, only that nothing on it tells of one: what the
// agent writes down comes first.
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

// picture is a view taken apart.
type picture struct {
	View
	a profile.Agent
	dialect
	*canvas
}

// newPicture is false for an agent whose screens are not known.
func newPicture(v View, a profile.Agent) (picture, bool) {
	d, ok := dialects[a.Name]
	return picture{View: v, a: a, dialect: d, canvas: newCanvas(v.Rows)}, ok
}

// glyph finds the composer's glyph at the beginning of a row, or one of its modes.
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

// rule reports whether a row is one of those that frame a composer. It may hold a name.
func (p picture) rule(y int) bool {
	if y < 0 || y >= p.Height || p.a.Composer.Rule == "" {
		return false
	}
	row, r := p.plain(y), p.a.Composer.Rule
	return strings.HasPrefix(row, strings.Repeat(r, 3)) && strings.HasSuffix(row, r) && ansi.StringWidth(row) == p.Width
}

// text is what stands in the composer's rows, first to last.
func (p picture) text(first, last int) string {
	var lines []string
	for y := first; y <= last; y++ {
		lines = append(lines, words(p.line(y)))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

// line is what stands in a row of the composer, without the mark at its right edge.
func (p picture) line(y int) []cell {
	row := from(p.row(y), p.a.Composer.Text)
	if n := len(row); n > 0 && p.scrolls(row[n-1]) {
		row = from(row[:n-1], p.a.Composer.Text)
	}
	return row
}

// scrolls reports whether a character is the mark, at the right edge of a composer without
// rules, for rows that have left it.
func (p picture) scrolls(c cell) bool {
	return p.a.Composer.Rule == "" && c.dim && c.column >= p.Width-3 && strings.Contains("↑↓↕", c.text)
}

// marked finds a row in [first, last] that has one of the marks.
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

// dialogFoot is how many rows above the last one may belong to the last words of a dialog.
const dialogFoot = 2

// textBelow says what stands below a composer.
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

// composing is a verdict on a screen whose composer is live.
func composing(state message.PaneState, why message.Reason, says string, c Composer) Verdict {
	v := verdict(state, why, says)
	v.Composer = c
	return v
}
