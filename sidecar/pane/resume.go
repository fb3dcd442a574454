package pane

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/delta"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/shown"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// What an earlier life of ours may have typed is looked at before anything is done. The
// server's mark says which deliveries it typed last, where, and whether Enter came too;
// since the mark is set in the same step as the paste, there is no instant at which it is
// wrong:
//
//	not in the mark                   nothing was typed: it waits as if leave had never been given
//	pasted, and stands                go on at Enter
//	pasted, and shown, and stands     was taken, and is now a person's: uncertain
//	pasted, and shown, and gone       somebody sent it, or it waits unseen: uncertain, closed
//	pasted, and never seen            wait for it as after any paste
//	entered, and gone                 submitted
//	entered, and stands               wait for it as after any Enter
//
// A paste that the earlier life had asked for just before its end may still come. It
// compares the facts and the mark of its own look; ours does too, so that whichever comes
// second is refused.

// spot is where a typing happened and what it was of.
type spot struct {
	stage stage
	row   int       // of the cursor, counted from the top of the history
	at    time.Time // to the millisecond; zero in a mark of an older version
	ids   []message.ID
}

// markOf is the mark of a typing of these deliveries, judged by that look.
func markOf(s stage, parts []part, f tmux.Facts, at time.Time) string {
	word := "pasted"
	if s == entered {
		word = "entered"
	}
	words := []string{word, strconv.Itoa(f.HistorySize + f.CursorY), strconv.FormatInt(at.UnixMilli(), 10)}
	for _, one := range parts {
		words = append(words, string(one.d.ID))
	}
	return strings.Join(words, ".")
}

// readMark is the reverse of markOf: nothing for a mark that is none of ours.
func readMark(mark string) (s spot) {
	words := strings.Split(mark, ".")
	if len(words) < 3 || words[0] != "pasted" && words[0] != "entered" {
		return spot{}
	}
	row, err := strconv.Atoi(words[1])
	if err != nil {
		return spot{}
	}
	if s.row = row; words[0] == "entered" {
		s.stage = entered
	}
	ids := words[2:]
	if ms, err := strconv.ParseInt(ids[0], 10, 64); err == nil {
		s.at, ids = time.UnixMilli(ms), ids[1:]
	}
	for _, id := range ids {
		s.ids = append(s.ids, message.ID(id))
	}
	return s
}

// resume takes up what an earlier life typed or was about to type, and reports whether
// there was such a thing: then nothing else is begun at this look.
func (p *Pane) resume(ctx context.Context, s sight) bool {
	was := readMark(s.look.Facts.Mark)
	if !gate("mark") {
		was = spot{}
	}
	if !slices.ContainsFunc(p.queue, func(d message.Delivery) bool { return d.Typed || slices.Contains(was.ids, d.ID) }) {
		return false
	}
	parts := p.named(was.ids, p.queue)
	for i, d := range p.queue {
		if !d.Typed || slices.Contains(was.ids, d.ID) {
			continue
		}
		delete(p.why, d.ID)
		why, says := message.TmuxRefused, "tmux did not paste it"
		if p.unwritten[d.ID] {
			why, says = message.Unwritable, "nothing was typed: it could not be written down"
		}
		if err := p.report(ctx, part{d: d}, message.Held, why, says); unwritable(err) {
			return true // until there is room
		} else if err != nil {
			p.pop(d.ID) // not ours any more
			return true
		}
		delete(p.unwritten, d.ID)
		p.queue[i].Typed = false
	}
	if len(parts) == 0 {
		return true
	}
	why, _ := bar(s, p.session, p.prof)
	if why == "" && p.account != nil && !p.account.told {
		return true // what it took before we came is being read
	}
	if why != "" {
		p.hold(ctx, parts[0].d, why) // what covers the composer proves nothing of it
		return true
	}
	p.takeUp(ctx, s, was, parts)
	return true
}

// resuming reports whether anything waits that an earlier life may have typed.
func (p *Pane) resuming() bool {
	return slices.ContainsFunc(p.queue, func(d message.Delivery) bool { return d.Typed })
}

// revive begins anew after a panic, as after the end of the sidecar: what may have been
// typed is looked at first.
func (p *Pane) revive(ctx context.Context) {
	if a := p.under; a != nil {
		var again []message.Delivery
		for _, one := range a.parts {
			one.d.Typed = true
			again = append(again, one.d)
		}
		p.queue, p.under = append(again, p.queue...), nil
	}
	if p.account == nil {
		p.tracker = delta.New(p.prompt, p.prof.Continuations...)
	}
	if p.account == nil {
		p.answers = nil
	}
	p.firstEdge, p.nextPoll = time.Time{}, p.clock.now()
	p.awaited = ""
	look, err := p.rebase(ctx)
	if err != nil {
		p.log.Warn("look again", "pane", p.session.Pane, "err", err)
		return
	}
	if p.lost != "" {
		p.expect(p.lost)
	}
	p.recall(look, p.queue)
}

// takeUp makes an attempt again of what the mark names.
func (p *Pane) takeUp(ctx context.Context, s sight, was spot, parts []part) {
	for i, one := range parts {
		if one.d.Typed {
			continue
		}
		// It was pasted after its refusal had been reported: an order that was under way.
		if err := p.report(ctx, one, message.Typed, "", "tmux has pasted it"); unwritable(err) {
			return
		} else if err != nil {
			p.pop(one.d.ID)
			return
		}
		parts[i].d.Typed = true
	}
	for _, one := range parts {
		p.pop(one.d.ID)
	}
	text, _ := p.fitted(s.look, join(parts))
	a := &attempt{parts: parts, text: text, typedAt: was.at, marked: "tmux: it was pasted"}
	if was.stage == entered {
		a.marked, a.rendered = "tmux: it was pasted and Enter typed", true
		a.enters, a.breaks = 1, p.breaks(s.look, text)
	}
	p.under = a
	a.enter(was.stage, p.clock.now())
	if p.account != nil {
		p.takeUpAgent(ctx, s)
		return
	}
	if p.generic != nil {
		p.takeUpGeneric(ctx, s)
		return
	}
	known := p.awaited == a.text
	p.awaited = ""
	above, holds := p.stands(s.look, a.text, was)
	_, elsewhere := screen.Without(screenOf(s.look), p.prompt, a.text, p.prof)
	switch {
	case holds && known:
	case holds: // an order of the earlier life that came after our baseline
		p.asOld(before(s.look, above))
		p.expect(a.text)
	case was.stage == entered && known: // its echo is known, and what follows answers it
	case was.stage == entered:
		// Nobody can tell what was said to it before we came: whatever follows is no answer.
		a.unanswered = true
	case elsewhere:
		a.rendered = true // as a draft it keeps others away by itself
		p.finish(ctx, message.Uncertain, message.NotTaken, "the text was taken, and stands in the composer once more")
		return
	case p.shownSince(s.look, a.text, was):
		p.vanished(ctx)
		return
	case !known:
		p.expect(a.text)
	}
	p.advance(ctx, s)
}

// takeUpAgent goes on with what an agent was typed: what it has taken since, its transcript
// tells; what has not shown yet may still come, and is waited for as after any paste.
func (p *Pane) takeUpAgent(ctx context.Context, s sight) {
	a := p.under
	stands := p.holds(s.look, a.text) || p.among(s, a.text)
	if taken, open := p.recovered(a); taken && !stands {
		a.unanswered, a.witness = !open && !p.account.answeredBefore(a.text, a.pasted()), "transcript"
		p.finish(ctx, message.Submitted, "", "consumed: the agent has taken the text as a prompt")
		return
	}
	p.expect(a.text)
	p.advance(ctx, s)
}

// takeUpGeneric goes on with what a program that nobody knows was typed. What stands above its
// composer too was taken, and what stands in it is a person's.
func (p *Pane) takeUpGeneric(ctx context.Context, s sight) {
	a := p.under
	a.unanswered = true // nobody can tell what it said before we came
	if contains(p.generic.lines(s.look), a.text) && p.holds(s.look, a.text) {
		a.rendered = true
		p.finish(ctx, message.Uncertain, message.NotTaken, "the text was taken, and stands in the composer once more")
		return
	}
	p.generic.above = p.generic.lines(s.look)
	if a.stage == entered {
		p.generic.vigil.entered(a.text)
	}
	p.advance(ctx, s)
}

// named are those of the deliveries that the mark names, in its order.
func (p *Pane) named(ids []message.ID, all []message.Delivery) (parts []part) {
	for _, id := range ids {
		if i := slices.IndexFunc(all, func(d message.Delivery) bool { return d.ID == id }); i >= 0 {
			one, _ := p.compose(all[i])
			parts = append(parts, one)
		}
	}
	return parts
}

// recall prepares the tracker, whose baseline the look is, for what an earlier life typed:
// if it stands in the composer it is not old, and will be echoed.
func (p *Pane) recall(look tmux.Look, typed []message.Delivery) {
	was := readMark(look.Facts.Mark)
	parts := p.named(was.ids, typed)
	if p.account != nil || p.generic != nil || len(parts) == 0 || look.Facts.Alternate || !gate("mark") {
		return
	}
	text := join(parts)
	switch above, holds := p.stands(look, text, was); {
	case holds:
		p.asOld(before(look, above))
	case was.stage == entered && p.harkTyped(look, text): // it was taken, and may be answered
	case was.stage == entered || p.shownSince(look, text, was):
		return // it is old
	}
	p.expect(text)
	p.awaited = text
}

// stands reports whether the composer holds exactly the text and it is the one that was
// typed there, and what the pane shows above it. A program that prints something draws its
// composer anew further down, and the text with it. If the text was shown in between, it
// was taken, and what stands there now is a person's.
func (p *Pane) stands(look tmux.Look, text string, was spot) (above []string, ok bool) {
	sc := screenOf(look)
	if above, ok = screen.Without(sc, p.prompt, text, p.prof); !ok {
		return nil, false
	}
	between := above[:len(above)-1]
	if row, found := screen.ComposerRow(sc, p.prompt, text, p.prof); found {
		// Each line has one row at least. Where rows got fewer, none of them can be counted.
		if n := look.Facts.HistorySize + row - was.row; n >= 0 {
			between = between[max(0, len(between)-n):]
		}
	}
	return above, !contains(between, text)
}

// shownSince reports whether the text was shown at the place where it was typed, or below,
// and no longer stands in the composer. Where the place has left the screen, its lines are
// counted from below: each has one row at least.
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

// closure is why nothing more is typed into the pane until something proves that it may,
// as far as it must be known after a restart.
func (p *Pane) closure() (why message.Reason, lost message.ID, draft *message.Place) {
	switch {
	case p.lost != "":
		return message.OursInComposer, p.lostID, nil
	case p.half.hidden:
		return message.NotEmpty, "", p.half.place()
	case p.half.begun:
		return message.InComposer, "", p.half.place()
	}
	return "", "", nil
}

// tellClosed tells the relay when that has changed.
func (p *Pane) tellClosed(ctx context.Context) {
	why, lost, draft := p.closure()
	if why == p.session.Closed && lost == p.session.Lost {
		return
	}
	if err := p.relay.Closed(ctx, p.session.ID, why, lost, draft); err != nil {
		p.log.Warn("tell that the pane is closed", "pane", p.session.Pane, "err", err)
		return
	}
	p.session.Closed, p.session.Lost, p.session.Draft = why, lost, draft
}

// reopen restores what an earlier life knew of why the pane is closed.
func (p *Pane) reopen(lost *message.Delivery) {
	switch {
	case p.session.Closed == "":
	case p.session.Lost == "":
		p.half = half{begun: true, hidden: true, row: -1}
		if d := p.session.Draft; d != nil {
			p.half.row, p.half.history = d.Row, d.History
		}
	case lost == nil:
		p.lost, p.lostID = unknownText, p.session.Lost
	default:
		one, _ := p.compose(*lost)
		p.lost = one.text
		p.lostID = p.session.Lost
		p.expect(p.lost)
	}
}

// unknownText stands for a lost text that may wait unseen, or that nobody can tell any
// more: it never shows.
const unknownText = "\x00"

// vanished ends an attempt whose text was shown and is gone without an Enter of ours. A
// person may have sent it. Or the program has begun a new line and shows its prompt again,
// with the text still in what it reads, behind which ours would go next: so the pane is
// closed until a person gives it anew.
func (p *Pane) vanished(ctx context.Context) {
	a := p.under
	p.lost, p.lostID = unknownText, a.parts[0].d.ID
	p.tellClosed(ctx)
	a.rendered = true
	p.finish(ctx, message.Uncertain, message.NotTaken, "the text left the composer without our Enter")
}
