package main

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// runAtTerminal is like run with standard error at a terminal, and returns what the terminal shows.
func (w *world) runAtTerminal(t *testing.T, args ...string) (code int, shown string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	require.NoError(t, err)
	defer master.Close()
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	var out bytes.Buffer
	code = run(t.Context(), env{Args: args, Stdin: strings.NewReader(""), Stdout: &out, Stderr: tty, Getenv: w.getenv})
	_, err = tty.WriteString("that is all")
	require.NoError(t, err)
	for !strings.HasSuffix(shown, "that is all") {
		some := make([]byte, 4096)
		read, err := master.Read(some)
		require.NoError(t, err)
		shown += string(some[:read])
	}
	require.NoError(t, tty.Close())
	return code, shown
}

// At a terminal, send and ask say what they wait for and the whole time limit, not the rest of it. Elsewhere they say nothing of
// that.
func TestWaits_areToldAtATerminal(t *testing.T) {
	b := &fakeBackend{receipt: message.Receipt{State: message.Typed}, later: &message.Receipt{State: message.Submitted}}
	w := newWorld(t)
	w.serve(t, b)
	for _, c := range []struct{ line, want string }{
		{"send bob hello", "intercom: note: it is typed; waiting until it is submitted, for up to 10s; C-c ends the waiting alone\r\n"},
		{"send bob hello --wait submitted", "for up to 1h; "},
		{"send bob hello --timeout 90m", "for up to 1h30m; "},
	} {
		code, shown := w.runAtTerminal(t, strings.Fields(c.line)...)
		assert.Zero(t, code, shown)
		assert.Contains(t, shown, c.want, c.line)
		assert.NotContains(t, w.run(strings.Fields(c.line)...).err, "waiting", c.line)
	}

	b.asked = asks(message.ChatOn, message.Receipt{State: message.Submitted}, nil)
	_, shown := w.runAtTerminal(t, "ask", "bob", "--from", "alice")
	assert.Contains(t, shown, "intercom: note: the question is submitted; waiting for the answer, for up to 1h; it comes even after C-c\r\n")
	_, shown = w.runAtTerminal(t, "ask", "bob", "--from", "alice", "--timeout", "0")
	assert.NotContains(t, shown, "waiting")
}
