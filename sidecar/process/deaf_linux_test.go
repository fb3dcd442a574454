package process

import (
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A program reads unless each of its threads is stopped, or waits for time, a child or a pipe.
func TestDeaf(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	assert.False(t, deaf(os.Getpid()), "the thread that asks runs")

	silent, held, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = silent.Close(), held.Close() })
	for name, deafens := range map[string][]string{
		"time":    {"sleep", "600"},
		"a child": {"sh", "-c", "sleep 600; :"},
		"a pipe":  {"cat"},
	} {
		cmd := exec.Command(deafens[0], deafens[1:]...)
		cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
		cmd.Stdin = silent
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL); _ = cmd.Wait() })
		assert.Eventually(t, func() bool { return deaf(cmd.Process.Pid) }, 20*time.Second, 10*time.Millisecond, name)
	}
}
