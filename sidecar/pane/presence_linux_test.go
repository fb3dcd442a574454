package pane

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// leaving makes this program one whose first thread has ended, and that goes on until its input ends: the system tells the
// same of it as of a process that is ending.
const leaving = "INTERCOM_TEST_LEAVING"

func init() {
	if os.Getenv(leaving) == "" {
		return
	}
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	_, _, _ = syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // init runs in the first thread
}

// A process that has given its memory back, and is still there, has not become another program. The reader of Gemini CLI ends
// when a person trusts the folder, and is started anew; on a busy machine, that ended its session.
func TestPresence_whileItEnds(t *testing.T) {
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), leaving+"=1")
	in, err := child.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	start, err := process.Start(child.Process.Pid)
	require.NoError(t, err)
	was := message.Process{PID: child.Process.Pid, Start: start, Exec: "what it was"}
	require.Eventually(t, func() bool { return process.Leaving(was.PID) }, 20*time.Second, time.Millisecond)
	p := &Pane{reader: was}
	assert.Equal(t, parting, p.reads(process.FrontGroup{}, true))
	_, is := presenceOf(was)
	assert.Equal(t, became, is, "an adopted process itself is gone by then, whatever comes of it")
	in.Close()
	assert.Eventually(t, func() bool { _, is := presenceOf(was); return is == ended }, 20*time.Second, time.Millisecond)
}

// A process of which nothing can be read for now, since no descriptor is free, has not ended: nothing is typed to
// it, and its session goes on.
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
	start := below(asMessage(self))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	assert.Equal(t, parting, is)
	assert.Equal(t, present, start)
}
