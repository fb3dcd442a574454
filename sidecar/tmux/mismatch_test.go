package tmux_test

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A running server is never reported as gone, whatever version of the program asks: the program
// reaches it, or the error says that it cannot.
func TestOpen_otherVersion(t *testing.T) {
	t.Parallel()
	versions := tmuxtest.Versions(t)
	oldest, newest := versions[0], versions[len(versions)-1]
	for _, of := range []struct{ server, program tmuxtest.Version }{{newest, oldest}, {oldest, newest}} {
		s := tmuxtest.NewServer(t, of.server)
		told, err := tmux.Inspect(t.Context(), tmux.Options{Bin: of.program.Bin, Socket: s.Socket})
		if of.server.AtLeast(3, 6) && !of.program.AtLeast(3, 6) {
			require.Error(t, err, "tmux %s talks to %s by now", of.program.Name, of.server.Name)
			var other *tmux.MismatchError
			require.ErrorAs(t, err, &other)
			assert.Equal(t, of.program.Name, other.Program)
			assert.Equal(t, of.server.Name, other.Server)
			assert.NotEmpty(t, other.Path)
			assert.Contains(t, other.Remedy(), other.Path)
		} else if assert.NoError(t, err) {
			assert.Equal(t, s.PID, told.Info.PID)
		}
		assert.NotErrorIs(t, err, tmux.ErrNoServer)
		s.Kill()
		_, err = tmux.Inspect(t.Context(), tmux.Options{Bin: of.program.Bin, Socket: s.Socket})
		assert.ErrorIs(t, err, tmux.ErrNoServer, "it is gone now")
	}
}

// A listener that is no tmux server at all is not gone either.
func TestOpen_socketOfAnotherProgram(t *testing.T) {
	t.Parallel()
	for _, v := range tmuxtest.Versions(t) {
		socket := listening(t)
		started := time.Now()
		_, err := tmux.Inspect(t.Context(), tmux.Options{Bin: v.Bin, Socket: socket, Deadline: 10 * time.Second})
		require.Error(t, err)
		assert.NotErrorIs(t, err, tmux.ErrNoServer, "after %v", time.Since(started))
	}
}

// listening returns a socket on which a program that is not tmux closes each connection at once.
func listening(t *testing.T) string {
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return socket
}
