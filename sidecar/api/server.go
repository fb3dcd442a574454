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

// Times that the server gives its clients. They are local programs of one person: a
// client that needs longer has stopped.
const (
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	idleTimeout   = 30 * time.Second
	shutdownGrace = 2 * time.Second
)

// Server serves operations (see Handle) to programs of the same user.
type Server struct {
	Logger *slog.Logger // required
	// ReadTimeout is how long a client may take to send its request; 0 is ten seconds. What
	// it then waits for may last as long as it likes.
	ReadTimeout time.Duration
	// Started tells when a process began: a connection outlives who made it, and numbers of
	// processes are given again. An error says that there is no such process any more. Nil is
	// for a system that does not tell.
	Started func(pid int) (uint64, error)

	mux      http.ServeMux
	open     []string // patterns of the mux that every version may ask for
	presence presence
}

// Serve answers requests on listener until ctx ends; then it ends what still runs, by the
// context that who serves them got, waits two seconds for the replies, and closes listener. It
// returns nil after an end by ctx, and else why it could not go on.
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
	// ctx has ended already: the grace must not be cut off by it.
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

// callerKey is where a connection's context keeps what the kernel said of the other end.
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
		// In this order: of a process that still lives the number was its own when it was asked about.
		if seen.start, err = s.Started(seen.caller.PID); err != nil || hungUp(c) {
			seen.caller.PID = Gone
		}
	}
	return context.WithValue(ctx, callerKey{}, seen)
}

// Handle has the server serve an operation. All of them are given to it before Serve.
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

// Feed has the server serve a stream: one JSON object a line. The stream ends whole when the sidecar
// ends; a reader that is cut off sees the difference.
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
		// The head goes out at once: its arrival tells the client that it is being served.
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

// streamLine is one line of a stream: an element, or at its end an error.
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

// admit serves who runs as this user and speaks this version, or asks for what is open to every one.
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

// callerOf is who makes a request, by what is known when all of it has arrived.
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

// read reads the request in a body, if there is to be one.
func read(w http.ResponseWriter, r *http.Request, into any) error {
	if r.Method != http.MethodPost {
		return nil
	}
	return decode(http.MaxBytesReader(w, r.Body, MaxRequest), into)
}

// decode reads exactly one JSON value. A field that is not known is an error: a client
// must not believe that something was heeded which was not understood.
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

// mismatch is the error of two sides that do not speak the same version.
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
