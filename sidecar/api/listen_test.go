package api_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func TestListen_onlyOne(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	first, err := api.Listen(dir, "x")
	require.NoError(t, err)

	_, err = api.Listen(dir, "x")
	require.ErrorIs(t, err, api.ErrHeld)
	held, ok := errors.AsType[*api.HeldError](err)
	require.True(t, ok)
	assert.Equal(t, os.Getpid(), held.PID)
	conn, err := net.Dial("unix", filepath.Join(dir, "x.sock"))
	require.NoError(t, err, "the second has not taken the first one's socket")
	conn.Close()

	other, err := api.Listen(dir, "y")
	require.NoError(t, err, "another server has its own")
	require.NoError(t, other.Release())

	require.NoError(t, first.Close())
	_, err = api.Listen(dir, "x")
	require.ErrorIs(t, err, api.ErrHeld, "who has only stopped listening may still be typing")
	assert.NoFileExists(t, filepath.Join(dir, "x.sock"))

	require.NoError(t, first.Release())
	assert.FileExists(t, filepath.Join(dir, "x.lock"))
	again, err := api.Listen(dir, "x")
	require.NoError(t, err)
	require.NoError(t, again.Release())
}

func TestListen_staleSocketIsReplaced(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.Mkdir(dir, 0o700))
	socket := filepath.Join(dir, "x.sock")
	stale, err := net.Listen("unix", socket)
	require.NoError(t, err)
	stale.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, stale.Close())
	require.FileExists(t, socket)

	ln, err := api.Listen(dir, "x")
	require.NoError(t, err)
	defer ln.Release()
	conn, err := net.Dial("unix", socket)
	require.NoError(t, err)
	conn.Close()
}

func TestListen_lockThatIsALinkIsRefused(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.Mkdir(dir, 0o700))
	victim := filepath.Join(t.TempDir(), "victim")
	require.NoError(t, os.WriteFile(victim, []byte("keep"), 0o600))
	require.NoError(t, os.Symlink(victim, filepath.Join(dir, "x.lock")))
	_, err := api.Listen(dir, "x")
	require.Error(t, err)
	kept, err := os.ReadFile(victim)
	require.NoError(t, err)
	assert.Equal(t, "keep", string(kept))

	require.NoError(t, os.Remove(victim))
	_, err = api.Listen(dir, "x")
	require.Error(t, err)
	assert.NoFileExists(t, victim, "nothing is made at the other end of a link")
}

func TestListener_noticesThatItsPlaceWasCleared(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	ln, err := api.Listen(dir, "x")
	require.NoError(t, err)
	defer ln.Release()
	require.NoError(t, ln.Intact())

	require.NoError(t, os.Remove(filepath.Join(dir, "x.lock")))
	assert.Error(t, ln.Intact())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.lock"), nil, 0o600))
	assert.Error(t, ln.Intact(), "another file in its place is not the lock")
}

func TestPrivate_refusesWhatOthersMayEnter(t *testing.T) {
	for name, make := range map[string]func(t *testing.T, dir string){
		"open to others": func(t *testing.T, dir string) {
			require.NoError(t, os.Mkdir(dir, 0o755))
			require.NoError(t, os.Chmod(dir, 0o755))
		},
		"symbolic link": func(t *testing.T, dir string) {
			real := filepath.Join(t.TempDir(), "real")
			require.NoError(t, os.Mkdir(real, 0o700))
			require.NoError(t, os.Symlink(real, dir))
		},
		"file": func(t *testing.T, dir string) { require.NoError(t, os.WriteFile(dir, nil, 0o700)) },
		"parent open to others": func(t *testing.T, dir string) {
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777))
		},
		"another user's": func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory away: run the tests as root to see this one")
			}
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chown(dir, 65534, 65534))
		},
		"another user's parent": func(t *testing.T, dir string) {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a directory away: run the tests as root to see this one")
			}
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chown(filepath.Dir(dir), 65534, 65534))
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777|os.ModeSticky))
		},
	} {
		t.Run(name, func(t *testing.T) {
			parent := filepath.Join(t.TempDir(), "parent")
			require.NoError(t, os.Mkdir(parent, 0o700))
			dir := filepath.Join(parent, "run")
			make(t, dir)
			before, err := os.Lstat(dir)
			require.NoError(t, err)

			_, err = api.Listen(dir, "x")
			told, ok := errors.AsType[*api.Error](err)
			require.True(t, ok, "%v", err)
			assert.NotEmpty(t, told.Hint)
			after, err := os.Lstat(dir)
			require.NoError(t, err)
			assert.Equal(t, before.Mode(), after.Mode(), "nothing is mended behind the person's back")
		})
	}
}

func TestPrivate_makesWhatIsNotThere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", "run")
	require.NoError(t, api.Private(dir))
	require.NoError(t, api.Private(dir))
	for ; filepath.Base(dir) != "a"; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), dir)
	}
}

func TestClient_waitsForASidecarThatStarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	c := &api.Client{Socket: filepath.Join(dir, "x.sock")}
	_, err := api.Call(t.Context(), c, api.ShowStatus, api.None{})
	require.Equal(t, api.CodeNoSidecar, code(err), "%v", err)

	c.Wait = 30 * time.Second
	got := make(chan error, 1)
	go func() {
		_, err := api.Call(t.Context(), c, api.ShowStatus, api.None{})
		got <- err
	}()
	ln, err := api.Listen(dir, "x")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ln.Release()) })
	serveOn(t, new(backend).offered(&api.Server{}), ln)
	assert.NoError(t, <-got)
}

func TestWaitReleased_waitsForTheEndOfTheHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	lock := filepath.Join(dir, "x.lock")
	require.NoError(t, api.WaitReleased(t.Context(), lock), "nobody ever had it")
	ln, err := api.Listen(dir, "x")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	assert.ErrorIs(t, api.WaitReleased(ctx, lock), api.ErrHeld)
	got := make(chan error, 1)
	go func() { got <- api.WaitReleased(t.Context(), lock) }()
	require.NoError(t, ln.Release())
	assert.NoError(t, <-got)
}

func TestListen_pidInTheLockIsThatOfTheHolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x.lock"), []byte("999999999999\nold"), 0o600))
	ln, err := api.Listen(dir, "x")
	require.NoError(t, err)
	defer ln.Release()
	text, err := os.ReadFile(filepath.Join(dir, "x.lock"))
	require.NoError(t, err)
	assert.Equal(t, strconv.Itoa(os.Getpid()), string(bytes.TrimSpace(text)))
}
