package pane

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// A program that is just executing another one in its place has not ended.
func TestAdopt_whileItExecutes(t *testing.T) {
	for range 200 {
		screen, tty, err := pty.Open()
		require.NoError(t, err)
		cmd := exec.Command("sh", "-c", "exec sleep 60")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		require.NoError(t, cmd.Start())
		for err := error(assert.AnError); err != nil && !t.Failed(); {
			session := message.Peer{PaneOf: message.PaneOf{Pane: "%1", TTY: tty.Name(), PaneProc: message.Process{PID: cmd.Process.Pid}, Foreground: message.Process{PID: cmd.Process.Pid}}}
			if err = who(&session, profile.Line()); err != nil {
				assert.NotContains(t, err.Error(), "has ended")
			}
		}
		assert.NoError(t, cmd.Process.Kill())
		assert.Error(t, cmd.Wait())
		assert.NoError(t, tty.Close())
		assert.NoError(t, screen.Close())
		if t.Failed() {
			return
		}
	}
}
