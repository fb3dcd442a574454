package pane

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/sanitise"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// There are two kinds of programs, and one that is looked at as if it were the first
// (generic.go). A line program has a prompt, and what is new on its screen are its words. An
// agent has a composer somewhere on a screen of its own, and gives an account of what it says
// and takes. All that differs between them when something is typed stands here.

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

// itself reports whether a process beside the adopted one, with its name, is the same agent:
// Gemini CLI starts itself once more, and that one reads the keys.
func itself(m tmux.Process, session message.Peer) bool {
	if m.Name != session.Foreground.Name {
		return false
	}
	who, err := agent.Recognise(message.Process{PID: m.PID, Start: m.Start, Name: m.Name})
	return err == nil && string(who.Kind) == session.Profile
}

// expect says that a text is about to be typed, unexpect that it was not.
func (p *Pane) expect(text string) {
	if p.account != nil {
		p.account.machine.Expect(text)
		return
	}
	if p.generic == nil {
		p.tracker.Expect(text)
	}
}

func (p *Pane) unexpect(text string) {
	if p.account != nil {
		p.account.machine.Unexpect(text)
		return
	}
	if p.generic == nil {
		p.tracker.Unexpect(text)
	}
}

// echoed reports whether a line program has echoed all that was expected. An agent does not
// echo: it takes a prompt, and says so.
func (p *Pane) echoed() bool {
	return p.account == nil && p.generic == nil && p.tracker.Pending() == 0
}

// holds reports whether the composer holds exactly the text.
func (p *Pane) holds(look tmux.Look, text string) bool {
	switch {
	case p.under.bare(look):
		return true
	case p.account != nil:
		return screen.JudgeOwn(p.account.view(look), p.account.prof, text) == screen.Whole && p.ours(look)
	}
	return screen.Holds(p.screen(look), p.prompt, text, p.prof)
}

// ours reports whether what an agent shows instead of a long paste is our paste. Claude Code
// numbers them: the one that was seen first, with a person's words beside it or without, is
// ours. Codex does not; there, once ours was not seen alone, a person decides.
func (p *Pane) ours(look tmux.Look) bool {
	a := p.under
	if a == nil {
		return true
	}
	shown := screen.Placeholder(p.account.view(look), p.account.prof)
	switch {
	case shown == "":
		return true
	case a.placeholder == "":
		a.placeholder = shown
		return true
	}
	return shown == a.placeholder && !(a.disturbed && !strings.Contains(shown, "#"))
}

// among reports whether the text stands in the composer, among whatever else.
func (p *Pane) among(s sight, text string) bool {
	if p.account != nil {
		ours := p.ours(s.look) // looked at whatever else stands there: the first that is seen is ours
		own := screen.JudgeOwn(p.account.view(s.look), p.account.prof, text)
		return own == screen.Among || own == screen.Whole && !ours
	}
	return within(s, text)
}

// breaks counts the Enters of ours that the agent took for line breaks of the text, which
// stands in its composer still: those are used up.
func (p *Pane) breaks(look tmux.Look, text string) int {
	if p.account == nil {
		return 0
	}
	return screen.Breaks(p.account.view(look), p.account.prof, text)
}

// piece is a piece of our text that must be on the screen when Enter comes.
func (p *Pane) piece(look tmux.Look) string {
	switch {
	case p.under.bare(look):
		return screen.Tail(screenOf(look))
	case p.account != nil:
		return screen.OwnTail(p.account.view(look), p.account.prof)
	}
	return p.tail(look)
}

// active is what the program would take for more than words.
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

// fitted is a text in the form in which its whole composer will be seen, and whether there is
// one: an agent shows a long paste in one line.
func (p *Pane) fitted(look tmux.Look, text string) (string, bool) {
	switch {
	case p.generic != nil:
		return text, p.generic.room(look.Facts, text)
	case p.account == nil:
		return text, screen.Straight(p.prompt, text, look.Facts.Width)
	}
	return screen.Fitted(p.account.view(look), p.account.prof, text)
}

func (p *Pane) fits(look tmux.Look, text string) bool {
	_, ok := p.fitted(look, text)
	return ok
}

// obstacle is what an agent's screen shows that keeps Enter from a text that is on its way.
// What is not known may be a screen that is just being drawn, and counts when it lasts.
func (p *Pane) obstacle(s sight, a *attempt, now time.Time, holds bool) message.Reason {
	if p.account == nil && p.generic == nil {
		return ""
	}
	if why := p.exactlyBusy(); why != "" && gate("exact") {
		return why
	}
	if why := p.covered(s); why != "" && holds {
		return why
	}
	if holds && !a.vouched { // whose text stands before the cursor, wherever that is
		return ""
	}
	switch s.reading.State {
	case message.Blocked, message.History:
		return s.reading.Why
	case message.Unknown, message.Working:
		if a.vouched && s.reading.State == message.Unknown {
			return ""
		}
		if a.unclear.IsZero() {
			a.unclear = now
		}
		if now.Sub(a.unclear) >= shaken {
			return s.reading.Why
		}
		return ""
	}
	a.unclear = time.Time{}
	return ""
}

// exactlyBusy is what the agent itself tells that speaks against typing, "" if nothing does.
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

// seek has an agent's transcripts searched for the text that was entered, if the one that is
// followed does not show it: some agents cannot be bound by their processes.
func (p *Pane) seek(a *attempt, now time.Time) {
	if p.account == nil || p.account.sought || now.Sub(a.since) < seekAfter && p.account.bound != nil {
		return
	}
	p.account.sought = true
	p.account.follower.Seek(a.text, a.since) // which asks whether the text tells
}

// took is how an agent's screen shows that it took what was entered; "" if it does not. Its
// own account comes first, and may be a little behind.
func (p *Pane) took(s sight, a *attempt, now time.Time) string {
	if p.account == nil || s.reading.Composer.Text != "" {
		return ""
	}
	if p.account.signals().read && now.Sub(a.cleared) < transcriptGrace {
		return ""
	}
	if s.reading.State == message.Working {
		return "emptied: the composer no longer holds the text, and the agent works"
	}
	if talk, ok := screen.Converse(p.account.view(s.look), p.account.prof); ok && talk.Took(a.text) {
		return "echo: the agent shows the text as its last prompt"
	}
	return ""
}

// recovered reports whether the agent has told that it took a text of an earlier life of
// ours, and whether the turn that answers it is still open.
func (p *Pane) recovered(a *attempt) (taken, open bool) {
	if p.account == nil {
		return false, false
	}
	if !p.account.tookBefore(a.text, a.pasted()) {
		return false, false
	}
	t, ok := p.account.machine.Turn()
	return true, ok && slices.ContainsFunc(t.Prompts, func(one agent.Prompt) bool {
		return agent.Same(a.text, one.Text) || agent.Within(one.Text, a.text)
	})
}
