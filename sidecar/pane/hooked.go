package pane

import (
	"context"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// hooked takes in what the agent's own hook tells. The hook is a second witness: its words count only
// if the transcript is silent, its word on the state counts at once.
func (p *Pane) hooked(ctx context.Context, h message.Hook, proven bool) {
	a := p.account
	if a == nil || h.Agent != a.prof.Name {
		return
	}
	known := a.bound != nil && h.Thread == a.bound.Thread
	if a.bound != nil && h.Thread != "" && !known || !proven && !known {
		return // another conversation: a sub-agent's, one that makes titles, or another agent's
	}
	if h.Thread != "" && a.bound == nil {
		a.follower.Name(h.Thread)
	}
	if !proven {
		p.stir(p.clock.now()) // its caller knows the name of the conversation, which proves no more
		return
	}
	state := a.prof.Settings.Hooks.Means(h.Event, h.Detail)
	if state != "" {
		a.hook = hooked{state: state, event: h.Event, at: h.At}
	}
	if h.Prompt != "" && state == message.Working {
		by := agent.ByKeys
		if a.prof.Inbox.Brought(h.Prompt) {
			by, a.began.brought = agent.BySystem, true
		} else {
			a.began.typed = true
		}
		if !a.signals().read {
			p.prompted(ctx, agent.Prompt{Text: h.Prompt, By: by, At: h.At}, "hook")
		}
	}
	if state == message.Idle && h.Words != "" && !a.signals().read {
		turn := message.Turn{ID: message.NewID(), Peer: p.session.ID, Words: h.Words, Source: "hook", Ended: h.At}
		turn.Person = len(p.answers) == 0 && a.began.person()
		a.spoken = append(a.spoken, secondhand{turn: turn, due: h.At.Add(transcriptGrace)})
	}
	if state == message.Idle {
		a.began = origins{}
	}
	p.stir(p.clock.now())
}

// origins says where a turn's prompts came from, as hooks have told: typed, or brought to the agent's inbox.
type origins struct{ typed, brought bool }

// person reports whether a person may have asked for the turn. If nothing was told, one may have.
func (o origins) person() bool { return o.typed || !o.brought }
