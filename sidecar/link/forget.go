package link

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Forgotten counts what became of the messages for a computer that was forgotten.
type Forgotten struct {
	Failed    int // they were not sent
	Uncertain int // the server has them, and keeps them for any computer that comes under that name
}

// ForgetComputer forgets a computer and the key with which it signs. Its sessions are no longer peers here, and
// nothing waits for them. known reports whether the computer was known.
func (l *Link) ForgetComputer(ctx context.Context, token string) (were Forgotten, known bool, err error) {
	l.init()
	ctx = context.WithoutCancel(ctx) // the caller may go, and cannot ask again
	if l.current() == nil {
		mine, err := claim.Take(l.Lock)
		if err != nil {
			if errors.Is(err, claim.ErrHeld) {
				err = errHeld // only that sidecar can forget the key
			}
			return were, false, err
		}
		defer mine.Release()
		if err := l.recall(); err != nil {
			return were, false, err
		}
	}
	l.mu.Lock()
	known = l.known[token] != nil
	for _, computer := range l.in {
		known = known || computer == token
	}
	if !known {
		l.mu.Unlock()
		return were, false, nil
	}
	delete(l.known, token)
	l.told = l.known.tellers()
	l.news = true
	for _, d := range l.queue {
		if l.open[d.ID] == nil && l.in[d.Target] == token {
			were.Failed++
		}
	}
	for id, one := range l.open {
		if one.token == token {
			if one.waits() {
				were.Uncertain++
			}
			delete(l.open, id)
		}
	}
	l.queue = slices.DeleteFunc(l.queue, func(d message.Delivery) bool { return l.in[d.Target] == token })
	var gone []message.ID
	for id, computer := range l.in {
		if computer == token {
			gone = append(gone, id)
		}
	}
	l.mu.Unlock()
	err = l.save(false) // before anybody is told
	for _, id := range gone {
		if gone := l.Relay.Gone(ctx, id, message.ComputerForgotten); gone != nil {
			return were, true, fmt.Errorf("session %s of computer %q: %w", id, token, gone)
		}
	}
	return were, true, err
}
