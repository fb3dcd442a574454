package service

import (
	"context"
	"errors"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Add brings a session into a chat. What its pane shows at that time counts as old.
func (s *Chats) Add(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	return s.addMember(ctx, from, relay.AddMember{Chat: req.Chat, Peer: req.Pane, Role: req.Role}, nil)
}

// addMember is Add with all options; names is as in recognised.
func (s *Chats) addMember(ctx context.Context, from api.Caller, add relay.AddMember, names map[string]string) (chat message.Chat, err error) {
	if add.By, err = s.Callers.verified(ctx, from, "add somebody to a chat"); err != nil {
		return message.Chat{}, err
	}
	if add.Peer, err = s.Elsewhere.enter(ctx, "", add.Peer); err != nil {
		return message.Chat{}, err
	}
	adopted, err := s.Sessions.recognised(ctx, from, []string{add.Peer}, names)
	defer func() {
		if err != nil {
			s.Sessions.giveBack(ctx, from, adopted)
		}
	}()
	if err != nil {
		return message.Chat{}, err
	}
	snap := s.Relay.Snapshot()
	session, err := s.Names.find(ctx, snap, add.Peer)
	if err != nil {
		return message.Chat{}, err
	}
	if in, busy := snap.ChatOf(session.ID); busy {
		if wanted, err := snap.FindChat(add.Chat); err == nil && wanted.ID == in.ID {
			return message.Chat{}, api.Errorf(api.CodeRefused, "%s is already in chat %s", session.Name, called(in)).
				WithHint("intercom chat remove %s %s takes it out", called(in), session.Pane).About(api.InChat, session.Name)
		}
	}
	add.Since = time.Now()
	if _, busy := snap.ChatOf(session.ID); !busy {
		if err := s.rebase(ctx, session); err != nil {
			return message.Chat{}, err
		}
	}
	return s.member(ctx, add)
}

// Remove takes a session out of a chat: nothing of that chat is typed into its pane after it returns.
func (s *Chats) Remove(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	by, err := s.Callers.verified(ctx, from, "take somebody out of a chat")
	if err != nil {
		return message.Chat{}, err
	}
	session, err := s.Names.find(ctx, s.Relay.Snapshot(), req.Pane)
	if err != nil {
		return message.Chat{}, err
	}
	chat, err := s.member(ctx, relay.RemoveMember{By: by, Chat: req.Chat, Peer: string(session.ID)})
	if err != nil {
		return chat, err
	}
	return chat, s.Sessions.still(ctx, "removed")
}

// Mute keeps a session's words out of a chat, or lets them pass again.
func (s *Chats) Mute(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	by, err := s.Callers.verified(ctx, from, "mute or unmute somebody")
	if err != nil {
		return message.Chat{}, err
	}
	session, err := s.Names.find(ctx, s.Relay.Snapshot(), req.Pane)
	if err != nil {
		return message.Chat{}, err
	}
	return s.member(ctx, relay.MuteMember{By: by, Chat: req.Chat, Peer: string(session.ID), Off: req.Off})
}

func (s *Chats) member(ctx context.Context, r relay.Request) (message.Chat, error) {
	answer, err := s.Relay.Do(ctx, r)
	if told, ok := errors.AsType[*api.Error](wire(err)); ok && told.Hint == "" && errors.Is(err, relay.ErrRequest) {
		return message.Chat{}, told.WithHint("intercom chat list shows who is in which chat")
	}
	if err != nil {
		return message.Chat{}, wire(err)
	}
	return answer.Chats[0], nil
}
