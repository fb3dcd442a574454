package relay

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Event is something that happened. Only events change a State.
type Event interface{ step(*tx) }

// Optional methods of events. Nobody waits for an event that has none of them; while nothing can be
// written, it is kept, to happen later.
type (
	// prepared is completed before its step: with its token, and with what Step cannot ask the
	// journal itself.
	prepared interface {
		prepare(*lookup) (Event, error)
	}
	// hurried may overtake the events that wait.
	hurried interface{ hurries() bool }
	// unwritten is told that its step cannot be written: it tells the caller that waits, and says
	// whether the step must count as never made.
	unwritten interface {
		unwritten(l *loop, err error) (undo bool)
	}
	// waiting arrives while nothing can be written: it says whether it is to happen later.
	waiting interface {
		wait(s *stuck, p *posted) (later bool)
	}
)

// Token identifies the caller that waits for the outcome of an event. Run makes tokens; an effect
// with the same token answers the caller. Nobody waits for token 0.
type Token uint64

// lookup gives a prepared event its missing parts.
type lookup struct {
	*loop
	ctx  context.Context
	back chan<- outcome // on which the caller awaits its outcome; nil: nobody waits
}

// token returns a new token for the caller that waits, or 0 if none does.
func (l *lookup) token() Token {
	if l.back == nil {
		return 0
	}
	l.tokens++
	l.waiting[l.tokens] = l.back
	return l.tokens
}

// seen reports whether the journal has a message of that id.
func (l *lookup) seen(id message.ID) (bool, error) {
	if id == "" {
		return false, nil
	}
	if known, err := message.ParseID(string(id)); err == nil {
		id = known
	}
	was, err := l.Journal.Seen(l.ctx, id)
	if err != nil {
		return false, fmt.Errorf("look for message %s in the journal: %w", id, err)
	}
	return was, nil
}
