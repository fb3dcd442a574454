package process

import (
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A process is in the list from its first instant, however often and by however many callers the
// list was read before.
func TestAll_hasEveryProcessAtOnce(t *testing.T) {
	t.Parallel()
	stop, reading := make(chan struct{}), make(chan error)
	for range 4 {
		go func() {
			for {
				select {
				case <-stop:
					reading <- nil
					return
				default:
				}
				if _, err := All(); err != nil {
					reading <- err
					return
				}
			}
		}()
	}
	for range 100 {
		cmd := exec.Command("cat")
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		pids, err := All()
		require.NoError(t, err)
		assert.True(t, slices.Contains(pids, cmd.Process.Pid))
		require.NoError(t, in.Close())
		require.NoError(t, cmd.Wait())
	}
	close(stop)
	for range 4 {
		require.NoError(t, <-reading)
	}
}

// A process that had its number, but did not exist yet when the list was read, is in the list as
// soon as it exists; a thread never is.
func TestAll_whoWasAboutToBegin(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := counted{last: cmd.Process.Pid, pids: []int{1}}
	assert.Contains(t, c.grown(c.last), cmd.Process.Pid)
	earlier := counted{last: cmd.Process.Pid - 200, pids: []int{1}}
	assert.NotContains(t, earlier.grown(earlier.last), cmd.Process.Pid)
	assert.Contains(t, earlier.grown(cmd.Process.Pid), cmd.Process.Pid)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	assert.NotContains(t, c.grown(c.last), cmd.Process.Pid)

	threads, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	for _, one := range threads {
		tid, err := strconv.Atoi(one.Name())
		require.NoError(t, err)
		c := counted{last: tid, pids: []int{1}}
		assert.Equal(t, tid == os.Getpid(), slices.Contains(c.grown(c.last), tid))
	}
}

// A caller that changes its list changes nobody else's.
func TestAll_isTheCallersOwn(t *testing.T) {
	first, err := All()
	require.NoError(t, err)
	clear(first)
	second, err := All()
	require.NoError(t, err)
	assert.Contains(t, second, 1)
}

func BenchmarkAll(b *testing.B) {
	b.Run("counted", func(b *testing.B) {
		for b.Loop() {
			_, _ = All()
		}
	})
	b.Run("read", func(b *testing.B) {
		for b.Loop() {
			_, _ = listAll()
		}
	})
}
