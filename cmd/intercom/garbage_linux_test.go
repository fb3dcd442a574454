package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// After a burst of allocation a process has hardly more memory than before plus what it still uses; the rest went back to the
// system.
func TestCollectSeldom(t *testing.T) {
	const keeps, room = 8, 12 // MB
	if os.Getenv("INTERCOM_TEST_GARBAGE") != "" {
		collectSeldom(t.Context())
		in := bufio.NewReader(os.Stdin)
		_, _ = os.Stdout.WriteString("ready\n")
		_, _ = in.ReadString('\n')
		inUse := make([][]byte, keeps)
		for i := range 64 * keeps {
			block := make([]byte, 1<<20)
			for at := 0; at < len(block); at += 4096 {
				block[at] = 1
			}
			inUse[i%keeps] = block
		}
		_, _ = os.Stdout.WriteString("busy\n")
		_, _ = io.Copy(io.Discard, in)
		runtime.KeepAlive(inUse)
		return
	}
	t.Parallel()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCollectSeldom$")
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_GARBAGE=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	defer func() { _ = in.Close(); _ = cmd.Wait() }()
	told := bufio.NewReader(out)
	says := func(want string) {
		t.Helper()
		said, err := told.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, want, said)
	}
	says("ready\n")
	before := memoryOf(t, cmd.Process.Pid, "VmRSS:")
	_, err = io.WriteString(in, "go\n")
	require.NoError(t, err)
	says("busy\n")
	require.Greater(t, memoryOf(t, cmd.Process.Pid, "VmHWM:"), before+keeps+room)
	until(t, func() bool { return memoryOf(t, cmd.Process.Pid, "VmRSS:") <= before+keeps+room })
}
