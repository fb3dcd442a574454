package pane

import (
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// asking returns what the pane's program asks its person, as far as this look and its own account
// show; nil if it asks nothing.
func (p *Pane) asking(s sight, state message.PaneState, why string) *message.Asking {
	if state != message.Blocked || why != string(screen.DialogOpen) {
		return nil
	}
	asked := &message.Asking{Kind: message.WaitDialog, Text: screen.Asked(s.look.Rows)}
	for _, one := range s.reading.Evidence {
		if asked.Evidence = one; one.Source != "transcript" { // a transcript says no more than that a turn is open
			break
		}
	}
	asked.Evidence.At = s.look.At
	if p.account != nil && (p.account.questions() || slices.ContainsFunc(s.look.Rows, func(row string) bool { return profile.Has(screen.Plain(row), p.account.prof.Marks.Question) })) {
		asked.Kind = message.WaitQuestion
	}
	return asked
}

// questions reports whether by its own account the agent has asked its person a question, other than
// for permission to act.
func (a *account) questions() bool {
	s := a.signals()
	if s.lost {
		return false
	}
	if s.status.State == agent.StatusWaiting && s.status.For == agent.ForInput {
		return true
	}
	return s.turn != nil && slices.ContainsFunc(s.turn.OpenTools, func(t agent.Tool) bool {
		return slices.Contains(a.prof.Questions, t.Name[strings.LastIndexAny(t.Name, "/.")+1:])
	})
}
