package service

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// Talk serves requests about the ports of ai-talk. Commands read and write ai-talk's files themselves.
type Talk struct {
	Home   talk.Home
	Keeper interface {
		Look(ctx context.Context) ([]talk.Refused, error)
	}
	Peers interface {
		Look(ctx context.Context) error
	}
}

// Offer registers the operation with a server.
func (s *Talk) Offer(server *api.Server) { api.Handle(server, api.LookAtPorts, s.Look) }

// Look makes the keeper check the ports at once, and makes whatever listens then a peer. Any program of this
// user may ask: the keeper serves the wanted ports anyway.
func (s *Talk) Look(ctx context.Context, _ api.Caller, req api.PortsRequest) (all []api.PortRefused, err error) {
	if req.Home != s.Home.Dir {
		return nil, api.Errorf(api.CodeRefused, "this sidecar serves the ports in %q, not in %q", s.Home.Dir, req.Home).
			WithHint("it was started with another HOME; intercom down ends it")
	}
	refused, err := s.Keeper.Look(ctx)
	for _, r := range refused {
		one := api.PortRefused{Port: r.Port, Code: string(talk.NotStarted), Text: r.Err.Error()}
		if e, ok := errors.AsType[*talk.Error](r.Err); ok {
			one.Code = string(e.Code)
		}
		all = append(all, one)
	}
	if err == nil {
		err = s.Peers.Look(ctx)
	}
	return all, err
}
