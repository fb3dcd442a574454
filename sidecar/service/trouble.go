package service

import (
	"errors"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Troubled tells a person, once each, that nothing can be written down any more and that it can
// again. It does not go by the journal. It never blocks.
func (s *Face) Troubled(err error) {
	text := "there is room again: what was held goes on"
	if err != nil {
		text = troubleOf(err) + ": everything is held until there is room, and nothing is lost"
	}
	select {
	case s.notices <- message.Notice{Text: text}:
	default:
	}
	s.Bell.Ring()
}

// troubleOf names what is full, and where, and not the step at which that was found.
func troubleOf(err error) string {
	if full, ok := errors.AsType[*message.UnwritableError](err); ok {
		return full.Error()
	}
	return err.Error()
}
