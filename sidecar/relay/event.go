package relay

import (
	"context"
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Event is something that happened: the only thing that changes a State.
type Event interface{ step(*tx) }

// What an event may be beside that. One that is none of these has nobody who waits for it, and
// while nothing can be written down it is kept, to happen later.
type (
	// prepared is completed before its step, with its token and with what Step cannot ask the
	// journal itself.
	prepared interface {
		prepare(*lookup) (Event, error)
	}
	// hurried may overtake what waits.
	hurried interface{ hurries() bool }
	// unwritten is told that its step cannot be written down: it tells whoever waits, and says
	// whether it must never have been.
	unwritten interface {
		unwritten(l *loop, err error) (undo bool)
	}
	// waiting comes while nothing can be written down: it says whether it is to happen later.
	waiting interface {
		wait(s *stuck, p *posted) (later bool)
	}
)

// Token names whoever waits for the outcome of an event. Run makes them; an effect with
// the same token answers it. Nobody waits for token 0.
type Token uint64

// lookup is where an event that is prepared gets the rest of it from.
type lookup struct {
	*loop
	ctx  context.Context
	back chan<- outcome // where its outcome is awaited; nil: nowhere
}

// token is a new one for whoever waits.
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
