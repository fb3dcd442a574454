package process

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
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

// A process that waits in select for nothing at all sleeps.
func TestDeaf_select(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not here: apt-get install python3")
	}
	for on, deafened := range map[string]bool{"[]": true, "[0]": false} {
		cmd := exec.Command(python, "-c", "import select; select.select("+on+", [], [], 600)")
		held, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _, _, _ = held.Close(), cmd.Process.Kill(), cmd.Wait() })
		require.Eventually(t, func() bool {
			where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", cmd.Process.Pid))
			return strings.Contains(string(where), "poll_schedule") || strings.Contains(string(where), "do_select")
		}, 20*time.Second, 10*time.Millisecond)
		assert.Equal(t, deafened, deaf(cmd.Process.Pid), on)
	}
}

// The system tells whether an epoll waits for a terminal. Not parallel to other tests, which open
// terminals in this process.
func TestDeaf_epoll(t *testing.T) {
	set, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(set) })
	var pipe [2]int
	require.NoError(t, unix.Pipe2(pipe[:], unix.O_CLOEXEC))
	t.Cleanup(func() { _, _ = unix.Close(pipe[0]), unix.Close(pipe[1]) })
	terminal, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = unix.Close(terminal) })
	watch := func(fd int) {
		require.NoError(t, unix.EpollCtl(set, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}))
	}

	watch(pipe[0])
	assert.False(t, pollsTerminal(os.Getpid()))
	watch(terminal)
	assert.True(t, pollsTerminal(os.Getpid()))
}
