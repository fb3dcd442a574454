package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	dialTimeout = 2 * time.Second
	dialPause   = 10 * time.Millisecond
	howTimeout  = 6 * time.Second // for a sidecar to report its status, after another call got no answer
	// maxReply bounds how much of one reply a client reads. A log with many large bodies is long.
	maxReply = 64 << 20
)

// Client calls the sidecar that listens on Socket. It opens a connection for each call, so that the sidecar
// sees the calling process, and keeps no connection open. Call and Follow are safe for concurrent use. Every
// error that they return wraps an *Error.
//
// If the sidecar goes away during a call, the call is made once more where a repetition is harmless: the
// operation only reads, the request carries an id, or the sidecar provably has not read the request.
type Client struct {
	Socket string // required
	// Wait is how long a call tries to connect while nobody listens, because the sidecar is starting. Nothing
	// has been sent by then. 0 tries once.
	Wait time.Duration
	// Start is called at most once per call, when nobody listens. It starts a sidecar and returns the socket
	// where that listens. If Start is nil, the call fails.
	Start func(ctx context.Context) (socket string, err error)
	// Dial connects to the sidecar in another way. If it is nil, the client dials Socket and refuses a listener
	// of another user.
	Dial func(ctx context.Context) (net.Conn, error)
	// Believes returns an error for a listener of this user that is not to be trusted. If it is nil, each is
	// trusted.
	Believes func(listens Caller) error
	// Key is the tmux client at which a person pressed the key that runs this program, "" if no key did: see
	// Caller.Client.
	Key string
	// Agent marks the calls of an agent's MCP client; it is nil for every other caller.
	Agent *AgentCall

	asksHow bool // it only finds out why another call got no answer
}

// Ping returns nil if a process of this user listens on the socket. It sends nothing.
func (c *Client) Ping(ctx context.Context) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	return conn.Close()
}

// Call asks the sidecar to carry out one operation. If the sidecar goes away, Call asks once more where that is
// harmless: the operation changes nothing, its Again makes a repetition harmless, or the request was not read.
func Call[Q, R any](ctx context.Context, c *Client, op Op[Q, R], req Q) (R, error) {
	begun := time.Now()
	if op.Again != nil {
		req = op.Again(req, 0)
	}
	reply, err := call(ctx, c, op, req)
	if !isUncertain(err) || ctx.Err() != nil || !op.Reads && op.Again == nil && !isUnread(err) {
		return reply, err
	}
	if op.Again != nil {
		req = op.Again(req, time.Since(begun))
	}
	again, second := call(ctx, c, op, req)
	if e, ok := errors.AsType[*Error](second); ok && e.Code == CodeNoSidecar && !op.Reads && !isUnread(err) {
		return reply, err // that no sidecar runs now says nothing of what the one that ended has done
	}
	return again, second
}

// call makes one request and decodes its reply.
func call[Q, R any](ctx context.Context, c *Client, op Op[Q, R], req Q) (reply R, err error) {
	body, err := c.do(ctx, op.route(), req)
	if err != nil {
		return reply, err
	}
	defer body.Close()
	bounded := &io.LimitedReader{R: body, N: maxReply + 1}
	if err := json.NewDecoder(bounded).Decode(&reply); err != nil {
		if bounded.N <= 0 {
			return reply, Errorf(CodeFailed, "the reply has more than %d MiB", maxReply>>20).WithHint("ask for less, for example with --limit")
		}
		return reply, c.lost(ctx, err)
	}
	return reply, nil
}

// Follow yields the elements of a stream. It ends without an error when the sidecar ends in order or ctx ends,
// and with an error when the stream breaks off.
func Follow[Q, E any](ctx context.Context, c *Client, op Stream[Q, E], req Q) iter.Seq2[E, error] {
	return func(yield func(E, error) bool) {
		var none E
		body, err := c.do(ctx, op.route(), req)
		if isUncertain(err) && ctx.Err() == nil {
			body, err = c.do(ctx, op.route(), req)
		}
		if err != nil {
			yield(none, err)
			return
		}
		defer body.Close()
		d := json.NewDecoder(body)
		for {
			var line streamLine[E]
			switch err := d.Decode(&line); {
			case errors.Is(err, io.EOF) || ctx.Err() != nil:
				return
			case err != nil:
				yield(none, &Error{Text: "the stream of " + op.Name + " ended: the sidecar is gone", Code: CodeFailed, Kind: CutOff, cause: err})
				return
			case line.Error != nil:
				yield(none, line.Error)
				return
			case line.Event != nil && !yield(*line.Event, nil):
				return
			}
		}
	}
}

// isUncertain reports whether the outcome of a request is unknown.
func isUncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeUncertain
}

// isUnread reports whether the sidecar provably has not carried out a request.
func isUnread(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.unread
}

// line is a connection that notices when the other end never read what was written. Linux resets a connection
// whose other end was closed before it was accepted, or while it held unread bytes; and a write that breaks off
// has left some bytes out. In both cases no handler has received the whole request. If the request was read,
// the connection ends in the ordinary way.
type line struct {
	net.Conn
	unread atomic.Bool
}

func (l *line) Read(b []byte) (int, error) {
	n, err := l.Conn.Read(b)
	l.note(err, syscall.ECONNRESET)
	return n, err
}

func (l *line) Write(b []byte) (int, error) {
	n, err := l.Conn.Write(b)
	l.note(err, syscall.ECONNRESET, syscall.EPIPE)
	return n, err
}

func (l *line) note(err error, tells ...syscall.Errno) {
	for _, e := range tells {
		if runtime.GOOS == "linux" && errors.Is(err, e) {
			l.unread.Store(true)
		}
	}
}

// do makes one request and returns the body of a successful reply.
func (c *Client) do(ctx context.Context, to route, req any) (io.ReadCloser, error) {
	var body bytes.Buffer
	if to.method == http.MethodPost {
		e := json.NewEncoder(&body)
		e.SetEscapeHTML(false)
		if err := e.Encode(req); err != nil {
			return nil, Errorf(CodeUsage, "request %q: %w", to.path, err)
		}
	}
	// Connect first, as a step of its own: until it succeeds nothing was sent, so it may be tried again
	// whatever the request is.
	dialled, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &line{Conn: dialled}
	transport := &http.Transport{
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return conn, nil },
		DisableKeepAlives: true,
	}
	r, err := http.NewRequestWithContext(ctx, to.method, "http://intercom"+to.path, &body)
	if err != nil {
		conn.Close()
		return nil, Errorf(CodeUsage, "request %q: %w", to.path, err)
	}
	r.Header.Set(VersionHeader, Version)
	if c.Key != "" {
		r.Header.Set(ClientHeader, c.Key)
	}
	c.Agent.mark(r.Header)
	if to.method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := transport.RoundTrip(r)
	if err != nil {
		conn.Close()
		gone := c.lost(ctx, err)
		gone.unread = conn.unread.Load()
		return nil, gone
	}
	theirs := resp.Header.Get(VersionHeader)
	if resp.StatusCode == http.StatusOK && (theirs == Version || to.open) {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	if theirs != Version {
		return nil, mismatch(Version, theirs)
	}
	var told Error
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxReply)).Decode(&told); err != nil || told.Code == "" {
		return nil, Errorf(CodeFailed, "the sidecar answered %q with status %d and no reason", to.path, resp.StatusCode)
	}
	told.theirs = true
	return nil, &told
}

// lost returns the error of a request that was sent and got no reply. Its text is for people; it wraps the
// system's error.
func (c *Client) lost(ctx context.Context, err error) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return c.late(err)
	case ctx.Err() != nil:
		return &Error{Text: "gave up before the sidecar answered", Code: CodeUncertain, cause: ctx.Err()}
	}
	return &Error{
		Text: "the sidecar ended before it answered", Hint: "`intercom log` shows what happened to it",
		Code: CodeUncertain, cause: err,
	}
}

// lock returns the path of the lock that belongs to the client's socket.
func (c *Client) lock() string { return strings.TrimSuffix(c.Socket, ".sock") + ".lock" }

// late returns the error of a reply that did not come in time. A sidecar that reports its status does answer:
// it waits for something else, and must not be killed for that.
func (c *Client) late(cause error) *Error {
	if c.asksHow {
		return Silent(c.lock(), cause)
	}
	ctx, cancel := context.WithTimeout(context.Background(), howTimeout)
	defer cancel()
	how := *c
	how.asksHow, how.Wait, how.Start, how.Agent = true, 0, nil, nil
	status, err := call(ctx, &how, ShowStatus, None{})
	switch {
	case err != nil:
		return Silent(c.lock(), cause)
	case slices.Contains(status.Kinds, ProblemTmux):
		return &Error{Text: "tmux does not answer", Hint: "the sidecar runs, and goes on when tmux does; intercom status tells when", Code: CodeTimeout, cause: cause}
	}
	return &Error{Text: "no answer from the sidecar in time, although it runs", Hint: "intercom log shows what has happened by now", Code: CodeTimeout, cause: cause}
}

// Silent returns the error of a sidecar that does not answer. It names the process that holds the lock, if any,
// and how to end it. The error wraps cause.
func Silent(lock string, cause error) *Error {
	told := &Error{Text: "the sidecar does not answer", Hint: "intercom doctor says more", Code: CodeTimeout, Kind: Unanswered, cause: cause}
	if pid := Holder(lock); pid > 0 {
		told.Text = fmt.Sprintf("the sidecar of process %d does not answer", pid)
		told.Hint = fmt.Sprintf("intercom doctor says why; kill -9 %d ends it", pid)
	}
	return told
}

// connect dials until somebody listens or Wait is over, and starts a sidecar if it may.
func (c *Client) connect(ctx context.Context) (net.Conn, error) {
	socket, start := c.Socket, c.Start
	deadline := time.Now().Add(c.Wait)
	for {
		conn, err := c.dial(ctx, socket)
		if err == nil {
			return conn, nil
		}
		if _, ok := errors.AsType[*Error](err); ok {
			return nil, err
		}
		if startingUp(err) && start != nil {
			if socket, err = start(ctx); err != nil {
				return nil, err
			}
			start = nil
			continue
		}
		if !startingUp(err) || !time.Now().Add(dialPause).Before(deadline) {
			return nil, c.unreached(socket, err)
		}
		select {
		case <-ctx.Done():
			return nil, c.unreached(socket, errors.Join(err, ctx.Err()))
		case <-time.After(dialPause):
		}
	}
}

// unreached returns the error of a call that could not connect: nobody listens, or the listener does not accept
// connections.
func (c *Client) unreached(socket string, err error) *Error {
	told := &Error{Text: fmt.Sprintf("no sidecar listens at %q", socket), Code: CodeNoSidecar, Kind: Absent, cause: err}
	if startingUp(err) {
		return told
	}
	timeout, ok := errors.AsType[net.Error](err)
	if busy := errors.Is(err, syscall.EAGAIN) || ok && timeout.Timeout(); busy && Holder(c.lock()) > 0 {
		return Silent(c.lock(), err)
	}
	if why, ok := errors.AsType[syscall.Errno](err); ok {
		told.Text = fmt.Sprintf("no sidecar can be reached at %q: %v", socket, why)
	}
	return told
}

// dial connects to socket and checks that a process of this user listens there.
func (c *Client) dial(ctx context.Context, socket string) (net.Conn, error) {
	if c.Dial != nil {
		return c.Dial(ctx)
	}
	d := net.Dialer{Timeout: dialTimeout}
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	other, err := peer(conn)
	if err != nil {
		conn.Close()
		return nil, Errorf(CodeNoSidecar, "socket %q: %w", socket, err)
	}
	if uid := os.Geteuid(); other.UID != uid {
		conn.Close()
		return nil, Errorf(CodeNoSidecar, "socket %q: user %d listens there, not user %d", socket, other.UID, uid).
			WithHint("someone else created it; remove it, or set XDG_RUNTIME_DIR to a directory of your own")
	}
	if c.Believes != nil {
		if err := c.Believes(other); err != nil {
			conn.Close()
			return nil, Errorf(CodeNoSidecar, "socket %q: %w", socket, err)
		}
	}
	return conn, nil
}

// startingUp reports whether err is one that a dial gets before the sidecar listens.
func startingUp(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

// NobodyAt reports whether it is certain that nobody listens at a socket. The file of a server that died stays
// behind.
func NobodyAt(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		_ = conn.Close()
	}
	return startingUp(err)
}
