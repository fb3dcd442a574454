package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// found is what the core judges by: a sight, and what the gates (gate.go), the agent's own account
// (fuse.go) and the pane's kind of program (kind.go) make of it.
type found struct {
	sight
	bar     message.Reason // why its terminal must not be typed into, whatever it shows
	may     message.Reason // the same, or why its composer is not proven live and empty
	wrote   time.Time      // when its program wrote last
	settled bool           // its program has said what it had to say
	ending  bool           // the sidecar is ending
	unheard message.Reason // why its program does not hear what is typed
	half    bool           // somebody has begun a line that the screen may not show
	pending bool           // somebody has pressed a key there that shows nothing
	framed  bool           // its program is an unknown one
	fitting func(text string) (string, bool)
	enough  func(text string) string // says how wide is enough, "" if that is not known

	// Of an agent.
	tells      bool           // its program is an agent
	told       bool           // its own account was looked for
	bound      bool           // its transcript was found
	read       bool           // the transcript was read to its end
	busy       message.Reason // what it tells that speaks against typing
	rests      bool           // it tells that it rests, behind a screen that is not recognised
	starting   bool           // it has not started behind its composer: it may not take pastes yet, and not every tmux tells that
	prepared   bool           // it is known how it takes a text
	unreadable bool           // that cannot be found out now
	door       doorway        // how its own door stands

	// Of the text under way.
	own         screen.Own     // how it stands in the composer
	placeholder string         // what the agent shows instead of a long paste
	before      bool           // typed on a person's word, it stands right before the cursor
	covered     message.Reason // what has appeared above the composer
	echo        screen.Own     // how a line program has echoed all that was typed
	unfinished  int            // how much of it a line program has drawn
	line        taking         // what its terminal tells of the line
	breaks      int            // Enters that became line breaks in it
	hidden      bool           // an unknown program shows no composer
	emptied     bool           // its composer has let go of the text
	consumed    bool           // the agent took the text before we came
	prompt      bool           // the agent shows it as its last prompt
}

// mark returns what was typed there last, by the server's mark.
func (f found) mark() spot {
	if !gate.Stands("pane:mark") {
		return spot{}
	}
	return readMark(f.look.Facts.Mark)
}

// fitted returns a text in the form in which its whole composer will be seen.
func (f found) fitted(text string) string {
	text, _ = f.fitting(text)
	return text
}

// fits reports whether there is such a form.
func (f found) fits(text string) bool {
	_, ok := f.fitting(text)
	return ok
}

// found gathers all that is found at a sight.
func (p *Pane) found(s sight, settled bool) found {
	now := p.clock.now()
	f := found{
		sight: s, wrote: p.lastEdge, settled: settled, ending: p.ending(), half: p.half.begun, pending: p.pending.read, framed: p.generic != nil,
		busy: p.exactlyBusy(), rests: p.rests(s), prepared: true,
		fitting: func(text string) (string, bool) { return p.fitted(s, text) }, enough: p.enough,
	}
	f.bar, _ = bar(s, p.session, p.prof)
	f.unheard = unheard(s, p.prof)
	f.may = p.mayType(s)
	if a := p.account; a != nil {
		f.tells, f.told, f.bound, f.read = true, a.told, a.bound != nil, a.signals().read
		f.starting = !a.starts(s, now)
		if len(p.core.queue) > 0 && p.core.batch() == nil {
			if a.setup != nil && p.core.mayBare() {
				a.setup.listing.Store(true)
			}
			f.prepared = a.setup.ready(now)
			f.unreadable = !f.prepared && a.setup.lost(now)
			f.door = p.doorway(s, now)
		}
	}
	if b := p.core.batch(); b != nil {
		p.inspect(&f, b)
	}
	return f
}

// startsFor is how long an agent that is never asleep is given to start behind its composer: it may work beside that, or a
// server of its tools may run all the time.
const startsFor = 5 * time.Second

// starts reports whether an agent has started: it is or was asleep at its composer, or has had the time to start.
func (a *account) starts(s sight, now time.Time) bool {
	if s.reading.MayType && a.begun.IsZero() {
		a.begun = now
	}
	a.started = a.started || s.reading.MayType && (s.front.Asleep || !s.frontOK || now.Sub(a.begun) >= startsFor)
	return a.started
}

// restarted takes in that another process reads the keys now: it draws a composer of its own, and starts behind that.
func (a *account) restarted() { a.begun, a.started = time.Time{}, false }

// mayType returns the reason why text may not be typed into the pane now, or "". Text of ours that has not got its Enter
// does not count as a person's. While it stands there, a line program does not count as at work either because it does
// not read just now, or because the text fills its row and the cursor stands below.
func (p *Pane) mayType(s sight) message.Reason {
	why, _ := mayType(s, p.session, p.prof)
	hides := why == message.InComposer || why == message.AgentWorking && p.account == nil && p.generic == nil
	if hides && p.standing(s) == screen.Whole {
		return message.OursInComposer
	}
	return why
}

// standing tells how text of ours that has not got its Enter stands in the composer.
func (p *Pane) standing(s sight) screen.Own {
	ours := p.core.ours()
	if ours.text == "" {
		return screen.Absent
	}
	own := p.own(s, ours.text)
	switch a := p.account; {
	case own == screen.Absent:
	case a != nil:
		if shown := screen.Placeholder(a.view(s.look), a.prof); shown != "" && ours.instead != "" && shown != ours.instead {
			return screen.Absent // another paste
		}
	case s.reading.State == message.Working && s.frontOK && s.front.Canonical:
		return screen.Absent // the terminal keeps the cursor in a row that is full: below it the line was sent
	}
	return own
}

// unentered reports whether text of ours waits for its Enter there, or stands there without one, even beside a person's
// words.
func (p *Pane) unentered(s sight) bool {
	if p.core.unsent() != nil {
		return true
	}
	switch ours := p.core.ours(); p.standing(s) {
	case screen.Whole:
		return true
	case screen.Among:
		shown := []string{s.reading.Composer.Text}
		return contains(shown, ours.text) || ours.instead != "" && contains(shown, ours.instead)
	}
	return false
}

// stateOf returns what the pane's program is doing and why, for people.
func (p *Pane) stateOf(s sight) (message.PaneState, string) {
	state, why := stateOf(s, p.session, p.prof)
	if p.mayType(s) == message.OursInComposer {
		return message.Draft, string(message.OursInComposer)
	}
	return state, why
}

// inspect adds to f what has become of the text under way.
func (p *Pane) inspect(f *found, b *batch) {
	if b.byDoor {
		f.consumed = p.account != nil && p.account.tookID(b.parts[0].d.ID)
		return
	}
	f.own = p.own(f.sight, b.text)
	f.before = b.vouched && screen.Before(screenOf(f.look), b.text)
	f.breaks = p.breaks(f.look, b.text)
	f.emptied = p.emptied(f.sight)
	since, after := p.core.entered()
	switch a := p.account; {
	case a != nil:
		f.placeholder = screen.Placeholder(a.view(f.look), a.prof)
		f.consumed = after && a.tookBefore(b.text, since)
		if after && f.reading.Composer.Text == "" {
			talk, ok := screen.Converse(a.view(f.look), a.prof)
			f.prompt = ok && talk.Took(b.text)
		}
	case p.generic != nil:
		f.hidden = !f.reading.Composer.Live
		if !after && f.bar == "" {
			f.covered = p.covered(f.sight)
		}
	default:
		f.echo, f.unfinished = p.echo(), p.lines.tracker.Unfinished()
		f.line = p.taking(f.sight, b.parts[0].d.ID, f.own == screen.Absent && f.echo == screen.Absent)
	}
}

// own tells how a text stands in the composer.
func (p *Pane) own(s sight, text string) screen.Own {
	switch {
	case p.account != nil:
		return screen.JudgeOwn(p.account.view(s.look), p.account.prof, text)
	case screen.Holds(p.screen(s.look), p.prompt, text, p.prof):
		return screen.Whole
	case s.reading.State == message.Draft && contains([]string{s.reading.Composer.Text}, text):
		return screen.Among
	}
	return screen.Absent
}
