package service

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/launch"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// endsNothing is a Launcher that no program yields to.
type endsNothing struct{ *launch.Launcher }

func (endsNothing) End(context.Context, message.Peer, func(context.Context) bool, time.Duration) (launch.How, error) {
	return launch.Kill, &launch.LeftError{Left: []process.Process{{PID: 7, Name: "claude"}}}
}

// A teammate whose end fails goes on as it was, whether it was to be killed or had not answered: its team does not
// take it for killed when it ends by itself.
func TestEnd_WhatFailsHasKilledNobody(t *testing.T) {
	t.Parallel()
	for what, req := range map[string]api.EndSessionRequest{
		"by force":  {Session: "alice", Force: true},
		"no answer": {Session: "alice", Grace: time.Millisecond},
	} {
		k := newKept(t)
		k.Callers = &Callers{Person: "ada", Relay: k.relay, Tmux: itself{}, Log: k.Log}
		s := &Launches{
			Callers: k.Callers, Names: &Names{Relay: k.relay}, Relay: k.relay, Launcher: endsNothing{}, Consent: k.Teams,
			Bell: k.Bell, Log: k.Log,
		}
		_, err := s.End(t.Context(), api.Caller{PID: os.Getpid()}, req)
		require.ErrorContains(t, err, "still there: claude (7)", what)
		k.onDisk()
		seats := k.relay.Protocols().Seats
		i := slices.IndexFunc(seats, func(seat relay.Seat) bool { return seat.Name == "alice" })
		require.GreaterOrEqual(t, i, 0, what)
		assert.Empty(t, seats[i].End, what)
	}
}

// leaving is a Launcher whose caller goes away once the program has been told to end.
type leaving struct {
	*launch.Launcher
	goes func()
}

func (l leaving) End(ctx context.Context, _ message.Peer, _ func(context.Context) bool, _ time.Duration) (launch.How, error) {
	l.goes()
	return launch.Hangup, ctx.Err()
}

// If the caller goes away in the middle of an end by force, the teammate is ending because of it.
func TestEnd_TheCallerGoesAway(t *testing.T) {
	t.Parallel()
	k := newKept(t)
	k.Callers = &Callers{Person: "ada", Relay: k.relay, Tmux: itself{}, Log: k.Log}
	ctx, goes := context.WithCancel(t.Context())
	s := &Launches{
		Callers: k.Callers, Names: &Names{Relay: k.relay}, Relay: k.relay, Launcher: leaving{goes: goes}, Consent: k.Teams,
		Bell: k.Bell, Log: k.Log,
	}
	_, err := s.End(ctx, api.Caller{PID: os.Getpid()}, api.EndSessionRequest{Session: "alice", Force: true})
	require.Error(t, err)
	k.onDisk()
	i := slices.IndexFunc(k.relay.Protocols().Seats, func(seat relay.Seat) bool { return seat.Name == "alice" })
	require.GreaterOrEqual(t, i, 0)
	assert.Equal(t, relay.EndKilled, k.relay.Protocols().Seats[i].End)
}
