// Package service has the operations of the API, a file for each family: what each means, who may
// ask for it, and in which words it is refused. A service is a struct of what it needs of the
// relay, the panes, the journal and tmux, each by an interface of the few methods that it calls.
//
// It owns the bell that wakes those who watch the journal, the keys that were pressed (Callers) and
// how often panes were looked at in a chat (Chats). Attendance, Face, Teams and Policies run
// beside the operations, in a goroutine each.
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

// What several services need of the relay, of tmux, and of the journal.
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
	backlog interface { // what has not been taken yet, of one chat or of all
		Waiting(ctx context.Context, chat message.ID) ([]journal.Pending, error)
	}
	archive interface { // chats by name, also those that have ended
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

// Logged is a relay that logs what it refused, since only a person may ask for it.
type Logged struct {
	*relay.Relay
	Log *slog.Logger
}

// Do has the relay carry out a request, and logs it where only a person may make it.
func (s Logged) Do(ctx context.Context, r relay.Request) (relay.Answer, error) {
	answer, err := s.Relay.Do(ctx, r)
	if errors.Is(err, relay.ErrPersonOnly) {
		s.Log.Warn("refused", "request", fmt.Sprintf("%T", r), "err", err)
	}
	return answer, err
}
