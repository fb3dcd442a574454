package daemon_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
)

// headless returns the paths of a sidecar without tmux whose home is dir and whose runtime directory has that name
// below dir.
func headless(t *testing.T, dir, runtime string) api.Paths {
	t.Helper()
	paths, err := api.Places(func(name string) string {
		return map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": filepath.Join(dir, runtime)}[name]
	}, "")
	require.NoError(t, err)
	return paths
}

// shortDir makes a directory for sockets, whose paths may not be long.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Two sidecars with one home and different runtime directories, as in two environments or two containers, have the
// same journal. The second one is refused: it would end the first one's sessions, and both would send the messages
// that wait.
func TestJournalHeld_SecondSidecarIsRefused(t *testing.T) {
	t.Parallel()
	dir := shortDir(t)
	first, second := headless(t, dir, "a"), headless(t, dir, "b")
	require.NotEqual(t, first.Lock, second.Lock)
	require.Equal(t, first.State, second.State)
	run := func(paths api.Paths) (ready chan struct{}, ended chan error, end func()) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		ready, ended = make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- daemon.Run(ctx, daemon.Config{
				Paths: paths, Version: "test", Linger: patience, Ready: func() { close(ready) }, Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
			})
		}()
		t.Cleanup(cancel)
		return ready, ended, cancel
	}
	ready, ended, end := run(first)
	<-ready
	require.NoError(t, daemon.InspectJournal(t.Context(), headless(t, shortDir(t), "a")), "nobody's")
	require.True(t, daemon.JournalHeld(second))
	require.ErrorIs(t, daemon.InspectJournal(t.Context(), second), daemon.ErrJournalHeld, "what is being written is not looked through")

	ready, refused, _ := run(second)
	select {
	case err := <-refused:
		require.ErrorIs(t, err, daemon.ErrJournalHeld)
		assert.NotErrorIs(t, err, api.ErrHeld, "whoever wanted a sidecar has none")
		told := api.AsError(err)
		assert.Contains(t, told.Text, second.State)
		assert.Contains(t, told.Hint, "a sandbox may hide its socket")
		assert.Contains(t, told.Hint, "XDG_RUNTIME_DIR")
		assert.Contains(t, told.Hint, "XDG_STATE_HOME")
	case <-ready:
		t.Fatal("both run")
	}
	end()
	require.NoError(t, <-ended)

	ready, ended, end = run(second)
	select {
	case <-ready:
	case err := <-ended:
		require.NoError(t, err, "nobody has it any more")
	}
	end()
	require.NoError(t, <-ended)
}

// If somebody removes the journal's lock file, a second sidecar could start beside the first. The first one begins
// anew and makes the file again.
func TestJournalHeld_LockIsTakenAway(t *testing.T) {
	t.Parallel()
	paths := headless(t, shortDir(t), "a")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	ready, ended := make(chan struct{}, 9), make(chan error, 1)
	go func() {
		ended <- daemon.Run(ctx, daemon.Config{
			Paths: paths, Version: "test", Linger: patience, Ready: func() { ready <- struct{}{} }, Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		})
	}()
	<-ready
	lock := filepath.Join(paths.State, "journal.lock")
	require.NoError(t, os.Remove(lock))
	select {
	case <-ready:
	case <-time.After(patience):
		t.Fatal("nothing comes of it")
	}
	assert.FileExists(t, lock)
	cancel()
	<-ended
}
