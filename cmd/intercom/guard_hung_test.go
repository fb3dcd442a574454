package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// While a sidecar hangs, up and uninstall fail and leave its guard and everything of ours in the tmux server as they are: the
// sidecar may die before it goes on, and then the guard starts another.
func TestGuard_staysBesideASidecarThatHangs(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.load()
	st.guarded()
	before, hung, traces := st.guard(), st.sidecar(), st.Run("list-keys", ";", "show-options", "-g")
	require.NoError(t, syscall.Kill(hung, syscall.SIGSTOP))
	t.Cleanup(func() { _ = syscall.Kill(hung, syscall.SIGCONT) })
	tmuxtest.WaitFor(t, "it stands still", func() bool { return stopped(hung) })
	var asked sync.WaitGroup
	for _, word := range []string{"up", "uninstall"} {
		asked.Go(func() {
			cmd := &exec.Cmd{Path: thisProgram(), Args: []string{"intercom", word, "--server=" + st.Socket}, Env: st.environ()}
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // without a terminal nobody can be asked
			out, _ := cmd.CombinedOutput()
			assert.Equal(t, 4, cmd.ProcessState.ExitCode(), "%s: %s", word, out)
			assert.Contains(t, string(out), fmt.Sprintf("the sidecar of process %d does not answer", hung), word)
		})
	}
	asked.Wait()
	there, held := api.GuardOf(st.paths())
	assert.True(t, held)
	assert.Equal(t, before, there)
	assert.Equal(t, hung, st.sidecar())
	assert.Equal(t, traces, st.Run("list-keys", ";", "show-options", "-g"))
	assert.NoFileExists(t, uninstalledFile(st.paths()))

	require.NoError(t, syscall.Kill(hung, syscall.SIGKILL))
	tmuxtest.WaitFor(t, "its guard brings another", func() bool { now := st.sidecar(); return now > 0 && now != hung })
}

// If a sidecar of another version hangs when it is to be replaced, the sidecar and its guard stay.
func TestUp_guardOfOneThatDoesNotSayWhetherItEnds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.places(t)
	require.NoError(t, api.Private(p.Runtime))
	l, err := api.Listen(p.Runtime, p.Key)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	s, done := &api.Server{Logger: slog.New(slog.DiscardHandler)}, make(chan error, 1)
	var hangs atomic.Bool
	api.Handle(s, api.ShowStatus, func(ctx context.Context, _ api.Caller, _ api.None) (api.Status, error) {
		if hangs.Load() {
			<-ctx.Done()
		}
		return api.Status{Version: "0.0.1", PID: os.Getpid(), Server: p.Server}, ctx.Err()
	})
	api.Handle(s, api.MayEnd, func(ctx context.Context, _ api.Caller, _ api.None) (none api.None, _ error) {
		hangs.Store(true)
		<-ctx.Done()
		return none, ctx.Err()
	})
	api.Handle(s, api.Down, func(context.Context, api.Caller, api.None) (none api.None, _ error) {
		assert.Fail(t, "it was ended")
		return none, nil
	})
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		assert.NoError(t, <-done)
		assert.NoError(t, l.Release())
	})
	standGuard(t, p)
	before, _ := api.GuardOf(p)
	r := w.run("up")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.err, "intercom: warning: a sidecar of version 0.0.1 is still running: the sidecar of process "+fmt.Sprint(os.Getpid())+" does not answer")
	there, held := api.GuardOf(p)
	assert.True(t, held)
	assert.Equal(t, before, there)
}
