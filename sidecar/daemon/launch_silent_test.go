package daemon_test

import (
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A start that is approved while tmux hangs begins when tmux answers, in the same life of the sidecar: with one
// window and its first message once, and the agent is told.
func TestStart_approvedWhileTmuxHangs(t *testing.T) {
	t.Parallel()
	var r *rig
	var hang atomic.Bool
	r = newRig(t, launches(t), inGap(func(_, moment string) {
		if moment == "begun" && hang.CompareAndSwap(true, false) {
			_ = syscall.Kill(r.PID, syscall.SIGSTOP)
		}
	}))
	t.Cleanup(func() { _ = syscall.Kill(r.PID, syscall.SIGCONT) })
	command, log := r.worker("Qa")
	qa := filepath.Join(r.dir, "qa")
	tmuxtest.Program(t, qa, "#!/bin/sh\nexec "+quoted(command)+"\n")
	ada := r.adopted("Ada", silent...)
	held, err := asks[api.StartedSession](ada, "start", api.StartSessionRequest{Dir: r.dir, Agent: qa, Title: "Qa", Message: "do it"})
	require.NoError(t, err)
	require.Equal(t, api.StartHeld, held.Status)
	hang.Store(true)
	assert.ErrorContains(t, r.yes("approve", string(held.Request)), "no answer from tmux", "who said yes is told that it is not certain")
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGCONT))

	heard := func() string { return strings.Join(ada.received(), "\n") }
	r.waitFor("the agent is told", func() bool { return strings.Contains(heard(), "was started in ") })
	r.heardOnce(log, "AI[local:"+string(ada.session.ID)+"] | do it")
	r.waitFor("both are known", func() bool { return len(r.listed()) == 2 })
	assert.Equal(t, 1, strings.Count(r.Run("list-panes", "-a", "-F", "#{pane_start_command}"), " session-exec "+string(held.Request)))
	assert.Equal(t, 1, r.toldOf("once tmux answered, "))
	assert.NotContains(t, heard(), "it failed: ")
}
