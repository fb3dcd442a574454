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
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
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
//
// A call whose sidecar goes away under it is made once more where that can do no harm: what
// only asks, what carries an id, and what the sidecar provably has not read.
type Client struct {
	Socket string // required
	// Wait is how long a call goes on trying to connect while nobody listens, because the
	// sidecar is starting: nothing has been sent then. 0 tries once.
	Wait time.Duration
	// Start is called, once in a call, when nobody listens: it starts a sidecar and returns
	// where that listens. nil leaves it at an error.
	Start func(ctx context.Context) (socket string, err error)
	// Dial makes a connection to the sidecar in another way; nil dials Socket and refuses a
	// listener of another user.
	Dial func(ctx context.Context) (net.Conn, error)
	// Key is the client of tmux at which a person pressed the key that runs this program, "" if
	// none did: see Caller.Client.
	Key string
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

// Pressed tells the sidecar that a key has started this program, at the client Key.
func (c *Client) Pressed(ctx context.Context, req PressedRequest) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/pressed", req)
	return err
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

// ShowChat describes one chat, on or ended.
func (c *Client) ShowChat(ctx context.Context, chat string) (ChatDetail, error) {
	return call[ChatDetail](ctx, c, http.MethodGet, "/v1/chats/show?"+url.Values{"chat": {chat}}.Encode(), nil)
}

// AddMember brings a session into a chat, and returns the chat as it is then.
func (c *Client) AddMember(ctx context.Context, req MemberRequest) (message.Chat, error) {
	return call[message.Chat](ctx, c, http.MethodPost, "/v1/chats/add", req)
}

// RemoveMember takes a session out of a chat, and returns the chat as it is then.
func (c *Client) RemoveMember(ctx context.Context, req MemberRequest) (message.Chat, error) {
	return call[message.Chat](ctx, c, http.MethodPost, "/v1/chats/remove", req)
}

// MuteMember keeps what a session says from the others of its chat, or lets it pass again,
// and returns the chat as it is then.
func (c *Client) MuteMember(ctx context.Context, req MemberRequest) (message.Chat, error) {
	return call[message.Chat](ctx, c, http.MethodPost, "/v1/chats/mute", req)
}

// Say puts a person's words into a chat.
func (c *Client) Say(ctx context.Context, req SayRequest) (Said, error) {
	return call[Said](ctx, c, http.MethodPost, "/v1/chats/say", req)
}

// Ask starts a chat that is one question.
func (c *Client) Ask(ctx context.Context, req AskRequest) (message.Chat, error) {
	return call[message.Chat](ctx, c, http.MethodPost, "/v1/ask", req)
}

// Asked waits for what comes of a question; see Backend.
func (c *Client) Asked(ctx context.Context, q AskedQuery) (Asked, error) {
	return call[Asked](ctx, c, http.MethodGet, "/v1/asked?"+url.Values{
		"chat": {string(q.Chat)}, "wait": {string(q.Wait)}, "timeout_ns": {strconv.FormatInt(int64(q.Timeout), 10)},
	}.Encode(), nil)
}

// Peers lists whoever can be addressed.
func (c *Client) Peers(ctx context.Context) ([]Peer, error) {
	return call[[]Peer](ctx, c, http.MethodGet, "/v1/peers", nil)
}

// Inbox lists what waits to be taken.
func (c *Client) Inbox(ctx context.Context) ([]Held, error) {
	return call[[]Held](ctx, c, http.MethodGet, "/v1/inbox", nil)
}

// Vouch gives a person's word for the screen at which a delivery waits.
func (c *Client) Vouch(ctx context.Context, req VouchRequest) (Held, error) {
	return call[Held](ctx, c, http.MethodPost, "/v1/inbox/vouch", req)
}

// Decide gives a person's decision about a message that waits for one.
func (c *Client) Decide(ctx context.Context, req DecideRequest) (Decided, error) {
	return call[Decided](ctx, c, http.MethodPost, "/v1/inbox/decide", req)
}

// Stats counts what passed through a chat.
func (c *Client) Stats(ctx context.Context, chat string) (message.Stats, error) {
	return call[message.Stats](ctx, c, http.MethodGet, "/v1/chats/stats?"+url.Values{"chat": {chat}}.Encode(), nil)
}

// Explain says why the sidecar thinks what it thinks of a pane.
func (c *Client) Explain(ctx context.Context, req ExplainRequest) (message.Explanation, error) {
	return call[message.Explanation](ctx, c, http.MethodPost, "/v1/explain", req)
}

// Record takes all that can be seen of a pane at one instant.
func (c *Client) Record(ctx context.Context, req ExplainRequest) (Recording, error) {
	return call[Recording](ctx, c, http.MethodPost, "/v1/record", req)
}

// Hook hands on what an agent's own hook tells.
func (c *Client) Hook(ctx context.Context, hook HookRequest) error {
	_, err := call[struct{}](ctx, c, http.MethodPost, "/v1/hook", hook)
	return err
}

// Send hands one message to one peer; see Backend. The caller judges by the receipt: no
// error means only that the message is in the sidecar's hands. An error of the code
// CodeUncertain means that it may be. A message without an id gets one here, so that a
// reply that was lost can be asked for again without a second delivery.
func (c *Client) Send(ctx context.Context, req SendRequest) (Sent, error) {
	if req.ID == "" {
		req.ID = message.NewID()
	}
	begun := time.Now()
	sent, err := call[Sent](ctx, c, http.MethodPost, "/v1/send", req)
	if !isUncertain(err) || ctx.Err() != nil {
		return sent, err
	}
	req.Timeout = max(0, req.Timeout-time.Since(begun))
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
		if isUncertain(err) && ctx.Err() == nil {
			body, err = c.do(ctx, http.MethodGet, "/v1/events?since="+strconv.FormatInt(since, 10), nil)
		}
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
				yield(message.Event{}, &Error{Text: "the stream of events broke off: the sidecar went away", Code: CodeFailed, cause: err})
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

// call makes one request and decodes its reply, and does so once more if the sidecar went
// away and that is harmless: the request changes nothing, or was not read.
func call[T any](ctx context.Context, c *Client, method, path string, req any) (T, error) {
	reply, err := callOnce[T](ctx, c, method, path, req)
	if isUncertain(err) && ctx.Err() == nil && (method == http.MethodGet || isUnread(err)) {
		return callOnce[T](ctx, c, method, path, req)
	}
	return reply, err
}

func callOnce[T any](ctx context.Context, c *Client, method, path string, req any) (T, error) {
	var reply T
	body, err := c.do(ctx, method, path, req)
	if err != nil {
		return reply, err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxReply)).Decode(&reply); err != nil {
		return reply, c.lost(ctx, err)
	}
	return reply, nil
}

// isUncertain reports whether nobody knows what became of a request.
func isUncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Code == CodeUncertain
}

// isUnread reports whether the sidecar provably has not carried a request out.
func isUnread(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.unread
}

// line is a connection that notices when what was written to it was never read. Linux
// resets a connection whose other end was closed before it was accepted, or with bytes in
// it that nobody had read; and a write that breaks off has left some out. In both cases no
// handler has had the whole request. After a request that was read, the end of the
// connection is an ordinary one.
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
	// be tried again whatever the request is.
	dialled, err := c.connect(ctx)
	if err != nil {
		return nil, err
	}
	conn := &line{Conn: dialled}
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
	if c.Key != "" {
		r.Header.Set(ClientHeader, c.Key)
	}
	if req != nil {
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

// lost is the error of a request that was sent and whose reply did not come. It says so in
// words; what the system said can be unwrapped.
func (c *Client) lost(ctx context.Context, err error) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Silent(c.lock(), err)
	case ctx.Err() != nil:
		return &Error{Text: "given up before the sidecar answered", Code: CodeUncertain, cause: ctx.Err()}
	}
	return &Error{
		Text: "the sidecar went away before it answered", Hint: "`intercom log` shows what became of it",
		Code: CodeUncertain, cause: err,
	}
}

// lock is the lock that belongs to the client's socket.
func (c *Client) lock() string { return strings.TrimSuffix(c.Socket, ".sock") + ".lock" }

// Silent is the error of a sidecar that does not answer. It names the process that holds
// the lock, if one does, and how to end it; cause can be unwrapped.
func Silent(lock string, cause error) *Error {
	told := &Error{Text: "the sidecar does not answer", Hint: "intercom doctor says more", Code: CodeTimeout, cause: cause}
	if pid := Holder(lock); pid > 0 {
		told.Text = fmt.Sprintf("the sidecar of process %d does not answer", pid)
		told.Hint = fmt.Sprintf("kill -9 %d ends it; intercom doctor says more", pid)
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

// unreached is the error of a call that nobody took: nobody is there, or somebody who does
// not even accept it.
func (c *Client) unreached(socket string, err error) *Error {
	told := &Error{Text: fmt.Sprintf("no sidecar listens at %q", socket), Code: CodeNoSidecar, cause: err}
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

// dial connects to socket and makes sure that a program of this user listens there.
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
			WithHint("somebody else has put it there; remove it, or set XDG_RUNTIME_DIR to a directory of your own")
	}
	return conn, nil
}

// startingUp reports whether err is what a dial meets before the sidecar listens.
func startingUp(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}
