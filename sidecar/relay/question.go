package relay

import (
	"slices"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// whyUnanswered is the reason why a question has ended that nobody can answer any more.
const whyUnanswered = "the question was not answered"

// heard reports whether the words of a peer's turn are said into the chat. In a one-way chat the
// first participant talks to nobody. Another's words from before all of the question reached it are
// no answer: some turns are reported late.
func (tx *tx) heard(t message.Turn, s *peer, c *chat) bool {
	since := s.joined
	if c.Aside || since.IsZero() { // zero: an earlier run's
		since = c.Started
	}
	if since.Round(0).After(tx.now.Round(0)) { // by the wall clock, which dates what an agent writes
		c.ahead = true // the clock was set back: its time means nothing, even once it has caught up
	}
	if c.ahead {
		since = time.Time{}
	}
	switch {
	case c.closing(), !c.maySpeak(s.ID), t.Ended.Before(since):
		return false
	case !c.OneWay:
		return true
	case s.ID == c.Asker():
		return false
	}
	return !tx.any(place{inChat, c.ID}, func(d *delivery) bool {
		waits := !d.Typed && d.open() || t.Ended.Before(d.permitted)
		return waits && d.Target == s.ID && c.opens(d.Message)
	})
}

// aside reports whether the new chat is a question to, or from, a peer that is in a chat, and can
// be asked beside that chat. The answer is recognised by the deliveries that a turn answers, which
// only the turns of agents say.
func (tx *tx) aside(r StartChat, members []*peer) bool {
	if !r.Question || !r.OneWay || r.Turns == 0 || len(members) != 2 {
		return false
	}
	busy := false
	for _, s := range members {
		if !bounds[s.Kind].turns {
			return false
		}
		busy = busy || tx.chatOf(s.ID) != nil
	}
	return busy
}

// asking returns the open question from the first of members to the second, or nil.
func (tx *tx) asking(members []*peer) *chat {
	for _, c := range tx.open() {
		if c.question() && c.Asker() == members[0].ID && c.member(members[1].ID) != nil {
			return c
		}
	}
	return nil
}

// asides returns the open questions beside chats that a turn answers, each once.
func (tx *tx) asides(t message.Turn) (out []*chat) {
	for _, id := range t.Answers {
		d := tx.under[id]
		if d == nil || d.Target != t.Peer {
			continue
		}
		if c := tx.chat(d.Chat); c != nil && c.Aside && c.State != message.ChatOver && c.Asker() != t.Peer && !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// chatsOf returns the open chat that a peer is in, if there is one, and the questions beside it.
func (s *State) chatsOf(id message.ID) (out []*chat) {
	if c := s.chatOf(id); c != nil {
		out = append(out, c)
	}
	for _, c := range s.open() {
		if c.Aside && c.member(id) != nil {
			out = append(out, c)
		}
	}
	return out
}

// question reports whether the chat is one question to one other: it ends with the answers.
func (c *chat) question() bool { return c.OneWay && c.Turns > 0 && len(c.there()) == 2 }

// isQuestion reports whether a chat is, or was, one question: nobody takes it up again, so nothing
// of it is kept.
func (s *State) isQuestion(chat message.ID) bool {
	c := s.chat(chat)
	return c != nil && c.question()
}

// unmet notes that a delivery is at its end. If it was all that a question consisted of, nobody can
// answer the question any more. An uncertain delivery may still be answered, but not beside chats,
// where only a turn that is known to answer it is heard.
func (tx *tx) unmet(d *delivery) {
	c := tx.chat(d.Chat)
	switch {
	case c == nil || !c.question() || c.taken > 0 || d.Target == c.Asker():
	case d.state == message.Uncertain && !c.Aside:
		c.doubt = true
	default:
		c.vain = true
	}
}

// unanswerable reports whether nothing is left of a question that could be answered.
func (tx *tx) unanswerable(c *chat) bool {
	if !c.vain || c.doubt || c.taken > 0 || !c.question() {
		return false
	}
	return !tx.any(place{inChat, c.ID}, func(d *delivery) bool { return d.Target != c.Asker() || d.open() })
}
