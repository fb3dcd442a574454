package pane

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// There are two kinds of programs, and a third that is looked at as if it were the first
// (generic.go). A line program has a prompt, and the new text on its screen is what it says. An
// agent has a composer somewhere on a screen of its own, and gives an account of what it says and
// takes. All that differs between them when something is typed stands here.

// judge tells what the screen of a look shows.
func (p *Pane) judge(look tmux.Look) screen.Reading {
	if p.account != nil {
		return p.account.judge(look)
	}
	if p.generic != nil {
		return p.generic.judge(look)
	}
	return screen.Read(screenOf(look), p.prompt)
}

// itself reports whether a process beside the adopted one, with its name, is the same agent: Gemini
// CLI starts itself once more, and that second process reads the keys.
func itself(m process.Process, session message.Peer) bool {
	if m.Name != session.Foreground.Name {
		return false
	}
	who, err := agent.Recognise(message.Process{PID: m.PID, Start: m.Start, Name: m.Name})
	return err == nil && string(who.Kind) == session.Profile
}

// expect says that a text is about to be typed; unexpect says that it was not typed.
func (p *Pane) expect(text string) {
	if p.account != nil {
		p.account.machine.Expect(text)
		return
	}
	if p.generic == nil {
		p.lines.tracker.Expect(text)
	}
}

func (p *Pane) unexpect(text string) {
	if p.account != nil {
		p.account.machine.Unexpect(text)
		return
	}
	if p.generic == nil {
		p.lines.tracker.Unexpect(text)
	}
}

// echo returns how a line program has echoed all that was expected: Among means with a person's words
// beside it, which may still stand in the composer. An agent does not echo: it takes a prompt, and
// says so.
func (p *Pane) echo() screen.Own {
	switch {
	case p.account != nil || p.generic != nil:
		return screen.Absent
	case p.lines.tracker.Mingled():
		return screen.Among
	case p.lines.tracker.Pending() > 0:
		return screen.Absent
	}
	return screen.Whole
}

// breaks counts those of our Enters that the agent took for line breaks of the text, which still
// stands in its composer: they are used up.
func (p *Pane) breaks(look tmux.Look, text string) int {
	if p.account == nil {
		return 0
	}
	return screen.Breaks(p.account.view(look), p.account.prof, text)
}

// piece returns a piece of our text that must be on the screen when Enter comes.
func (p *Pane) piece(f found) string {
	switch {
	case f.before:
		return screen.Tail(screenOf(f.look))
	case p.account != nil:
		return screen.OwnTail(p.account.view(f.look), p.account.prof)
	}
	return p.tail(f.look)
}

// active returns what the program would take for more than words.
func (p *Pane) active() sanitise.Options {
	if p.account != nil {
		return p.account.live(p.clock.now())
	}
	return sanitise.Options{}
}

// noteTyped notes what is typed into an agent, by which a transcript may be found.
func (p *Pane) noteTyped(text string, at time.Time) {
	if p.account != nil {
		p.account.bindings.noteTyped(p.account.id, text, at)
	}
}

// fitted returns a text in the form in which its whole composer will be seen, and whether there is
// such a form: an agent shows a long paste in one line.
func (p *Pane) fitted(s sight, text string) (string, bool) {
	switch facts := s.look.Facts; {
	case p.generic != nil:
		return text, p.generic.room(facts, text)
	case p.account == nil:
		echoed := s.frontOK && s.front.Canonical // by the terminal, which wraps as tmux does
		return text, echoed || screen.Straight(p.prompt, text, facts.Width)
	}
	return screen.Fitted(p.account.view(s.look), p.account.prof, text)
}

// enough says how wide a pane has to be for a text that is held since its pane is too narrow.
func (p *Pane) enough(text string) string {
	if p.account != nil || p.generic != nil {
		return ""
	}
	return fmt.Sprintf("%d columns are enough", screen.StraightFrom(p.prompt, text))
}

// exactlyBusy returns what speaks against typing by the agent's own account, "" if nothing does.
func (p *Pane) exactlyBusy() message.Reason {
	if p.account == nil {
		return ""
	}
	s := p.account.signals()
	if s.lost {
		return message.TranscriptLost
	}
	switch state, _ := s.exact(); state {
	case message.Working:
		return message.AgentWorking
	case message.Blocked:
		return screen.DialogOpen
	}
	return ""
}

// drain takes in what the agent has told by now, without waiting for more.
func (p *Pane) drain(ctx context.Context) {
	for {
		select {
		case u := <-p.updates():
			p.hear(ctx, u)
		default:
			return
		}
	}
}

// recovered reports whether the agent has told that it took a text of an earlier life, and whether
// the turn that answers it is still open.
func (p *Pane) recovered(b *batch) (taken, open bool) {
	if p.account == nil {
		return false, false
	}
	if !p.account.tookBefore(b.text, b.pasted()) {
		return false, false
	}
	t, ok := p.account.machine.Turn()
	return true, ok && slices.ContainsFunc(t.Prompts, func(one agent.Prompt) bool {
		return agent.Same(b.text, one.Text) || agent.Within(one.Text, b.text)
	})
}
