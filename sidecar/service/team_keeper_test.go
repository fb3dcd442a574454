package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/handshake"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// unending is a relay with one teammate that has approved its end, and sessions whose programs do not end.
type unending struct {
	*relay.Relay
	peer   message.Peer
	mu     sync.Mutex // guards affair
	affair relay.Affair
	again  []bool // the argument of each attempt
}

func (u *unending) Snapshot() registry.Snapshot { return registry.New([]message.Peer{u.peer}, nil) }

func (u *unending) Protocols() relay.Protocols {
	u.mu.Lock()
	defer u.mu.Unlock()
	return relay.Protocols{Affairs: []relay.Affair{u.affair}}
}

func (u *unending) EndFailed(context.Context, string, string) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.affair.Stuck = true
	return nil
}

func (u *unending) Start(context.Context, api.Caller, api.StartSessionRequest) (api.StartedSession, error) {
	return api.StartedSession{}, errors.New("nothing is started")
}

func (u *unending) Quit(_ context.Context, _ message.ID, again bool) error {
	u.again = append(u.again, again)
	return errors.New("still there")
}

// A teammate that has approved its end and does not end is tried again until it has, and is told to quit only
// the first time. The same holds for what it has left behind if its program has ended by itself.
func TestTeam_WhatDoesNotEndIsToldOnce(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, ended := range []*time.Time{nil, &now} {
		neverEnds(t, ended)
	}
}

func neverEnds(t *testing.T, ended *time.Time) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		peer := message.Peer{ID: message.NewID(), Name: "alice", Ended: ended}
		u := &unending{peer: peer, affair: relay.Affair{
			Handshake: handshake.Handshake{ID: "0000000a", Kind: handshake.Shutdown, Answerer: handshake.Party{Peer: peer.ID, Name: "alice"}, State: handshake.Approved},
			Owed:      []relay.Owed{relay.OwedEnd},
		}}
		s := &Teams{Relay: u, Sessions: u, Bell: NewBell(), Log: slog.New(slog.DiscardHandler)}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(10 * endAgain) // by the clock of the bubble
		stop()
		require.NoError(t, <-done)
		require.Greater(t, len(u.again), 5)
		assert.False(t, u.again[0])
		assert.NotContains(t, u.again[1:], false)
	})
}
