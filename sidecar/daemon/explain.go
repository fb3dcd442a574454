package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Explain says why the sidecar thinks what it thinks of a pane.
func (s *sidecar) Explain(ctx context.Context, from api.Caller, req api.ExplainRequest) (message.Explanation, error) {
	i, err := s.instant(ctx, from, req)
	return i.Explanation, err
}

// Record takes all that can be seen of a pane at one instant.
func (s *sidecar) Record(ctx context.Context, from api.Caller, req api.ExplainRequest) (api.Recording, error) {
	i, err := s.instant(ctx, from, req)
	if err != nil {
		return api.Recording{}, err
	}
	f := i.Look.Facts
	return api.Recording{
		At: i.Look.At, Pane: i.Explanation.Pane, Tmux: s.client.Info().Version, Command: i.Command, Title: f.Title,
		Width: f.Width, Height: f.Height, CursorX: f.CursorX, CursorY: f.CursorY, CursorVisible: f.CursorVisible,
		Alternate: f.Alternate, InMode: f.InMode, Dead: f.Dead, InputOff: f.InputOff, Synchronised: f.Synchronised,
		History: f.HistorySize, Rows: i.Look.Rows, Explanation: i.Explanation,
	}, nil
}

// instant looks at a pane that a caller names. One that nobody adopted is read for a person
// alone, who has named it.
func (s *sidecar) instant(ctx context.Context, from api.Caller, req api.ExplainRequest) (pane.Instant, error) {
	if s.client == nil {
		return pane.Instant{}, api.Errorf(api.CodeUsage, "no tmux server: this sidecar has no panes").WithHint("name the server's socket: --server SOCKET")
	}
	id := req.Pane
	session, err := s.relay.Snapshot().Find(req.Pane)
	switch {
	case err == nil:
		id = session.Pane
		if own, _ := s.callerSession(ctx, from); own.ID != session.ID {
			if err := s.personOnly(ctx, from, "read another's pane"); err != nil {
				return pane.Instant{}, err
			}
		}
	case len(id) == 0 || id[0] != '%' || s.noPane(ctx, id):
		return pane.Instant{}, s.notFound(ctx, err, req.Pane)
	default:
		session = message.Session{}
		if err := s.personOnly(ctx, from, "read a pane that is not adopted"); err != nil {
			return pane.Instant{}, err
		}
	}
	i, err := s.panes.Explain(ctx, session.ID, id, req.Agent)
	switch {
	case errors.Is(err, tmux.ErrNoPane):
		return i, s.notFound(ctx, registry.ErrUnknown, id)
	case err != nil:
		return i, refusal(err)
	}
	return i, nil
}

// Hook takes in what an agent's own hook tells. Whose it is, the caller's processes say. One
// that runs elsewhere, as those of a background server do, has the environment of whichever
// agent has started that server: only the conversation says whose it is.
func (s *sidecar) Hook(ctx context.Context, from api.Caller, req api.HookRequest) (none api.None, _ error) {
	h := req.Hook
	h.At = time.Now()
	if s.panes == nil || h.Agent == "" {
		return none, nil
	}
	s.log.Debug("hook", "agent", h.Agent, "event", h.Event, "pid", from.PID)
	return none, wire(s.panes.Hook(ctx, s.below(from), h))
}

// below is the session below whose process a caller runs, "" if there is none.
func (s *sidecar) below(from api.Caller) message.ID {
	line, err := tmux.Ancestors(from.PID)
	if err != nil {
		return ""
	}
	for _, proc := range line {
		for _, session := range s.relay.Snapshot().Sessions() {
			if proc.PID == session.PaneProc.PID || proc.PID == session.Foreground.PID {
				return session.ID
			}
		}
	}
	return ""
}
