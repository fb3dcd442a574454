package process

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// withoutFirst makes this program go on without its first thread until its input ends.
const withoutFirst = "INTERCOM_TEST_WITHOUT_FIRST_THREAD"

func init() {
	if os.Getenv(withoutFirst) == "" {
		return
	}
	go func() {
		fmt.Println("on")
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // init runs in the first thread
}

// A process lives as long as any of its threads. The system shows a process whose first thread has
// ended as ended, also each that executes another program by another thread, for as long as it
// takes to end the others.
func TestLives_WithoutItsFirstThread(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), withoutFirst+"=yes")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "on\n", said)
	pid := cmd.Process.Pid
	require.Eventually(t, func() bool {
		s, err := readStat(pid)
		return err == nil && s.state == 'Z'
	}, 20*time.Second, time.Millisecond, "its first thread has ended")

	start, err := Start(pid)
	require.NoError(t, err)
	_, err = Identify(pid)
	require.NoError(t, err)
	assert.True(t, Lives(pid, start))
	in.Close()
	assert.Eventually(t, func() bool { return !Lives(pid, start) }, 20*time.Second, time.Millisecond, "nobody has taken note of its end yet")
	_, err = Start(pid)
	assert.ErrorIs(t, err, ErrNoProcess)
}
