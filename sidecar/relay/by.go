package relay

import (
	"fmt"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Kind is what kind of caller makes a request. The zero Kind is nobody: each request of it
// is refused, so that a caller whom somebody forgot to judge may do nothing.
type Kind uint8

// The kinds of callers.
const (
	Agent      Kind = iota + 1 // a peer, as its process proves
	Person                     // the person at this computer, as their process proves
	Unverified                 // a process of the same user, of which neither is proven
)

// By is who makes a request.
type By struct {
	Kind Kind
	Peer message.ID // of an agent, and of nobody else
	Name string     // of a person, as attribution is to show it; "" is "person"
}

// Person reports whether it is a person who asks.
func (b By) Person() bool { return b.Kind == Person }

// admit refuses a request of nobody, and one of an unverified caller unless it is one of those
// that such a caller may make.
func admit(r Request) error {
	if r == nil {
		return ErrRequest
	}
	by := r.by()
	switch known := by.Kind == Agent || by.Kind == Person || by.Kind == Unverified; {
	case !known, (by.Kind == Agent) != (by.Peer != ""):
		return fmt.Errorf("%w: %w", ErrRequest, ErrNobody)
	case by.Kind != Unverified:
		return nil
	}
	if _, may := r.(unproven); !may {
		return ErrPersonOnly
	}
	return nil
}
