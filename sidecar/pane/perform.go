package pane

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// decide hands an event to the core and does what follows from it.
func (p *Pane) decide(ctx context.Context, e event) {
	acts := p.core.step(p.clock.now(), e)
	if p.core.reaching() {
		p.reach()
	}
	p.do(ctx, acts)
}

// do performs acts, ahead of those that were due already. After a panic, the acts that were not begun are still due.
func (p *Pane) do(ctx context.Context, acts []act) {
	p.due = append(slices.Clone(acts), p.due...)
	for rest := len(p.due) - len(acts); len(p.due) > rest; {
		a := p.due[0]
		p.due = p.due[1:]
		p.perform(ctx, a)
	}
}

// tellDue performs those acts left over from a panic that only tell what the core had decided, and drops the others:
// nothing is typed.
func (p *Pane) tellDue(ctx context.Context) {
	due := slices.DeleteFunc(p.due, func(a act) bool { return !tells(a) })
	p.due = nil
	p.do(ctx, due)
}

// tells reports whether an act only tells something.
func tells(a act) bool {
	switch a.(type) {
	case receipt, await, retract, announce, notify:
		return true
	}
	return false
}

// perform does one act and hands its result to the core.
func (p *Pane) perform(ctx context.Context, a act) {
	switch a := a.(type) {
	case lay:
		parts, err := p.lay(a.parts)
		if err != nil {
			p.log.Warn("write file", "pane", p.session.Pane, "err", err)
		}
		p.decide(ctx, filed{parts, err})
	case ask:
		err := p.report(ctx, receipt{a.part, message.Typed, "", a.says})
		p.decide(ctx, permitted{err, p.ending()})
	case listen:
		p.drain(ctx)
		unseen := p.core.batch() == nil && p.readPending() // with a batch under way, what was read is our own text
		p.decide(ctx, heard{p.exactlyBusy(), p.keysWait() || unseen})
	case paste:
		p.decide(ctx, typed{p.paste(ctx, a)})
	case press:
		p.decide(ctx, typed{p.press(ctx, a)})
	case pass:
		out, why := p.pass(ctx, a)
		p.decide(ctx, handed{out, why})
	case shut:
		p.closeDoor(ctx, a.offer)
	case recall:
		f := a.found
		p.inspect(&f, a.batch)
		fate, unanswered := p.fateOf(f.sight, a)
		p.decide(ctx, recalled{f, fate, unanswered})
	case hold:
		err := p.report(ctx, receipt{part{d: a.delivery}, message.Held, a.why, a.says})
		p.decide(ctx, noted{a.delivery.ID, err})
	case receipt:
		_ = p.report(ctx, a)
	case seek:
		p.account.follower.Seek(a.text, a.since) // the follower asks whether the text is this agent's alone
	case retract:
		p.unexpect(a.text)
		p.noticed(p.clock.now())
	case await:
		p.await(a.batch)
	case settle:
		if p.tellLate(ctx); p.account != nil {
			p.catchUp(ctx)
		}
	case announce:
		p.tellClosed(ctx)
	case notify:
		p.notify(ctx, a.text)
	}
}

// paste types the text of a batch.
func (p *Pane) paste(ctx context.Context, a paste) tmux.Outcome {
	p.noteTyped(a.text, a.typedAt)
	p.expect(a.text)
	p.typesOwn(a.found.sight, a.parts[0].d.ID)
	out := p.typeNow(ctx, a.batch, a.found, "paste", tmux.Typing{
		Text: []byte(a.text), Bracketed: p.prof.Reads != profile.Joined, Keys: a.keys, Mark: markOf(false, a.parts, a.found.look.Facts, a.typedAt),
	})
	if !out.Nothing() {
		p.remember(a.found.look)
	}
	if out == tmux.Unknown { // the paste may still come, behind what somebody sends meanwhile
		p.ownLine = ownLine{}
	}
	return out
}

// press types Enter.
func (p *Pane) press(ctx context.Context, a press) tmux.Outcome {
	out := p.typeNow(ctx, a.batch, a.found, "enter", tmux.Typing{
		Text: []byte("\n"), Tail: p.piece(a.found), Keys: a.keys, Mark: markOf(true, a.parts, a.found.look.Facts, p.clock.now()),
	})
	if !out.Nothing() {
		p.lines.enter, p.struckAt = enterPressed, p.clock.now()
		if p.generic != nil {
			p.generic.vigil.entered(a.text)
		}
	}
	return out
}

// typeNow types, if the pane is still as it was found. Permission takes as long as the journal
// does, and tmux compares only what it knows itself, so typeNow looks at the processes and the
// terminal's modes once more just before.
func (p *Pane) typeNow(ctx context.Context, b *batch, f found, what string, t tmux.Typing) tmux.Outcome {
	p.moment(what + " unchecked")
	now := p.sightOf(f.look)
	if why, _ := bar(now, p.session, p.prof); (why != "" || unheard(now, p.prof) != "") && gate.Stands("pane:again") {
		return tmux.Refused // the next look tells why
	}
	p.moment(what)
	t.Pane, t.Facts = p.session.Pane, f.look.Facts
	out, err := p.client.Type(ctx, t)
	p.moment(map[string]string{"paste": "pasted", "enter": "entered"}[what])
	switch out {
	case tmux.Refused:
		p.log.Debug("typing refused", "what", what, "pane", p.session.Pane, "msg", b.parts[0].d.Message.ID, "err", err)
	case tmux.Unknown, tmux.Robbed:
		p.log.Warn("type", "what", what, "pane", p.session.Pane, "msg", b.parts[0].d.Message.ID, "err", err)
	}
	return out
}

// moment lets a test do something at this point.
func (p *Pane) moment(at string) {
	if p.gap != nil {
		p.gap(p.session.Pane, at)
	}
}

// reach takes the pane's hands before permission is asked for, until letGo gives them back when the
// typing is over. Panes.Still waits for that.
func (p *Pane) reach() {
	if !p.reached {
		p.hands <- struct{}{}
		p.reached = true
	}
}

func (p *Pane) letGo() {
	if p.reached {
		p.reached = false
		<-p.hands
	}
}

// await notes that the submitted deliveries wait for their answers.
func (p *Pane) await(b *batch) {
	p.submitted(b.text)
	if p.lines.enter == enterPressed {
		p.lines.enter = enterTaken
	}
	known := p.answeredLate(b)
	for _, one := range b.parts {
		if b.unanswered || known {
			continue
		}
		of := asked{id: one.d.ID, at: p.clock.now()}
		if p.account != nil {
			of.text = b.text
		}
		if p.account != nil && b.marked != "" {
			of.typed = b.pasted()
		}
		p.answers = append(p.answers, of)
	}
}

// tailEnough is how many bytes a piece of our text needs so that hardly anything else on a screen
// looks like it.
const tailEnough = 6

// tail returns a piece of our own text that must still be on the screen when Enter comes. It is
// from the row of the cursor or, where that has too little for tmux to look for, from a row above
// it, up to the prompt. It has a letter or a digit in it, as the head has with which our text begins.
func (p *Pane) tail(l tmux.Look) (best string) {
	s := screenOf(l)
	for s.CursorY = min(s.CursorY, len(s.Rows)-1); s.CursorY >= 0 && len(best) < tailEnough; s.CursorY-- {
		piece := screen.Tail(s)
		if len(piece) > len(best) && strings.ContainsFunc(piece, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			best = piece
		}
		if _, first := p.prompt.Rest(screen.Plain(s.Rows[s.CursorY])); first {
			break
		}
		s.CursorX = s.Width
	}
	return best
}

// unspaced returns the text without its white space, which comes and goes where the text wraps.
func unspaced(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, text)
}

// notify tells a person something about the session.
func (p *Pane) notify(ctx context.Context, text string) {
	if err := p.relay.Notify(ctx, p.session.ID, text); err != nil {
		p.log.Warn("notify", "pane", p.session.Pane, "err", err)
	}
}

// report tells the relay a step of a delivery and waits until the relay has recorded it.
func (p *Pane) report(ctx context.Context, a receipt) error {
	d, now := a.part.d, p.clock.now()
	r := message.Receipt{
		Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: a.state, Reason: a.why, Sanitised: a.part.sanitised, Door: d.Door, Bare: d.Bare && a.state != message.Held, At: now,
	}
	if a.says != "" {
		r.Evidence = []message.Evidence{{Source: cmp.Or(a.part.witness, "screen"), Says: a.says, Weight: "exact", At: now}}
	}
	err := p.relay.Report(ctx, r)
	if err != nil && ctx.Err() == nil && !errors.Is(err, message.ErrPaused) && !errors.Is(err, message.ErrEnded) && !unwritable(err) {
		p.log.Warn("report", "pane", p.session.Pane, "msg", d.Message.ID, "state", string(a.state), "err", err)
	}
	return err
}
