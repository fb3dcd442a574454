package main

import (
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// C-c ends the line program of the demo at once, as it ends others: it has nothing to finish.
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
	_, err = cmd.Process.Wait()
	require.NoError(t, err)
}
