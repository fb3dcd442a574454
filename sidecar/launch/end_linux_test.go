package launch

import (
	"bufio"
	"log/slog"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// leavesBehind is a session whose program has ended, and a process that it started in a session of its own, which
// lives.
func leavesBehind(t *testing.T) (session message.Peer, left process.Process) {
	t.Helper()
	id := message.NewID()
	cmd := exec.Command("sh", "-c", `setsid sleep 1000 >&2 & echo $!; read -r _`)
	cmd.Env = append(os.Environ(), process.Mark(string(id)))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	root := message.Process{PID: cmd.Process.Pid}
	root.Start, err = process.Start(root.PID)
	require.NoError(t, err)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, in.Close())
	_ = cmd.Wait()
	left.PID, err = strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	left.Start, err = process.Start(left.PID)
	require.NoError(t, err)
	t.Cleanup(func() { _ = process.Signal(left, 9) })
	session = message.Peer{ID: id, Name: "alice", Caller: &message.Address{Name: "ada"}}
	session.Foreground, session.PaneProc = root, root
	return session, left
}

// After a program has ended by itself, nothing that it left behind stays, in whatever session, and no other process
// is ended.
func TestLauncher_endsWhatAProgramHasLeftBehind(t *testing.T) {
	t.Parallel()
	l := &Launcher{Log: slog.New(slog.DiscardHandler)}
	_, others := leavesBehind(t)

	session, left := leavesBehind(t)
	how, err := l.end(t.Context(), session, nil, 0)
	require.NoError(t, err)
	assert.NotEqual(t, Gone, how)
	assert.False(t, process.Lives(left.PID, left.Start))
	how, err = l.end(t.Context(), session, nil, 0)
	require.NoError(t, err)
	assert.Equal(t, Gone, how)

	session, left = leavesBehind(t)
	require.NoError(t, l.EndRest(t.Context(), session.ID))
	assert.False(t, process.Lives(left.PID, left.Start))
	require.NoError(t, l.EndRest(t.Context(), message.NewID()))

	session, left = leavesBehind(t)
	session.Caller = nil // it was not started here, and has no mark
	how, err = l.end(t.Context(), session, nil, 0)
	require.NoError(t, err)
	assert.Equal(t, Gone, how)
	assert.True(t, process.Lives(left.PID, left.Start))
	assert.True(t, process.Lives(others.PID, others.Start))
}
