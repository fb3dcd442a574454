package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// lastOf is what a session said last: by its own account, else as far as it was heard in this
// life, else by the journal. That nothing is known is told before its pane is touched.
func (s *Chats) lastOf(ctx context.Context, by relay.By, snap registry.Snapshot, ref string) (message.Turn, error) {
	session, err := s.Names.find(ctx, snap, ref)
	if err != nil {
		return message.Turn{}, err
	}
	turn, err := s.Panes.Last(ctx, session.ID)
	if err != nil || turn.Words != "" {
		return turn, wire(err)
	}
	heard, err := s.Relay.Do(ctx, relay.Recall{By: by, Session: string(session.ID)})
	if err != nil || heard.Turn.Words != "" {
		return heard.Turn, wire(err)
	}
	turn, err = s.written(ctx, session.ID)
	if err == nil && turn.Words == "" {
		err = wire(fmt.Errorf("%w: %q", relay.ErrNothingSaid, session.Name))
	}
	return turn, err
}

// mostWritten is how many events, the latest of all, are looked through for a session's words.
const mostWritten = 1000

// written is what a session said last as far as that was written down: in a chat, or in
// answer to a message.
func (s *Chats) written(ctx context.Context, session message.ID) (turn message.Turn, err error) {
	events, err := s.Journal.Events(ctx, journal.Query{Newest: true, Limit: mostWritten})
	if err != nil {
		return turn, err
	}
	for _, e := range slices.Backward(events) {
		switch {
		case e.Message != nil && e.Message.From.Session == session && e.Message.Type == message.KindTurn:
			return message.Turn{Words: e.Message.Body, Truncated: e.Message.Truncated, Ended: e.Message.Created}, nil
		case e.Receipt != nil && e.Receipt.Target == session && strings.TrimSpace(e.Receipt.Words) != "":
			return message.Turn{Words: e.Receipt.Words, Ended: e.Receipt.At}, nil
		}
	}
	return turn, nil
}
