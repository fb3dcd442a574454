package pane

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// secondhand is a turn that only a hook, or the screen, has told yet.
type secondhand struct {
	turn message.Turn
	due  time.Time // it is told then, if the transcript does not
	told bool
}

// overhear takes an agent's words from its screen, if nothing else tells them.
func (p *Pane) overhear(ctx context.Context, s sight, ready bool, now time.Time) {
	a := p.account
	switch {
	case !a.told || a.signals().read || a.hook.state != "":
		a.worked = false
	case ready && p.core.batch() == nil && !a.worked && now.Sub(p.struckAt) < unanswered:
		// It may have shown the text before it begins to work on it.
	case s.reading.State == message.Working:
		a.worked = true
	case ready && p.core.batch() == nil && (a.worked || len(p.answers) > 0 && len(a.untold()) == 0):
		worked := a.worked
		a.worked = false
		talk, ok := screen.Converse(a.view(s.look), a.prof)
		if !ok || !talk.Whole && len(p.answers) == 0 && a.drifts() && a.shown.prompt == "" {
			return // it worked to get ready: nobody has asked it anything yet
		}
		turn := message.Turn{ID: message.NewID(), Peer: p.session.ID, Words: talk.Words, Source: "screen", Ended: now}
		if !p.provenBy(talk) {
			if p.disown(ctx); !worked {
				return
			}
		}
		turn.Person = len(p.answers) == 0
		if !talk.Whole && talk.Words != "" {
			turn.Words, turn.Skipped = notCaptured+talk.Words, true
		}
		if talk.Cut {
			turn.Cut = message.Interrupted
		}
		due := now.Add(transcriptGrace)
		if unreadable, ok := errors.AsType[*agent.UnreadableError](a.trouble); ok && unreadable != nil {
			due = now
		}
		a.spoken = append(a.spoken, secondhand{turn: turn, due: due})
	}
}

// notCaptured stands for the rows that have left an agent's own screen, which nobody can count.
const notCaptured = "[… lines above not captured]\n"

// untold returns the turns that wait for the transcript to tell them.
func (a *account) untold() (out []secondhand) {
	for _, one := range a.spoken {
		if !one.told {
			out = append(out, one)
		}
	}
	return out
}

// heardBefore reports whether the turn was told already, by a hook or from the screen. The words on
// the screen differ from what was said, so for a turn from there the time decides.
func (a *account) heardBefore(t message.Turn) bool {
	for i, one := range a.spoken {
		same := strings.TrimSpace(one.turn.Words) == strings.TrimSpace(t.Words) && !t.Ended.After(one.turn.Ended.Add(transcriptGrace))
		if same || one.turn.Source == "screen" && !t.Ended.After(one.turn.Ended) {
			a.spoken = append(a.spoken[:i:i], a.spoken[i+1:]...)
			return one.told
		}
	}
	return false
}

// overdue tells the turns that only a hook, or the screen, has told, and that no transcript will
// tell. A transcript that is read tells all turns itself, so then those that are due are dropped.
func (p *Pane) overdue(ctx context.Context, now time.Time) {
	a := p.account
	read := a.signals().read
	a.spoken = slices.DeleteFunc(a.spoken, func(one secondhand) bool { return read && !one.told && !now.Before(one.due) })
	for i := range a.spoken {
		one := &a.spoken[i]
		if one.told || now.Before(one.due) {
			continue
		}
		one.told = true
		for _, d := range p.answers {
			one.turn.Answers = append(one.turn.Answers, d.id)
		}
		p.answers = nil
		p.tell(ctx, one.turn)
	}
	a.spoken = a.spoken[max(0, len(a.spoken)-4):]
}
