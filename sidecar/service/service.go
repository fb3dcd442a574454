// Package service implements the operations of the API, one file for each family: what each means, who may ask
// for it, and how a refusal is worded. A service is a struct of the parts that it needs: the relay, the panes,
// the journal and tmux, each as an interface with the few methods that it calls.
//
// The package owns the bell that wakes readers of the journal, the record of pressed keys (Callers), and the
// number of looks at panes for each chat (Chats). Attendance, Face, Teams and Policies also run beside the
// operations, in one goroutine each.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// The methods of the relay, of tmux and of the journal that several services need.
type (
	present interface {
		Snapshot() registry.Snapshot
	}
	asked interface {
		present
		Do(ctx context.Context, r relay.Request) (relay.Answer, error)
	}
	panes interface {
		Panes(ctx context.Context) ([]tmux.Pane, error)
	}
	terminals interface {
		panes
		Clients(ctx context.Context) ([]tmux.Attached, error)
	}
	options interface {
		SetServerOption(ctx context.Context, name, value string) error
		TakeBack(ctx context.Context, name string)
	}
	events interface {
		Events(ctx context.Context, q journal.Query) ([]message.Event, error)
	}
	backlog interface { // deliveries that are not submitted yet, of one chat or of all
		Waiting(ctx context.Context, chat message.ID) ([]journal.Pending, error)
	}
	archive interface { // chats by name, including ended ones
		Chat(ctx context.Context, ref string) (message.Chat, error)
	}
	messages interface { // messages by id, and what became of them
		Message(ctx context.Context, ref string) (message.Envelope, error)
		Deliveries(ctx context.Context, id message.ID) ([]message.Delivery, error)
	}
	verdicts interface {
		Verdicts(ctx context.Context, id message.ID) ([]message.Verdict, error)
	}
	receipts interface {
		Receipts(ctx context.Context, id message.ID) ([]message.Receipt, error)
	}
)

// Logged is a relay that logs the requests it refused because only a person may make them.
type Logged struct {
	*relay.Relay
	Log *slog.Logger
}

// Do passes a request to the relay, and logs a refusal with ErrPersonOnly.
func (s Logged) Do(ctx context.Context, r relay.Request) (relay.Answer, error) {
	answer, err := s.Relay.Do(ctx, r)
	if errors.Is(err, relay.ErrPersonOnly) {
		s.Log.Warn("refused", "request", fmt.Sprintf("%T", r), "err", err)
	}
	return answer, err
}
