package pane

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// AgentIn returns the name of the agent that is in front of a pane, adopted or not, or that is among
// the processes below; "" if there is none.
func (ps *Panes) AgentIn(p tmux.Pane, below ...process.Relative) string {
	if listed := ps.listedOf(p); listed.Agent != "" {
		return listed.Agent
	}
	for _, r := range below {
		if who, err := agent.Recognise(message.Process{PID: r.PID, Start: r.Start, Name: r.Name}); err == nil {
			return string(who.Kind)
		}
	}
	return ""
}
