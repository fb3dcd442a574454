package service

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/pane"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// onePane is a tmux server with one pane, which is served once it is started.
type onePane struct{ served []message.ID }

func (p *onePane) Adopt(context.Context, pane.Request) (message.Peer, error) {
	return message.Peer{PaneOf: message.PaneOf{Pane: "%1", Profile: "line"}}, nil
}

func (p *onePane) Start(_ context.Context, session message.Peer, _ pane.Past) error {
	p.served = append(p.served, session.ID)
	return nil
}

func (p *onePane) Still(context.Context) error                                     { return nil }
func (p *onePane) Rename(context.Context, message.ID, string) error                { return nil }
func (p *onePane) Panes(context.Context) ([]tmux.Pane, error)                      { return nil, nil }
func (p *onePane) SetPaneOptions(context.Context, string, map[string]string) error { return nil }

// hangsUp cancels its caller while an adoption is being written.
type hangsUp struct{ hangUp context.CancelFunc }

func (j *hangsUp) Commit(_ context.Context, steps ...message.Step) error {
	for _, s := range steps {
		if len(s.Peers) > 0 {
			j.hangUp()
		}
	}
	return nil
}

func (j *hangsUp) Seen(context.Context, message.ID) (bool, error) { return false, nil }

// If a caller goes while its adoption is being written, no session is left that nobody serves.
func TestAdopt_whoeverAskedHasGone(t *testing.T) {
	ctx, hangUp := context.WithCancel(t.Context())
	r := &relay.Relay{Journal: &hangsUp{hangUp}, Sink: nowhere{}}
	running, end := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(running) }()
	t.Cleanup(func() { end(); assert.NoError(t, <-done) })
	panes, log := &onePane{}, slog.New(slog.DiscardHandler)
	s := &Sessions{Callers: &Callers{Person: "ada", Relay: r, Log: log}, Relay: r, Panes: panes, Tmux: panes, Log: log}
	_, err := s.adopt(ctx, api.AdoptRequest{Pane: "%1", Name: "ben"})
	require.NoError(t, err)
	var here []message.ID
	for _, one := range r.Snapshot().Peers() {
		here = append(here, one.ID)
	}
	assert.NotEmpty(t, here)
	assert.Equal(t, here, panes.served)
}
