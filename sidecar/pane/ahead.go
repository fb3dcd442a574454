package pane

import (
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// ahead finds keys that somebody presses while a line program works. The terminal echoes them and keeps them for the next
// reader; the prompt will not show them. What comes to the screen while nobody writes to the terminal is such an echo.
//
// The program must have been silent for a moment before the keys, and a look must come between them and what it writes
// next. If the program goes on writing, keys cannot be told from its words.
type ahead struct {
	writes   uint64    // to the terminal, or to one that may be it, by the last look
	nameless uint64    // those of them, noted at a prompt, to one that may be it
	since    time.Time // when that number was first seen; zero: it is not known
	from     cell      // where the program left the cursor; its width is 0 until nothing was written for stillFor
	shown    string    // what stood before the cursor in its row
	early    bool      // the last look came too soon to count
	seen     calls     // the calls before the last look that counted: it may not show what came while it was taken
}

// cell is where a cursor stands, its row counted from the top of the history, and the size of the pane.
type cell struct{ row, column, width, height int }

func cellOf(f tmux.Facts) cell { return cell{f.HistorySize + f.CursorY, f.CursorX, f.Width, f.Height} }

// counts reports whether a look, with the calls before it and after it, can tell keys from what the program writes.
func counts(f tmux.Facts, before, after calls) bool {
	return before.exact && after.exact && after.nameless != 0 && !f.Alternate
}

// keys are what was typed since a program left the cursor where it is.
type keys int

const (
	keysUnknown keys = iota // it is not known where the program left the cursor
	keysErased              // some were erased that were pressed before that was known: what is left, nobody can tell
	keysNone                // none, or they were taken back, or thrown away by C-c
	keysWhole               // whole lines, which will be read as they are
	keysHalf                // a line is begun
)

// stillFor is how long nothing must have been written before the screen counts as showing all of it. tmux draws it much
// sooner.
const stillFor = 250 * time.Millisecond

// written returns how often the terminal, or one that may be it, has been written to.
func (c calls) written() uint64 { return c.writes + c.nameless }

// saw notes how often the terminal has been written to by now.
func (a *ahead) saw(writes uint64, now time.Time) {
	if a.writes != writes || a.since.IsZero() {
		*a = ahead{writes: writes, since: now}
	}
}

// see takes in a look, with the writes before it and after it.
func (a *ahead) see(look tmux.Look, before, after calls, now time.Time) keys {
	f := look.Facts
	is := cellOf(f)
	if !counts(f, before, after) {
		*a = ahead{}
		return keysUnknown
	}
	a.saw(after.written(), now)
	typed := shownIn(look, a.from.row-f.HistorySize)
	a.early = now.Sub(a.since) < stillFor
	if before.written() != after.written() || a.early || f.InMode {
		return keysUnknown
	}
	sent := a.sent(after)
	a.seen = before
	switch {
	case a.from.width != is.width || a.from.height != is.height: // not yet, or tmux has drawn it anew
		a.rest(look, is)
		return keysUnknown
	case is.row < a.from.row, is.row == a.from.row && is.column < a.from.column, !strings.HasPrefix(typed, a.shown):
		a.rest(look, is)
		return keysErased
	case is == a.from:
		return keysNone
	case is.row > a.from.row && is.column == 0 && sent:
		a.rest(look, is)
		a.seen = after // the same line proves no other one
		return keysWhole
	case is.row == a.from.row && discards(screen.Cells(typed, a.from.column, is.column)):
		a.rest(look, is)
		return keysNone
	}
	return keysHalf
}

// sent reports whether it is certain that somebody has sent a line since the last look: it waits now, or was read. A
// cursor at the beginning of a row proves nothing: erasing a line that wraps leads there, too.
func (a *ahead) sent(now calls) bool {
	return now.unread > a.seen.unread || now.reads != a.seen.reads && a.seen.unread == 0
}

// rest takes what a look shows as all that was written.
func (a *ahead) rest(look tmux.Look, is cell) {
	a.from, a.shown = is, strings.TrimRight(screen.Cells(shownIn(look, look.Facts.CursorY), 0, is.column), " ")
}

// atPrompt notes where a program leaves the cursor behind its prompt: nothing tells of a person's Enter there, and the
// first look after it may come after keys that are typed ahead.
func (a *ahead) atPrompt(s sight, before, after calls, now time.Time) {
	f := s.look.Facts
	if s.reading.State != message.Idle || !counts(f, before, after) || f.InMode || before.written() != after.written() {
		return
	}
	since := now
	if a.writes == after.written() && !a.since.IsZero() {
		since = a.since
	}
	*a = ahead{writes: after.written(), nameless: after.nameless, since: since, seen: before}
	a.rest(s.look, cellOf(f))
}

// still reports whether all that the screen shows behind a prompt was typed, since nobody has written to the terminal.
// Writes under the name /dev/tty may have been to another terminal: they do not matter while nothing stands behind the
// line that was sent.
func (a *ahead) still(f tmux.Facts, now calls) bool {
	is := cellOf(f)
	return a.writes == now.written() || a.writes == a.nameless+now.writes && is.row > a.from.row && is.column == 0
}

// due returns when a look would find all that was written, if nothing more is written.
func (a *ahead) due() (time.Time, bool) {
	return a.since.Add(stillFor), !a.since.IsZero() && (a.from.width == 0 || a.early)
}

// discards reports whether the last of those keys makes the terminal throw away all that waits in it: it echoes C-c, C-\ and C-z so.
func discards(typed string) bool {
	return strings.HasSuffix(typed, "^C") || strings.HasSuffix(typed, `^\`) || strings.HasSuffix(typed, "^Z")
}

// typedAhead takes in a look at a line program: keys that are pressed while it works begin a line that its prompt will hide.
// It reports whether another look has to tell what became of that line, since this one is a moment too old.
func (p *Pane) typedAhead(s sight, before, after calls) (old bool) {
	defer func() { p.silent.Store(p.ahead.from.width != 0) }()
	if !s.frontOK || !s.front.Canonical || !s.front.Echo || !gate.Stands("pane:ahead") {
		p.ahead = ahead{}
		return false
	}
	prompts := s.reading.State == message.Idle || s.reading.State == message.Draft
	if s.reading.State == message.Working && p.ahead.since.IsZero() && p.offered.still(s.look.Facts, after) {
		p.ahead = p.offered
		p.ahead.writes = after.written()
	}
	from := p.ahead.from
	found := p.ahead.see(s.look, before, after, p.clock.now())
	p.offered.atPrompt(s, before, after, p.clock.now())
	row := s.look.Facts.HistorySize + s.look.Facts.CursorY
	taken := p.half.ahead && p.half.from == from && p.half.since.written() == after.written() && !p.half.beneath
	if taken && (found == keysNone || found == keysWhole) {
		p.half = half{}
	}
	if prompts && (from.width == 0 || found != keysHalf) { // else keys look like its prompt
		p.ahead = ahead{}
		return false
	}
	switch {
	case found == keysErased && p.half.ahead:
		p.half.beneath = true
	case found == keysHalf && !p.half.begun && process.Writing(s.front.Members, p.session.TTY): // its words; the next look tells
	case found == keysHalf && !p.half.begun:
		p.half = half{begun: true, ahead: true, from: from, behind: after.unread > 0, lineAt: lineAtCursor(s), since: before}
	case found == keysHalf && (p.half.waitsFor(before) || row != p.half.row && p.half.waitsFor(after)):
		// C-d has handed the line over, or the line was sent and another one begun. Either way it was read, or goes to the
		// next reader, and the rest of a line waits behind it.
		p.half.behind, p.half.since.reads = after.unread > 0, after.reads
		p.half.handed = row == p.half.row
	case found == keysHalf && p.half.waitsFor(after):
		// That, or Enter was pressed, and the screen does not show it yet: a look that begins now tells.
		p.noticed(p.clock.now())
		return true
	}
	return false
}

// waitsFor reports whether a line that was typed ahead has left the terminal, or could, by then.
func (h *half) waitsFor(by calls) bool { return h.ahead && !h.behind && (by.unread > 0 || h.taken(by)) }

// handedOver reports whether a line that was typed ahead has left the terminal by now, or could: C-d shows nothing.
func (p *Pane) handedOver() bool {
	if !p.half.ahead || p.half.behind {
		return false
	}
	var by calls
	if uses, ok := p.used(process.UsageSoFar); ok {
		by = counted(uses)
	}
	by.unread = p.unread()
	return p.half.waitsFor(by)
}

// echoed reports whether what the list of panes says of this dozing pane calls for a look because of keys.
func (p *Pane) echoed(listed tmux.Facts, now time.Time) bool {
	if p.ahead.since.IsZero() {
		return false
	}
	uses, ok := p.used(process.UsageSoFar)
	if !ok {
		return false
	}
	p.ahead.saw(counted(uses).written(), now)
	p.silent.Store(p.ahead.from.width != 0)
	at, due := p.ahead.due()
	return due && !now.Before(at) || !due && listed.CursorX != p.shown.Facts.CursorX
}
