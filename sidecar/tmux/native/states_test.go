package native_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// states are the states that a connection of ours can be in, each with the way there.
var states = []struct {
	name string
	come func(t *testing.T, s *tmuxtest.Server, c net.Conn)
}{
	{"connected", func(*testing.T, *tmuxtest.Server, net.Conn) {}},
	{"half a header", write(7)},
	{"half a message", write(40)},
	{"identified", write(-1, "display-message", "-p", "x")},
	{"in the middle of the command", write(-10, "display-message", "-p", "x")},
	{"output asked for", asked("display-message", "-p", "x")},
	{"output unread", func(t *testing.T, s *tmuxtest.Server, c net.Conn) {
		s.Print(s.Base, strings.Repeat("flood\r\n", 1000))
		stream := ask(t, c, "capture-pane", "-p", "-S", "-", "-t", s.Base)
		_, err := c.Write(theirs(305, 8, stream, 0))
		require.NoError(t, err)
	}},
	{"input asked for", asked("load-buffer", "-b", "x", "-", ";", "set-option", "-g", "@ran", "yes")},
	{"in the middle of the input", func(t *testing.T, _ *tmuxtest.Server, c net.Conn) {
		stream := ask(t, c, "load-buffer", "-b", "x", "-", ";", "set-option", "-g", "@ran", "yes")
		_, err := c.Write(native.Input(stream, make([]byte, 20000))[:19000])
		require.NoError(t, err)
	}},
	{"before the end of the input", func(t *testing.T, _ *tmuxtest.Server, c net.Conn) {
		stream := ask(t, c, "load-buffer", "-b", "x", "-", ";", "set-option", "-g", "@ran", "yes")
		text := native.Input(stream, []byte("text"))
		_, err := c.Write(text[:len(text)-1])
		require.NoError(t, err)
	}},
	{"waiting", func(t *testing.T, _ *tmuxtest.Server, c net.Conn) {
		_, err := c.Write(native.Request(os.Getpid(), "wait-for", "never"))
		require.NoError(t, err)
	}},
	{"its end unread", func(t *testing.T, _ *tmuxtest.Server, c net.Conn) {
		_, err := c.Write(native.Request(os.Getpid(), "list-clients"))
		require.NoError(t, err)
	}},
}

// write stops after so many written bytes; if n is negative, it counts from the end.
func write(n int, argv ...string) func(*testing.T, *tmuxtest.Server, net.Conn) {
	return func(t *testing.T, _ *tmuxtest.Server, c net.Conn) {
		if len(argv) == 0 {
			argv = []string{"list-clients"}
		}
		all := native.Request(os.Getpid(), argv...)
		if n == -1 { // all but the command
			n = -(20 + len(strings.Join(argv, " ")) + 1)
		}
		if n < 0 {
			n += len(all)
		}
		_, err := c.Write(all[:n])
		require.NoError(t, err)
	}
}

// ask writes a request and waits for the server's first question.
func ask(t *testing.T, c net.Conn, argv ...string) (stream int32) {
	t.Helper()
	_, err := c.Write(native.Request(os.Getpid(), argv...))
	require.NoError(t, err)
	for {
		var header [16]byte
		_, err := io.ReadFull(c, header[:])
		require.NoError(t, err)
		data := make([]byte, binary.NativeEndian.Uint32(header[4:])-16)
		_, err = io.ReadFull(c, data)
		require.NoError(t, err)
		if kind := binary.NativeEndian.Uint32(header[:]); kind == 300 || kind == 303 {
			return int32(binary.NativeEndian.Uint32(data))
		}
	}
}

func asked(argv ...string) func(*testing.T, *tmuxtest.Server, net.Conn) {
	return func(t *testing.T, _ *tmuxtest.Server, c net.Conn) { ask(t, c, argv...) }
}

// Events that crash servers up to 3.7c beside a control client do not crash them beside ours,
// whatever its state: a session changes its window and ends in one turn, and six programs end
// together. A command line behind incomplete input does not run, and nothing is left once our
// connection is closed.
func TestS23_C47_WhatCrashesBesideAControlClient(t *testing.T) {
	each(t, func(t *testing.T, s *tmuxtest.Server, n native.Server) {
		before := descriptors(t, s.PID)
		crash := func(name string) {
			s.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			s.Run("select-window", "-t", "q:1", ";", "kill-session", "-t", "q")
			s.Run("new-session", "-d", "-s", "q", "exec cat", ";", "new-window", "-d", "-t", "q:", "exec cat")
			s.Run("kill-window", "-t", "q:0", ";", "kill-session", "-t", "q")
			s.Run("new-session", "-d", "-s", "q", "exec cat")
			for range 5 {
				s.Run("new-window", "-t", "q:", "exec cat")
			}
			for pid := range strings.FieldsSeq(s.Run("list-panes", "-s", "-t", "q", "-F", "#{pane_pid}")) {
				one, err := strconv.Atoi(pid)
				require.NoError(t, err)
				require.NoError(t, syscall.Kill(one, syscall.SIGTERM))
			}
			tmuxtest.WaitFor(t, "the end of the session", func() bool {
				out, err := s.Try("list-sessions", "-F", "#{session_name}")
				require.NoError(t, err, "the server is gone beside one that is %s", name)
				return !strings.Contains(out, "q")
			})
			require.True(t, s.Alive(), name)
			require.Empty(t, s.Run("list-clients"), name)
		}
		for _, state := range states {
			c, err := net.Dial("unix", s.Socket)
			require.NoError(t, err)
			state.come(t, s, c)
			crash(state.name)
			require.NoError(t, c.Close())
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = n.Run(ctx, []string{"load-buffer", "-b", fmt.Sprint("b", i), "-", ";", "list-panes", "-a", ";", "delete-buffer", "-b", fmt.Sprint("b", i)}, []byte("text"))
				}
			})
		}
		crash("busy")
		stop()
		all.Wait()
		for i := range 4 {
			_, _ = s.Try("delete-buffer", "-b", fmt.Sprint("b", i)) // given up in the middle
		}
		assert.Empty(t, s.Run("show-options", "-gqv", "@ran"))
		nothingLeft(t, s, before)
	})
}
