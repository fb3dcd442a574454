package relay

import (
	"strings"

	"github.com/tmux-intercom/tmux-intercom/sidecar/brakes"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The values of message.Limits.Stall.
const (
	StallAgents = "agents"
	StallOn     = "on"
	StallOff    = "off"
)

// hear lets a chat's judge hear what an agent said there, and reports whether that makes the chat
// empty. Messages that a person's word lets go on afterwards are not heard again.
func (tx *tx) hear(t *pending, planned []message.Delivery) bool {
	if t.chat == nil || t.message.Type != message.KindTurn || len(planned) == 0 || t.wasHeard() || !tx.judged(t.chat) {
		return false
	}
	if t.far != nil {
		t.far.heard = true
	}
	v := t.chat.judge.Hear(brakes.Said{Body: t.words(), Acted: t.acted})
	t.empty = v.Why
	return v.Empty
}

// judged reports whether a chat is to pause once it is empty. By default, a chat with a line
// program or an unknown program in it is not: the output of such a program may well repeat itself.
func (tx *tx) judged(c *chat) bool {
	switch c.Limits.Stall {
	case StallOn:
		return true
	case StallOff:
		return false
	}
	for _, id := range c.there() {
		if s := tx.present(id); s != nil && s.screenAlone() {
			return false
		}
	}
	return true
}

// screenAlone reports whether only a peer's screen tells what it does: it is no known agent.
func (s *peer) screenAlone() bool { return strings.HasPrefix(s.Profile, "line") || s.Profile == "tui" }
