package relay

import (
	"fmt"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// opening returns the first messages of a chat, in their order: the last words of its first
// participant, then the words of whoever starts it.
func (tx *tx) opening(r StartChat, c *chat, members []*peer) ([]*pending, error) {
	var out []*pending
	if r.IncludeLast {
		last, err := tx.lastWords(r, c, members[0])
		if err != nil {
			return nil, err
		}
		out = append(out, last)
	}
	switch {
	case r.Say == "":
	case r.By.Person():
		m := tx.personal(r.By, r.Say, c)
		for _, s := range members[1:] {
			m.To = append(m.To, address(s))
		}
		out = append(out, &pending{message: m, chat: c})
	default:
		out = append(out, &pending{message: tx.own(members[0], message.KindSay, r.Say, c), chat: c})
	}
	return out, nil
}

// lastWords returns the last words of a peer as a message into a chat. If a person starts the chat,
// the depth is that of the peer's turn; if an agent does so by itself, it is that of what the agent
// says now.
func (tx *tx) lastWords(r StartChat, c *chat, s *peer) (*pending, error) {
	turn := r.Last
	if s.said.Ended.After(turn.Ended) {
		turn = s.said
	}
	words := route.Words(turn, c.Limits)
	if strings.TrimSpace(words) == "" {
		return nil, fmt.Errorf("%w: %q", ErrNothingSaid, s.Name)
	}
	body, short := trim(words)
	m := tx.own(s, message.KindLast, body, c)
	m.Truncated = turn.Truncated || short
	if r.By.Person() {
		m.Depth = s.last
	}
	return &pending{message: m, chat: c, chosen: r.By.Person()}, nil
}

// own returns a message of a peer into a chat, for all others in it.
func (tx *tx) own(s *peer, kind, body string, c *chat) message.Envelope {
	m := message.Envelope{
		ID: tx.ids.next(tx.now), Chat: c.ID, Thread: c.ID, Type: kind, Body: body, Created: tx.now,
	}
	tx.says(s, &m)
	m.From.Number = c.member(s.ID).Number
	return m
}

// opens reports whether a message is one of a chat's first, made at the moment when the chat began.
func (c *chat) opens(m message.Envelope) bool { return !m.Created.After(c.Started) }

// joined reports whether the first message of a flow waits for the verdict on the second, so that
// both reach their panes at once.
func joined(flow []*pending) bool {
	return len(flow) > 1 && flow[0].message.Type == message.KindLast && flow[1].verdict == nil &&
		flow[0].chat != nil && flow[0].chat.opens(flow[0].message) && flow[0].chat.opens(flow[1].message)
}
