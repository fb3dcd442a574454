package repository

import (
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
)

// A system without free descriptors says nothing about a message, so the message is not refused.
func TestA57_noDescriptorLeft(t *testing.T) {
	const at = "INTERCOM_TEST_DESCRIPTORS"
	if path := os.Getenv(at); path != "" {
		d := Dir{path}
		_, _, err := os.Pipe() // whatever the runtime itself opens is open now
		require.NoError(t, err)
		last, err := os.Open(path)
		require.NoError(t, err)
		most := uint64(last.Fd()) + 1
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: most, Max: most}))
		_, _, err = d.Read("message-1-from-a.json")
		require.ErrorIs(t, err, syscall.EMFILE)
		var is *aea.InvalidError
		assert.NotErrorAs(t, err, &is)
		return
	}
	t.Parallel()
	d := repo(t, "repo")
	drop(t, d, "message-1-from-a.json", `{"message_type":"update","message":{"body":"x"}}`)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestA57_noDescriptorLeft$")
	cmd.Env = append(os.Environ(), at+"="+d.Path)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
