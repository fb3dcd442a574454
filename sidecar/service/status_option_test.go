package service

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// atTerminals is a tmux server with people at its terminals.
type atTerminals struct {
	options
	paneOptions
	panes   []tmux.Pane
	clients []tmux.Attached
}

func (a atTerminals) Panes(context.Context) ([]tmux.Pane, error)       { return a.panes, nil }
func (a atTerminals) Clients(context.Context) ([]tmux.Attached, error) { return a.clients, nil }

// oneChat is a relay with one chat.
type oneChat struct {
	condition
	peers []message.Peer
	chat  message.Chat
}

func (c oneChat) Snapshot() registry.Snapshot {
	return registry.New(c.peers, []message.Chat{c.chat})
}
func (oneChat) Notify(context.Context, message.ID, string) error { return nil }

// A notice is shown where a pane of its chat is visible, in any of the tmux sessions that have its window.
func TestFace_tellsWhereThePaneIs(t *testing.T) {
	t.Parallel()
	clients := []tmux.Attached{
		{Name: "forgotten", SessionID: "$1"},
		{Name: "here", SessionID: "$2"},
		{Name: "other", SessionID: "$3"},
		{Name: "program", SessionID: "$2", Control: true},
		{Name: "stopped", SessionID: "$2", Suspended: true},
	}
	for name, c := range map[string]struct {
		pane tmux.Pane
		want []string
	}{
		"grouped":        {tmux.Pane{ID: "%7", SessionID: "$1", Elsewhere: []string{"$2"}}, []string{"forgotten", "here"}},
		"in one":         {tmux.Pane{ID: "%7", SessionID: "$1"}, []string{"forgotten"}},
		"in one of none": {tmux.Pane{ID: "%7", SessionID: "$4"}, []string{"forgotten", "here", "other"}},
	} {
		s := NewFace(Face{
			Relay: oneChat{peers: []message.Peer{{ID: "ada", PaneOf: message.PaneOf{Pane: "%7"}}}, chat: message.Chat{ID: "chat", Participants: []message.Participant{{Peer: "ada"}}}},
			Tmux:  atTerminals{panes: []tmux.Pane{{ID: "%1", SessionID: "$3"}, c.pane}, clients: clients},
			Log:   slog.New(slog.DiscardHandler),
		})
		var told []string
		for _, client := range s.watchers(t.Context(), "chat") {
			told = append(told, client.Name)
		}
		require.Equal(t, c.want, told, name)
	}
}
