package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// An agent that calls through its MCP client is identified by the processes from which its MCP server descends,
// and by the terminal of one of them. The environment proves nothing: whoever starts an MCP server chooses it.
// If the two disagree, neither is believed.

// viaMCP judges a caller that comes through an MCP client: it is an agent, or unverified.
func (s *Callers) viaMCP(ctx context.Context, from api.Caller) caller {
	unverified := func(format string, args ...any) caller {
		return caller{kind: relay.Unverified, place: fmt.Sprintf(format, args...)}
	}
	if s.Tmux == nil {
		return unverified("this sidecar has no tmux server, and knows no panes")
	}
	if from.Agent.From != "" {
		s.Log.Warn("an MCP caller says who it is, which proves nothing", "from", from.Agent.From, "pid", from.PID)
	}
	server, above := s.serverProcess()
	line, err := process.Lineage(from.PID, server.PID)
	switch {
	case err != nil:
		return unverified("its process cannot be asked where it comes from: %v", err)
	case len(line) == 0:
		return unverified("its process has ended")
	}
	o := newOrigin(line, server, above)
	if o.behind.PID != 0 {
		c := s.fromBehind(ctx, o, from.Agent.Thread)
		if c.session.ID == "" {
			return unverified("it runs below %s, and its conversation is not proven to be that of an adopted pane", c.place)
		}
		return c
	}
	claimed := from.Agent.Pane
	if session, ok := o.descendsFrom(s.Relay.Snapshot().Peers()); ok {
		if claimed != "" && claimed != session.Pane {
			s.Log.Warn("an MCP caller names another pane than its own", "pane", claimed, "own", session.Pane, "pid", from.PID)
		}
		return caller{kind: relay.Agent, session: session, place: fmt.Sprintf("%q", session.Name)}
	}
	panes, err := s.Tmux.Panes(ctx)
	if err != nil {
		s.Log.Warn("list panes", "err", err)
		return unverified("tmux cannot list its panes")
	}
	p, ok := o.descends(panes)
	switch {
	case !ok && claimed != "":
		s.Log.Warn("an MCP caller names a pane to which it does not belong", "pane", claimed, "pid", from.PID)
		return unverified("it says that it runs in pane %s, and does not descend from what runs there", claimed)
	case !ok:
		return unverified("its process belongs to no pane")
	case claimed != "" && claimed != p.ID:
		s.Log.Warn("an MCP caller names another pane than its own", "pane", claimed, "own", p.ID, "pid", from.PID)
	}
	for session := range s.Relay.Snapshot().Present() {
		if session.Pane == p.ID && session.PaneProc.PID == p.PID {
			return caller{kind: relay.Agent, session: session, place: fmt.Sprintf("%q", session.Name)}
		}
	}
	if agent := s.Panes.AgentIn(p, o.below()...); agent != "" {
		return caller{kind: relay.Agent, pane: p.ID, place: fmt.Sprintf("pane %s, in which %s runs", p.ID, agent)}
	}
	return unverified("no agent is recognised in pane %s", p.ID)
}

// descendsFrom finds the session from whose pane's process the caller descends. This covers most callers, and
// saves asking tmux, which takes longer than the rest of a call.
func (o origin) descendsFrom(peers []message.Peer) (message.Peer, bool) {
	for _, r := range o.line {
		if i := slices.IndexFunc(peers, func(p message.Peer) bool {
			return p.Pane != "" && p.PaneProc.PID == r.PID && p.PaneProc.Start == r.Start
		}); i >= 0 {
			return peers[i], true
		}
	}
	return message.Peer{}, false
}

// descends finds the pane from whose process the caller descends, or at whose terminal the caller or one of its
// parents is.
func (o origin) descends(panes []tmux.Pane) (tmux.Pane, bool) {
	for _, r := range o.line {
		if i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return !p.Dead && p.PID == r.PID }); i >= 0 {
			return panes[i], true
		}
	}
	for _, r := range o.line {
		if !r.Terminal {
			continue
		}
		if i := slices.IndexFunc(panes, func(p tmux.Pane) bool { return !p.Dead && process.HasTerminal(r.PID, p.TTY) }); i >= 0 {
			return panes[i], true
		}
	}
	return tmux.Pane{}, false
}

// Introduce finds out who calls. It adopts the pane of a recognised agent that nobody has adopted, unless a
// person has released that very agent.
func (s *Sessions) Introduce(ctx context.Context, from api.Caller, _ api.None) (api.Introduced, error) {
	c := s.Callers.caller(ctx, from)
	switch {
	case c.session.ID != "":
		return api.Introduced{Session: c.session}, nil
	case c.pane == "" || from.Agent == nil:
		return api.Introduced{Why: c.place}, nil
	}
	switch past, released, err := s.released(ctx, c.pane); {
	case err != nil:
		s.Log.Warn("read who was in a pane", "pane", c.pane, "err", err)
		return api.Introduced{Why: fmt.Sprintf("it cannot be read whether your user has released pane %s", c.pane)}, nil
	case released:
		return api.Introduced{Why: fmt.Sprintf("your user has released pane %s, in which you were %q", c.pane, past.Name)}, nil
	}
	session, err := s.adopt(ctx, api.AdoptRequest{Pane: c.pane})
	if err != nil {
		return api.Introduced{Why: err.Error()}, nil
	}
	s.Log.Info("adopted the pane of an agent that called", "pane", c.pane, "session", session.ID, "client", from.Agent.Client)
	return api.Introduced{Session: session, Adopted: true}, nil
}

// released returns the latest session of the pane that has ended, in this life of the sidecar or before, and
// reports whether a person released it and its program still runs there. A session that was given back does not
// count: the person wanted something of that pane once, and said nothing of its adoption.
func (s *Sessions) released(ctx context.Context, pane string) (past message.Peer, is bool, err error) {
	past, err = s.Journal.LastIn(ctx, pane, message.GivenBack)
	if errors.Is(err, journal.ErrNotFound) {
		return past, false, nil
	}
	f := past.Foreground
	return past, err == nil && past.EndReason == string(message.ReleasedPane) && process.Lives(f.PID, f.Start), err
}
