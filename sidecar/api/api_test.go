package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	if socket := os.Getenv("API_TEST_CALL"); socket != "" {
		callAsAnotherUser(socket)
		return
	}
	if socket := os.Getenv("API_TEST_CONNECT"); socket != "" {
		connectFor(socket)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestClient_everyOperationReachesItsMethod(t *testing.T) {
	chat := message.Chat{ID: message.NewID(), Name: "c", Participants: []message.Participant{}}
	session := message.Peer{ID: message.NewID(), Name: "alice", PaneOf: message.PaneOf{Pane: "%1"}}
	b := &backend{
		status:   api.Status{PID: 7, API: api.Version, Sessions: []message.Peer{session}, Chats: []message.Chat{chat}},
		sessions: []message.Peer{session},
		chats:    []message.Chat{chat},
		sent:     api.Sent{Message: message.NewID(), Receipt: message.Receipt{State: message.Held, Reason: message.Paused}},
		said:     api.Said{Message: message.NewID(), Deliveries: []message.ID{message.NewID()}},
		peers:    []api.Peer{{Pane: "%1"}},
		stats:    message.Stats{Chat: chat.ID, Turns: 3, LatencyP50: 5 * time.Millisecond},
		recorded: api.Recording{Pane: "%1", Rows: []string{"\x1b[7mx\x1b[m"}, Explanation: message.Explanation{
			Pane: "%1", Agent: "claude", Evidence: []message.Ground{{Source: "screen", Says: "x", Weight: "approximate", AgeMS: 3}},
		}},
		log: []message.Event{{Seq: 4, Kind: "notice", Notice: "n"}},
	}
	c := serve(t, b)
	ctx := t.Context()

	status, err := api.Call(ctx, c, api.ShowStatus, api.None{})
	require.NoError(t, err)
	assert.Equal(t, b.status, status)

	_, err = api.Call(ctx, c, api.Down, api.None{})
	require.NoError(t, err)
	assert.Equal(t, "down", b.took().name)

	adopt := api.AdoptRequest{Pane: "%1", As: "line", Name: "alice", Prompt: `^> $`}
	got, err := api.Call(ctx, c, api.Adopt, adopt)
	require.NoError(t, err)
	assert.Equal(t, session, got)
	assert.Equal(t, call{"adopt", adopt, self()}, b.took())

	_, err = api.Call(ctx, c, api.Release, api.ReleaseRequest{Pane: "alice"})
	require.NoError(t, err)
	assert.Equal(t, call{"release", api.ReleaseRequest{Pane: "alice"}, self()}, b.took())

	_, err = api.Call(ctx, c, api.Rename, api.RenameRequest{Pane: "%1", Name: "bob"})
	require.NoError(t, err)
	assert.Equal(t, call{"rename", api.RenameRequest{Pane: "%1", Name: "bob"}, self()}, b.took())

	sessions, err := api.Call(ctx, c, api.Sessions, api.None{})
	require.NoError(t, err)
	assert.Equal(t, b.sessions, sessions)

	start := api.StartChatRequest{Panes: []string{"%1", "%2"}, Say: "a <b>\n&\u2028", Turns: 4, Set: map[string]string{"depth": "9"}}
	_, err = api.Call(ctx, c, api.StartChat, start)
	require.NoError(t, err)
	assert.Equal(t, call{"start", start, self()}, b.took())

	_, err = api.Call(ctx, c, api.Chats, api.ChatsQuery{Ended: true})
	require.NoError(t, err)
	assert.Equal(t, call{"chats", true, self()}, b.took())
	_, err = api.Call(ctx, c, api.Chats, api.ChatsQuery{})
	require.NoError(t, err)
	assert.Equal(t, call{"chats", false, self()}, b.took())

	for name, change := range map[string]api.Op[api.ChatRef, []message.Chat]{
		"stop": api.StopChat, "pause": api.PauseChat, "resume": api.ResumeChat,
	} {
		changed, err := api.Call(ctx, c, change, api.ChatRef{All: true})
		require.NoError(t, err, name)
		assert.Equal(t, b.chats, changed, name)
		assert.Equal(t, call{name, api.ChatRef{All: true}, self()}, b.took())
		_, err = api.Call(ctx, c, change, api.ChatRef{})
		assert.Equal(t, api.CodeUsage, code(err), name)
		_, err = api.Call(ctx, c, change, api.ChatRef{Chat: "x", All: true})
		assert.Equal(t, api.CodeUsage, code(err), name)
	}

	shown, err := api.Call(ctx, c, api.ShowChat, api.ChatQuery{Chat: "a&b=c"})
	require.NoError(t, err)
	assert.Equal(t, api.ChatDetail{
		Chat: chat, Sessions: []message.Peer{session}, Waiting: []api.Waiting{},
		Stats: message.Stats{Deliveries: map[message.ReceiptState]int{}},
	}, shown, "no list is null")
	assert.Equal(t, call{"show", "a&b=c", self()}, b.took())

	for name, change := range map[string]api.Op[api.MemberRequest, message.Chat]{
		"add": api.AddMember, "remove": api.RemoveMember, "mute": api.MuteMember,
	} {
		req := api.MemberRequest{Chat: "c", Pane: "%3", Role: "critic", Off: true}
		changed, err := api.Call(ctx, c, change, req)
		require.NoError(t, err, name)
		assert.Equal(t, chat, changed, name)
		assert.Equal(t, call{name, req, self()}, b.took())
		for _, bad := range []api.MemberRequest{{Chat: "c"}, {Pane: "%3"}, {Chat: "c", Pane: "%3", Role: "two\nlines"}} {
			_, err = api.Call(ctx, c, change, bad)
			assert.Equal(t, api.CodeUsage, code(err), "%s %+v", name, bad)
		}
	}
	for _, bad := range []api.StartChatRequest{
		{Panes: []string{"%1"}},
		{Panes: []string{"%1", "%2"}, Turns: -1},
		{Panes: []string{"%1", "%2"}, Roles: map[string]string{"%1": strings.Repeat("x", message.MaxRole+1)}},
	} {
		_, err = api.Call(ctx, c, api.StartChat, bad)
		assert.Equal(t, api.CodeUsage, code(err), "%+v", bad)
	}

	ask := api.AskRequest{From: "%1", To: "bob", Say: "is it so?", Turns: 2, Set: map[string]string{"depth": "9"}}
	question, err := api.Call(ctx, c, api.Ask, ask)
	require.NoError(t, err)
	assert.Equal(t, chat, question)
	assert.Equal(t, call{"ask", ask, self()}, b.took())
	for _, bad := range []api.AskRequest{{From: "%1"}, {To: "bob", Turns: -1}} {
		_, err = api.Call(ctx, c, api.Ask, bad)
		assert.Equal(t, api.CodeUsage, code(err), "%+v", bad)
	}
	wait := api.AskedQuery{Chat: "a&b=c", Wait: api.WaitEnded, Timeout: time.Minute}
	asked, err := api.Call(ctx, c, api.AwaitAnswers, wait)
	require.NoError(t, err)
	assert.Equal(t, api.Asked{Chat: message.Chat{Participants: []message.Participant{}}, Answers: []message.Envelope{}}, asked, "no list is null")
	assert.Equal(t, call{"asked", wait, self()}, b.took())
	_, err = api.Call(ctx, c, api.AwaitAnswers, api.AskedQuery{})
	assert.Equal(t, api.CodeUsage, code(err))

	peers, err := api.Call(ctx, c, api.Peers, api.None{})
	require.NoError(t, err)
	assert.Equal(t, []api.Peer{{Pane: "%1", Aliases: []string{}, Evidence: []message.Ground{}}}, peers, "no list is null")
	assert.Equal(t, call{"peers", nil, self()}, b.took())

	said, err := api.Call(ctx, c, api.Say, api.SayRequest{Chat: "c", Text: "hi"})
	require.NoError(t, err)
	assert.Equal(t, b.said, said)
	assert.Equal(t, call{"say", api.SayRequest{Chat: "c", Text: "hi"}, self()}, b.took())

	stats, err := api.Call(ctx, c, api.Stats, api.ChatQuery{Chat: "a&b=c"})
	require.NoError(t, err)
	assert.Equal(t, b.stats, stats)
	assert.Equal(t, call{"stats", "a&b=c", self()}, b.took())

	which := api.ExplainRequest{Pane: "alice", Agent: "claude"}
	explained, err := api.Call(ctx, c, api.Explain, which)
	require.NoError(t, err)
	assert.Equal(t, b.recorded.Explanation, explained)
	assert.Equal(t, call{"explain", which, self()}, b.took())

	recorded, err := api.Call(ctx, c, api.Record, which)
	require.NoError(t, err)
	assert.Equal(t, b.recorded, recorded)
	assert.Equal(t, call{"record", which, self()}, b.took())

	hook := api.HookRequest{Hook: message.Hook{Agent: "codex", Event: "notify", Words: "done"}, Pane: "%1"}
	_, err = api.Call(ctx, c, api.Hook, hook)
	require.NoError(t, err)
	assert.Equal(t, call{"hook", hook, self()}, b.took())

	send := api.SendRequest{ID: message.NewID(), To: "bob", Text: "x", Wait: api.WaitAnswered, Timeout: time.Minute}
	sent, err := api.Call(ctx, c, api.Send, send)
	require.NoError(t, err)
	assert.Equal(t, b.sent, sent)
	assert.Equal(t, call{"send", send, self()}, b.took())

	q := api.LogQuery{ID: "i", Chat: "c", Search: "a b&c", Since: 7, Limit: 3, Oldest: true}
	events, err := api.Call(ctx, c, api.Log, q)
	require.NoError(t, err)
	assert.Equal(t, b.log, events)
	assert.Equal(t, call{"log", q, self()}, b.took())
}

func TestServer_noListIsNull(t *testing.T) {
	c := serve(t, &backend{chats: []message.Chat{{}}, status: api.Status{Chats: []message.Chat{{}}}})
	for path, body := range map[string]string{"/v1/sessions": "", "/v1/chats": "{}", "/v1/status": "", "/v1/chats/show": `{"chat":"x"}`, "/v1/log": "{}"} {
		method := "POST"
		if body == "" {
			method = "GET"
		}
		text, err := io.ReadAll(request(t, c.Socket, method, path, body, api.Version).Body)
		require.NoError(t, err)
		assert.NotContains(t, string(text), "null", "%s: null is no list for those who read JSON", path)
	}
}

func TestClient_errorsKeepTextHintAndCode(t *testing.T) {
	b := &backend{}
	c := serve(t, b)
	for code, exit := range map[api.Code]int{
		api.CodeUsage: 2, api.CodeFailed: 1, api.CodeNotFound: 1, api.CodeRefused: 1, api.CodeHeld: 5,
		api.CodeUncertain: 4, api.CodeTimeout: 4, api.CodeNoSidecar: 3, api.CodeVersion: 1,
	} {
		b.fail(fmt.Errorf("adopt %q: %w", "%1", api.Errorf(code, "no").WithHint("try %s", "this")))
		_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
		got, ok := errors.AsType[*api.Error](err)
		require.True(t, ok, "%s: %v", code, err)
		assert.Equal(t, `adopt "%1": no`, got.Text)
		assert.Equal(t, "try this", got.Hint)
		assert.Equal(t, code, got.Code)
		assert.Equal(t, exit, got.Code.Exit())
	}
	b.fail(errors.New("disk full"))
	_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
	assert.Equal(t, api.CodeFailed, code(err))
	assert.EqualError(t, err, "disk full")
}

func TestServer_refusesWhatItCannotRead(t *testing.T) {
	c := serve(t, &backend{})
	for name, body := range map[string]string{
		"not JSON":       `hello`,
		"unknown field":  `{"pane":"%1","as":"line","force":true}`,
		"two values":     `{"pane":"%1"}{"pane":"%2"}`,
		"another type":   `{"pane":7}`,
		"nothing":        ``,
		"more than 2MiB": `{"pane":"` + strings.Repeat("x", api.MaxRequest) + `"}`,
	} {
		resp := request(t, c.Socket, "POST", "/v1/adopt", body, api.Version)
		var got api.Error
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got), name)
		assert.Equal(t, http.StatusBadRequest, resp.StatusCode, name)
		assert.Equal(t, api.CodeUsage, got.Code, name)
	}
	for path, status := range map[string]int{"/": 404, "/v1/nothing": 404, "/v1/adopt": 404} {
		assert.Equal(t, status, request(t, c.Socket, "GET", path, "", api.Version).StatusCode, path)
	}
	for path, body := range map[string]string{"/v1/events": `{"since":"x"}`, "/v1/log": `{"limit":-1}`, "/v1/asked": `{"chat":"x","timeout_ns":-1}`} {
		assert.Equal(t, 400, request(t, c.Socket, "POST", path, body, api.Version).StatusCode, path)
	}
}

func TestServer_longestBodyPasses(t *testing.T) {
	b := &backend{}
	c := serve(t, b)
	text := "x" + strings.Repeat("\n", message.MaxBody-1)
	_, err := api.Call(t.Context(), c, api.Send, api.SendRequest{To: "bob", Text: text})
	require.NoError(t, err)
	assert.Equal(t, text, b.took().req.(api.SendRequest).Text)
}

func TestServer_panicOfTheBackendIsAnError(t *testing.T) {
	b := &backend{}
	c := serve(t, b)
	b.mu.Lock()
	b.panics = true
	b.mu.Unlock()
	_, err := api.Call(t.Context(), c, api.Adopt, api.AdoptRequest{})
	assert.Equal(t, api.CodeFailed, code(err))
	_, err = api.Call(t.Context(), c, api.ShowStatus, api.None{})
	assert.NoError(t, err, "the server goes on")
}

func TestServer_anotherVersionIsTold(t *testing.T) {
	c := serve(t, &backend{})
	for _, theirs := range []string{"", "0", "1", "3"} {
		resp := request(t, c.Socket, "GET", "/v1/sessions", "", theirs)
		assert.Equal(t, http.StatusUpgradeRequired, resp.StatusCode)
		assert.Equal(t, api.Version, resp.Header.Get(api.VersionHeader))
		var got api.Error
		require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
		assert.Equal(t, api.CodeVersion, got.Code)
		assert.Contains(t, got.Hint, "intercom up")
	}
	assert.Equal(t, http.StatusOK, request(t, c.Socket, "POST", "/v1/down", "{}", "1").StatusCode, "an update must find its way out")
	assert.Equal(t, http.StatusOK, request(t, c.Socket, "GET", "/v1/status", "", "1").StatusCode)
}

func TestClient_anotherVersionIsTold(t *testing.T) {
	for _, theirs := range []string{"", "1"} {
		socket := filepath.Join(t.TempDir(), "s")
		ln, err := net.Listen("unix", socket)
		require.NoError(t, err)
		h := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(api.VersionHeader, theirs)
			_, _ = io.WriteString(w, "{}")
		})}
		var done sync.WaitGroup
		done.Go(func() { _ = h.Serve(ln) })
		c := &api.Client{Socket: socket}
		_, err = api.Call(t.Context(), c, api.Sessions, api.None{})
		require.Equal(t, api.CodeVersion, code(err), "%v", err)
		told, _ := errors.AsType[*api.Error](err)
		assert.Contains(t, told.Hint, "intercom up")
		_, err = api.Call(t.Context(), c, api.Down, api.None{})
		assert.NoError(t, err, "the old one can be ended")
		require.NoError(t, h.Close())
		done.Wait()
	}
}

func TestServer_callOutlivesTheTimeoutForReading(t *testing.T) {
	b := &backend{block: make(chan struct{})}
	const timeout = 20 * time.Millisecond
	c, _ := serveWith(t, b.offered(&api.Server{ReadTimeout: timeout}))
	ctx, cancel := context.WithTimeout(t.Context(), 10*timeout)
	defer cancel()
	_, err := api.Call(ctx, c, api.Send, api.SendRequest{To: "bob", Text: "x"})
	assert.Equal(t, api.CodeTimeout, code(err), "the client's own time ends the call, not the server's for reading: %v", err)
}

func TestServer_slowRequestIsCutOff(t *testing.T) {
	c, _ := serveWith(t, new(backend).offered(&api.Server{ReadTimeout: 20 * time.Millisecond}))
	conn, err := net.Dial("unix", c.Socket)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "POST /v1/adopt HTTP/1.1\r\nHost: x\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadAll(conn)
	assert.NoError(t, err, "the server closes the connection")
}

func TestClient_thatGoesAwayEndsTheCall(t *testing.T) {
	b := &backend{block: make(chan struct{})}
	c := serve(t, b)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := api.Call(ctx, c, api.Send, api.SendRequest{To: "bob", Text: "x"})
		done <- err
	}()
	<-b.block
	cancel()
	assert.Equal(t, api.CodeUncertain, code(<-done), "the request was sent: what became of it is not known")
	require.Eventually(t, b.cancelled, time.Minute, time.Millisecond, "the backend learns that nobody waits")
}

func TestClient_deadlineIsNoAnswerInTime(t *testing.T) {
	b := &backend{block: make(chan struct{})}
	c := serve(t, b)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := api.Call(ctx, c, api.Send, api.SendRequest{To: "bob", Text: "x"})
	assert.Equal(t, api.CodeTimeout, code(err), "%v", err)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestEvents_streamEndsWithTheServer(t *testing.T) {
	b := &backend{events: make(chan message.Event)}
	c, stop := serveUntil(t, b)
	var seen []int64
	for event, err := range api.Follow(t.Context(), c, api.Events, api.EventsQuery{Since: 3}) {
		require.NoError(t, err)
		seen = append(seen, event.Seq)
		switch len(seen) {
		case 1:
			go func() { b.events <- message.Event{Seq: 5, Kind: "notice"} }()
		case 2:
			stop()
		}
	}
	assert.Equal(t, []int64{4, 5}, seen)
}

func TestEvents_readerThatStopsEndsTheBackend(t *testing.T) {
	b := &backend{events: make(chan message.Event)}
	c := serve(t, b)
	for _, err := range api.Follow(t.Context(), c, api.Events, api.EventsQuery{Since: 0}) {
		require.NoError(t, err)
		break
	}
	require.Eventually(t, b.cancelled, time.Minute, time.Millisecond)
}

func TestEvents_errorOfTheBackendIsTheLastElement(t *testing.T) {
	b := &backend{}
	b.fail(api.Errorf(api.CodeFailed, "journal gone"))
	c := serve(t, b)
	var errs []error
	for _, err := range api.Follow(t.Context(), c, api.Events, api.EventsQuery{Since: 0}) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 2)
	assert.NoError(t, errs[0])
	assert.EqualError(t, errs[1], "journal gone")
}

func TestEvents_streamThatBreaksOffIsAnError(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	var done sync.WaitGroup
	done.Go(func() {
		conn, err := ln.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Read(make([]byte, 4096))
		fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n%s: %s\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", api.VersionHeader, api.Version)
	})
	var errs []error
	for _, err := range api.Follow(t.Context(), &api.Client{Socket: socket}, api.Events, api.EventsQuery{Since: 0}) {
		errs = append(errs, err)
	}
	require.Len(t, errs, 1)
	assert.ErrorContains(t, errs[0], "ended: the sidecar is gone")
	require.NoError(t, ln.Close())
	done.Wait()
}

func TestServer_refusesAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can run a program as another user: run the tests as root to see this one")
	}
	// The socket must be reachable for the other user here, so that it is the peer check
	// that refuses, and not the directory; and so must the test program.
	dir, err := os.MkdirTemp("/tmp", "api")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	exe := filepath.Join(dir, "exe")
	program, err := os.ReadFile("/proc/self/exe")
	require.NoError(t, err)
	tmuxtest.Program(t, exe, string(program))
	require.NoError(t, os.Chmod(exe, 0o755))
	socket := filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(socket, 0o777))
	b := &backend{}
	serveOn(t, b.offered(&api.Server{}), ln)

	call := func(uid uint32) string {
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = []string{"API_TEST_CALL=" + socket}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	assert.Equal(t, "403 refused", call(65534))
	assert.Empty(t, b.took().name, "nothing reached the backend")
	assert.Equal(t, "200 ", call(0))
	assert.Equal(t, "down", b.took().name)

	// Conversely, a client does not talk to another user's listener.
	require.NoError(t, os.Chown(dir, 65534, 65534))
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = []string{"API_TEST_CALL=client:" + socket}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Equal(t, "no_sidecar", string(out))
}

// Helpers.

// callAsAnotherUser is the body of the child process: it calls with the client or without it.
func callAsAnotherUser(socket string) {
	if own, ok := strings.CutPrefix(socket, "client:"); ok {
		_, err := api.Call(context.Background(), &api.Client{Socket: own}, api.Down, api.None{})
		fmt.Print(code(err))
		return
	}
	h := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	resp, err := h.Post("http://x/v1/down", "application/json", strings.NewReader("{}"))
	if err != nil {
		fmt.Print(err)
		return
	}
	var told api.Error
	_ = json.NewDecoder(resp.Body).Decode(&told)
	fmt.Print(resp.StatusCode, " ", told.Code)
}

func self() api.Caller { return api.Caller{PID: os.Getpid(), UID: os.Geteuid()} }

func code(err error) api.Code {
	if e, ok := errors.AsType[*api.Error](err); ok {
		return e.Code
	}
	return ""
}

func serve(t *testing.T, b *backend) *api.Client {
	t.Helper()
	c, _ := serveUntil(t, b)
	return c
}

func serveUntil(t *testing.T, b *backend) (*api.Client, func()) {
	t.Helper()
	return serveWith(t, b.offered(&api.Server{}))
}

func serveWith(t *testing.T, s *api.Server) (*api.Client, func()) {
	t.Helper()
	ln, err := api.Listen(filepath.Join(t.TempDir(), "run"), "x")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ln.Release()) })
	stop := serveOn(t, s, ln)
	return &api.Client{Socket: ln.Addr().String()}, stop
}

func serveOn(t *testing.T, s *api.Server, ln net.Listener) func() {
	t.Helper()
	s.Logger = slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		assert.NoError(t, <-done)
	})
	return cancel
}

func request(t *testing.T, socket, method, path, body, version string) *http.Response {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://x"+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set(api.VersionHeader, version)
	resp, err := tr.RoundTrip(r)
	require.NoError(t, err)
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}
