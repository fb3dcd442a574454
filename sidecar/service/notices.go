package service

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Notices are what sessions are told about each other.
type Notices struct {
	Callers *Callers
	Names   *Names
	Relay   asked

	Settings func() policy.Settings // of init.lua
}

// Offer has a server serve the operation.
func (s *Notices) Offer(server *api.Server) { api.Handle(server, api.StopNotices, s.Stop) }

// Stop ends what a session is told about another one.
func (s *Notices) Stop(ctx context.Context, from api.Caller, req api.StopNoticesRequest) (api.StoppedNotices, error) {
	if err := here(req.Computer, s.Settings().Computer); err != nil {
		return api.StoppedNotices{}, err
	}
	by, err := s.Callers.verified(ctx, from, "stop notices")
	if err != nil {
		return api.StoppedNotices{}, err
	}
	if by.Person() && req.Caller == "" {
		return api.StoppedNotices{}, api.Errorf(api.CodeUsage, "sessions get notices, a person gets none").WithHint("intercom session mute %s --for PEER, for a session that gets them", req.Session)
	}
	answer, err := s.Relay.Do(ctx, relay.StopNotices{By: by, Peer: req.Session, Caller: req.Caller})
	if errors.Is(err, relay.ErrNoNotices) {
		return api.StoppedNotices{}, api.Errorf(api.CodeNotFound, "no subscription to %q", req.Session).WithHint("intercom session list names the subscribers of each session")
	}
	if err != nil {
		return api.StoppedNotices{}, s.Names.notFound(ctx, err, req.Session)
	}
	return api.StoppedNotices{Status: api.NoticesStopped, Session: answer.Peer, Caller: answer.Caller}, nil
}
