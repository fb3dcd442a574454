// Package screen finds out from one capture of a pane what its program is doing: whether the composer is live and
// empty, holds a draft, holds our own text, or is not there. It is strict: nothing may be typed into a screen that
// it does not know. It keeps no state and starts no goroutine.
package screen

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Screen is one capture, all of it from the same instant.
type Screen struct {
	Rows             []string // the visible rows, with escapes, not joined
	Lines            []string // the same rows, plain and joined where they wrap; history before them is welcome
	CursorX, CursorY int      // in cells, from 0; CursorX may equal Width after a full row
	Width, Height    int
	HistorySize      int // rows above the visible ones, whether or not Lines holds them
	CursorVisible    bool
	Alternate        bool // the alternate screen is shown
	InMode           bool // copy mode or a similar mode
}

// Reading is the judgement of a capture.
type Reading struct {
	State    message.PaneState
	MayType  bool           // the composer is proven live and empty
	Why      message.Reason // the reason, if MayType is false
	Composer Composer
	Evidence []message.Evidence // the caller stamps their time
}

// Composer is the place where the program takes its input.
type Composer struct {
	Live  bool   // the prompt is shown and the cursor stands in it
	Empty bool   // it contains nothing; only set if Live
	Text  string // its text, as far as it can be read; wrapped rows are joined
}

// Read returns the state of a line program. Without Lines it never allows typing: a draft whose last wrapped row
// looks like the prompt cannot be distinguished from the prompt by rows alone.
func Read(s Screen, p Prompt) Reading {
	switch {
	case s.InMode:
		return reading(message.History, message.CopyMode, "the pane is in a mode")
	case s.Alternate:
		return reading(message.Blocked, message.AlternateScreen, "the alternate screen is shown")
	case p.IsZero():
		return reading(message.Unknown, message.UnknownScreen, "no prompt is known")
	case !s.sound():
		return reading(message.Unknown, message.UnknownScreen, "the cursor is outside the rows seen")
	}
	rows := plain(s.Rows)
	last := lastText(rows)
	if last < 0 {
		return reading(message.Working, message.AgentWorking, "the screen is blank")
	}
	if last == s.CursorY && p.at(rows[last], s.CursorX) == behind {
		return s.emptyPrompt(p, rows, last)
	}
	if text, ok := s.draft(p, rows, last); ok {
		r := reading(message.Draft, message.InComposer, fmt.Sprintf("the prompt, then %q", clip(text)))
		r.Composer = Composer{Live: true, Text: text}
		return r
	}
	switch rest, ok := p.Rest(rows[last]); {
	case !ok && s.CursorY >= last:
		return reading(message.Working, message.AgentWorking, fmt.Sprintf("no prompt: the last row is %q", clip(rows[last])))
	case ok && rest == "" && s.CursorY > last:
		return reading(message.Working, message.AgentWorking, "the cursor is below the prompt")
	case ok && rest == "":
		return reading(message.Unknown, message.UnknownScreen, "the cursor is not right after the prompt")
	case s.CursorY < last:
		return reading(message.Unknown, message.UnknownScreen, fmt.Sprintf("text below the cursor: %q", clip(rows[last])))
	default:
		return reading(message.Working, message.AgentWorking, "the cursor is below the prompt and its text")
	}
}

// emptyPrompt judges a screen whose last row is the prompt with the cursor right behind it. It only has to exclude
// a longer line that wraps into that row.
func (s Screen) emptyPrompt(p Prompt, rows []string, last int) Reading {
	switch {
	case !s.CursorVisible:
		return reading(message.Unknown, message.UnknownScreen, "the prompt is shown, but the cursor is hidden")
	case lastText(s.Lines) < 0:
		return reading(message.Unknown, message.NotEmpty, "the prompt is shown, but it may be the end of a wrapped draft")
	}
	i := lastText(s.Lines)
	line := trim(s.Lines[i])
	switch {
	case line != rows[last]:
		r := reading(message.Draft, message.InComposer, fmt.Sprintf("the row of the prompt is the end of %q", clip(line)))
		r.Composer.Text = line
		return r
	case last == 0 && i == 0 && s.HistorySize > 0:
		// The top row may continue one that has left the screen.
		return reading(message.Unknown, message.NotEmpty, "the prompt is the top row, and what is above it is not known")
	}
	return Reading{
		State:    message.Idle,
		MayType:  true,
		Composer: Composer{Live: true, Empty: true},
		Evidence: []message.Evidence{{Source: "screen", Says: fmt.Sprintf("the prompt %q, the cursor right after it, nothing else", p), Weight: "exact"}},
	}
}

// draft returns the text in the composer if the cursor is in it.
func (s Screen) draft(p Prompt, rows []string, last int) (string, bool) {
	lines := s.Lines
	if len(lines) == 0 {
		lines = rows[:last+1]
	}
	i := lastText(lines)
	if i < 0 || s.CursorY > last {
		return "", false
	}
	if rest, ok := p.Rest(lines[i]); ok {
		if s.CursorY < last-height(rows, last, lines[i])+1 {
			return "", false
		}
		if rest == "" && p.at(rows[s.CursorY], s.CursorX) != beyond {
			return "", false
		}
		return rest, true
	}
	// A composer of several lines: the prompt, then only lines that continue it.
	var tail []string
	for j := i; j >= 0 && i-j < s.Height; j-- {
		if rest, ok := p.Rest(lines[j]); ok && len(tail) > 0 {
			return rest + "\n" + strings.Join(tail, "\n"), true
		}
		rest, ok := p.continues(lines[j])
		if !ok {
			break
		}
		tail = append([]string{rest}, tail...)
	}
	return "", false
}

// continues removes the continuation prompt from a line.
func (p Prompt) continues(line string) (string, bool) {
	for _, c := range p.more {
		if trim(c) == "" {
			continue // indentation proves nothing
		}
		if rest, ok := strings.CutPrefix(line, c); ok {
			return rest, true
		}
		if trim(line) == trim(c) {
			return "", true
		}
	}
	return "", false
}

// place says where the cursor stands in the row of a prompt that only blanks follow.
type place int

const (
	elsewhere place = iota // the row is not the prompt, or the cursor is inside the prompt
	behind                 // right behind the prompt
	beyond                 // behind the prompt, with blanks between
)

func (p Prompt) at(row string, cursorX int) place {
	if p.re == nil {
		switch wide := ansi.StringWidth(p.text); {
		case trim(row) != trim(p.text):
			return elsewhere
		case cursorX == wide || cursorX == ansi.StringWidthWc(p.text):
			return behind
		case cursorX > wide:
			return beyond
		}
		return elsewhere
	}
	if rest, ok := p.Rest(row); !ok || rest != "" {
		return elsewhere
	}
	for _, width := range []int{ansi.StringWidth(row), ansi.StringWidthWc(row)} {
		if gap := cursorX - width; gap >= 0 && gap <= gapMax && p.exactly(row+strings.Repeat(" ", gap)) {
			return behind
		}
	}
	if cursorX > ansi.StringWidth(row) {
		return beyond
	}
	return elsewhere
}

// sound reports whether the capture is consistent.
func (s Screen) sound() bool {
	return s.CursorY >= 0 && s.CursorY < len(s.Rows) && s.CursorX >= 0
}

// wraps reports whether the row of the cursor continues the one above it, or may do so.
func (s Screen) wraps(rows []string) bool {
	if i := lastText(s.Lines); i >= 0 {
		return trim(s.Lines[i]) != rows[s.CursorY] || (s.CursorY == 0 && i == 0 && s.HistorySize > 0)
	}
	return s.CursorY > 0 && ansi.StringWidth(rows[s.CursorY-1]) >= s.Width-1
}

// height returns the number of rows, ending with the last, that the joined line takes.
func height(rows []string, last int, line string) int {
	want := len(ink(line))
	n, have := 0, 0
	for n <= last && (n == 0 || have < want) {
		have += len(ink(rows[last-n]))
		n++
	}
	return n
}

func plain(rows []string) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		out[i] = Plain(row)
	}
	return out
}

func reading(state message.PaneState, why message.Reason, says string) Reading {
	return Reading{State: state, Why: why, Evidence: []message.Evidence{{Source: "screen", Says: says, Weight: "exact"}}}
}

// clip shortens text that is shown to people.
func clip(text string) string { return ansi.Truncate(text, 60, "…") }

// tailCells is the greatest width of the result of Tail.
const tailCells = 24

// Tail returns a piece, at most 24 cells wide, of what stands left of the cursor on its row: the longest run that
// has no special meaning in a tmux format or a glob, and the last of several. It is empty if there is none.
func Tail(s Screen) string {
	if !s.sound() {
		return ""
	}
	return tailOf(ansi.Truncate(Plain(s.Rows[s.CursorY]), s.CursorX, ""))
}

// tailOf returns the longest run of a row without special characters.
func tailOf(row string) string {
	best := ""
	for piece := range strings.FieldsFuncSeq(row, special) {
		piece = strings.TrimSpace(piece)
		if w := ansi.StringWidth(piece); w > tailCells {
			piece = strings.TrimSpace(ansi.TruncateLeft(piece, w-tailCells, ""))
		}
		if ansi.StringWidth(piece) >= ansi.StringWidth(best) {
			best = piece
		}
	}
	return best
}

// special reports whether a character ends a piece: it has a meaning in a glob, in a format or in the quoting of a
// command, or it is not plainly one letter or sign per cell.
func special(r rune) bool {
	if r < 0x80 {
		return strings.ContainsRune("*?[]\\#{},:;'\"`$%~^|=!<>&/", r) || unicode.IsControl(r)
	}
	return !unicode.IsLetter(r)
}
