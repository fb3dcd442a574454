package relay

import (
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// Kind is the kind of caller that makes a request. The zero Kind is nobody: each of its requests is
// refused, so that a caller whose kind was never determined may do nothing.
type Kind uint8

// The kinds of callers.
const (
	Agent      Kind = iota + 1 // a peer, proven by its process
	Person                     // the person at this computer, proven by their process
	Unverified                 // a process of the same user, not proven to be an agent or the person
)

// By is who makes a request.
type By struct {
	Kind Kind
	Peer message.ID // only of an agent
	Name string     // of a person, as attribution shows it; "" is "person"
}

// Person reports whether a person asks.
func (b By) Person() bool { return b.Kind == Person }

// admit refuses a request of nobody. It also refuses a request of an unverified caller, unless it
// is one that such a caller may make.
func admit(r Request) error {
	if r == nil {
		return ErrRequest
	}
	by := r.by()
	if authors[by.Kind] == nil || (by.Kind == Agent) != (by.Peer != "") {
		return notPossible("%w", ErrNobody)
	}
	if by.Kind != Unverified {
		return nil
	}
	if _, may := r.(unproven); !may {
		return ErrPersonOnly
	}
	return nil
}

// authors make a caller the author of a single message, by kind: who it is from, how that is known
// and how deep it lies. A kind that is missing here is nobody.
var authors = map[Kind]func(tx *tx, by By, to *peer, m *message.Envelope) error{
	Person: func(_ *tx, by By, _ *peer, m *message.Envelope) error {
		m.From, m.Origin, m.Trust = person(by), message.OriginHuman, message.TrustPerson
		return nil
	},
	Unverified: func(tx *tx, _ By, _ *peer, m *message.Envelope) error {
		m.From, m.Origin, m.Trust, m.Depth = address(tx.stranger), message.OriginAgent, message.TrustUnverified, tx.deepest()
		return nil
	},
	Agent: func(tx *tx, by By, to *peer, m *message.Envelope) error {
		from := tx.present(by.Peer)
		switch {
		case from == nil:
			return &registry.LookupError{Kind: "session", Ref: string(by.Peer), Err: registry.ErrUnknown}
		case from == to:
			return notPossible("session %q would talk to itself", to.Name)
		}
		tx.says(from, m)
		return nil
	},
}
