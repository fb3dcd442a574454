package pane

import (
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// ahead finds keys that somebody presses while a line program works. The terminal echoes them and keeps them for the next
// reader; the prompt will show nothing of them. What comes to the screen while nobody writes to the terminal is such an echo.
//
// The program must have been silent for a moment before the keys, and a look must come between them and what it writes
// next. Keys among the words of one that goes on writing cannot be told from its words.
type ahead struct {
	writes uint64    // to the terminal, and to any that may be it, by the last look
	since  time.Time // when that number was first seen; zero: it is not known
	from   cell      // where the program left the cursor; its width is 0 until nothing was written for stillFor
	shown  string    // of its row, what stood before it
}

// cell is where a cursor stands, its row counted from the top of the history, and the size of the pane.
type cell struct{ row, column, width, height int }

// keys are what was typed since a program left the cursor where it is.
type keys int

const (
	keysUnknown keys = iota // it is not known where it left it
	keysErased              // some were erased that were pressed before that was known: nobody can tell what is left
	keysNone                // none, or they were taken back, or thrown away by C-c
	keysWhole               // whole lines, which will be read as they are
	keysHalf                // a line is begun
)

// stillFor is how long nothing may have been written before the screen counts as all of it. tmux draws it long before.
const stillFor = 250 * time.Millisecond

// written is how often the terminal has been written to, or one that may be it.
func (c calls) written() uint64 { return c.writes + c.nameless }

// saw takes in how often the terminal has been written to by now.
func (a *ahead) saw(writes uint64, now time.Time) {
	if a.writes != writes || a.since.IsZero() {
		*a = ahead{writes: writes, since: now}
	}
}

// see takes in a look, with the writes before it and after it.
func (a *ahead) see(look tmux.Look, before, after calls, now time.Time) keys {
	f := look.Facts
	is := cell{f.HistorySize + f.CursorY, f.CursorX, f.Width, f.Height}
	if !before.exact || !after.exact || after.nameless == 0 || f.InMode || f.Alternate {
		*a = ahead{}
		return keysUnknown
	}
	a.saw(after.written(), now)
	typed := shownIn(look, a.from.row-f.HistorySize)
	switch {
	case before.written() != after.written() || now.Sub(a.since) < stillFor:
		return keysUnknown
	case a.from.width != is.width || a.from.height != is.height: // not yet, or tmux has drawn it anew
		a.rest(look, is)
		return keysUnknown
	case is.row < a.from.row, is.row == a.from.row && is.column < a.from.column, !strings.HasPrefix(typed, a.shown):
		a.rest(look, is)
		return keysErased
	case is == a.from:
		return keysNone
	case is.row > a.from.row && is.column == 0:
		a.rest(look, is)
		return keysWhole
	case is.row == a.from.row && discards(screen.Cells(typed, a.from.column, is.column)):
		a.rest(look, is)
		return keysNone
	}
	return keysHalf
}

// rest takes what a look shows for all that was written.
func (a *ahead) rest(look tmux.Look, is cell) {
	a.from, a.shown = is, strings.TrimRight(screen.Cells(shownIn(look, look.Facts.CursorY), 0, is.column), " ")
}

// due is when a look would find all that was written, if nothing more is.
func (a *ahead) due() (time.Time, bool) {
	return a.since.Add(stillFor), !a.since.IsZero() && a.from.width == 0
}

// discards reports whether the last of those keys makes the terminal throw away all that waits in it: it echoes C-c, C-\ and C-z so.
func discards(typed string) bool {
	return strings.HasSuffix(typed, "^C") || strings.HasSuffix(typed, `^\`) || strings.HasSuffix(typed, "^Z")
}

// typedAhead takes in a look at a line program: keys that are pressed while it works begin a line that its prompt will hide.
func (p *Pane) typedAhead(s sight, before, after calls) {
	defer func() { p.silent.Store(p.ahead.from.width != 0) }()
	if !s.frontOK || !s.front.Canonical || !s.front.Echo || !gate("ahead") {
		p.ahead = ahead{}
		return
	}
	from := p.ahead.from
	found := p.ahead.see(s.look, before, after, p.clock.now())
	if (s.reading.State == message.Idle || s.reading.State == message.Draft) && (from.width == 0 || found != keysHalf) { // else keys look like its prompt
		p.ahead = ahead{}
		return
	}
	taken := p.half.ahead && p.half.from == from && p.half.since.written() == after.written() && !p.half.beneath
	switch {
	case found == keysErased && p.half.ahead:
		p.half.beneath = true
	case found == keysHalf && !p.half.begun:
		row := s.look.Facts.CursorY
		p.half = half{
			begun: true, ahead: true, from: from, behind: s.front.Unread > 0, row: s.look.Facts.HistorySize + row, history: s.look.Facts.HistorySize,
			shown: shownIn(s.look, row), since: before,
		}
	case taken && (found == keysNone || found == keysWhole):
		p.half = half{}
	}
}

// echoed reports whether what the list of panes says of this one, which dozes, calls for a look because of keys.
func (p *Pane) echoed(listed tmux.Facts, now time.Time) bool {
	if p.ahead.since.IsZero() {
		return false
	}
	uses, ok := p.used()
	if !ok {
		return false
	}
	p.ahead.saw(counted(uses).written(), now)
	p.silent.Store(p.ahead.from.width != 0)
	at, due := p.ahead.due()
	return due && !now.Before(at) || !due && listed.CursorX != p.shown.Facts.CursorX
}
