package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A client ends while it waits for messages: the wait is over at once, and takes nothing that comes afterwards and
// would be told as delivered. The answers to what else it has asked have their time.
func TestM6_itsClientEndsInMidWait(t *testing.T) {
	t.Parallel()
	waiting, gaveUp := make(chan struct{}), make(chan struct{})
	sidecar := &api.Server{Logger: slog.New(slog.DiscardHandler)}
	api.Handle(sidecar, api.Introduce, func(context.Context, api.Caller, api.None) (api.Introduced, error) {
		return api.Introduced{Session: message.Peer{ID: message.NewID()}}, nil
	})
	api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, _ api.CheckRequest) (api.Letters, error) {
		close(waiting)
		<-ctx.Done()
		close(gaveUp)
		return api.Letters{}, ctx.Err()
	})
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	go func() { _ = sidecar.Serve(t.Context(), listener) }()

	s := &Server{
		Connect: func(context.Context) (*api.Client, error) { return &api.Client{Socket: socket}, nil },
		Tools: []Tool{Func(Tool{Name: "late"}, func(context.Context, *Call, struct{}) (any, error) {
			<-gaveUp
			return Text("done"), nil
		})},
	}
	in, write := io.Pipe()
	var out bytes.Buffer
	over := make(chan error, 1)
	go func() { over <- s.Serve(t.Context(), in, &out) }()
	_, err = io.WriteString(write, hello+tool("1", "late")+
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":50}}}`+"\n")
	require.NoError(t, err)
	<-waiting
	require.NoError(t, write.Close())
	require.NoError(t, <-over)
	<-gaveUp
	answers := answersIn(t, out.Bytes())
	assert.Equal(t, "ok", answers["1"], "the wait was over before the time for the answers was")
	assert.Contains(t, out.String(), "the call was cancelled")
}
