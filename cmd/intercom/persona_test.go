package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// C-c ends the line program of the demo at once, by the signal itself.
func TestPersona_endsOnInterrupt(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), thisProgram(), "persona", "--prompt", "> ")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	prompt := make([]byte, len("> "))
	_, err = io.ReadFull(out, prompt)
	require.NoError(t, err)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	timer := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	require.Error(t, cmd.Wait())
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, ok)
	require.True(t, status.Signaled(), "it ended with %d", status.ExitStatus())
	require.Equal(t, syscall.SIGINT, status.Signal())
}
