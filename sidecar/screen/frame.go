package screen

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Frame is what stood around the empty composer of an unknown program when a person adopted it. Nothing else ever
// counts as an empty composer of that program:
//
//	⋮                                       what it says
//	╭──────────────────────────────────╮    Above, if that is a rule
//	│ ❯ ▏                              │    Left, the cursor, Right
//	╰──────────────────────────────────╯    Below: all rows down to the end of the screen
//	  ? for shortcuts
//
// Rows are compared without the parts that change with the pane's width or with a counter.
type Frame struct {
	Left      string   `json:"left"`            // what stands left of the cursor, including blanks
	Paint     Colours  `json:"paint,omitempty"` // how Left is painted
	Right     string   `json:"right,omitempty"` // a border, or the words shown by an empty composer
	Above     string   `json:"above,omitempty"`
	Below     []string `json:"below,omitempty"`
	Lit       []string `json:"lit,omitempty"`       // the highlighted parts of its row and of the rows below, if any
	Seen      []string `json:"seen,omitempty"`      // the rows above it, in the form of FrameView.Keys
	Alternate bool     `json:"alternate,omitempty"` // it stands on the alternate screen
}

// belowMost is how many rows may stand below a composer.
const belowMost = 12

// LearnFrame learns the frame of an empty composer from the text around the cursor on an otherwise quiet screen. It
// refuses a screen on which that would be a guess; its errors say what to do.
func LearnFrame(s Screen) (Frame, error) {
	f, err := learnFrame(s)
	if err != nil {
		return Frame{}, fmt.Errorf("learn the composer: %w", err)
	}
	return f, nil
}

func learnFrame(s Screen) (Frame, error) {
	switch {
	case s.InMode:
		return Frame{}, errors.New("the pane is in copy mode or another mode: leave it and try again")
	case !s.CursorVisible:
		return Frame{}, errors.New("the cursor is hidden, so the composer of this unknown program cannot be found: make the cursor visible and try again")
	case !s.sound() || len(s.Rows) != s.Height:
		return Frame{}, fmt.Errorf("the cursor at column %d, row %d is outside the %d rows seen: try again", s.CursorX, s.CursorY, len(s.Rows))
	}
	c := newCanvas(s.Rows)
	left, right, ok := cut(c.row(s.CursorY), s.CursorX)
	words := strings.TrimSpace(bareLeft(left))
	end, _ := utf8.DecodeLastRuneInString(words)
	switch {
	case !ok || words == "":
		return Frame{}, errors.New("there is no prompt left of the cursor to recognise the composer by")
	case ansi.StringWidth(left) > promptMax:
		return Frame{}, fmt.Errorf("%q is too long for a prompt: empty the composer", trim(left))
	case draftLike(words, end) || strings.Contains(words, " "):
		return Frame{}, fmt.Errorf("%q may hold a draft: empty the composer", trim(left))
	case slices.ContainsFunc(right, func(c cell) bool { return wordy(c) && !c.faint() }):
		return Frame{}, errors.New("there is text right of the cursor: empty the composer")
	}
	f := Frame{Left: left, Paint: colours(c.row(s.CursorY), s.CursorX), Right: gist(wordsOf(right)), Alternate: s.Alternate}
	if s.CursorY > 0 && rule(c.plain(s.CursorY-1)) {
		f.Above = gist(c.plain(s.CursorY - 1))
	}
	for y := s.CursorY + 1; y <= c.lastText(); y++ {
		if row := c.plain(y); has(row, asking) || has(row, askingNear) || has(row, workingNear) {
			return Frame{}, fmt.Errorf("%q may belong to a question, or to work under way: wait until the composer is empty and nothing else is shown", strings.TrimSpace(row))
		}
		f.Below = append(f.Below, gist(c.plain(y)))
	}
	f.Lit = lit(c, s.CursorY)
	if len(f.Below) > belowMost {
		return Frame{}, fmt.Errorf("%d rows below the cursor: too many to recognise the composer by", len(f.Below))
	}
	v := f.View(s)
	if v.Reading.State != message.Idle {
		return Frame{}, fmt.Errorf("%s", v.Reading.Evidence[0].Says)
	}
	f.Seen = v.Keys()
	return f, nil
}

// ParseFrame reads the text form of a frame.
func ParseFrame(text string) (f Frame, err error) {
	if err := json.Unmarshal([]byte(text), &f); err != nil {
		return Frame{}, fmt.Errorf("frame %q: %w", clip(text), err)
	}
	if strings.TrimSpace(bareLeft(f.Left)) == "" {
		return Frame{}, fmt.Errorf("frame %q has no sign left of the cursor", clip(text))
	}
	return f, nil
}

// String returns the text form of the frame, which ParseFrame reads.
func (f Frame) String() string {
	text, _ := json.Marshal(f) // it has no field that cannot be marshalled
	return string(text)
}

// Column returns the column of the cursor in an empty composer.
func (f Frame) Column() int { return ansi.StringWidth(f.Left) }

// Prompt returns the beginning of the composer's row in the Line of a FrameView.
func (f Frame) Prompt() (Prompt, error) { return Literal(bareLeft(f.Left)) }

// FrameView is a screen as seen through its frame.
type FrameView struct {
	// Line is the screen as a line program would show it: the rows above the composer, then one row with the prompt
	// and the composer's text. Its Rows are plain. If no composer is found, Line has no rows and only Alternate
	// set.
	Line    Screen
	Reading Reading
	above   []shownRow
}

// View finds the composer on a screen. It is approximate, and strict: only the screen that the person adopted is
// idle, and only if no word around it suggests a question or a list.
func (f Frame) View(s Screen) FrameView {
	none := func(state message.PaneState, why message.Reason, says string) FrameView {
		return FrameView{Line: Screen{Alternate: true}, Reading: approximate(reading(state, why, says))}
	}
	switch {
	case s.InMode:
		return none(message.History, message.CopyMode, "the pane is in a mode")
	case s.Alternate != f.Alternate:
		return none(message.Blocked, message.UnknownScreen, "a different screen than at adoption")
	case !s.sound() || len(s.Rows) != s.Height:
		return none(message.Unknown, message.UnknownScreen, "the cursor is outside the rows seen")
	}
	c := newCanvas(s.Rows)
	place, ok := f.locate(s, c)
	area := around{first: s.CursorY, foot: s.CursorY + 1}
	if ok {
		area = around{first: place.first, foot: place.last + 1}
	}
	if row, found := f.asks(c, area); found {
		return none(message.Blocked, DialogOpen, fmt.Sprintf("this may be a question: %q", clip(row)))
	}
	switch {
	case !s.CursorVisible:
		return none(message.Unknown, message.UnknownScreen, "the cursor is hidden")
	case !ok:
		return none(message.Unknown, message.UnknownScreen, "what is around the cursor has changed since adoption")
	}
	prompt, err := f.Prompt()
	if err != nil {
		return none(message.Unknown, message.UnknownScreen, err.Error())
	}
	v := FrameView{above: place.above(c, f)}
	v.Line = line(v.above, prompt.text, place)
	v.Line.Lines = history(s, c, len(v.above), v.Line.Rows)
	switch row, works := f.works(c, area); {
	case works:
		v.Reading = reading(message.Working, message.AgentWorking, fmt.Sprintf("text beside the composer: %q", clip(row)))
		v.Reading.Composer = Composer{Live: true, Empty: place.empty, Text: place.text}
	case place.empty:
		v.Reading = Reading{
			State: message.Idle, MayType: true, Composer: Composer{Live: true, Empty: true},
			Evidence: []message.Evidence{{Source: "screen", Says: "the cursor and what is around it are as at adoption", Weight: "exact"}},
		}
	default:
		v.Reading = reading(message.Draft, message.InComposer, fmt.Sprintf("the composer holds %q", clip(place.text)))
		v.Reading.Composer = Composer{Live: true, Text: place.text}
	}
	v.Reading = approximate(v.Reading)
	return v
}

// seat is the place of the composer on a screen.
type seat struct {
	first, last int // rows
	empty       bool
	text        string // its rows joined by blanks
	behind      int    // cells between the end of the text and the cursor; negative if the cursor is not there
	full        bool   // the text, perhaps with a blank at its end, fills its row: the cursor is in the next row
}

// locate finds the composer with the cursor. Its first row begins with Left, painted as before; the rule above it
// is the same; and all rows below it stood there at adoption. Below a composer with text, some of these may be
// missing.
func (f Frame) locate(s Screen, c *canvas) (p seat, ok bool) {
	for p.first = s.CursorY; ; p.first-- {
		if p.first < 0 {
			return p, false
		}
		width := ansi.StringWidth(f.Left)
		if left, _, whole := cut(c.row(p.first), width); whole && left == f.Left && slices.Equal(colours(c.row(p.first), width), f.Paint) {
			break
		}
		if border, _ := f.borders(); p.first < s.CursorY && !strings.HasPrefix(c.plain(p.first), border) {
			return p, false
		}
	}
	if f.Above != "" && (p.first == 0 || gist(c.plain(p.first-1)) != f.Above) {
		return p, false
	}
	if p.last, ok = f.end(s, c); !ok {
		return p, false
	}
	var rows []string
	for y := p.first; y <= p.last; y++ {
		row, fits := f.inner(c, y, y == p.first)
		if !fits {
			return p, false
		}
		rows = append(rows, row)
	}
	p.empty = p.first == p.last && s.CursorX == ansi.StringWidth(f.Left) && f.shown(c, p.first) == f.Right && f.bottom(c, p.last+1)
	if p.empty && !slices.Equal(lit(c, p.first), f.Lit) {
		return p, false
	}
	for _, row := range lit(c, p.last+1) {
		if row != "" && !slices.Contains(f.Lit, row) {
			return p, false
		}
	}
	if p.empty {
		return p, true
	}
	p.behind, p.full = f.gap(s, rows, p)
	for i := range rows {
		rows[i] = strings.TrimSpace(rows[i])
	}
	p.text = strings.TrimSpace(strings.Join(rows, " "))
	return p, true
}

// end returns the last row of the composer: the one above the rule that stood below it, or above all rows that did.
func (f Frame) end(s Screen, c *canvas) (last int, ok bool) {
	if len(f.Below) == 0 {
		last = max(c.lastText(), s.CursorY)
		return last, true
	}
	for last = s.CursorY; last+1 < s.Height; last++ {
		if gist(c.plain(last+1)) == f.Below[0] && (rule(c.plain(last+1)) || f.bottom(c, last+1)) {
			return last, f.below(c, last+1)
		}
	}
	return 0, false
}

// bottom reports whether the rows from y on are exactly those that stood below the composer.
func (f Frame) bottom(c *canvas, y int) bool {
	for i := range max(len(f.Below), c.lastText()-y+1) {
		if i >= len(f.Below) || y+i >= len(c.raw) || gist(c.plain(y+i)) != f.Below[i] {
			return false
		}
	}
	return true
}

// below reports whether all rows from y on are among those that stood below the composer.
func (f Frame) below(c *canvas, y int) bool {
	for ; y <= c.lastText(); y++ {
		if row := gist(c.plain(y)); row != "" && !slices.Contains(f.Below, row) {
			return false
		}
	}
	return true
}

// borders returns the lines that frame the rows of the composer on both sides, if there are any.
func (f Frame) borders() (left, right string) {
	if i := strings.IndexFunc(f.Left, func(r rune) bool { return !drawn(r) }); i > 0 {
		left = f.Left[:i]
	}
	if r, size := utf8.DecodeLastRuneInString(f.Right); drawn(r) {
		right = f.Right[len(f.Right)-size:]
	}
	return left, right
}

// inner returns a row of the composer without its borders. From the first row it also removes what stands left of
// an empty composer's cursor.
func (f Frame) inner(c *canvas, y int, first bool) (row string, ok bool) {
	left, right := f.borders()
	row = c.plain(y)
	if right != "" {
		if row, ok = strings.CutSuffix(row, right); !ok {
			return "", false
		}
	}
	if first {
		row, ok = strings.CutPrefix(row+strings.Repeat(" ", len(f.Left)), f.Left)
	} else {
		row, ok = strings.CutPrefix(row, left)
	}
	return trim(row), ok
}

// shown returns the gist of what stands right of an empty composer's cursor.
func (f Frame) shown(c *canvas, y int) string {
	_, right, _ := cut(c.row(y), ansi.StringWidth(f.Left))
	return gist(wordsOf(right))
}

// gap returns the number of cells between the end of the text and the cursor, or -1 if the cursor does not stand
// behind the text. full reports that the cursor has a row of its own, because the text fills the row before.
func (f Frame) gap(s Screen, rows []string, p seat) (cells int, full bool) {
	y := p.last
	for y > p.first && strings.TrimSpace(rows[y-p.first]) == "" {
		y-- // a text that exactly fills its row leaves the cursor in one of its own
	}
	width := ansi.StringWidth(f.Left)
	switch {
	case s.CursorY == y+1 && s.CursorX <= width:
		return 0, true
	case s.CursorY == y+1:
		return s.CursorX - width, false // blanks for which the row above had no room
	case s.CursorY != y:
		return -1, false
	}
	row := rows[y-p.first]
	if y > p.first {
		left, _ := f.borders()
		width = ansi.StringWidth(left)
	}
	return max(-1, s.CursorX-width-ansi.StringWidth(row)), false
}

// above returns the rows above the composer and its rule.
func (p seat) above(c *canvas, f Frame) (rows []shownRow) {
	end := p.first
	if f.Above != "" {
		end--
	}
	for y := range end {
		rows = append(rows, newRow(c, y))
	}
	return rows
}

// lit returns the highlighted parts of the rows from y on. It drops rows at the end without any.
func lit(c *canvas, y int) (all []string) {
	for ; y < len(c.raw); y++ {
		all = append(all, highlighted(c.row(y)))
	}
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// line builds the screen of a line program: the rows above, then the prompt with the composer's text.
func line(above []shownRow, prompt string, p seat) Screen {
	row := prompt + p.text
	s := Screen{CursorY: len(above), CursorX: ansi.StringWidth(prompt), CursorVisible: true}
	for _, one := range above {
		s.Rows = append(s.Rows, one.text)
	}
	s.Rows = append(s.Rows, row)
	if !p.empty {
		s.CursorX = ansi.StringWidth(row) + p.behind
		if p.behind < 0 {
			s.CursorX = 0
		}
	}
	s.Width, s.Height = 2*ansi.StringWidth(row)+edge, len(s.Rows)
	if p.full {
		s.Width = ansi.StringWidth(row) + 1 // the cursor stays on the last cell, perhaps over a blank
	}
	return s
}

// history returns the Lines for a Line: its rows, after the lines that have left the screen. It adds these only if
// the screen's own lines are the same as its rows.
func history(s Screen, c *canvas, above int, rows []string) []string {
	n := lastText(s.Lines) - c.lastText()
	if s.Alternate || n <= 0 {
		return rows
	}
	for y := range above {
		if trim(s.Lines[n+y]) != c.plain(y) {
			return rows
		}
	}
	return append(slices.Clone(s.Lines[:n]), rows...)
}

// around is the place of the composer, which tells which words are near it. Rows [first, foot) are its own.
type around struct{ first, foot int }

func (a around) own(y int) bool { return y >= a.first && y < a.foot }

// nearRows is how many rows above the composer may show what the program is doing.
const nearRows = 6

// Words that a program shows while it waits for a decision. Those named "near" count only near the composer, since
// an answer may contain them too. Keys named below a composer may be its own.
var (
	keys   = []string{"Esc to", "esc to", "ESC to", "Enter to", "enter to", "ENTER to"}
	asking = []string{
		"↑/↓", "↑↓", "[y/n]", "[Y/n]", "[y/N]", "(y/n)", "(Y/n)", "(y/N)", "y/n/", "(Y)es", "[Y]es", "[yes/no]", "(yes/no)", "Press any key", "press any key",
		"to navigate", "to select", "to confirm",
	}
	askingNear = []string{
		"Do you want", "Allow ", "Approve", "Proceed?", "proceed?", "Continue?", "continue?", "Are you sure", "Password", "password:", "❯ 1.", "› 1.", "> 1.",
	}
	workingNear = []string{"to interrupt", "interrupt)", "Ctrl+C to", "ctrl+c to", "to stop)", "QUEUED"}
)

// has reports whether the row contains one of the words.
func has(row string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(row, word) })
}

// asks finds a row that may belong to a question, a list or a dialog.
func (f Frame) asks(c *canvas, a around) (row string, found bool) {
	for y := range c.raw {
		row := c.plain(y)
		near := y >= a.first-nearRows
		if a.own(y) || near && has(row, workingNear) || y >= a.foot && slices.Contains(f.Below, gist(row)) {
			continue
		}
		if has(row, keys) || has(row, asking) || near && has(row, askingNear) {
			return row, true
		}
	}
	return "", false
}

// works finds a row near the composer that shows work under way.
func (f Frame) works(c *canvas, a around) (row string, found bool) {
	for y := max(0, a.first-nearRows); y < len(c.raw); y++ {
		if row := c.plain(y); !a.own(y) && has(row, workingNear) && !(y >= a.foot && slices.Contains(f.Below, gist(row))) {
			return row, true
		}
	}
	return "", false
}

// approximate marks a reading as one of an unknown program.
func approximate(r Reading) Reading {
	for i := range r.Evidence {
		r.Evidence[i].Weight = "approximate"
	}
	return r
}

// cut splits a row at a column. ok is false if a character straddles the column.
func cut(row []cell, column int) (left string, right []cell, ok bool) {
	at := 0
	var b strings.Builder
	for i, c := range row {
		if c.column >= column {
			right = row[i:]
			break
		}
		b.WriteString(strings.Repeat(" ", c.column-at) + c.text)
		at = c.column + max(1, ansi.StringWidth(c.text))
	}
	if at > column {
		return "", nil, false
	}
	return b.String() + strings.Repeat(" ", column-at), right, true
}

func wordsOf(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(c.text)
	}
	return b.String()
}

// wordy reports whether a character belongs to words rather than to a frame.
func wordy(c cell) bool {
	return strings.ContainsFunc(c.text, func(r rune) bool { return !unicode.IsSpace(r) && !drawn(r) })
}

// bareLeft returns what stands left of the cursor, without the border before it.
func bareLeft(left string) string {
	return strings.TrimLeftFunc(left, func(r rune) bool { return r == ' ' || drawn(r) })
}

// drawn reports whether a character draws boxes or blocks.
func drawn(r rune) bool { return r >= 0x2500 && r <= 0x259f || r == '|' }

// rule reports whether a row consists only of a line.
func rule(row string) bool {
	row = strings.TrimSpace(row)
	return utf8.RuneCountInString(row) >= 3 && strings.TrimFunc(row, func(r rune) bool { return drawn(r) || strings.ContainsRune("-=_", r) }) == ""
}

// gist returns a row without the parts that change with the pane's width or with a counter.
func gist(row string) string {
	var b strings.Builder
	var last rune
	for _, r := range strings.TrimSpace(row) {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsDigit(r):
			r = '0'
		}
		if r == last && (r == ' ' || r == '0' || drawn(r) || strings.ContainsRune("-=_", r)) {
			continue
		}
		b.WriteRune(r)
		last = r
	}
	return b.String()
}
