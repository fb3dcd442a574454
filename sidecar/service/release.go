package service

import (
	"context"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Release ends the adoption of a pane.
func (s *Sessions) Release(ctx context.Context, from api.Caller, req api.ReleaseRequest) (message.Peer, error) {
	return s.release(ctx, from, req.Pane, message.ReleasedPane)
}

// release is Release for a reason: only ReleasedPane is a person's word that the pane is not to be adopted.
func (s *Sessions) release(ctx context.Context, from api.Caller, ref string, why message.Reason) (message.Peer, error) {
	if err := s.mayRelease(ctx, from); err != nil {
		return message.Peer{}, err
	}
	session, err := s.Relay.Snapshot().Find(ref)
	if err != nil {
		return message.Peer{}, s.Names.notFound(ctx, err, ref)
	}
	answer, err := s.Relay.Do(ctx, relay.Release{By: s.Callers.by(ctx, from), Peer: string(session.ID), Reason: why})
	if err != nil {
		return message.Peer{}, wire(err)
	}
	if err := s.still(ctx, "released"); err != nil {
		return message.Peer{}, err
	}
	s.mark(ctx, session.Pane, message.Peer{})
	return answer.Peer, nil
}

func (s *Sessions) mayRelease(ctx context.Context, from api.Caller) error {
	return s.Callers.personOnly(ctx, from, "release a pane")
}

// MayRelease says what a release would lose, to callers that may release.
func (s *Sessions) MayRelease(ctx context.Context, from api.Caller, req api.MayReleaseRequest) (would api.Losses, _ error) {
	if err := s.mayRelease(ctx, from); err != nil {
		return would, err
	}
	snap := s.Relay.Snapshot()
	released := inPanes(snap)
	if req.Pane != "" {
		session, err := snap.Find(req.Pane)
		if err != nil {
			return would, s.Names.notFound(ctx, err, req.Pane)
		}
		would.ID, would.Name, would.Pane, released = session.ID, session.Name, session.Pane, []message.Peer{session}
	}
	gone := make([]message.ID, len(released))
	for i, session := range released {
		gone[i] = session.ID
	}
	ends := map[message.ID]bool{}
	for _, chat := range open(snap) {
		if !chat.Lonely() && chat.Lonely(gone...) {
			would.Chats, ends[chat.ID] = append(would.Chats, chat), true
		}
	}
	waiting, err := s.Journal.Waiting(ctx, "")
	if err != nil {
		return would, err
	}
	for _, p := range waiting {
		d := p.Delivery
		lost := ends[d.Chat] || slices.Contains(gone, d.Target)
		if lost && !slices.Contains(would.Messages, d.Message.ID) {
			would.Messages = append(would.Messages, d.Message.ID)
		}
	}
	return would, nil
}
