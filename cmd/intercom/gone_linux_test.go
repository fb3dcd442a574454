package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// gone waits until a process that has released its lock has ended. It does not wait for another process with the same number.
func TestU22_gone(t *testing.T) {
	t.Parallel()
	lock := filepath.Join(t.TempDir(), "a.lock")
	file, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer file.Close()
	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_EX))
	assert.Equal(t, process.Process{}, resident(lock), "it does not say whose it is")

	lives := exec.Command("sleep", "1h")
	lives.ExtraFiles = []*os.File{file}
	require.NoError(t, lives.Start())
	defer lives.Process.Kill() //nolint:errcheck // it has ended by then
	holds := func(pid int) {
		_, err := file.WriteAt([]byte(fmt.Sprintf("%-10d\n", pid)), 0)
		require.NoError(t, err)
	}
	holds(os.Getppid())
	assert.Zero(t, resident(lock).Start, "a process that has not opened it may be another's number")
	holds(lives.Process.Pid)
	who := resident(lock)
	assert.Equal(t, lives.Process.Pid, who.PID)
	assert.NotZero(t, who.Start)

	require.NoError(t, syscall.Flock(int(file.Fd()), syscall.LOCK_UN))
	assert.Equal(t, process.Process{}, resident(lock))
	over, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, ended(t.Context(), api.Paths{Lock: lock}))
	assert.ErrorContains(t, gone(over, who), fmt.Sprintf("process %d has nothing more to do, and does not end", who.PID))
	assert.NoError(t, gone(over, process.Process{PID: who.PID, Start: who.Start + 1}), "another with its number")
	assert.NoError(t, gone(over, process.Process{}))
	require.NoError(t, lives.Process.Kill())
	assert.NoError(t, gone(t.Context(), who), "also where its parent has not reaped it yet")
	_ = lives.Wait()
}

// The process number in a guard file written in another container belongs to another process here, which is not ended.
func TestU22_noNumberOfAnotherContainer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o700))
	p := api.Paths{Server: "any", Runtime: dir, Guard: filepath.Join(dir, "a.guard")}
	guard, err := api.TakeGuard(p, "/elsewhere/intercom")
	require.NoError(t, err)
	defer guard.Release()
	other := exec.Command("sleep", "1h")
	require.NoError(t, other.Start())
	ended := make(chan struct{})
	go func() { _ = other.Wait(); close(ended) }()
	defer func() { _ = other.Process.Kill(); <-ended }()
	require.NoError(t, os.WriteFile(p.Guard, []byte(fmt.Sprintf("%d\n/elsewhere/intercom\n\n", other.Process.Pid)), 0o600))

	require.Error(t, (&ward{app: &app{}, paths: p}).keep(), "of another program, and not to be ended from here")
	over, end := context.WithCancel(t.Context())
	end() // SIGTERM would be sent before any waiting
	_, err = unguard(over, p)
	require.Error(t, err)
	assert.True(t, process.Lives(other.Process.Pid, 0), "it is none of ours")
}
