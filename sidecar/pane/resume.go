package pane

import (
	"context"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/delta"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// What a pane's screen shows of what an earlier life typed (recall.go has what follows from that),
// and why a pane is closed.

// revive begins anew after a panic, as after a restart of the sidecar: what may have been typed is
// looked at first.
func (p *Pane) revive(ctx context.Context) {
	p.core.revive()
	if p.account == nil {
		p.lines.tracker = delta.New(p.prompt, p.prof.Continuations...)
	}
	if p.account == nil {
		p.answers = nil
	}
	p.tellDue(ctx)
	p.firstEdge, p.nextPoll = time.Time{}, p.clock.now()
	p.lines.awaited = ""
	look, err := p.rebase(ctx)
	if err != nil {
		p.log.Warn("look again", "pane", p.session.Pane, "err", err)
		return
	}
	if lost := p.core.lost.text; lost != "" {
		p.expect(lost)
	}
	var all []message.Delivery
	for _, w := range p.core.queue {
		all = append(all, w.Delivery)
	}
	p.recall(look, all)
}

// fateOf returns what became of a text of an earlier life, as far as a look shows it, and whether
// nobody can tell what was said to it. A text that goes on is expected to show, or to be taken.
func (p *Pane) fateOf(s sight, a recall) (fate fate, unanswered bool) {
	switch {
	case p.account != nil:
		return p.fateAtAgent(s, a.batch)
	case p.generic != nil:
		return p.fateAtGeneric(s, a), true
	}
	known := p.lines.awaited == a.text
	p.lines.awaited = ""
	above, holds := p.stands(s.look, a.text, a.was)
	_, elsewhere := screen.Without(screenOf(s.look), p.prompt, a.text, p.prof)
	switch {
	case holds && known:
	case holds: // an order of the earlier life that came after our baseline
		p.asOld(before(s.look, above))
		p.expect(a.text)
	case a.was.entered: // if its echo is known, what follows answers it; otherwise nothing does
		return underway, !known
	case elsewhere:
		return stale, false
	case p.shownSince(s.look, a.text, a.was):
		return sent, false
	case !known:
		p.expect(a.text)
	}
	return underway, false
}

// fateAtAgent is fateOf for an agent. Its transcript tells what it has taken since. A text that has
// not shown yet may still come, and is waited for as after any paste.
func (p *Pane) fateAtAgent(s sight, b *batch) (fate fate, unanswered bool) {
	if taken, open := p.recovered(b); taken && p.own(s, b.text) == screen.Absent {
		return answered, !open && !p.account.answeredBefore(b.text, b.pasted())
	}
	p.expect(b.text)
	return underway, false
}

// fateAtGeneric is fateOf for an unknown program. If the text stands above its composer, too, it was
// taken, and the one in the composer is a person's.
func (p *Pane) fateAtGeneric(s sight, a recall) fate {
	if contains(p.generic.lines(s.look), a.text) && p.own(s, a.text) == screen.Whole {
		return stale
	}
	p.generic.above = p.generic.lines(s.look)
	if a.was.entered {
		p.generic.vigil.entered(a.text)
	}
	return underway
}

// recall prepares the tracker for what an earlier life typed. The look is the tracker's baseline; a
// text that stands in the composer is not old, and will be echoed.
func (p *Pane) recall(look tmux.Look, typed []message.Delivery) {
	was := readMark(look.Facts.Mark)
	p.core.marked = was.ids
	parts := named(was.ids, typed, p.compose)
	if p.account != nil || p.generic != nil || len(parts) == 0 || look.Facts.Alternate || !gate.Stands("pane:mark") {
		return
	}
	text := join(parts)
	switch above, holds := p.stands(look, text, was); {
	case holds:
		p.asOld(before(look, above))
	case was.entered && p.harkTyped(look, text): // it was taken, and may be answered
	case was.entered || p.shownSince(look, text, was):
		return // it is old
	}
	p.expect(text)
	p.lines.awaited = text
}

// stands reports whether the composer holds exactly the text that was typed there, and returns what
// the pane shows above it. A program that prints something draws its composer anew further down, and
// the text with it. If the text was shown in between, it was taken, and what stands there now is a
// person's.
func (p *Pane) stands(look tmux.Look, text string, was spot) (above []string, ok bool) {
	sc := screenOf(look)
	if above, ok = screen.Without(sc, p.prompt, text, p.prof); !ok {
		return nil, false
	}
	between := above[:len(above)-1]
	if row, found := screen.ComposerRow(sc, p.prompt, text, p.prof); found {
		// Each line has one row at least. If rows have become fewer, they cannot be counted.
		if n := look.Facts.HistorySize + row - was.row; n >= 0 {
			between = between[max(0, len(between)-n):]
		}
	}
	return above, !contains(between, text)
}

// shownSince reports whether the text was shown at the place where it was typed, or below, and no
// longer stands in the composer. If that place has left the screen, lines are counted from below:
// each has one row at least.
func (p *Pane) shownSince(look tmux.Look, text string, was spot) bool {
	f := look.Facts
	reading := screen.Read(screenOf(look), p.prompt)
	if reading.State == message.Draft && contains([]string{reading.Composer.Text}, text) {
		return false
	}
	var lines []string
	switch at := was.row - f.HistorySize; {
	case at >= 0:
		for _, row := range look.Rows[min(at, len(look.Rows)):] {
			lines = append(lines, screen.Plain(row))
		}
	default:
		lines = look.Lines[max(0, len(look.Lines)-(f.Height-at)):]
	}
	return contains(lines, text)
}

// contains reports whether the lines, joined, show the text.
func contains(lines []string, text string) bool {
	return shown.Within(shown.Ink(text), shown.Ink(strings.Join(lines, "")))
}

// closure returns why nothing more is typed into the pane until something proves that it may, as far
// as that must be known after a restart.
func (p *Pane) closure() (why message.Reason, lost message.ID, draft *message.Place) {
	switch {
	case p.core.lost.text != "":
		return message.OursInComposer, p.core.lost.id, nil
	case p.ours && p.core.left.text != "":
		return message.OursInComposer, p.core.left.of[0], p.half.place()
	case p.half.hidden || p.half.beneath:
		return message.NotEmpty, "", p.half.place()
	case p.half.begun:
		return message.InComposer, "", p.half.place()
	}
	return "", "", nil
}

// tellClosed tells the relay why the pane is closed, if that has changed.
func (p *Pane) tellClosed(ctx context.Context) {
	why, lost, draft := p.closure()
	if why == p.session.Closed && lost == p.session.Lost && draft.Same(p.session.Draft) {
		return
	}
	if err := p.relay.Closed(ctx, p.session.ID, why, lost, draft); err != nil {
		p.log.Warn("tell that the pane is closed", "pane", p.session.Pane, "err", err)
		return
	}
	p.session.Closed, p.session.Lost, p.session.Draft = why, lost, draft
}

// reopen restores what an earlier life knew of why the pane is closed.
func (p *Pane) reopen(last *message.Delivery) {
	switch {
	case p.session.Closed == "":
	case p.session.Lost == "", p.session.Draft != nil:
		if p.half = (half{begun: true, hidden: true, lineAt: lineAt{row: -1}}); p.account != nil {
			p.half = half{} // an agent shows what its composer holds
		} else if d := p.session.Draft; d != nil {
			p.half.row, p.half.history = d.Row, d.History
			p.half.hidden = p.session.Closed == message.NotEmpty
			p.half.ahead = d.Ahead
			p.half.beneath = p.half.hidden || d.Ahead // its prompt may have come back since, in that very row
		}
		if last != nil {
			one, _ := p.compose(*last)
			p.core.left, p.ours = leftover{text: one.text, of: []message.ID{p.session.Lost}}, true
		}
	case last == nil:
		p.core.lost = lost{text: unknownText, id: p.session.Lost}
	default:
		one, _ := p.compose(*last)
		p.core.lost = lost{text: one.text, id: p.session.Lost}
		p.expect(one.text)
	}
}
