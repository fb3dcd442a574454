package pane

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// ownLine is a text of ours in a line that its terminal gathers. The screen proves nothing about it: if the program prints
// unasked and prompts again, an unread line looks as if it had been sent, or is erased. But lines are read in their order:
// whoever reads the terminal next reads this one.
type ownLine struct {
	id    message.ID
	uses  process.Uses // of the terminal, by the last look that showed the text, or before it was typed
	place lineAt       // in that look
}

// taking is what the terminal tells of a line of ours that it has gathered.
type taking int

const (
	lineUntold   taking = iota // its program takes the keys itself, or the system does not tell
	lineMayStand               // no read was told: it may stand there, whatever the screen shows
	lineStands                 // it was not read
	lineWiped                  // it was not read, and a person took it out: it is gone though no program wrote, or the terminal threw it away
	lineRead                   // it was read, or what a person has put in its place
)

// typesOwn notes how often the terminal was used before a text of ours is typed, or by a look that shows it. It counts the
// reads up to the end of that look, but the writes only up to its beginning, since a write after the instant that the look
// shows may have erased the text.
func (p *Pane) typesOwn(s sight, id message.ID) {
	p.ownLine = ownLine{}
	if !s.frontOK || !s.front.Canonical {
		return
	}
	if uses, ok := p.used(process.Usage); ok {
		uses.Writes, uses.Nameless = p.calls.writes, p.calls.nameless
		p.ownLine = ownLine{id, uses, lineAtCursor(s)}
	}
}

// watchOwn takes in a look while a text of ours waits for Enter. If somebody hands the text over by C-d, which shows
// nothing, the program keeps it until it has the rest: the line stands until the terminal is read once more. A text of
// another life, or one of which tmux has not told that it came, is watched from the first look that shows it.
func (p *Pane) watchOwn(s sight) {
	if b := p.core.unsent(); p.own(s, b.text) != screen.Absent {
		p.typesOwn(s, b.parts[0].d.ID)
	}
}

// taking tells what has become of a line of ours by a look. gone says that the look shows it nowhere.
func (p *Pane) taking(s sight, id message.ID, gone bool) taking {
	was := p.ownLine
	if was.id != id || id == "" || !s.frontOK || !gate.Stands("pane:ownline") {
		return lineUntold
	}
	uses, ok := p.used(process.Usage)
	switch {
	case !ok:
		return lineUntold
	case uses.Reads != was.uses.Reads && s.front.Unread == 0:
		return lineRead
	case was.place.discarded(s), gone && s.front.Unread == 0 && was.uses.Nameless != 0 && counted(uses).written() == counted(was.uses).written():
		return lineWiped
	case s.front.Unread > 0, uses.Told && uses.NamelessReads == was.uses.NamelessReads:
		return lineStands
	}
	return lineMayStand
}

// lostText says why nothing is typed behind a text that may wait unseen, and what ends that.
func (p *Pane) lostText() string {
	what, ends := "a text of ours never showed here", "look at the pane, then intercom release it and adopt it again"
	if p.core.lost.text == unknownText {
		what = "a text of ours left the composer without our Enter"
	}
	switch {
	case p.account != nil: // at no other program is it proven that the text was cleared
		ends = "send or clear what stands here, or, if nothing does, type a letter and delete it"
	case p.core.lost.id == p.ownLine.id:
		ends = "a line that you send here ends that"
	}
	return what + ", and may wait unseen: " + ends
}

// resurface looks for the lost text: it may have been taken after all, or stand there for all to see. If it has come and
// nobody has read it, it stands unseen until somebody reads the terminal.
func (p *Pane) resurface(ctx context.Context, s sight) {
	text := p.core.lost.text
	if text == "" {
		return
	}
	line := p.taking(s, p.core.lost.id, false)
	unread := line == lineStands || line == lineMayStand
	switch {
	case line == lineRead:
		p.decide(ctx, surfaced{})
	case text == unknownText: // it never shows, unless it is known what it was
		if p.standing(s) == screen.Whole {
			p.decide(ctx, surfaced{})
		}
	case p.own(s, text) == screen.Whole, p.echo() != screen.Absent && !unread:
		p.decide(ctx, surfaced{})
	case p.echo() != screen.Absent:
		p.typesOwn(s, p.core.lost.id)
		p.decide(ctx, surfaced{stands: true})
	}
}

// followsOurs reports whether a line was begun below our own text while the program works on that: our Enter has not sent
// that line.
func (p *Pane) followsOurs() bool { return p.half.ahead && p.half.row > p.ownLine.place.row }
