package tunnel

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A hub that goes while ssh goes on is noticed. The tunnel is told to be down and is started anew, at the port on
// which the hub is then.
func TestTunnel_Run_theHubIsGone(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ic") // short, for the socket
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ssh := filepath.Join(dir, "ssh")
	tmuxtest.Program(t, ssh, "#!/bin/sh\nexec sleep 600\n")
	hub := listens(t, filepath.Join(dir, "s"))
	hub.greets.Store(true)

	var starts atomic.Int64
	told := make(chan State, 100)
	tunnel := &Tunnel{
		SSH: SSH{Program: ssh, Host: "host"}, Socket: filepath.Join(dir, "s"), Tell: func(s State) { told <- s }, again: time.Millisecond,
		Port: func(context.Context) (int, error) { return 4000 + int(starts.Add(1)), nil },
	}
	ctx, end := context.WithCancel(t.Context())
	var run sync.WaitGroup
	defer run.Wait()
	defer end()
	run.Go(func() { assert.NoError(t, tunnel.Run(ctx)) })
	next := func() State {
		select {
		case s := <-told:
			return s
		case <-time.After(time.Minute):
			require.FailNow(t, "nothing is told")
			return State{}
		}
	}
	assert.Equal(t, State{Up: true}, next())
	hub.greets.Store(false)
	assert.Equal(t, State{Why: errSilent.Error(), Again: firstPause}, next())
	hub.greets.Store(true)
	assert.Equal(t, State{Up: true}, next())
	assert.EqualValues(t, 2, starts.Load())
}

// One look without a greeting, as when the hub is just started anew, ends nothing.
func TestTunnel_once_oneMissedLook(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ssh := filepath.Join(dir, "ssh")
	tmuxtest.Program(t, ssh, "#!/bin/sh\nexec sleep 600\n")
	hub := listens(t, filepath.Join(dir, "s"))
	hub.misses = func(n int64) bool { return n%2 == 0 }
	hub.greets.Store(true)

	ctx, end := context.WithCancel(t.Context())
	defer end()
	told := make(chan State, 100)
	tunnel := &Tunnel{
		SSH: SSH{Program: ssh, Host: "host"}, Socket: filepath.Join(dir, "s"), Tell: func(s State) { told <- s }, again: time.Millisecond,
		Port: func(context.Context) (int, error) { return 4222, nil },
	}
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(t, tunnel.Run(ctx)) })
	require.Eventually(t, func() bool { return hub.looks.Load() > 20 }, time.Minute, time.Millisecond)
	end()
	run.Wait()
	assert.Len(t, told, 1)
}

// Helpers of the tests.

// farHub stands for what a forwarded socket leads to.
type farHub struct {
	greets atomic.Bool
	looks  atomic.Int64
	misses func(n int64) bool // the looks without a greeting; nil: none
}

// listens serves a socket until the test ends.
func listens(t *testing.T, socket string) *farHub {
	t.Helper()
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	hub := &farHub{}
	var served sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		served.Wait()
	})
	served.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			n := hub.looks.Add(1)
			if hub.greets.Load() && (hub.misses == nil || !hub.misses(n)) {
				_, _ = conn.Write([]byte("INFO {}\r\n"))
			}
			conn.Close()
		}
	})
	return hub
}
