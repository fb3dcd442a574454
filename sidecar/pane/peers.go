package pane

import (
	"context"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Listed is a pane as the list of panes has it, with the agent that was recognised in it by its
// processes. Its screen is not read.
type Listed struct {
	tmux.Pane
	Agent   string          // name of the profile; "": none is recognised
	Program message.Process // in front
}

// Agents returns which agents are in front of the panes now, by their processes alone, and which
// processes those are. A pane in which no agent is recognised is missing, and so is a pane whose
// terminal gathers lines: there an agent's program does something other than talk.
func (ps *Panes) Agents(ctx context.Context, panes []string) (map[string]Listed, error) {
	listed, err := ps.Client.Panes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	found := map[string]Listed{}
	for _, p := range listed {
		if p.Dead || !slices.Contains(panes, p.ID) {
			continue
		}
		if front, err := process.Front(p.TTY, p.PID); err == nil && front.Canonical {
			continue
		}
		if one := ps.listedOf(p); one.Agent != "" {
			found[p.ID] = one
		}
	}
	return found, nil
}

// listedOf recognises the agent in a pane that nobody has adopted.
func (ps *Panes) listedOf(p tmux.Pane) Listed {
	one := Listed{Pane: p, Program: message.Process{PID: p.PID, Name: p.Command}}
	session := message.Peer{
		PaneOf: message.PaneOf{Pane: p.ID, TTY: p.TTY, PaneProc: message.Process{PID: p.PID}, Foreground: message.Process{PID: p.PID, Name: p.Command}},
	}
	if who, _, err := ps.inPane(&session, p); err == nil {
		one.Agent, one.Program = string(who.Kind), session.Foreground
	}
	return one
}

// List returns for all panes of the server what tmux says of each, and which agent runs in those that
// are not among adopted.
func (ps *Panes) List(ctx context.Context, adopted []string) ([]Listed, error) {
	panes, err := ps.Client.Panes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list panes: %w", err)
	}
	all := make([]Listed, len(panes))
	for i, p := range panes {
		if p.Dead || slices.Contains(adopted, p.ID) {
			all[i] = Listed{Pane: p, Program: message.Process{PID: p.PID, Name: p.Command}}
		} else {
			all[i] = ps.listedOf(p)
		}
	}
	return all, nil
}
