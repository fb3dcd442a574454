package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// Names finds the sessions, chats and messages that a caller names, including ended ones.
type Names struct {
	Relay present
	// Tmux is nil where the sidecar is headless.
	Tmux    panes
	Journal interface {
		archive
		Session(ctx context.Context, id message.ID) (message.Peer, error)
		messages
		Find(ctx context.Context, ref string) (journal.Query, error)
		Delivery(ctx context.Context, id message.ID) (message.Delivery, error)
	}
	Ended interface {
		SessionOf(snap registry.Snapshot, id message.ID) (message.Peer, bool)
	}
}

// find finds a session that is present.
func (s *Names) find(ctx context.Context, snap registry.Snapshot, ref string) (message.Peer, error) {
	session, err := snap.Find(ref)
	if err != nil && strings.HasPrefix(ref, "%") && !s.noPane(ctx, ref) {
		return session, api.Errorf(api.CodeRefused, "pane %s is not adopted", ref).WithHint("intercom adopt %s if an agent runs there; add --as line for a program that reads lines", ref).About(api.PersonOnly, ref)
	}
	return session, s.notFound(ctx, err, ref)
}

// notFound is wire for an error about a session that the caller named ref. It tells a pane that tmux does not
// have from one that is not adopted.
func (s *Names) notFound(ctx context.Context, err error, ref string) error {
	if (errors.Is(err, registry.ErrUnknown) || errors.Is(err, registry.ErrEnded)) && s.noPane(ctx, ref) {
		return api.Errorf(api.CodeNotFound, "no pane %s", ref).WithHint("tmux list-panes -a").About(api.NoPane, ref)
	}
	return wire(err)
}

// noPane reports whether ref is the id of a pane that tmux certainly does not have.
func (s *Names) noPane(ctx context.Context, ref string) bool {
	digits, ok := strings.CutPrefix(ref, "%")
	if _, err := strconv.ParseUint(digits, 10, 64); !ok || err != nil || s.Tmux == nil {
		return false
	}
	panes, err := s.Tmux.Panes(ctx)
	return err == nil && !slices.ContainsFunc(panes, func(p tmux.Pane) bool { return p.ID == ref })
}

// anyChat finds an open chat, else the latest ended one of that name.
func (s *Names) anyChat(ctx context.Context, ref string) (message.Chat, error) {
	chat, err := s.Relay.Snapshot().FindChat(ref)
	if err == nil && chat.State != message.ChatOver {
		return chat, nil
	}
	if errors.Is(err, registry.ErrAmbiguous) {
		return chat, wire(err)
	}
	chat, err = s.Journal.Chat(ctx, ref)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return chat, api.Errorf(api.CodeNotFound, "no chat %q", ref).WithHint("intercom chat list, or intercom chat list --ended").About(api.NoChat, ref)
	case errors.Is(err, journal.ErrAmbiguous):
		return chat, api.Errorf(api.CodeUsage, "%w", err).WithHint("give the whole id")
	}
	return chat, err
}

// anySession finds a session, however long ago it ended. If the journal no longer has it, the result is zero.
func (s *Names) anySession(ctx context.Context, snap registry.Snapshot, id message.ID) (message.Peer, error) {
	if session, ok := s.Ended.SessionOf(snap, id); ok {
		return session, nil
	}
	session, err := s.Journal.Session(ctx, id)
	if errors.Is(err, journal.ErrNotFound) {
		return message.Peer{}, nil
	}
	return session, err
}

// goesOn returns the chat of that name or id if it is open.
func (s *Names) goesOn(ref string) (message.Chat, bool) {
	if ref == "" {
		return message.Chat{}, false
	}
	chat, err := s.Relay.Snapshot().FindChat(ref)
	return chat, err == nil && chat.State != message.ChatOver
}

// messageOf finds a message by its id or that of one of its deliveries, or by the end of either.
func (s *Names) messageOf(ctx context.Context, ref string) (message.ID, error) {
	m, err := s.Journal.Message(ctx, ref)
	if err == nil {
		return m.ID, nil
	}
	if errors.Is(err, journal.ErrNotFound) {
		var q journal.Query
		if q, err = s.Journal.Find(ctx, ref); err == nil && q.Delivery != "" {
			d, err := s.Journal.Delivery(ctx, q.Delivery)
			return d.Message.ID, err
		}
	}
	switch {
	case err == nil, errors.Is(err, journal.ErrNotFound):
		return "", api.Errorf(api.CodeNotFound, "no message %q", ref).WithHint("intercom inbox list shows what waits, intercom log all messages")
	case errors.Is(err, journal.ErrAmbiguous):
		return "", api.Errorf(api.CodeUsage, "%w", err).WithHint("give the whole id")
	}
	return "", fmt.Errorf("find message %q: %w", ref, err)
}

// chatID finds a chat, open or ended.
func (s *Names) chatID(ctx context.Context, ref string) (message.ID, error) {
	chat, err := s.anyChat(ctx, ref)
	return chat.ID, err
}
