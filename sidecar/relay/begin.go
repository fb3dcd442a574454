package relay

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// whyUnanswered is why a chat has ended that was one question, which nobody can answer any
// more.
const whyUnanswered = "the question was not answered"

// opening are the first messages of a chat, in their order: what its first participant had
// said last, then the words of whoever starts it.
func (w *work) opening(r StartChat, c *chat, members []*session) ([]*thought, error) {
	var out []*thought
	if r.IncludeLast {
		last, err := w.lastWords(r, c, members[0])
		if err != nil {
			return nil, err
		}
		out = append(out, last)
	}
	switch {
	case r.Say == "":
	case r.By.Person():
		m := w.personal(r.By, r.Say, c)
		for _, s := range members[1:] {
			m.To = append(m.To, address(s))
		}
		out = append(out, &thought{message: m, chat: c})
	default:
		out = append(out, &thought{message: w.own(members[0], message.KindSay, r.Say, c), chat: c})
	}
	return out, nil
}

// lastWords is what a session had said last, as a message into a chat. Its depth is that of
// its turn; of an agent that starts the chat by itself, that of what it says now.
func (w *work) lastWords(r StartChat, c *chat, s *session) (*thought, error) {
	turn := r.Last
	if s.said.Ended.After(turn.Ended) {
		turn = s.said
	}
	words := route.Words(turn, c.Limits)
	if strings.TrimSpace(words) == "" {
		return nil, fmt.Errorf("%w: %q", ErrNothingSaid, s.Name)
	}
	body, short := trim(words)
	m := w.own(s, message.KindLast, body, c)
	m.Truncated = turn.Truncated || short
	if r.By.Person() {
		m.Depth = s.last
	}
	return &thought{message: m, chat: c, chosen: r.By.Person()}, nil
}

// own is a session's word into a chat that goes to all others in it.
func (w *work) own(s *session, kind, body string, c *chat) message.Envelope {
	m := message.Envelope{
		ID: w.ids.next(w.now), Chat: c.ID, Thread: c.ID, Type: kind, Body: body, Created: w.now,
	}
	w.says(s, &m)
	m.From.Number = c.member(s.ID).Number
	return m
}

// opens reports whether a message is one of a chat's first: of the moment in which it began.
func (c *chat) opens(m message.Envelope) bool { return !m.Created.After(c.Started) }

// joined reports whether the first message of a flow waits for the verdict on the second, so
// that both reach their panes at once.
func joined(flow []*thought) bool {
	return len(flow) > 1 && flow[0].message.Type == message.KindLast && flow[1].verdict == nil &&
		flow[0].chat != nil && flow[0].chat.opens(flow[0].message) && flow[0].chat.opens(flow[1].message)
}

// heard reports whether what a session said in a turn is said into the chat. In a one-way
// chat its first participant talks to nobody, and what another one said before all of the
// question reached it is no answer: some turns are told of late.
func (w *work) heard(t message.Turn, s *session, c *chat) bool {
	since := s.joined
	if since.IsZero() { // an earlier run's
		since = c.Started
	}
	switch {
	case c.closing(), !c.maySpeak(s.ID), t.Ended.Before(since):
		return false
	case !c.OneWay:
		return true
	case s.ID == c.Asker():
		return false
	}
	return !w.any(place{inChat, c.ID}, func(d *delivery) bool {
		waits := !d.Typed && d.open() || t.Ended.Before(d.struck)
		return waits && d.Target == s.ID && c.opens(d.Message)
	})
}

// question reports whether the chat is one question to one other: it ends with the answers.
func (c *chat) question() bool { return c.OneWay && c.Turns > 0 && len(c.there()) == 2 }

// unmet notes that a delivery is at its end: if it was all that a chat had asked, nobody can
// answer it any more. What is uncertain may be answered yet.
func (w *work) unmet(d *delivery) {
	c := w.chat(d.Chat)
	switch {
	case c == nil || !c.question() || c.taken > 0 || d.Target == c.Asker():
	case d.state == message.Uncertain:
		c.doubt = true
	default:
		c.vain = true
	}
}

// askedInVain reports whether nothing of a question is left that could be answered.
func (w *work) askedInVain(c *chat) bool {
	if !c.vain || c.doubt || c.taken > 0 || !c.question() {
		return false
	}
	return !w.any(place{inChat, c.ID}, func(d *delivery) bool { return d.Target != c.Asker() || d.open() })
}

// lonely reports whether a chat cannot go on with those who are there: fewer than two, or, in
// a one-way chat, nobody to whom the answers go.
func (c *chat) lonely() bool {
	there := c.there()
	return len(there) < 2 || c.OneWay && !slices.Contains(there, c.Asker())
}
