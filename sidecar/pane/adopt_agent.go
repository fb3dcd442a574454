package pane

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/gate"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// profiles returns the names that a person may give, agents first.
func profiles() (names []string) {
	for _, a := range profile.Agents() {
		names = append(names, a.Name)
	}
	return append(names, profile.Names()...)
}

// adoptAgent returns the session of a coding agent, whatever its screen shows now: deliveries wait
// until its composer is ready.
func (ps *Panes) adoptAgent(ctx context.Context, r Request) (message.Peer, error) {
	listed, err := ps.find(ctx, r.Pane)
	if err != nil {
		return message.Peer{}, err
	}
	if listed.Dead {
		return message.Peer{}, &Refusal{r.Pane, "the pane is dead", "start its agent again, or choose another pane"}
	}
	if r.Prompt != "" {
		return message.Peer{}, &Refusal{r.Pane, "a prompt is for line programs", "adopt it --as line, or without a prompt"}
	}
	session := message.Peer{
		Computer: message.LocalComputer, PaneOf: message.PaneOf{Pane: r.Pane, TTY: listed.TTY, Profile: r.Profile, PaneProc: message.Process{PID: listed.PID}, Foreground: message.Process{PID: listed.PID}}, Title: listed.Title,
		State: message.Unknown,
	}
	who, front, err := ps.inPane(&session, listed)
	switch {
	case errors.Is(err, agent.ErrNoAgent):
		return message.Peer{}, noAgent(session, front)
	case errors.Is(err, process.ErrOtherTerminal), errors.Is(err, process.ErrNoProcess), errors.Is(err, process.ErrExecuting):
		return message.Peer{}, undetermined(r.Pane, "agent has started")
	case err != nil:
		return message.Peer{}, fmt.Errorf("adopt %s: %w", r.Pane, err)
	case r.Profile != "" && r.Profile != string(who.Kind):
		return message.Peer{}, &Refusal{r.Pane, fmt.Sprintf("its agent is %s, not %s", who.Kind, r.Profile), "leave out --as"}
	}
	if _, known := profile.AgentByName(string(who.Kind)); !known {
		return message.Peer{}, &Refusal{r.Pane, fmt.Sprintf("its agent is %s, whose screens are not known", who.Kind), knownAgents()}
	}
	if r.Awaited && front.Canonical {
		return message.Peer{}, &Refusal{
			r.Pane, "its terminal collects lines itself, so no agent has a composer there yet",
			"if its program reads lines: intercom adopt " + r.Pane + " --as line",
		}
	}
	if refusal := refuseAgent(session, front, who); refusal != nil && gate.Stands("pane:refuse") {
		return message.Peer{}, refusal
	}
	session.Profile = string(who.Kind)
	return session, nil
}

// noAgent refuses a pane in which no agent is recognised. If its program would be refused as any
// other kind, too, the refusal says that at once.
func noAgent(session message.Peer, front process.FrontGroup) *Refusal {
	if m, why, hint, found := refusedIn(front); found {
		return &Refusal{session.Pane, fmt.Sprintf("no agent is recognised in it: %q is in front: %s", m.Name, why), hint}
	}
	return &Refusal{
		session.Pane, fmt.Sprintf("no agent is recognised in it: %q is in front", session.Foreground.Name),
		knownAgents() + "; a program that reads lines is adopted by `intercom adopt " + session.Pane + " --as line`",
	}
}

// inPane fills in which processes a session is bound to, and returns the agent that it recognises
// among them, and the programs in front.
func (ps *Panes) inPane(session *message.Peer, listed tmux.Pane) (agent.Agent, process.FrontGroup, error) {
	front, err := process.Front(session.TTY, session.PaneProc.PID)
	if errors.Is(err, process.ErrUnsupported) {
		session.Foreground.Name = listed.Command
		who, err := agent.Recognise(session.Foreground)
		return who, front, err
	}
	if err != nil {
		return agent.Agent{}, front, err
	}
	if session.PaneProc.Start, err = process.Start(session.PaneProc.PID); err != nil {
		return agent.Agent{}, front, err
	}
	session.Foreground = message.Process{PID: front.Leader.PID, Start: front.Leader.Start, Name: front.Leader.Name}
	if front.Leader.Start == 0 {
		return agent.Agent{}, front, agent.ErrNoAgent // it has ended, and left others behind
	}
	adopted, reader := front.Leader.PID, 0
	who, none := agent.Recognise(inGroup(front)...)
	if none == nil {
		adopted, reader = innermost(front, who, session.TTY)
	}
	self, err := process.Identify(adopted)
	if err != nil {
		return who, front, err
	}
	session.Foreground = asMessage(self)
	if reader != 0 { // if it has ended by now, the first look finds that
		if reads, err := process.Identify(reader); err == nil {
			session.Reader = asMessage(reads)
		}
	}
	return who, front, none
}

// inGroup returns the processes of a foreground group, its leader first.
func inGroup(front process.FrontGroup) []message.Process {
	all := []message.Process{{PID: front.Leader.PID, Start: front.Leader.Start, Name: front.Leader.Name}}
	for _, m := range front.Members {
		if m.PID != front.Leader.PID {
			all = append(all, message.Process{PID: m.PID, Start: m.Start, Name: m.Name})
		}
	}
	return all
}

// recognise returns the agent of an adopted session. If it has ended meanwhile, recognise returns
// what the session has recorded of it: the first look at its pane tells that it is gone.
func recognise(session message.Peer) agent.Agent {
	procs := []message.Process{session.Foreground}
	self, err := process.Identify(session.Foreground.PID)
	if err == nil {
		if front, err := process.Front(session.TTY, session.PaneProc.PID); err == nil && front.Leader.PID == self.Group {
			procs = inGroup(front)
		}
	}
	who, err := agent.Recognise(procs...)
	if err != nil {
		return agent.Agent{Kind: agent.Kind(session.Profile), Process: session.Foreground, Tried: []int{session.Foreground.PID}}
	}
	return who
}

// knownAgents names the agents whose screens are known.
func knownAgents() string {
	var names []string
	for _, a := range profile.Agents() {
		names = append(names, a.Name)
	}
	return "known agents: " + strings.Join(names, ", ")
}
