package pane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Words that were said while no sidecar ran are old, with one exception: the answer to what an
// earlier life had typed, if that can be proven. At an agent, that is the turn in its transcript
// whose prompt is our text, dated after we typed it. At a line program, it is what stands between
// our echo and the next prompt. The delivery says whether it was answered before, so that nothing is
// told twice:
//
//	no turn has ended yet          it is told when it ends, as ever
//	it ended while nobody looked   it is told at once, and counts as an answer only (Turn.Late)
//	nothing proves an answer       nothing is told, and a person is told that
const (
	// lateFor is how long an agent's own account is waited for before an answer counts as not
	// to be found: its transcript may be bound, or written, a little later.
	lateFor = 10 * time.Second
	// oldTurns is how many turns from before we came are remembered.
	oldTurns = 256
)

// Submitted is a delivery that an earlier life saw taken and that no turn has answered yet.
type Submitted struct {
	Delivery message.Delivery
	Typed    time.Time // when permission to type it was first given
}

// lateWords are what a line program answered while no sidecar ran.
type lateWords struct {
	text    string // that they answer
	answers []message.ID
	words   string
}

// since returns when the oldest text that an earlier life left was typed; zero if it left none.
func (past Past) since() (at time.Time) {
	note := func(t time.Time) {
		if at.IsZero() || t.Before(at) {
			at = t
		}
	}
	for _, one := range past.Submitted {
		note(one.at())
	}
	for _, d := range past.Typed {
		note(d.Message.Created)
	}
	return at
}

func (s Submitted) at() time.Time {
	if s.Typed.IsZero() {
		return s.Delivery.Message.Created
	}
	return s.Typed
}

// claim lets the deliveries of an earlier life wait for their answers, once it is known in what form
// an agent was told of them. If the agent's skills change what is typed and were not read yet, claim
// does nothing yet, unless it must. It leaves those in whose place a file was named, if it is not known which.
func (p *Pane) claim(now time.Time, must bool) {
	if a := p.account; len(p.inherited) == 0 || !must && a.prof.Active.Skills && a.setup.now(now) == nil {
		return
	}
	var unplaced []Submitted
	for _, one := range p.inherited {
		d := one.Delivery
		if d.Door == message.DoorMCP {
			p.answers = append(p.answers, asked{id: d.ID, at: one.at(), typed: one.at(), taken: true})
			continue
		}
		part, ok := part{}, false
		if d.Door != "" { // the door changes nothing of what typing would change
			part, ok = p.enclose(d, d.Door)
		} else {
			part, ok = p.compose(d)
		}
		switch {
		case part.unplaced != nil:
			unplaced = append(unplaced, one)
		case ok:
			p.answers = append(p.answers, asked{id: d.ID, text: part.text, at: one.at(), typed: one.at()})
		}
	}
	p.inherited = unplaced
}

// catchUp tells the turns that ended before we came and answer something of ours.
func (p *Pane) catchUp(ctx context.Context) {
	a := p.account
	if len(a.old) == 0 || a.contested() {
		return
	}
	var rest []agent.Turn
	for _, t := range a.old {
		if slices.ContainsFunc(p.answers, func(one asked) bool { return one.late(t) }) {
			p.tellTurn(ctx, t, true)
		} else {
			rest = append(rest, t)
		}
	}
	a.old = rest
}

// late reports whether a turn answers what an earlier life had typed, or what the agent had asked for itself in that
// turn.
func (one asked) late(t agent.Turn) bool {
	if one.taken {
		return !t.Began.IsZero() && !t.Began.After(one.typed) && (t.Ended.IsZero() || !t.Ended.Before(one.typed))
	}
	return !one.typed.IsZero() && slices.ContainsFunc(t.Prompts, func(taken agent.Prompt) bool {
		return !taken.At.Before(one.typed.Add(-clockGrain)) && (agent.Same(one.text, taken.Text) || agent.Within(taken.Text, one.text))
	})
}

// answeredBefore reports whether a turn that ended before we came answers the text.
func (a *account) answeredBefore(text string, since time.Time) bool {
	one := asked{text: text, typed: since}
	return slices.ContainsFunc(a.old, one.late)
}

// remember keeps those turns from before we came that may answer something of ours.
func (a *account) remember(turns []agent.Turn) {
	for _, t := range turns {
		if !a.since.IsZero() && !t.Ended.Before(a.since.Add(-clockGrain)) && len(t.Prompts) > 0 {
			a.old = append(a.old, t)
		}
	}
	a.old = a.old[max(0, len(a.old)-oldTurns):]
}

// disown gives up the answers that nothing proves any more, and tells a person. It keeps those
// deliveries that the turn under way answers.
func (p *Pane) disown(ctx context.Context) {
	open, working := agent.Turn{}, false
	if p.account != nil {
		open, working = p.account.machine.Turn()
	}
	lost := len(p.inherited)
	p.inherited = nil
	p.answers = slices.DeleteFunc(p.answers, func(one asked) bool {
		gone := !one.typed.IsZero() && !(working && one.late(open))
		if gone {
			lost++
		}
		return gone
	})
	if lost > 0 {
		p.notify(ctx, fmt.Sprintf("%s (%s) may have answered while no sidecar ran; the answer cannot be found and is not relayed", p.session.Name, p.session.Pane))
	}
}

// overdueAnswers gives up, after lateFor, any answer without a trace in the agent's account.
func (p *Pane) overdueAnswers(ctx context.Context, now time.Time) {
	if !p.account.told || p.exactlyBusy() != "" || now.Sub(p.begun) <= lateFor {
		return
	}
	p.claim(now, true)
	p.catchUp(ctx)
	if slices.ContainsFunc(p.answers, func(one asked) bool { return !one.typed.IsZero() }) {
		p.disown(ctx)
	}
}

// provenBy reports whether an agent's screen, where nothing else is known of the agent, shows our
// text as its last prompt. It is true if no text of an earlier life waits for its answer.
func (p *Pane) provenBy(talk screen.Talk) bool {
	var parts []part
	for _, one := range p.answers {
		if !one.typed.IsZero() && !one.taken {
			parts = append(parts, part{text: one.text})
		}
	}
	return len(parts) == 0 || talk.Took(parts[len(parts)-1].text) || talk.Took(join(parts))
}

// hark prepares a line program's tracker for the answer to what an earlier life had submitted. The
// look is the tracker's baseline. alone says that nothing has been typed there since.
func (p *Pane) hark(look tmux.Look, alone bool) {
	if len(p.inherited) == 0 || p.account != nil || p.generic != nil || look.Facts.Alternate {
		return
	}
	var parts []part
	for _, one := range p.inherited {
		if part, ok := p.compose(one.Delivery); ok {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 {
		return
	}
	text := parts[len(parts)-1].text
	found, ok := p.lines.tracker.Answer(look.Lines, text)
	if !ok && len(parts) > 1 { // they came in one paste
		text = join(parts)
		found, ok = p.lines.tracker.Answer(look.Lines, text)
	}
	if !ok {
		return
	}
	var all []asked
	for _, one := range p.inherited {
		all = append(all, asked{id: one.Delivery.ID, at: one.at()})
	}
	p.inherited = nil
	if found.Over || !alone {
		p.lines.late = append(p.lines.late, lateWords{text, ids(all), found.Words})
		return
	}
	p.asOld(before(look, found.Before))
	p.expect(text)
	p.answers = append(p.answers, all...)
}

// harkTyped is hark for a text that was entered and is not known to have been taken. It reports
// whether the program's answer is going to be read as usual.
func (p *Pane) harkTyped(look tmux.Look, text string) bool {
	found, ok := p.lines.tracker.Answer(look.Lines, text)
	switch {
	case !ok:
		return false
	case found.Over:
		p.lines.late = append(p.lines.late, lateWords{text: text, words: found.Words})
		return false
	}
	p.asOld(before(look, found.Before))
	return true
}

// tellLate tells what a line program answered while no sidecar ran.
func (p *Pane) tellLate(ctx context.Context) {
	p.lines.late = slices.DeleteFunc(p.lines.late, func(one lateWords) bool {
		if len(one.answers) == 0 {
			return false // it is not known yet that the text was taken
		}
		p.tell(ctx, message.Turn{
			ID: message.NewID(), Peer: p.session.ID, Words: chromeless(one.words, p.prof.Chrome), Answers: one.answers,
			Source: "screen", Late: true, Ended: p.clock.now(),
		})
		return true
	})
}

// answeredLate reports whether the answer to a batch that was taken is known already, and notes
// which deliveries it answers.
func (p *Pane) answeredLate(b *batch) bool {
	i := slices.IndexFunc(p.lines.late, func(one lateWords) bool { return one.text == b.text && len(one.answers) == 0 })
	if i < 0 || b.marked == "" {
		return false
	}
	for _, one := range b.parts {
		p.lines.late[i].answers = append(p.lines.late[i].answers, one.d.ID)
	}
	return true
}
