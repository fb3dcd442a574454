package pane

import (
	"context"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// What an earlier life of ours may have typed is looked at before anything is done. The
// server's mark says which deliveries it typed last, and whether Enter came too; since the
// mark is set in the same step as the paste, there is no instant at which it is wrong:
//
//	not in the mark                    nothing was typed: it waits as if leave had never been given
//	pasted, the composer holds it      go on at Enter
//	pasted, and it is gone             somebody sent it or took it away: uncertain
//	pasted, and never seen             wait for it as after any paste
//	entered, and it is gone            submitted
//	entered, the composer holds it     wait for it as after any Enter
//
// A paste that the earlier life had asked for just before its end may still come. It
// compares the same facts as ours does, so whichever comes second is refused.

// markOf is the mark of a typing of these deliveries.
func markOf(s stage, parts []part) string {
	word := "pasted"
	if s == entered {
		word = "entered"
	}
	ids := make([]string, len(parts))
	for i, one := range parts {
		ids[i] = string(one.d.ID)
	}
	return word + ":" + strings.Join(ids, ",")
}

// readMark is the reverse of markOf: nothing for a mark that is none of ours.
func readMark(mark string) (s stage, ids []message.ID) {
	word, list, ok := strings.Cut(mark, ":")
	switch {
	case ok && word == "pasted":
		s = pasted
	case ok && word == "entered":
		s = entered
	default:
		return pasted, nil
	}
	for id := range strings.SplitSeq(list, ",") {
		ids = append(ids, message.ID(id))
	}
	return s, ids
}

// resume takes up what an earlier life typed or was about to type, and reports whether
// there was such a thing: then nothing else is begun at this look.
func (p *Pane) resume(ctx context.Context, s sight) bool {
	stage, ids := readMark(s.look.Mark)
	if !gate("mark") {
		ids = nil
	}
	if !slices.ContainsFunc(p.queue, func(d message.Delivery) bool { return d.Typed || slices.Contains(ids, d.ID) }) {
		return false
	}
	parts := p.named(ids, p.queue)
	for i, d := range p.queue {
		if !d.Typed || slices.Contains(ids, d.ID) {
			continue
		}
		delete(p.why, d.ID)
		if err := p.report(ctx, part{d: d}, message.Held, message.TmuxRefused, "tmux did not paste it"); err != nil {
			p.pop(d.ID) // not ours any more
			return true
		}
		p.queue[i].Typed = false
	}
	if len(parts) == 0 {
		return true
	}
	if why, _ := bar(s, p.session, p.prof); why != "" {
		p.hold(ctx, parts[0].d, why) // what covers the composer proves nothing of it
		return true
	}
	p.takeUp(ctx, s, stage, parts)
	return true
}

// takeUp makes an attempt again of what the mark names.
func (p *Pane) takeUp(ctx context.Context, s sight, at stage, parts []part) {
	for i, one := range parts {
		if one.d.Typed {
			continue
		}
		// It was pasted after its refusal had been reported: an order that was under way.
		if err := p.report(ctx, one, message.Typed, "", "tmux has pasted it"); err != nil {
			p.pop(one.d.ID)
			return
		}
		parts[i].d.Typed = true
	}
	for _, one := range parts {
		p.pop(one.d.ID)
	}
	a := &attempt{parts: parts, text: join(parts), marked: "tmux: it was pasted"}
	if at == entered {
		a.marked, a.rendered = "tmux: it was pasted and Enter typed", true
	}
	p.under = a
	a.enter(at)
	sc := screenOf(s.look)
	above, holds := screen.Without(sc, p.prompt, a.text, p.prof)
	known := p.awaited == a.text
	p.awaited = ""
	switch {
	case holds && known:
	case holds: // an order of the earlier life that came after our baseline
		p.tracker.Baseline(above, whole(s.look))
		p.tracker.Expect(a.text)
	case at == entered: // what follows was said before we came: it has been taken
	case shownAbove(s, a.text):
		a.rendered = true
		p.finish(ctx, message.Uncertain, message.NotTaken, "the text left the composer without our Enter")
		return
	case !known:
		p.tracker.Expect(a.text)
	}
	p.advance(ctx, s)
}

// named are those of the deliveries that the mark names, in its order.
func (p *Pane) named(ids []message.ID, all []message.Delivery) (parts []part) {
	for _, id := range ids {
		if i := slices.IndexFunc(all, func(d message.Delivery) bool { return d.ID == id }); i >= 0 {
			text, changed, _ := compose(all[i], p.prof)
			parts = append(parts, part{all[i], text, changed})
		}
	}
	return parts
}

// expect prepares the tracker, whose baseline the look is, for what an earlier life typed:
// if it stands in the composer it is not old, and will be echoed.
func (p *Pane) expect(look tmux.Look, typed []message.Delivery) {
	at, ids := readMark(look.Mark)
	parts := p.named(ids, typed)
	if len(parts) == 0 || look.Facts.Alternate || !gate("mark") {
		return
	}
	text := join(parts)
	switch above, holds := screen.Without(screenOf(look), p.prompt, text, p.prof); {
	case holds:
		p.tracker.Baseline(above, whole(look))
	case at == entered || strings.Contains(unspaced(strings.Join(look.Lines, "")), unspaced(text)):
		return // it is old
	}
	p.tracker.Expect(text)
	p.awaited = text
}

// shownAbove reports whether the text stands on the pane's screen or in its history, but
// not in its composer.
func shownAbove(s sight, text string) bool {
	return !within(s, text) && strings.Contains(unspaced(strings.Join(s.look.Lines, "")), unspaced(text))
}

// closure is why nothing more is typed into the pane until something proves that it may,
// as far as it must be known after a restart.
func (p *Pane) closure() (why message.Reason, lost message.ID) {
	switch {
	case p.lost != "":
		return message.OursInComposer, p.lostID
	case p.half.hidden:
		return message.NotEmpty, ""
	}
	return "", ""
}

// tellClosed tells the relay when that has changed.
func (p *Pane) tellClosed(ctx context.Context) {
	why, lost := p.closure()
	if why == p.session.Closed && lost == p.session.Lost {
		return
	}
	if err := p.relay.Closed(ctx, p.session.ID, why, lost); err != nil {
		p.log.Warn("tell that the pane is closed", "pane", p.session.Pane, "err", err)
		return
	}
	p.session.Closed, p.session.Lost = why, lost
}

// reopen restores what an earlier life knew of why the pane is closed. The text that it
// lost, if it did, may have shown itself meanwhile.
func (p *Pane) reopen(lost *message.Delivery, lines []string) {
	switch {
	case p.session.Closed == message.NotEmpty:
		p.half = half{begun: true, hidden: true, row: -1}
	case p.session.Closed != "":
		p.lostID = p.session.Lost
		if lost == nil {
			p.lost = unknownText
			return
		}
		text, _, _ := compose(*lost, p.prof)
		p.lost = text
		if p.prof.Reads == profile.Joined && strings.Contains(unspaced(strings.Join(lines, "")), unspaced(text)) {
			p.lost, p.lostID = "", "" // it was taken, or stands where a look finds it
			return
		}
		p.tracker.Expect(text)
	}
}

// unknownText stands for a lost text that nobody can tell any more: it never shows.
const unknownText = "\x00"
