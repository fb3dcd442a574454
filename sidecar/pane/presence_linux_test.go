package pane

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// A process of which nothing can be read for now, since no descriptor is free, has not ended: nothing is typed
// to it, and its session goes on.
func TestPresence_whereNothingCanBeRead(t *testing.T) {
	const starved = "INTERCOM_TEST_STARVED"
	if os.Getenv(starved) == "" { // in a process of its own: the limit is that of all tests of one
		child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		child.Env = append(os.Environ(), starved+"=1")
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return
	}
	self, err := process.Identify(os.Getpid())
	require.NoError(t, err)
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	scarce := limit
	scarce.Cur = 0
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &scarce))
	_, is := presenceOf(asMessage(self))
	lives := alive(asMessage(self))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.Equal(t, parting, is)
	assert.True(t, lives)
}
