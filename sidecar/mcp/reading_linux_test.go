package mcp

import (
	"context"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The pipe or socket shows whether a client has read what was written: not before it has, and not for what it
// left there.
func TestReading_whatTheClientHasTaken(t *testing.T) {
	t.Parallel()
	pipe := func(t *testing.T) (theirs, ours *os.File) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		return r, w
	}
	socket := func(t *testing.T) (theirs, ours *os.File) { // as Node has it for a child
		both, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		return os.NewFile(uintptr(both[0]), "theirs"), os.NewFile(uintptr(both[1]), "ours")
	}
	for name, c := range map[string]struct {
		make func(*testing.T) (theirs, ours *os.File)
		// What is known about the first of two answers once only that one was read, and about one that was left
		// at the client's end.
		first, left reading
	}{"pipe": {pipe, read, lost}, "socket": {socket, unread, unknown}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs, ours := c.make(t)
			defer ours.Close()
			out := &outlet{Writer: ours}
			over, cancel := context.WithCancel(t.Context())
			cancel() // each check is the last
			_, err := out.Write([]byte("first\n"))
			require.NoError(t, err)
			one := out.written()
			assert.Equal(t, unread, out.await(over, one))
			_, err = out.Write([]byte("second\n"))
			require.NoError(t, err)
			two := out.written()
			buf := make([]byte, 6)
			_, err = theirs.Read(buf[:3])
			require.NoError(t, err)
			assert.Equal(t, unread, out.await(over, one), "half of it was")
			_, err = theirs.Read(buf[3:])
			require.NoError(t, err)
			assert.Equal(t, c.first, out.await(over, one))
			assert.Equal(t, unread, out.await(over, two))
			_, err = theirs.Read(make([]byte, 20))
			require.NoError(t, err)
			assert.Equal(t, read, out.await(t.Context(), two))
			_, err = out.Write([]byte("third\n"))
			require.NoError(t, err)
			require.NoError(t, theirs.Close())
			assert.Equal(t, c.left, out.await(t.Context(), out.written()))
		})
	}
	t.Run("a socket that its client has half closed", func(t *testing.T) {
		t.Parallel()
		theirs, ours := socket(t)
		defer ours.Close()
		out := &outlet{Writer: ours}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		wrote := func() int64 {
			_, err := out.Write([]byte("answer\n"))
			require.NoError(t, err)
			return out.written()
		}
		reads := func() {
			_, err := theirs.Read(make([]byte, 20))
			require.NoError(t, err)
		}
		// The client sends no more, and reads on.
		require.NoError(t, syscall.Shutdown(int(theirs.Fd()), syscall.SHUT_WR))
		end := wrote()
		assert.Equal(t, unread, out.await(over, end))
		reads()
		assert.Equal(t, read, out.await(over, end))
		// The client takes no more than it has, which it may or may not read.
		end = wrote()
		require.NoError(t, syscall.Shutdown(int(theirs.Fd()), syscall.SHUT_RD))
		assert.Equal(t, unknown, out.await(over, end))
		_, err := out.Write([]byte("more\n"))
		assert.ErrorIs(t, err, syscall.EPIPE)
	})
	t.Run("a socket of a network", func(t *testing.T) {
		t.Parallel()
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close()
		ours, err := net.Dial("tcp", listener.Addr().String())
		require.NoError(t, err)
		defer ours.Close()
		theirs, err := listener.Accept()
		require.NoError(t, err)
		defer theirs.Close()
		out := &outlet{Writer: ours}
		_, err = out.Write([]byte("answer\n"))
		require.NoError(t, err)
		assert.Equal(t, unknown, out.await(t.Context(), out.written()), "its computer has it, and it may not")
	})
	file, err := os.CreateTemp(t.TempDir(), "")
	require.NoError(t, err)
	defer file.Close()
	out := &outlet{Writer: file}
	_, err = out.Write([]byte("a line\n"))
	require.NoError(t, err)
	assert.Equal(t, read, out.await(t.Context(), out.written()), "a file keeps it")
	require.NoError(t, file.Close())
	assert.Equal(t, unknown, out.await(t.Context(), out.written()))
}
