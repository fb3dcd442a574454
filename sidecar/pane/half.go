package pane

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// half is a line that somebody began on a terminal that gathers lines itself. Its program
// may print and show its prompt again, as if nothing had been typed, while the system
// still holds the line and would put ours behind it.
type half struct {
	begun   bool
	hidden  bool   // the screen shows nothing of it
	beneath bool   // the screen may not show all of it: a hidden part is before what is shown, until the line is sent
	ahead   bool   // it was begun while the program worked
	behind  bool   // whole lines that nobody had read stood before it, or C-d has handed over what there was of it
	handed  bool   // C-d has handed it over: a reader has that, or will have it, and waits for the rest
	from    cell   // where its program had left the cursor
	idle    cell   // where the cursor stood at the prompt that hides it, by the last look
	drawn   uint64 // how often the terminal had been written to by then
	since   calls  // what had been read and written when it was seen
	lineAt
}

// lineAt is the row of a cursor, and what was in it.
type lineAt struct {
	row     int // counted from the top of the history
	history int // rows of history by then: where it shrinks, rows cannot be counted any more
	shown   string
}

func lineAtCursor(s sight) lineAt {
	f := s.look.Facts
	return lineAt{f.HistorySize + f.CursorY, f.HistorySize, shownIn(s.look, f.CursorY)}
}

// discarded reports whether a key that sends a signal has thrown such a line away: the echo of the key stands behind it.
func (l lineAt) discarded(s sight) bool {
	f := s.look.Facts
	at := l.row - f.HistorySize
	if !s.front.Discards || f.HistorySize < l.history || at >= f.CursorY {
		return false
	}
	typed, further := strings.CutPrefix(shownIn(s.look, at), strings.TrimRight(l.shown, " "))
	return further && discards(strings.TrimRight(typed, " "))
}

// calls is how often anything was read and written; 0: not known.
type calls struct {
	reads, writes uint64
	nameless      uint64 // writes that may have been to it: process.Uses
	named         uint64 // reads that may have been of it: process.Uses.NamelessReads
	lost          uint64 // process.Uses.Lost
	told          bool   // process.Uses.Told
	exact         bool   // of the terminal itself, by any process; else of anything, by the processes in front
	unread        int    // bytes of whole lines that waited there unread by then
}

// place returns what must be known of the line after a restart.
func (h *half) place() *message.Place {
	return &message.Place{Row: h.row, History: h.history, Ahead: h.ahead}
}

// see takes in what a look shows: a line that was begun, or one that a person took back where it stood. Where the program
// has written since, the line does not count as taken back: it may be erased on the screen alone. That it was sent shows
// in the turn that follows and, where reads are known exactly, in that the terminal was read. before and now are the
// calls before the look and after it. see reports whether another look has to tell what became of the line.
func (h *half) see(s sight, before, now calls) (old bool) {
	f := s.look.Facts
	row := f.HistorySize + f.CursorY
	if h.behind && h.taken(now) { // those have been read now, but not the line behind them
		h.since.reads, h.behind, before.reads = now.reads, now.unread > 0, now.reads
	}
	switch {
	case s.frontOK && s.front.Leader.PID == 0 && h.begun:
		// Nobody could be seen in front: that tells nothing of the line.
	case !s.frontOK || !s.front.Canonical:
		*h = half{} // the program itself holds what was typed, and shows it
	case s.reading.State == message.Draft && !(h.ahead && !h.hidden && h.since.written() == now.written()):
		if h.taken(before) {
			*h = half{}
		}
		at := lineAtCursor(s)
		*h = half{begun: true, beneath: h.hides(at.shown, before), behind: before.unread > 0 || !h.begun && now.unread > 0, lineAt: at, since: before}
	case h.handsOver(s, now):
		// That, or Enter was pressed, and the screen does not show it yet: a look that begins now tells.
		if !h.taken(before) {
			return true
		}
		h.since.reads, h.handed = now.reads, true
	case h.taken(now), h.begun && !h.behind && h.discarded(s):
		*h = half{}
	case s.reading.State == message.Idle && !h.beneath && !h.ahead && row <= h.row && f.HistorySize >= h.history && (h.since.writes == now.writes || h.since.writes == 0):
		*h = half{}
	case s.reading.State == message.Idle:
		h.hidden, h.idle, h.drawn = h.begun, cellOf(f), now.writes
	}
	return false
}

// handsOver reports whether C-d has handed over a line behind the prompt that hides it: a reader has that, and waits for
// the rest. Enter would have moved the cursor to another row, and only a write would bring it back.
func (h *half) handsOver(s sight, now calls) bool {
	return h.hidden && h.taken(now) && s.front.Echo && s.reading.State == message.Idle && h.idle == cellOf(s.look.Facts) && h.drawn == now.writes
}

// taken reports whether it is certain that a reader has taken the line: the terminal was read since it was seen.
func (h *half) taken(now calls) bool { return now.exact && h.since.exact && h.readSince(now.reads) }

// hides reports whether the line that was begun may be more than its row shows by now. If somebody types behind a line
// that a program has erased from the screen, and takes that back again, the rest of the line is still there.
func (h *half) hides(shown string, before calls) bool {
	redrawn := h.since.writes != before.writes && !strings.HasPrefix(shown, h.shown) && !strings.HasPrefix(h.shown, shown)
	return h.begun && (h.hidden || h.beneath || redrawn)
}

// resume takes in the first look at a line of an earlier life: it is read from now on at the earliest, and after the
// whole lines that wait by now.
func (h *half) resume(before, now calls) {
	if h.begun && h.since == (calls{}) && now.exact {
		h.since, h.behind = before, now.unread > 0
	}
}

// watchHalf takes in a look, with the calls before it (see callsBefore) or, where those are not exact, by the look before.
func (p *Pane) watchHalf(s sight) {
	p.raw = s.frontOK && !s.front.Canonical
	before, now := p.calls, p.callsNow(s)
	now.unread = s.front.Unread
	if !now.exact {
		reads := cmp.Or(before.reads, now.reads)
		if p.half.begun {
			reads = p.half.since.reads
		}
		before = calls{reads: reads, writes: now.writes}
	}
	p.half.resume(before, now)
	if p.pending.see(s, before, now, p.half.begun && p.half.ahead) {
		p.noticed(p.clock.now())
	}
	p.keyable.Store(p.pending.at.exact && !p.pending.read)
	if old := p.typedAhead(s, before, now); !old && p.half.see(s, before, now) {
		p.noticed(p.clock.now())
	}
	p.calls = now
}

// callsBefore notes the calls before a look.
func (p *Pane) callsBefore() {
	uses, ok := p.used(p.precision())
	if !ok {
		return
	}
	p.calls = counted(uses)
	p.calls.unread = p.unread()
}

// callsNow returns the calls by now of a terminal that gathers lines itself.
func (p *Pane) callsNow(s sight) calls {
	ask := p.precision()
	if s.reading.State != message.Idle && s.reading.State != message.Draft {
		ask = process.Usage
	}
	if uses, ok := p.used(ask); ok {
		return counted(uses)
	}
	reads, writes := callsOf(s.front)
	return calls{reads: reads, writes: writes}
}

// precision returns how to ask for the uses of the terminal: as exactly as possible while keys may be typed ahead, or may
// show nowhere.
func (p *Pane) precision() func(tty string, panePID int) (process.Uses, bool) {
	if p.ahead.since.IsZero() && !p.half.begun && !p.raw {
		return process.UsageSoFar
	}
	return process.Usage
}

func counted(uses process.Uses) calls {
	return calls{reads: uses.Reads, writes: uses.Writes, nameless: uses.Nameless, named: uses.NamelessReads, lost: uses.Lost, told: uses.Told, exact: true}
}

// used asks how often the terminal of a line program was used: process.Usage, or process.UsageSoFar.
func (p *Pane) used(ask func(tty string, panePID int) (process.Uses, bool)) (uses process.Uses, ok bool) {
	if p.account != nil || p.generic != nil {
		return process.Uses{}, false
	}
	return ask(p.session.TTY, p.session.PaneProc.PID)
}

// callsOf returns how often the processes in front of a terminal that gathers lines itself have read and written
// anything; 0: not known.
func callsOf(front process.FrontGroup) (reads, writes uint64) {
	if front.Canonical {
		for _, one := range front.Members {
			r, w := process.Calls(one.PID)
			reads, writes = reads+r, writes+w
		}
	}
	return reads, writes
}

// readsAlone returns how often the terminal was read by now or, where that is not counted, how often its program has read
// anything, if that is alone in front. Else it returns 0: it might count for a process that started the program, and that
// reads nothing.
func (p *Pane) readsAlone() uint64 {
	if uses, ok := p.used(process.UsageSoFar); ok {
		return uses.Reads
	}
	front, err := process.Front(p.session.TTY, p.session.PaneProc.PID)
	if err != nil || len(front.Members) != 1 {
		return 0
	}
	reads, _ := callsOf(front)
	return reads
}

// readByName reports whether a program in front may have read the terminal under the name /dev/tty since the line was
// begun: the count of its reads does not include those.
func (p *Pane) readByName() bool {
	uses, ok := p.used(process.UsageSoFar)
	if !ok || !p.half.since.exact || uses.NamelessReads == p.half.since.named {
		return false
	}
	front, err := process.Front(p.session.TTY, p.session.PaneProc.PID)
	return err == nil && slices.ContainsFunc(front.Members, func(one process.Process) bool { return process.ReadsByName(one.PID) })
}

// readSince reports whether it is known that the program has read anything since the line was begun.
func (h *half) readSince(reads uint64) bool {
	return h.since.reads != 0 && reads != 0 && reads != h.since.reads
}

// sent takes in that the turn ended and that somebody's line began it. The line was sent if it
// stands where it stood, as it was last seen, above the prompt. If anything is printed behind it, the
// program may have printed that, and the line may still wait. A program that has read nothing since
// the line was begun has not read the line either, whatever it printed.
func (h *half) sent(look tmux.Look, reads uint64, byName bool) {
	if h.since.reads != 0 && h.since.reads == reads && !byName {
		return
	}
	at := h.row - look.Facts.HistorySize
	if look.Facts.HistorySize >= h.history && at >= 0 && at < look.Facts.CursorY && shownIn(look, at) == h.shown {
		*h = half{}
	}
}

// shownIn returns the text of a visible row.
func shownIn(look tmux.Look, row int) string {
	if row < 0 || row >= len(look.Rows) {
		return ""
	}
	return screen.Plain(look.Rows[row])
}
