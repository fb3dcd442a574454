package api_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

func TestClient_sidecarThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "api") // the path of a socket must be short
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	ln, err := api.Listen(filepath.Join(dir, "intercom"), "x")
	require.NoError(t, err)
	c := &api.Client{Socket: filepath.Join(dir, "intercom", "x.sock")}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = api.Call(ctx, c, api.ShowStatus, api.None{})
	told, ok := errors.AsType[*api.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, api.CodeTimeout, told.Code)
	assert.Equal(t, fmt.Sprintf("the sidecar of process %d does not answer", os.Getpid()), told.Text)
	assert.Equal(t, fmt.Sprintf("intercom doctor says why; kill -9 %d ends it", os.Getpid()), told.Hint)
	assert.Error(t, told.Unwrap(), "what the system said is kept")

	require.NoError(t, ln.Release())
	_, err = api.Call(t.Context(), c, api.ShowStatus, api.None{})
	told, ok = errors.AsType[*api.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, api.CodeNoSidecar, told.Code)
	assert.Equal(t, fmt.Sprintf("no sidecar listens at %q", c.Socket), told.Text)
	assert.ErrorIs(t, err, os.ErrNotExist)
	assert.Equal(t, api.Absent, told.Kind)
}

// A listener that is not believed is not the same as no listener: a sidecar that is started beside it would
// find the place taken.
func TestClient_whoeverIsNotBelievedIsNotAbsent(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer ln.Close()
	c := &api.Client{Socket: ln.Addr().String(), Believes: func(api.Caller) error { return errors.New("another program") }}
	_, err = api.Call(t.Context(), c, api.ShowStatus, api.None{})
	told, ok := errors.AsType[*api.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, api.CodeNoSidecar, told.Code)
	assert.Empty(t, told.Kind)
}

// A sidecar that reports its status but does not answer something else in time must not be killed.
func TestClient_sidecarThatWaitsForSomething(t *testing.T) {
	for kind, text := range map[api.ProblemKind]string{"": "no answer from the sidecar in time, although it runs", api.ProblemTmux: "tmux does not answer"} {
		dir, err := os.MkdirTemp("/tmp", "api")
		require.NoError(t, err)
		t.Cleanup(func() { os.RemoveAll(dir) })
		ln, err := api.Listen(filepath.Join(dir, "intercom"), "x")
		require.NoError(t, err)
		s := &api.Server{Logger: slog.New(slog.DiscardHandler)}
		api.Handle(s, api.ShowStatus, func(context.Context, api.Caller, api.None) (st api.Status, _ error) {
			if kind != "" {
				st.Degrade(kind, "")
			}
			return st, nil
		})
		api.Handle(s, api.Peers, func(ctx context.Context, _ api.Caller, _ api.None) ([]api.Peer, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		ctx, end := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, ln) }()
		asking, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err = api.Call(asking, &api.Client{Socket: filepath.Join(dir, "intercom", "x.sock")}, api.Peers, api.None{})
		cancel()
		told, ok := errors.AsType[*api.Error](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, api.CodeTimeout, told.Code)
		assert.Equal(t, text, told.Text)
		assert.NotContains(t, told.Hint, "kill")
		end()
		require.NoError(t, <-served)
		require.NoError(t, ln.Release())
	}
}
