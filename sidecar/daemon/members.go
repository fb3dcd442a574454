package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// AddMember brings a session into a chat. What its pane shows by then is old.
func (s *sidecar) AddMember(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	return s.addMember(ctx, from, relay.AddMember{Chat: req.Chat, Session: req.Pane, Role: req.Role}, nil)
}

// addMember is AddMember with all that there is to say; names are as of recognised.
func (s *sidecar) addMember(ctx context.Context, from api.Caller, add relay.AddMember, names map[string]string) (chat message.Chat, err error) {
	if add.By, err = s.verified(ctx, from, "add somebody to a chat"); err != nil {
		return message.Chat{}, err
	}
	adopted, err := s.recognised(ctx, from, []string{add.Session}, names)
	defer func() {
		if err != nil {
			s.giveBack(ctx, from, adopted)
		}
	}()
	if err != nil {
		return message.Chat{}, err
	}
	snap := s.relay.Snapshot()
	session, err := s.find(ctx, snap, add.Session)
	if err != nil {
		return message.Chat{}, err
	}
	if in, busy := snap.ChatOf(session.ID); busy {
		if wanted, err := snap.FindChat(add.Chat); err == nil && wanted.ID == in.ID {
			return message.Chat{}, api.Errorf(api.CodeRefused, "%s is in chat %s already", session.Name, called(in)).
				WithHint("intercom chat remove %s %s takes it out", called(in), session.Pane)
		}
	}
	add.Since = time.Now()
	if _, busy := snap.ChatOf(session.ID); !busy {
		if err := s.panes.Rebase(ctx, session.ID); err != nil {
			return message.Chat{}, wire(err)
		}
	}
	return s.member(ctx, add)
}

// RemoveMember takes a session out of a chat: no byte of that chat is typed into its pane
// after the answer.
func (s *sidecar) RemoveMember(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	by, err := s.verified(ctx, from, "take somebody out of a chat")
	if err != nil {
		return message.Chat{}, err
	}
	session, err := s.find(ctx, s.relay.Snapshot(), req.Pane)
	if err != nil {
		return message.Chat{}, err
	}
	chat, err := s.member(ctx, relay.RemoveMember{By: by, Chat: req.Chat, Session: string(session.ID)})
	if err != nil {
		return chat, err
	}
	return chat, s.still(ctx, "removed")
}

// MuteMember keeps a session's words out of a chat, or lets them pass again.
func (s *sidecar) MuteMember(ctx context.Context, from api.Caller, req api.MemberRequest) (message.Chat, error) {
	by, err := s.verified(ctx, from, "mute or unmute somebody")
	if err != nil {
		return message.Chat{}, err
	}
	session, err := s.find(ctx, s.relay.Snapshot(), req.Pane)
	if err != nil {
		return message.Chat{}, err
	}
	return s.member(ctx, relay.MuteMember{By: by, Chat: req.Chat, Session: string(session.ID), Off: req.Off})
}

func (s *sidecar) member(ctx context.Context, r relay.Request) (message.Chat, error) {
	answer, err := s.do(ctx, r)
	if told, ok := errors.AsType[*api.Error](wire(err)); ok && told.Hint == "" && errors.Is(err, relay.ErrRequest) {
		return message.Chat{}, told.WithHint("intercom chat list says who is in which chat")
	}
	if err != nil {
		return message.Chat{}, wire(err)
	}
	return answer.Chats[0], nil
}
