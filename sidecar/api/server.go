package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Times that the server gives its clients. They are local programs of one person: a
// client that needs longer has stopped.
const (
	readTimeout   = 10 * time.Second
	writeTimeout  = 10 * time.Second
	idleTimeout   = 30 * time.Second
	shutdownGrace = 2 * time.Second
)

// Server serves a Backend to programs of the same user.
type Server struct {
	Backend Backend      // required
	Logger  *slog.Logger // required
	// ReadTimeout is how long a client may take to send its request; 0 is ten seconds. What
	// it then waits for may last as long as it likes.
	ReadTimeout time.Duration
	// Started tells when a process began: a connection outlives who made it, and numbers of
	// processes are given again. An error says that there is no such process any more. Nil is
	// for a system that does not tell.
	Started func(pid int) (uint64, error)

	presence presence
}

// Serve answers requests on listener until ctx ends; then it ends what still runs, by the
// context that the backend got, waits two seconds for the replies, and closes listener. It
// returns nil after an end by ctx, and else why it could not go on.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	h := &http.Server{
		Handler:        s.handler(),
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
		if seen.start, err = s.Started(seen.caller.PID); err != nil || left(c) {
			seen.caller.PID = Gone
		}
	}
	return context.WithValue(ctx, callerKey{}, seen)
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	b := s.Backend
	get(s, mux, "/v1/status", func(r *http.Request, from Caller) (Status, error) {
		return wholeStatus(b.Status(r.Context(), from))
	})
	post(s, mux, "/v1/down", func(ctx context.Context, from Caller, _ struct{}) (struct{}, error) {
		return struct{}{}, b.Down(ctx, from)
	})
	post(s, mux, "/v1/adopt", b.Adopt)
	post(s, mux, "/v1/release", b.Release)
	post(s, mux, "/v1/pressed", func(ctx context.Context, from Caller, req PressedRequest) (struct{}, error) {
		return struct{}{}, b.Pressed(ctx, from, req)
	})
	post(s, mux, "/v1/name", b.Rename)
	get(s, mux, "/v1/sessions", func(r *http.Request, from Caller) (any, error) {
		return list(b.Sessions(r.Context(), from))
	})
	post(s, mux, "/v1/chats", func(ctx context.Context, from Caller, req StartChatRequest) (message.Chat, error) {
		if err := checkStart(req); err != nil {
			return message.Chat{}, err
		}
		return wholeChat(b.StartChat(ctx, from, req))
	})
	get(s, mux, "/v1/chats", func(r *http.Request, from Caller) (any, error) {
		return wholeChats(b.Chats(r.Context(), from, r.URL.Query().Get("ended") == "true"))
	})
	for word, change := range map[string]func(context.Context, Caller, ChatRef) ([]message.Chat, error){
		"stop": func(ctx context.Context, c Caller, w ChatRef) ([]message.Chat, error) {
			return wholeChats(b.StopChat(ctx, c, w))
		},
		"pause": func(ctx context.Context, c Caller, w ChatRef) ([]message.Chat, error) {
			return wholeChats(b.PauseChat(ctx, c, w))
		},
		"resume": func(ctx context.Context, c Caller, w ChatRef) ([]message.Chat, error) {
			return wholeChats(b.ResumeChat(ctx, c, w))
		},
	} {
		post(s, mux, "/v1/chats/"+word, func(ctx context.Context, from Caller, which ChatRef) ([]message.Chat, error) {
			if (which.Chat == "") == !which.All {
				return nil, Errorf(CodeUsage, "name one chat, or all of them")
			}
			return change(ctx, from, which)
		})
	}
	get(s, mux, "/v1/chats/show", func(r *http.Request, from Caller) (ChatDetail, error) {
		return wholeDetail(b.ShowChat(r.Context(), from, r.URL.Query().Get("chat")))
	})
	for word, change := range map[string]func(context.Context, Caller, MemberRequest) (message.Chat, error){
		"add": b.AddMember, "remove": b.RemoveMember, "mute": b.MuteMember,
	} {
		post(s, mux, "/v1/chats/"+word, func(ctx context.Context, from Caller, req MemberRequest) (message.Chat, error) {
			if err := checkMember(req); err != nil {
				return message.Chat{}, err
			}
			return wholeChat(change(ctx, from, req))
		})
	}
	post(s, mux, "/v1/chats/say", b.Say)
	get(s, mux, "/v1/chats/stats", func(r *http.Request, from Caller) (any, error) {
		return b.Stats(r.Context(), from, r.URL.Query().Get("chat"))
	})
	get(s, mux, "/v1/peers", func(r *http.Request, from Caller) ([]Peer, error) {
		return wholePeers(b.Peers(r.Context(), from))
	})
	get(s, mux, "/v1/inbox", func(r *http.Request, from Caller) ([]Held, error) {
		return list(b.Inbox(r.Context(), from))
	})
	post(s, mux, "/v1/inbox/vouch", b.Vouch)
	post(s, mux, "/v1/inbox/decide", func(ctx context.Context, from Caller, req DecideRequest) (Decided, error) {
		if err := checkDecide(req); err != nil {
			return Decided{}, err
		}
		return wholeDecided(b.Decide(ctx, from, req))
	})
	get(s, mux, "/v1/policy", func(r *http.Request, from Caller) (policy.Status, error) {
		return wholePolicy(b.Policy(r.Context(), from))
	})
	post(s, mux, "/v1/policy/rollback", func(ctx context.Context, from Caller, req RollbackPolicyRequest) (policy.Status, error) {
		return wholePolicy(b.RollbackPolicy(ctx, from, req))
	})
	post(s, mux, "/v1/policy/diff", func(ctx context.Context, from Caller, req DiffPolicyRequest) (policy.Trial, error) {
		if err := checkDiffPolicy(req); err != nil {
			return policy.Trial{}, err
		}
		return b.DiffPolicy(ctx, from, req)
	})
	post(s, mux, "/v1/policy/explain", b.ExplainPolicy)
	post(s, mux, "/v1/ask", func(ctx context.Context, from Caller, req AskRequest) (message.Chat, error) {
		if err := checkAsk(req); err != nil {
			return message.Chat{}, err
		}
		return wholeChat(b.Ask(ctx, from, req))
	})
	get(s, mux, "/v1/asked", func(r *http.Request, from Caller) (Asked, error) {
		q, err := parseAsked(r.URL.Query())
		if err != nil {
			return Asked{}, err
		}
		return wholeAsked(b.Asked(r.Context(), from, q))
	})
	post(s, mux, "/v1/explain", func(ctx context.Context, from Caller, req ExplainRequest) (message.Explanation, error) {
		e, err := b.Explain(ctx, from, req)
		e.Evidence, err = list(e.Evidence, err)
		return e, err
	})
	post(s, mux, "/v1/record", func(ctx context.Context, from Caller, req ExplainRequest) (Recording, error) {
		r, err := b.Record(ctx, from, req)
		r.Explanation.Evidence, err = list(r.Explanation.Evidence, err)
		r.Rows, err = list(r.Rows, err)
		return r, err
	})
	post(s, mux, "/v1/hook", func(ctx context.Context, from Caller, req HookRequest) (struct{}, error) {
		return struct{}{}, b.Hook(ctx, from, req)
	})
	post(s, mux, "/v1/send", b.Send)
	get(s, mux, "/v1/log", func(r *http.Request, from Caller) (any, error) {
		q, err := parseLogQuery(r.URL.Query())
		if err != nil {
			return nil, err
		}
		return list(b.Log(r.Context(), from, q))
	})
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, Errorf(CodeNotFound, "no operation %q", r.Method+" "+r.URL.Path))
	})
	return s.admit(mux)
}

// admit lets pass who runs as this user and speaks this version. Asking for the status and
// ending the sidecar are open to every version, so that an update finds its way out.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
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
		theirs := r.Header.Get(VersionHeader)
		if theirs != Version && r.URL.Path != "/v1/status" && r.URL.Path != "/v1/down" {
			s.fail(w, mismatch(theirs, Version))
			return
		}
		defer func() {
			p := recover()
			if p == nil || p == http.ErrAbortHandler {
				return
			}
			s.Logger.Error("panic while answering", "operation", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
			s.fail(w, Errorf(CodeFailed, "the sidecar met a defect of its own in %q", r.URL.Path).
				WithHint("its log has the details; `intercom status` says where it is"))
		}()
		next.ServeHTTP(w, r)
	})
}

// get serves an operation whose request stands in its query.
func get[T any](s *Server, mux *http.ServeMux, path string, op func(*http.Request, Caller) (T, error)) {
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		reply, err := op(r, s.callerOf(r))
		s.reply(w, reply, err)
	})
}

// post serves an operation whose request is the body.
func post[Q, T any](s *Server, mux *http.ServeMux, path string, op func(context.Context, Caller, Q) (T, error)) {
	mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
		var req Q
		if err := decode(http.MaxBytesReader(w, r.Body, MaxRequest), &req); err != nil {
			s.fail(w, err)
			return
		}
		reply, err := op(r.Context(), s.callerOf(r), req)
		s.reply(w, reply, err)
	})
}

// callerOf is who makes a request, by what is known when all of it has arrived.
func (s *Server) callerOf(r *http.Request) Caller {
	seen, _ := r.Context().Value(callerKey{}).(callerOrError)
	seen.caller.Client = r.Header.Get(ClientHeader)
	if s.Started != nil && seen.caller.PID != Gone {
		if now, err := s.Started(seen.caller.PID); err != nil || now != seen.start {
			seen.caller.PID = Gone
		}
	}
	return seen.caller
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

func (s *Server) reply(w http.ResponseWriter, reply any, err error) {
	if err != nil {
		s.fail(w, err)
		return
	}
	s.write(w, http.StatusOK, reply)
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

// events streams one JSON object a line. The stream ends whole when the sidecar ends; a
// reader that is cut off sees the difference.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	since, err := parseSince(r.URL.Query())
	if err != nil {
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
	for event, err := range s.Backend.Events(r.Context(), s.callerOf(r), since) {
		line := streamLine{Event: &event}
		if err != nil {
			if r.Context().Err() != nil {
				return
			}
			line = streamLine{Error: AsError(err)}
		}
		_ = control.SetWriteDeadline(time.Now().Add(writeTimeout))
		if e.Encode(line) != nil || control.Flush() != nil || err != nil {
			return
		}
	}
}

// streamLine is one line of the stream of events: an event, or at its end an error.
type streamLine struct {
	Event *message.Event `json:"event,omitempty"`
	Error *Error         `json:"error,omitempty"`
}

func parseSince(q url.Values) (int64, error) {
	text := q.Get("since")
	if text == "" {
		return 0, nil
	}
	since, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, Errorf(CodeUsage, "since %q: not a number", text)
	}
	return since, nil
}

func parseLogQuery(q url.Values) (LogQuery, error) {
	since, err := parseSince(q)
	if err != nil {
		return LogQuery{}, err
	}
	limit := 0
	if text := q.Get("limit"); text != "" {
		if limit, err = strconv.Atoi(text); err != nil || limit < 0 {
			return LogQuery{}, Errorf(CodeUsage, "limit %q: not a count", text)
		}
	}
	return LogQuery{
		ID: q.Get("id"), Chat: q.Get("chat"), Search: q.Get("search"), Since: since, Limit: limit, Oldest: q.Get("oldest") == "true",
	}, nil
}

func parseAsked(v url.Values) (AskedQuery, error) {
	q := AskedQuery{Chat: message.ID(v.Get("chat")), Wait: Wait(v.Get("wait"))}
	if q.Chat == "" {
		return q, Errorf(CodeUsage, "name a chat")
	}
	if text := v.Get("timeout_ns"); text != "" {
		ns, err := strconv.ParseInt(text, 10, 64)
		if err != nil || ns < 0 {
			return q, Errorf(CodeUsage, "timeout %q: not a number of nanoseconds", text)
		}
		q.Timeout = time.Duration(ns)
	}
	return q, nil
}

func (q LogQuery) values() url.Values {
	v := url.Values{}
	for key, value := range map[string]string{"id": q.ID, "chat": q.Chat, "search": q.Search} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if q.Since != 0 {
		v.Set("since", strconv.FormatInt(q.Since, 10))
	}
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Oldest {
		v.Set("oldest", "true")
	}
	return v
}

// mismatch is the error of two sides that do not speak the same version.
func mismatch(client, sidecar string) *Error {
	if client == "" {
		client = "none"
	}
	if sidecar == "" {
		sidecar = "none"
	}
	return Errorf(CodeVersion, "this program speaks version %s of the interface, the sidecar that runs speaks %s", client, sidecar).
		WithHint("after an update, `intercom up` puts the new sidecar in the place of the old one; its chats go on")
}
