package pane

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A process that has not executed anything since its parent made it is still called what its parent
// is: nobody takes it for the agent that it may become.
func TestForked(t *testing.T) {
	child := func(script string) (pid, parent int) {
		t.Helper()
		cmd := exec.Command("sh", "-c", script)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
		parent = cmd.Process.Pid
		tmuxtest.WaitFor(t, "a child", func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", parent, parent))
			if err == nil {
				pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			return err == nil
		})
		return pid, parent
	}
	copied, parent := child("(read x); :")
	assert.True(t, forked(copied, parent))
	other, parent := child("cat; :")
	tmuxtest.WaitFor(t, "another program", func() bool { return !forked(other, parent) })
	assert.True(t, forked(1<<30, parent), "one that is gone is nobody")
}
