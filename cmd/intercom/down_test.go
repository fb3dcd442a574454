package main

import (
	"encoding/json"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Whoever ends the sidecar of a tmux server is told what of theirs goes on, where, and how to end that as well.
func TestDown_saysWhatGoesOn(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	in := k.in(k.tmuxServer("down"))
	port, dir := aFreePort(t), k.repositories("one")[0]
	in.runs("up")
	assert.NotContains(t, in.runs("down"), "served", "nothing was wanted yet")
	in.ok("listen", "start", "--port", port)
	in.runsIn(dir, "aea", "monitor", "start")
	told := in.runs("down")
	assert.Contains(t, told, "sidecar ended: pid ")
	assert.Contains(t, told, "talk port "+port+", repository "+dir+": served on by a sidecar without tmux; intercom down --all ends that as well")
	until(t, func() bool { return k.sidecarOf("") > 0 })
	assert.Contains(t, in.runs("down"), "no sidecar ran\ntalk port "+port)

	// That of another server, and none: of those JSON tells.
	other := k.in(k.tmuxServer("other"))
	other.runs("up")
	var r downReply
	require.NoError(t, json.Unmarshal([]byte(k.runs("down", "--json")), &r))
	require.NotNil(t, r.Goes)
	assert.Equal(t, byOther, r.Goes.By)
	k.runs("down", "--all")
	assert.Contains(t, k.runs("down"), "not served until the next sidecar starts")
}

// A tmux server that was killed leaves the file of its socket: nothing can be started for it.
func TestStatus_deadServerLeavesItsSocket(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	socket := k.tmuxServer("dead")
	pid, err := k.command("tmux", "-S", socket, "display-message", "-p", "#{pid}").Output()
	require.NoError(t, err)
	var number int
	require.NoError(t, json.Unmarshal(pid, &number))
	require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
	_, err = os.Stat(socket)
	require.NoError(t, err)
	said := func() string {
		out, err := k.in(socket).command(thisProgram(), "status").Output()
		require.Error(t, err)
		return string(out)
	}
	until(t, func() bool { return said() == "no sidecar runs for "+socket+", and no tmux server does\n" })
}
