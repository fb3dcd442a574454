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
