package pane

import (
	"context"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Listed is a pane as the list of panes has it, with the agent that was recognised in it by
// its processes: nothing of what it shows is read.
type Listed struct {
	tmux.Pane
	Agent   string          // name of the profile; "": none is recognised
	Program message.Process // in front
}

// List tells of all panes of the server what tmux says of each, and which agent runs in those
// that are not among adopted.
func (ps *Panes) List(ctx context.Context, adopted []string) ([]Listed, error) {
	panes, err := ps.Client.Panes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	all := make([]Listed, len(panes))
	for i, p := range panes {
		all[i] = Listed{Pane: p, Program: message.Process{PID: p.PID, Name: p.Command}}
		if p.Dead || slices.Contains(adopted, p.ID) {
			continue
		}
		session := message.Session{
			Pane: p.ID, TTY: p.TTY, PaneProc: message.Process{PID: p.PID}, Foreground: message.Process{PID: p.PID, Name: p.Command},
		}
		if who, err := ps.inPane(&session, p); err == nil {
			all[i].Agent, all[i].Program = string(who.Kind), session.Foreground
		}
	}
	return all, nil
}
