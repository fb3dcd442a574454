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

// A process works while any of its threads does, whatever its first thread does.
func TestAsleep_everyThreadCounts(t *testing.T) {
	t.Parallel()
	told := make(chan bool)
	for range 8 { // threads of their own, at most one of which is the first
		go func() {
			runtime.LockOSThread()
			told <- unix.Gettid() == os.Getpid() || !asleep(os.Getpid())
		}()
	}
	for range 8 {
		assert.True(t, <-told, "the thread that asks runs")
	}

	cmd := exec.Command("sleep", "600")
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	assert.Eventually(t, func() bool { return asleep(cmd.Process.Pid) }, 20*time.Second, 10*time.Millisecond)
}
