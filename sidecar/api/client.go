package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	dialTimeout = 2 * time.Second
	dialPause   = 10 * time.Millisecond
	// maxReply bounds what a client reads of one reply: a log of many large bodies.
	maxReply = 64 << 20
)

// Client calls the sidecar that listens on Socket. It opens a connection for each call, so
// that the sidecar sees the process that calls, and keeps none. Its methods may be called
// from many goroutines at once. Every error that they return wraps an *Error.
type Client struct {
	Socket string // required
	// Wait is how long a call goes on trying to connect while nobody listens, because the
	// sidecar is starting: nothing has been sent then. 0 tries once.
	Wait time.Duration
	// Dial makes a connection to the sidecar in another way; nil dials Socket and refuses a
	// listener of another user.
	Dial func(ctx context.Context) (net.Conn, error)
}

// Ping returns nil if somebody of this user listens on the socket. It sends nothing.
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Status asks the sidecar for its state, whatever version it speaks.
func (c *Client) Status(ctx context.Context) (Status, error) {
	return call[Status](ctx, c, http.MethodGet, "/v1/status", nil)
}

// Down asks the sidecar to end, whatever version it speaks.
func (c *Client) Down(ctx context.Context) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/down", struct{}{})
	return err
}

// Adopt lets a pane be read and typed into.
func (c *Client) Adopt(ctx context.Context, req AdoptRequest) (message.Session, error) {
	return call[message.Session](ctx, c, http.MethodPost, "/v1/adopt", req)
}

// Release ends the adoption of a pane.
func (c *Client) Release(ctx context.Context, req ReleaseRequest) (message.Session, error) {
	return call[message.Session](ctx, c, http.MethodPost, "/v1/release", req)
}

// Rename gives a session another name.
func (c *Client) Rename(ctx context.Context, req RenameRequest) (message.Session, error) {
	return call[message.Session](ctx, c, http.MethodPost, "/v1/name", req)
}

// Sessions lists the sessions that are present.
func (c *Client) Sessions(ctx context.Context) ([]message.Session, error) {
	return call[[]message.Session](ctx, c, http.MethodGet, "/v1/sessions", nil)
}

// StartChat begins a chat.
func (c *Client) StartChat(ctx context.Context, req StartChatRequest) (message.Chat, error) {
	return call[message.Chat](ctx, c, http.MethodPost, "/v1/chats", req)
}

// Chats lists the chats that go on, or those that have ended.
func (c *Client) Chats(ctx context.Context, ended bool) ([]message.Chat, error) {
	return call[[]message.Chat](ctx, c, http.MethodGet, "/v1/chats?ended="+strconv.FormatBool(ended), nil)
}

// StopChat ends one chat or all, and returns those that it ended.
func (c *Client) StopChat(ctx context.Context, which ChatRef) ([]message.Chat, error) {
	return call[[]message.Chat](ctx, c, http.MethodPost, "/v1/chats/stop", which)
}

// PauseChat pauses one chat or all, and returns those that it paused.
func (c *Client) PauseChat(ctx context.Context, which ChatRef) ([]message.Chat, error) {
	return call[[]message.Chat](ctx, c, http.MethodPost, "/v1/chats/pause", which)
}

// ResumeChat lets one chat or all go on, and returns those that it resumed.
func (c *Client) ResumeChat(ctx context.Context, which ChatRef) ([]message.Chat, error) {
	return call[[]message.Chat](ctx, c, http.MethodPost, "/v1/chats/resume", which)
}

// Say puts a person's words into a chat.
func (c *Client) Say(ctx context.Context, req SayRequest) (Said, error) {
	return call[Said](ctx, c, http.MethodPost, "/v1/chats/say", req)
}

// Stats counts what passed through a chat.
func (c *Client) Stats(ctx context.Context, chat string) (message.Stats, error) {
	return call[message.Stats](ctx, c, http.MethodGet, "/v1/chats/stats?"+url.Values{"chat": {chat}}.Encode(), nil)
}

// Send hands one message to one peer; see Backend. The caller judges by the receipt: no
// error means only that the message is in the sidecar's hands. An error of the code
// CodeUncertain means that it may be.
func (c *Client) Send(ctx context.Context, req SendRequest) (Sent, error) {
	return call[Sent](ctx, c, http.MethodPost, "/v1/send", req)
}

// Log lists what happened.
func (c *Client) Log(ctx context.Context, q LogQuery) ([]message.Event, error) {
	path := "/v1/log"
	if v := q.values(); len(v) > 0 {
		path += "?" + v.Encode()
	}
	return call[[]message.Event](ctx, c, http.MethodGet, path, nil)
}

// Events yields what happened after the event number since, and goes on with what happens;
// a negative since means from now on. It ends without an error when the sidecar ends in
// order or ctx ends, and with one when the stream breaks off.
func (c *Client) Events(ctx context.Context, since int64) iter.Seq2[message.Event, error] {
	return func(yield func(message.Event, error) bool) {
		body, err := c.do(ctx, http.MethodGet, "/v1/events?since="+strconv.FormatInt(since, 10), nil)
		if err != nil {
			yield(message.Event{}, err)
			return
		}
		defer body.Close()
		d := json.NewDecoder(body)
		for {
			var line streamLine
			switch err := d.Decode(&line); {
			case errors.Is(err, io.EOF) || ctx.Err() != nil:
				return
			case err != nil:
				yield(message.Event{}, Errorf(CodeFailed, "stream of events broke off: %w", err))
				return
			case line.Error != nil:
				yield(message.Event{}, line.Error)
				return
			case line.Event != nil && !yield(*line.Event, nil):
				return
			}
		}
	}
}

// call makes one request and decodes its reply.
func call[T any](ctx context.Context, c *Client, method, path string, req any) (T, error) {
	var reply T
	body, err := c.do(ctx, method, path, req)
	if err != nil {
		return reply, err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxReply)).Decode(&reply); err != nil {
		return reply, lost(ctx, path, err)
	}
	return reply, nil
}

// do makes one request and returns the body of a reply that is not an error.
func (c *Client) do(ctx context.Context, method, path string, req any) (io.ReadCloser, error) {
	var body bytes.Buffer
	if req != nil {
		e := json.NewEncoder(&body)
		e.SetEscapeHTML(false)
		if err := e.Encode(req); err != nil {
			return nil, Errorf(CodeUsage, "request %q: %w", path, err)
		}
	}
	// Connecting comes first and by itself: until it is done nothing was sent, so that it may
	// be tried again; after it nothing is.
	conn, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://intercom"+path, &body)
	if err != nil {
		conn.Close()
		return nil, Errorf(CodeUsage, "request %q: %w", path, err)
	}
	r.Header.Set(VersionHeader, Version)
	if req != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		conn.Close()
		return nil, lost(ctx, path, err)
	}
	theirs := resp.Header.Get(VersionHeader)
	if resp.StatusCode == http.StatusOK && (theirs == Version || path == "/v1/status" || path == "/v1/down") {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	if theirs != Version {
		return nil, mismatch(Version, theirs)
	}
	var told Error
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&told); err != nil || told.Code == "" {
		return nil, Errorf(CodeFailed, "the sidecar answered %q with status %d and no reason", path, resp.StatusCode)
	}
	return nil, &told
}

// lost is the error of a request that was sent and whose reply did not come.
func lost(ctx context.Context, path string, err error) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Errorf(CodeTimeout, "no answer to %q in time: %w", path, err)
	case ctx.Err() != nil:
		return Errorf(CodeUncertain, "request %q given up: %w", path, ctx.Err())
	}
	return Errorf(CodeUncertain, "the sidecar went away during %q: %w", path, err).
		WithHint("`intercom log` shows what became of it")
}

// connect dials until somebody listens or Wait is over.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	dial := c.Dial
	if dial == nil {
		dial = c.dialSocket
	}
	deadline := time.Now().Add(c.Wait)
	for {
		conn, err := dial(ctx)
		if err == nil {
			return conn, nil
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		if !startingUp(err) || !time.Now().Add(dialPause).Before(deadline) {
			return nil, Errorf(CodeNoSidecar, "no sidecar: %w", err)
		}
		select {
		case <-ctx.Done():
			return nil, Errorf(CodeNoSidecar, "no sidecar: %w", errors.Join(err, ctx.Err()))
		case <-time.After(dialPause):
		}
	}
}

// dialSocket connects to Socket and makes sure that a program of this user listens there.
func (c *Client) dialSocket(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "unix", c.Socket)
	if err != nil {
		return nil, err
	}
	other, err := peer(conn)
	if err != nil {
		conn.Close()
		return nil, Errorf(CodeNoSidecar, "socket %q: %w", c.Socket, err)
	}
	if uid := os.Geteuid(); other.UID != uid {
		conn.Close()
		return nil, Errorf(CodeNoSidecar, "socket %q: user %d listens there, not user %d", c.Socket, other.UID, uid).
			WithHint("somebody else has put it there; remove it, or set XDG_RUNTIME_DIR to a directory of your own")
	}
	return conn, nil
}

// startingUp reports whether err is what a dial meets before the sidecar listens.
func startingUp(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
