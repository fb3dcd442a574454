package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A client ends while it waits for messages: the wait is over at once, and takes nothing that comes afterwards and
// would be told as delivered. The answers to what else it has asked have their time.
func TestM6_itsClientEndsInMidWait(t *testing.T) {
	t.Parallel()
	connect, waiting, gaveUp := sidecarThatWaits(t)
	s := &Server{
		Connect: connect,
		Tools: []Tool{Func(Tool{Name: "late"}, func(context.Context, *Call, struct{}) (any, error) {
			<-gaveUp
			return Text("done"), nil
		})},
	}
	in, write := io.Pipe()
	var out bytes.Buffer
	over := make(chan error, 1)
	go func() { over <- s.Serve(t.Context(), in, &out) }()
	_, err := io.WriteString(write, hello+tool("1", "late")+waitingCheck)
	require.NoError(t, err)
	<-waiting
	require.NoError(t, write.Close())
	require.NoError(t, <-over)
	<-gaveUp
	answers := answersIn(t, out.Bytes())
	assert.Equal(t, "ok", answers["1"], "the wait was over before the time for the answers was")
	assert.Contains(t, out.String(), "the call was cancelled")
}

// A client cancels its wait: the sidecar's is over too, so that nothing is taken for a call that nobody waits for. It is
// answered once, and the next call is served.
func TestH72_aCallIsCancelled(t *testing.T) {
	t.Parallel()
	connect, waiting, gaveUp := sidecarThatWaits(t)
	in, write := io.Pipe()
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- (&Server{Connect: connect}).Serve(t.Context(), in, out) }()
	answers := bufio.NewReader(read)
	asks := func(line string) string {
		_, err := io.WriteString(write, line)
		require.NoError(t, err)
		answer, err := answers.ReadString('\n')
		require.NoError(t, err)
		return answer
	}
	asks(hello)
	_, err := io.WriteString(write, waitingCheck)
	require.NoError(t, err)
	<-waiting
	cancelled := asks(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":"x"}}` + "\n")
	<-gaveUp
	assert.Contains(t, cancelled, "the call was cancelled")
	assert.Contains(t, asks(ping), `"id":"after"`, "nothing else is said of it")
	require.NoError(t, write.Close())
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	require.NoError(t, <-over)
}

// A teammate has as long to answer as by the command, and is ended without an answer after that: the call waits for both.
func TestC6_anEndWaitsForATeammate(t *testing.T) {
	t.Parallel()
	connect, _, _ := sidecarThatWaits(t)
	var waits time.Duration
	s := &Server{Connect: func(ctx context.Context) (*api.Client, error) {
		c, err := connect(ctx)
		c.Dial = func(ctx context.Context) (net.Conn, error) {
			if late, ok := ctx.Deadline(); ok {
				waits = max(waits, time.Until(late))
			}
			return new(net.Dialer).DialContext(ctx, "unix", c.Socket)
		}
		return c, err
	}}
	var out bytes.Buffer
	end := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"end_session","arguments":{"computer":"local","session_id":"alice"}}}` + "\n"
	require.NoError(t, s.Serve(t.Context(), strings.NewReader(hello+end), &out))
	assert.Equal(t, "ok", answersIn(t, out.Bytes())["1"])
	assert.Greater(t, waits, api.EndGrace+10*time.Second, "a moment for its program to quit, too")
}

// Helpers.

const waitingCheck = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":50}}}` + "\n"

// sidecarThatWaits is a sidecar in which nothing comes for the one session that there is: waiting is closed when that asks,
// gaveUp when it waits no longer.
func sidecarThatWaits(t *testing.T) (connect func(context.Context) (*api.Client, error), waiting, gaveUp chan struct{}) {
	t.Helper()
	waiting, gaveUp = make(chan struct{}), make(chan struct{})
	sidecar := &api.Server{Logger: slog.New(slog.DiscardHandler)}
	api.Handle(sidecar, api.Introduce, func(context.Context, api.Caller, api.None) (api.Introduced, error) {
		return api.Introduced{Session: message.Peer{ID: message.NewID()}}, nil
	})
	api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, _ api.CheckRequest) (api.Messages, error) {
		close(waiting)
		<-ctx.Done()
		close(gaveUp)
		return api.Messages{}, ctx.Err()
	})
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	go func() { _ = sidecar.Serve(t.Context(), listener) }()
	return func(context.Context) (*api.Client, error) { return &api.Client{Socket: socket}, nil }, waiting, gaveUp
}
