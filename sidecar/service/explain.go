package service

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Panes explains panes, and receives the hooks of the agents in them.
type Panes struct {
	Callers *Callers
	Names   *Names
	Relay   interface {
		present
		Stopped() bool
	}
	// Panes and Tmux are nil where the sidecar is headless.
	Panes interface {
		Explain(ctx context.Context, session message.ID, pane, as string) (pane.Instant, error)
		List(ctx context.Context, adopted []string) ([]pane.Listed, error)
		Hook(ctx context.Context, session message.ID, h message.Hook) error
	}
	Tmux    interface{ Info() tmux.Info }
	Journal holding
	// Files says which repositories are away; nil if none are served.
	Files interface{ Away(id message.ID) bool }
	// Ports lists the listening ports; nil if no ports are served.
	Ports     interface{ Discover() []talk.Listening }
	Elsewhere *Computers // nil: there are no other computers
	Log       *slog.Logger
}

// Offer registers the operations with a server.
func (s *Panes) Offer(server *api.Server) {
	api.Handle(server, api.Peers, s.Peers)
	api.Handle(server, api.Explain, s.Explain)
	api.Handle(server, api.Record, s.Record)
	api.Handle(server, api.Hook, s.Hook)
}

// Explain says why the sidecar judges a pane as it does.
func (s *Panes) Explain(ctx context.Context, from api.Caller, req api.ExplainRequest) (message.Explanation, error) {
	i, err := s.instant(ctx, from, req)
	if err != nil || i.Explanation.Session == "" {
		return i.Explanation, err
	}
	if session, err := s.Relay.Snapshot().Find(i.Explanation.Pane); err == nil {
		i.Explanation.Held = firstHeld(ctx, s.Journal, s.Log)[session.ID]
	}
	if i.Explanation.WouldType && s.Relay.Stopped() {
		i.Explanation.WouldType, i.Explanation.Why = false, message.Stopped
	}
	return i.Explanation, nil
}

// Record captures everything that can be seen of a pane at one instant.
func (s *Panes) Record(ctx context.Context, from api.Caller, req api.ExplainRequest) (api.Recording, error) {
	i, err := s.instant(ctx, from, req)
	if err != nil {
		return api.Recording{}, err
	}
	f := i.Look.Facts
	return api.Recording{
		At: i.Look.At, Pane: i.Explanation.Pane, Tmux: s.Tmux.Info().Version, Command: i.Command, Title: f.Title,
		Width: f.Width, Height: f.Height, CursorX: f.CursorX, CursorY: f.CursorY, CursorVisible: f.CursorVisible,
		Alternate: f.Alternate, InMode: f.InMode, Dead: f.Dead, InputOff: f.InputOff, Synchronised: f.Synchronised,
		History: f.HistorySize, Rows: i.Look.Rows, Explanation: i.Explanation,
	}, nil
}

// instant takes a look at a pane that a caller names. Only a person may have one read that nobody adopted,
// since a person who names it wants that.
func (s *Panes) instant(ctx context.Context, from api.Caller, req api.ExplainRequest) (pane.Instant, error) {
	if s.Tmux == nil {
		return pane.Instant{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar has no panes").WithHint("name the server's socket: --server SOCKET")
	}
	computer, ref, err := s.Elsewhere.where("", req.Pane)
	if err != nil {
		return pane.Instant{}, err
	}
	if computer != "" {
		return pane.Instant{}, api.Errorf(api.CodeRefused, "%s is on %s: a pane is explained on its own computer", req.Pane, computer).WithHint("intercom explain %s, on %s", strings.TrimPrefix(req.Pane, computer+"/"), computer)
	}
	id := ref
	session, err := s.Relay.Snapshot().Find(ref)
	switch {
	case err == nil && session.Pane == "":
		return pane.Instant{}, api.Errorf(api.CodeRefused, "%s lives in no pane", session.Name)
	case err == nil:
		id = session.Pane
		if own, _ := s.Callers.callerSession(ctx, from); own.ID != session.ID {
			if err := s.Callers.personOnly(ctx, from, "read another's pane"); err != nil {
				return pane.Instant{}, err
			}
		}
	case len(id) == 0 || id[0] != '%' || s.Names.noPane(ctx, id):
		return pane.Instant{}, s.Names.notFound(ctx, err, ref)
	default:
		session = message.Peer{}
		if err := s.Callers.personOnly(ctx, from, "read a pane that is not adopted"); err != nil {
			return pane.Instant{}, err
		}
	}
	i, err := s.Panes.Explain(ctx, session.ID, id, req.Agent)
	switch {
	case errors.Is(err, tmux.ErrNoPane):
		return i, s.Names.notFound(ctx, registry.ErrUnknown, id)
	case err != nil:
		return i, wire(err)
	}
	if session.Starting && i.Explanation.Session == "" { // no agent is served there yet
		i.Explanation.Session, i.Explanation.WouldType, i.Explanation.Why = session.Name, false, message.Reason(session.StateWhy)
	}
	return i, nil
}

// Hook accepts a report from an agent's hook. The caller's processes tell which session it belongs to. The
// hooks of a background server run outside any pane, with the environment of whichever agent started that
// server: only the conversation tells whose they are.
func (s *Panes) Hook(ctx context.Context, from api.Caller, req api.HookRequest) (none api.None, _ error) {
	h := req.Hook
	h.At = time.Now()
	if s.Panes == nil || h.Agent == "" {
		return none, nil
	}
	s.Log.Debug("hook", "agent", h.Agent, "event", h.Event, "pid", from.PID)
	return none, wire(s.Panes.Hook(ctx, s.Callers.below(from), h))
}
