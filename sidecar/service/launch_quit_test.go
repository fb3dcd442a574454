package service

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// presentAre is a relay with these sessions.
type presentAre struct {
	*relay.Relay
	all []message.Peer
}

func (p presentAre) Snapshot() registry.Snapshot { return registry.New(p.all, nil) }

// wasThere is a journal with one session, or none.
type wasThere struct {
	*journal.Journal
	all []message.Peer
}

func (j wasThere) Session(context.Context, message.ID) (message.Peer, error) {
	if len(j.all) == 0 {
		return message.Peer{}, journal.ErrNotFound
	}
	return j.all[0], nil
}

// sweeping records the sessions whose remains are ended.
type sweeping struct {
	*launch.Launcher
	all []message.ID
}

func (l *sweeping) EndRest(_ context.Context, id message.ID) error {
	l.all = append(l.all, id)
	return nil
}

// What is left of a teammate that approved its end is ended, even if its program ended by itself, in this life
// or before; but not if a person has released the pane, where the program goes on.
func TestQuit_whatIsLeftOfASession(t *testing.T) {
	t.Parallel()
	now := time.Now()
	gone := message.Peer{ID: message.NewID(), Name: "alice", Ended: &now, EndReason: string(message.AgentGone)}
	released := gone
	released.EndReason = string(message.ReleasedPane)
	for name, c := range map[string]struct {
		here, was []message.Peer
		ends      bool
	}{
		"ended":                   {here: []message.Peer{gone}, ends: true},
		"released":                {here: []message.Peer{released}},
		"ended in another life":   {was: []message.Peer{gone}, ends: true},
		"released in another one": {was: []message.Peer{released}},
		"forgotten":               {ends: true},
	} {
		l := new(sweeping)
		s := &Launches{Relay: presentAre{all: c.here}, Names: &Names{Journal: wasThere{all: c.was}}, Launcher: l}
		require.NoError(t, s.Quit(t.Context(), gone.ID, false), name)
		assert.Equal(t, c.ends, len(l.all) == 1, name)
	}
}
