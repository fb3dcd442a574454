package service

import (
	"context"
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Notices ends the notices that sessions get about each other.
type Notices struct {
	Callers *Callers
	Names   *Names
	Relay   asked

	Elsewhere *Computers // nil: there are no other computers
}

// Offer registers the operation with a server.
func (s *Notices) Offer(server *api.Server) { api.Handle(server, api.StopNotices, s.Stop) }

// Stop ends the notices that a session gets about another one.
func (s *Notices) Stop(ctx context.Context, from api.Caller, req api.StopNoticesRequest) (api.StoppedNotices, error) {
	token, ref, err := s.Elsewhere.where(req.Computer, req.Session)
	if err != nil {
		return api.StoppedNotices{}, err
	}
	req.Computer, req.Session = "", ref
	by, err := s.Callers.verified(ctx, from, "stop notices")
	if err != nil {
		return api.StoppedNotices{}, err
	}
	if by.Person() && req.Caller == "" {
		return api.StoppedNotices{}, api.Errorf(api.CodeUsage, "sessions get notices, a person gets none").WithHint("intercom session mute %s --for PEER, for a session that gets them", req.Session)
	}
	if token != "" {
		if req.Caller != "" {
			return api.StoppedNotices{}, api.Errorf(api.CodeUsage, "only the subscriber itself can stop notices about a session on another computer")
		}
		stopped, err := elsewhere(ctx, s.Elsewhere, from, api.StopNotices, token, req, elsewhereWithin)
		stopped.Session, stopped.Caller = foreign(stopped.Session, token), known(stopped.Caller)
		if stopped.Status != "" {
			stopped.Status = api.NoticesStopped
		}
		return stopped, err
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

// Serve lets other computers end the notices of their sessions.
func (s *Notices) Serve() { serve(s.Elsewhere, api.StopNotices, s.Stop) }
