package mcp

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A client ends while it waits for messages: the wait is over at once, and takes nothing that comes afterwards
// and would be reported as delivered. The answers to its other requests have their time.
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

// A client cancels its wait: the sidecar's wait is over too, so that nothing is taken for a call that nobody
// waits for. The call is answered once, and the next call is served.
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

// A teammate has as long to answer as with the command, and is ended without an answer after that. Another
// computer has as long for a start as for any call here. The call waits for both.
func TestC6_anEndWaitsForATeammate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		tool, arguments string
		least           time.Duration
	}{
		{"end_session", `{"computer":"local","session_id":"alice"}`, api.EndGrace + 10*time.Second}, // including a moment for its program to quit
		{"start_session", `{"computer":"mars","project_dir":"/","title":"x"}`, callTimeout + time.Second},
	} {
		connect := sidecarWith(t, func(sidecar *api.Server) {
			api.Handle(sidecar, api.StartSession, func(context.Context, api.Caller, api.StartSessionRequest) (api.StartedSession, error) {
				return api.StartedSession{}, nil
			})
			api.Handle(sidecar, api.EndSession, func(context.Context, api.Caller, api.EndSessionRequest) (api.EndedSession, error) {
				return api.EndedSession{}, nil
			})
		})
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
		call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":` + c.arguments + `}}` + "\n"
		require.NoError(t, s.Serve(t.Context(), strings.NewReader(hello+call), &out))
		assert.Equal(t, "ok", answersIn(t, out.Bytes())["1"], c.tool)
		assert.Greater(t, waits, c.least, c.tool)
	}
}

// A client sends no more, and reads the answers later: what was in them counts as read, and the server ends.
func TestM6_aClientThatHasClosedItsOwnEnd(t *testing.T) {
	t.Parallel()
	became := make(chan api.ReadRequest, 1)
	connect := sidecarWith(t, func(sidecar *api.Server) {
		api.Handle(sidecar, api.CheckMessages, func(context.Context, api.Caller, api.CheckRequest) (api.Messages, error) {
			return api.Messages{Messages: []api.Message{{Text: "for you"}}}, nil
		})
		api.Handle(sidecar, api.MessagesRead, func(_ context.Context, _ api.Caller, req api.ReadRequest) (api.None, error) {
			became <- req
			return api.None{}, nil
		})
	})
	theirs, ours, err := os.Pipe()
	require.NoError(t, err)
	ask, write := io.Pipe()
	over, wrote := make(chan error, 1), make(chan string, 10)
	go func() { over <- (&Server{Connect: connect}).Serve(t.Context(), ask, toldOf{ours, wrote}) }()
	_, err = io.WriteString(write, hello+waitingCheck)
	require.NoError(t, err)
	for !strings.Contains(<-wrote, "for you") {
	}
	require.NoError(t, write.Close())
	select {
	case <-over:
		t.Fatal("it has ended, and its answer was not read")
	case <-time.After(lastAnswers / 2):
	}
	answers := bufio.NewReader(theirs)
	for line := ""; !strings.Contains(line, "for you"); {
		line, err = answers.ReadString('\n')
		require.NoError(t, err)
	}
	require.NoError(t, <-over)
	select {
	case req := <-became:
		assert.Equal(t, api.WereRead, req.Became)
	default:
		t.Error("it was not told before the end")
	}
}

// toldOf is a file that tells what was written to it.
type toldOf struct {
	*os.File
	wrote chan string
}

func (f toldOf) Write(p []byte) (int, error) {
	defer func() { f.wrote <- string(p) }()
	return f.File.Write(p)
}

// The reply to a call is lost, and with it what was handed over: the sidecar is told of that, even if the
// client ends meanwhile.
func TestM6_aLostReplyIsToldAtTheEnd(t *testing.T) {
	t.Parallel()
	over, lost := make(chan error, 1), make(chan bool, 1)
	var last net.Conn
	var asked, told atomic.Int32
	ask, write := io.Pipe()
	connect := sidecarWith(t, func(sidecar *api.Server) {
		api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, _ api.CheckRequest) (api.Messages, error) {
			if asked.Add(1) == 1 {
				_ = last.Close()
			}
			<-ctx.Done()
			return api.Messages{}, nil
		})
		api.Handle(sidecar, api.MessagesRead, func(_ context.Context, _ api.Caller, req api.ReadRequest) (api.None, error) {
			assert.Equal(t, api.WereNotRead, req.Became)
			if told.Add(1) > 1 { // for the next call, which is cancelled
				return api.None{}, nil
			}
			_ = write.Close()
			select {
			case <-over:
				lost <- false
			case <-time.After(lastAnswers / 2):
				lost <- true
			}
			return api.None{}, nil
		})
	})
	dialled := func(ctx context.Context) (*api.Client, error) {
		c, err := connect(ctx)
		c.Dial = func(ctx context.Context) (_ net.Conn, err error) {
			last, err = new(net.Dialer).DialContext(ctx, "unix", c.Socket)
			return last, err
		}
		return c, err
	}
	go func() {
		over <- (&Server{Connect: dialled}).Serve(t.Context(), ask, io.Discard)
		close(over)
	}()
	_, err := io.WriteString(write, hello+waitingCheck)
	require.NoError(t, err)
	assert.True(t, <-lost, "the server has ended before it was told")
}

// A sidecar ends while a call waits there: the next one is asked for the rest of the time, and its message is the answer.
func TestM6_theSidecarEndsInMidWait(t *testing.T) {
	t.Parallel()
	var last net.Conn
	var asked atomic.Int32
	requests := make(chan api.CheckRequest, 2)
	connect := sidecarWith(t, func(sidecar *api.Server) {
		api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, req api.CheckRequest) (api.Messages, error) {
			requests <- req
			if asked.Add(1) == 1 {
				_ = last.Close() // in the midst of the wait
				<-ctx.Done()
				return api.Messages{}, ctx.Err()
			}
			return api.Messages{Messages: []api.Message{{Text: "for you"}}}, nil
		})
		api.Handle(sidecar, api.MessagesRead, func(context.Context, api.Caller, api.ReadRequest) (api.None, error) { return api.None{}, nil })
	})
	dialled := func(ctx context.Context) (*api.Client, error) {
		c, err := connect(ctx)
		c.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", c.Socket)
			if asked.Load() == 0 {
				last = conn
			}
			return conn, err
		}
		return c, err
	}
	in, write := io.Pipe()
	read, out := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- (&Server{Connect: dialled}).Serve(t.Context(), in, out) }()
	_, err := io.WriteString(write, hello+waitingCheck)
	require.NoError(t, err)
	answers := bufio.NewReader(read)
	answer := ""
	for !strings.Contains(answer, `"id":2`) {
		answer, err = answers.ReadString('\n')
		require.NoError(t, err)
	}
	assert.Contains(t, answer, "for you")
	first, second := <-requests, <-requests
	assert.LessOrEqual(t, second.Wait, first.Wait)
	assert.NotEqual(t, first.Batch, second.Batch)
	require.NoError(t, write.Close())
	go func() { _, _ = io.Copy(io.Discard, answers) }()
	require.NoError(t, <-over)
}

// A call is cancelled, and the sidecar cannot record that the first time: it is told again.
func TestCheck_whatIsLostIsToldUntilItIsWritten(t *testing.T) {
	t.Parallel()
	waiting, written := make(chan struct{}), make(chan struct{})
	var told atomic.Int32
	connect := sidecarWith(t, func(sidecar *api.Server) {
		api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, _ api.CheckRequest) (api.Messages, error) {
			close(waiting)
			<-ctx.Done()
			return api.Messages{}, ctx.Err()
		})
		api.Handle(sidecar, api.MessagesRead, func(context.Context, api.Caller, api.ReadRequest) (api.None, error) {
			if told.Add(1) < 3 {
				return api.None{}, api.Errorf(api.CodeFailed, "no space left on device")
			}
			close(written)
			return api.None{}, nil
		})
	})
	ask, write := io.Pipe()
	over := make(chan error, 1)
	go func() { over <- (&Server{Connect: connect}).Serve(t.Context(), ask, io.Discard) }()
	_, err := io.WriteString(write, hello+waitingCheck)
	require.NoError(t, err)
	<-waiting
	_, err = io.WriteString(write, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`+"\n")
	require.NoError(t, err)
	select {
	case <-written:
	case <-time.After(30 * time.Second):
		t.Error("it was given up")
	}
	require.NoError(t, write.Close())
	require.NoError(t, <-over)
}

// If something in a session that was started is not recognised, the reply says so.
func TestStartSession_saysWhy(t *testing.T) {
	t.Parallel()
	for _, status := range []api.StartStatus{api.StartHeld, api.StartUnrecognised} {
		connect := sidecarWith(t, func(sidecar *api.Server) {
			api.Handle(sidecar, api.StartSession, func(context.Context, api.Caller, api.StartSessionRequest) (api.StartedSession, error) {
				return api.StartedSession{Status: status, Why: "the reason of it"}, nil
			})
		})
		var out bytes.Buffer
		start := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"start_session","arguments":{"computer":"local","project_dir":"/","title":"x"}}}` + "\n"
		require.NoError(t, (&Server{Connect: connect}).Serve(t.Context(), strings.NewReader(hello+start), &out))
		assert.Contains(t, out.String(), string(status))
		assert.Contains(t, out.String(), "the reason of it", "%s", status)
	}
}

// Helpers.

const waitingCheck = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"check_messages","arguments":{"wait_s":50}}}` + "\n"

// sidecarThatWaits is a sidecar in which nothing comes for its only session. waiting is closed when the session
// asks, gaveUp when it no longer waits.
func sidecarThatWaits(t *testing.T) (connect func(context.Context) (*api.Client, error), waiting, gaveUp chan struct{}) {
	t.Helper()
	waiting, gaveUp = make(chan struct{}), make(chan struct{})
	connect = sidecarWith(t, func(sidecar *api.Server) {
		api.Handle(sidecar, api.CheckMessages, func(ctx context.Context, _ api.Caller, _ api.CheckRequest) (api.Messages, error) {
			close(waiting)
			<-ctx.Done()
			close(gaveUp)
			return api.Messages{}, ctx.Err()
		})
	})
	return connect, waiting, gaveUp
}

// sidecarWith is a sidecar with these operations that knows who calls.
func sidecarWith(t *testing.T, offers func(sidecar *api.Server)) (connect func(context.Context) (*api.Client, error)) {
	t.Helper()
	sidecar := &api.Server{Logger: slog.New(slog.DiscardHandler)}
	api.Handle(sidecar, api.Introduce, func(context.Context, api.Caller, api.None) (api.Introduced, error) {
		return api.Introduced{Session: message.Peer{ID: message.NewID()}}, nil
	})
	offers(sidecar)
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	go func() { _ = sidecar.Serve(t.Context(), listener) }()
	return func(context.Context) (*api.Client, error) { return &api.Client{Socket: socket}, nil }
}
