package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"time"
)

// Time limits for clients. Clients are local programs of one person: one that needs longer has hung.
const (
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	idleTimeout   = 30 * time.Second
	shutdownGrace = 2 * time.Second
)

// Server serves operations (see Handle) to programs of the same user.
type Server struct {
	Logger *slog.Logger // required
	// ReadTimeout is how long a client may take to send its request; 0 is ten seconds. The operation itself has
	// no limit.
	ReadTimeout time.Duration
	// Started returns when a process began. The server needs it because a connection can outlive the process
	// that made it, and pids are reused. An error says that the process no longer exists. It is nil on a system
	// that cannot tell.
	Started func(pid int) (uint64, error)

	mux      http.ServeMux
	open     []string // patterns of the mux that are open to every version
	presence presence
}

// Serve answers requests on listener until ctx ends. Then it cancels the contexts of the running operations,
// waits two seconds for their replies, and closes listener. It returns nil if ctx ended it, and otherwise why
// it could not go on.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	h := &http.Server{
		Handler:        http.HandlerFunc(s.admit),
		ReadTimeout:    cmp.Or(s.ReadTimeout, readTimeout),
		IdleTimeout:    idleTimeout,
		MaxHeaderBytes: 16 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		ConnContext:    s.withCaller,
		ConnState:      s.count,
		ErrorLog:       slog.NewLogLogger(s.Logger.Handler(), slog.LevelWarn),
	}
	s.begin()
	served := make(chan error, 1)
	go func() { served <- h.Serve(listener) }()
	select {
	case err := <-served:
		_ = h.Close()
		return fmt.Errorf("serve %q: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	// ctx has ended already and must not cut the grace period short.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownGrace)
	defer cancel()
	if err := h.Shutdown(grace); err != nil {
		s.Logger.Warn("replies cut off at the end", "err", err)
		_ = h.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %q: %w", listener.Addr(), err)
	}
	return nil
}

// callerKey is the key under which a connection's context keeps what the kernel said of the other end.
type callerKey struct{}

type callerOrError struct {
	caller Caller
	start  uint64 // of its process
	err    error
}

func (s *Server) withCaller(ctx context.Context, c net.Conn) context.Context {
	seen := callerOrError{}
	if seen.caller, seen.err = peer(c); seen.err == nil && s.Started != nil {
		var err error
		// The order matters: if the process still lives after Started returned, the pid was its own when
		// Started looked.
		if seen.start, err = s.Started(seen.caller.PID); err != nil || hungUp(c) {
			seen.caller.PID = Gone
		}
	}
	return context.WithValue(ctx, callerKey{}, seen)
}

// Handle makes s serve an operation. Every call of Handle comes before Serve.
func Handle[Q, R any](s *Server, op Op[Q, R], serve func(ctx context.Context, from Caller, req Q) (R, error)) {
	s.handle(op.route(), func(w http.ResponseWriter, r *http.Request) {
		var req Q
		err := read(w, r, &req)
		if err == nil && op.Check != nil {
			err = op.Check(req)
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		reply, err := serve(r.Context(), s.callerOf(r), req)
		if err != nil {
			s.fail(w, err)
			return
		}
		if op.Whole != nil {
			reply = op.Whole(reply)
		}
		s.write(w, http.StatusOK, reply)
	})
}

// Feed makes s serve a stream, as one JSON object per line. When the sidecar ends, the stream ends in order; a
// reader that is cut off can tell the difference.
func Feed[Q, E any](s *Server, op Stream[Q, E], serve func(ctx context.Context, from Caller, req Q) iter.Seq2[E, error]) {
	s.handle(op.route(), func(w http.ResponseWriter, r *http.Request) {
		var req Q
		if err := read(w, r, &req); err != nil {
			s.fail(w, err)
			return
		}
		control := http.NewResponseController(w)
		w.Header().Set("Content-Type", "application/x-ndjson")
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		// Send the response header at once: it tells the client that it is being served.
		if control.Flush() != nil {
			return
		}
		for event, err := range serve(r.Context(), s.callerOf(r), req) {
			line := streamLine[E]{Event: &event}
			if err != nil {
				if r.Context().Err() != nil {
					return
				}
				line = streamLine[E]{Error: AsError(err)}
			}
			_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
			if e.Encode(line) != nil || control.Flush() != nil || err != nil {
				return
			}
		}
	})
}

// streamLine is one line of a stream: an element, or the error that ends it.
type streamLine[E any] struct {
	Event *E     `json:"event,omitempty"`
	Error *Error `json:"error,omitempty"`
}

func (s *Server) handle(at route, serve http.HandlerFunc) {
	pattern := at.method + " " + at.path
	s.mux.HandleFunc(pattern, serve)
	if at.open {
		s.open = append(s.open, pattern)
	}
}

// admit serves callers that run as this user and speak this version. A caller of another version may ask only
// for open operations.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	w.Header().Set(VersionHeader, Version)
	seen, _ := r.Context().Value(callerKey{}).(callerOrError)
	if seen.err != nil {
		s.fail(w, Errorf(CodeRefused, "caller is not known: %w", seen.err))
		return
	}
	if uid := os.Geteuid(); seen.caller.UID != uid {
		s.Logger.Warn("refused a caller", "uid", seen.caller.UID, "pid", seen.caller.PID)
		s.fail(w, Errorf(CodeRefused, "user %d may not use the sidecar of user %d", seen.caller.UID, uid))
		return
	}
	_, pattern := s.mux.Handler(r)
	if theirs := r.Header.Get(VersionHeader); theirs != Version && !slices.Contains(s.open, pattern) {
		s.fail(w, mismatch(theirs, Version))
		return
	}
	if pattern == "" {
		s.fail(w, Errorf(CodeNotFound, "no operation %q", r.Method+" "+r.URL.Path))
		return
	}
	defer func() {
		p := recover()
		if p == nil || p == http.ErrAbortHandler {
			return
		}
		s.Logger.Error("panic while answering", "operation", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
		s.fail(w, Errorf(CodeFailed, "internal error of the sidecar in %q", r.URL.Path).
			WithHint("its log has the details; `intercom status` says where it is"))
	}()
	s.mux.ServeHTTP(w, r)
}

// callerOf returns the caller of a request, as known when the whole request has arrived.
func (s *Server) callerOf(r *http.Request) Caller {
	seen, _ := r.Context().Value(callerKey{}).(callerOrError)
	seen.caller.Client, seen.caller.Agent = r.Header.Get(ClientHeader), agentOf(r.Header)
	if s.Started != nil && seen.caller.PID != Gone {
		if now, err := s.Started(seen.caller.PID); err != nil || now != seen.start {
			seen.caller.PID = Gone
		}
	}
	return seen.caller
}

// read reads the request from the body, if the method has one.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	if r.Method != http.MethodPost {
		return nil
	}
	return decode(http.MaxBytesReader(w, r.Body, MaxRequest), into)
}

// decode reads exactly one JSON value. An unknown field is an error: a client must not believe that the sidecar
// heeded something that it did not understand.
func decode(body io.Reader, into any) error {
	data, err := io.ReadAll(body)
	if err == nil && !sound(data) {
		return Errorf(CodeUsage, "the request is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err == nil {
		err = d.Decode(into)
	}
	if err == nil {
		_, err = d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("more than one value")
		}
	}
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Errorf(CodeUsage, "request of more than %d bytes", big.Limit)
	}
	return Errorf(CodeUsage, "request: %w", err)
}

func (s *Server) fail(w http.ResponseWriter, err error) {
	e := AsError(err)
	switch {
	case errors.Is(err, context.Canceled):
		e = &Error{Text: "the sidecar is ending", Code: CodeUncertain}
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = CodeTimeout
	}
	s.write(w, e.Code.httpStatus(), e)
}

func (s *Server) write(w http.ResponseWriter, status int, value any) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		s.Logger.Debug("reply not written", "err", err)
	}
}

// mismatch returns the error for a client and a sidecar of different versions.
func mismatch(client, sidecar string) *Error {
	if client == "" {
		client = "none"
	}
	if sidecar == "" {
		sidecar = "none"
	}
	return Errorf(CodeVersion, "this program speaks version %s of the API, the running sidecar speaks %s", client, sidecar).
		WithHint("after an update, `intercom up` replaces the old sidecar; its chats continue")
}
