package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestClient_asksOnceMoreWhereThatIsHarmless(t *testing.T) {
	adopt := func(c *api.Client) error {
		_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{Pane: "%1", As: "line"})
		return err
	}
	for _, ask := range []struct {
		name string
		call func(*api.Client) error
		lost int // how many requests lose their reply
		want int // how many requests are made
		code api.Code
	}{
		{"a question", func(c *api.Client) error { _, err := api.Call(t.Context(), c, api.Sessions, api.None{}); return err }, 1, 2, ""},
		{"a question, twice", func(c *api.Client) error { _, err := api.Call(t.Context(), c, api.Sessions, api.None{}); return err }, 2, 2, api.CodeUncertain},
		{"the stream of events", events, 1, 2, ""},
		{"a message, which has an id", func(c *api.Client) error {
			_, err := api.Call(t.Context(), c, api.Send, api.SendRequest{To: "bob", Text: "x"})
			return err
		}, 1, 2, ""},
		{"a message, twice", func(c *api.Client) error {
			_, err := api.Call(t.Context(), c, api.Send, api.SendRequest{To: "bob", Text: "x"})
			return err
		}, 2, 2, api.CodeUncertain},
		{"a change that was read", adopt, 1, 1, api.CodeUncertain},
		{"words that were read", func(c *api.Client) error {
			_, err := api.Call(t.Context(), c, api.Say, api.SayRequest{Chat: "c", Text: "x"})
			return err
		}, 1, 1, api.CodeUncertain},
	} {
		t.Run(ask.name, func(t *testing.T) {
			s := listenAndLose(t, ask.lost)
			assert.Equal(t, ask.code, code(ask.call(&api.Client{Socket: s.socket})))
			assert.Len(t, s.requests(), ask.want)
		})
	}
}

// If the sidecar ended while it handled a message and cannot be started again, nobody knows whether the message
// was typed. The error says so, and not that no sidecar runs.
func TestClient_messageWhoseSidecarIsGoneForGood(t *testing.T) {
	send := func(c *api.Client) error {
		_, err := api.Call(t.Context(), c, api.Send, api.SendRequest{To: "bob", Text: "x"})
		return err
	}
	ask := func(c *api.Client) error {
		_, err := api.Call(t.Context(), c, api.Sessions, api.None{})
		return err
	}
	for want, call := range map[api.Code]func(*api.Client) error{api.CodeUncertain: send, api.CodeNoSidecar: ask} {
		s := listenAndLose(t, 1)
		c := &api.Client{Socket: s.socket}
		dials := 0
		c.Dial = func(ctx context.Context) (net.Conn, error) {
			if dials++; dials > 1 {
				return nil, unix.ENOENT
			}
			return (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
		}
		assert.Equal(t, want, code(call(c)))
		assert.Equal(t, 2, dials)
	}
}

// After a lost reply the request is repeated with its first id, whoever made that id, and with the time that is
// left.
func TestClient_lostReplyIsAskedForByItsID(t *testing.T) {
	given := message.NewID()
	for _, id := range []message.ID{"", given} {
		s := listenAndLose(t, 1)
		sent, err := api.Call(t.Context(), &api.Client{Socket: s.socket}, api.Send, api.SendRequest{ID: id, To: "bob", Text: "x", Timeout: time.Minute})
		require.NoError(t, err)
		requests := s.requests()
		require.Len(t, requests, 2)
		var first, second api.SendRequest
		require.NoError(t, json.Unmarshal(requests[0], &first))
		require.NoError(t, json.Unmarshal(requests[1], &second))
		assert.NotEmpty(t, first.ID)
		assert.Equal(t, first.ID, second.ID)
		assert.Equal(t, first.ID, sent.Message)
		assert.Less(t, second.Timeout, first.Timeout)
		assert.Positive(t, second.Timeout)
		if id != "" {
			assert.Equal(t, given, first.ID)
		}
	}
}

// The backlog of a sidecar that is killed takes connections until the very end. No request in it was read,
// whatever it was.
func TestClient_whatWasNeverAcceptedGoesToTheNextSidecar(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that nothing was read: run it there")
	}
	for name, text := range map[string]string{"short": "x", "longer than the socket takes": strings.Repeat("x", message.MaxBody)} {
		t.Run(name, func(t *testing.T) {
			dying, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
			require.NoError(t, err)
			b := &backend{}
			next := serve(t, b)
			starts := 0
			c := &api.Client{Socket: dying.Addr().String(), Start: func(context.Context) (string, error) {
				starts++
				return next.Socket, nil
			}}
			done := make(chan error, 1)
			go func() {
				_, err := api.Call(t.Context(), c, api.Say, api.SayRequest{Chat: "c", Text: text})
				done <- err
			}()
			waitForCaller(t, dying)
			require.NoError(t, dying.Close())
			require.NoError(t, <-done)
			assert.Equal(t, 1, starts)
			assert.Equal(t, text, b.took().req.(api.SayRequest).Text)
		})
	}
}

// A request that was read only in part has not been carried out.
func TestClient_halfReadRequestIsMadeAnew(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells that nothing was read: run it there")
	}
	ln, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	require.NoError(t, err)
	defer ln.Close()
	next := serve(t, &backend{})
	c := &api.Client{Socket: ln.Addr().String(), Start: func(context.Context) (string, error) { return next.Socket, nil }}
	done := make(chan error, 1)
	go func() {
		_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{Pane: "%1", As: "line", Prompt: strings.Repeat("x", 1<<20)})
		done <- err
	}()
	conn, err := ln.Accept()
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 100))
	require.NoError(t, err)
	require.NoError(t, ln.Close())
	require.NoError(t, conn.Close())
	assert.NoError(t, <-done)
}

func TestClient_startsASidecarOnceACall(t *testing.T) {
	next := serve(t, &backend{})
	nowhere := filepath.Join(t.TempDir(), "none")
	var starts int
	c := &api.Client{Socket: nowhere, Start: func(context.Context) (string, error) { starts++; return next.Socket, nil }}
	_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
	require.NoError(t, err)
	assert.Equal(t, 1, starts)

	c.Start = func(context.Context) (string, error) { starts++; return nowhere, nil }
	_, err = api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
	assert.Equal(t, api.CodeNoSidecar, code(err))
	assert.Equal(t, 2, starts)

	c.Start = func(context.Context) (string, error) { return "", api.Errorf(api.CodeNoSidecar, "cannot") }
	_, err = api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
	assert.EqualError(t, err, "cannot")
}

// Helpers.

// losing is a sidecar that reads whole requests and closes the connections of the first few without a reply.
type losing struct {
	socket string
	mu     sync.Mutex // guards the fields below
	bodies [][]byte
}

func (l *losing) requests() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bodies
}

func listenAndLose(t *testing.T, lose int) *losing {
	t.Helper()
	l := &losing{socket: filepath.Join(t.TempDir(), "s")}
	ln, err := net.Listen("unix", l.socket)
	require.NoError(t, err)
	h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		l.mu.Lock()
		l.bodies = append(l.bodies, body)
		n := len(l.bodies)
		l.mu.Unlock()
		if n <= lose {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				conn.Close()
			}
			return
		}
		w.Header().Set(api.VersionHeader, api.Version)
		switch r.URL.Path {
		case "/v1/sessions":
			fmt.Fprint(w, "[]")
		case "/v1/send":
			var req api.SendRequest
			_ = json.NewDecoder(bytes.NewReader(body)).Decode(&req)
			_ = json.NewEncoder(w).Encode(api.Sent{Message: req.ID})
		case "/v1/events":
		default:
			fmt.Fprint(w, "{}")
		}
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = h.Serve(ln) })
	t.Cleanup(func() {
		_ = h.Close()
		served.Wait()
	})
	return l
}

func events(c *api.Client) error {
	for _, err := range api.Follow(context.Background(), c, api.Events, api.EventsQuery{Since: 0}) {
		return err
	}
	return nil
}

// waitForCaller waits until a connection is in the backlog of a listener.
func waitForCaller(t *testing.T, ln net.Listener) {
	t.Helper()
	raw, err := ln.(*net.UnixListener).SyscallConn()
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, raw.Control(func(fd uintptr) {
			n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		}))
		return n > 0
	}, time.Minute, time.Millisecond)
}
