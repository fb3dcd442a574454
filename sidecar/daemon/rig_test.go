package daemon_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/tmux-intercom/tmux-intercom/scripting/worker"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/naivetest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// TestMain lets the test program run as other programs too.
func TestMain(m *testing.M) {
	if os.Getenv("INTERCOM_TEST_SEND") != "" {
		os.Exit(sendMain(os.Args[1:]))
	}
	if len(os.Args) == 2 && os.Args[1] == "policy-worker" {
		if err := worker.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("INTERCOM_TEST_NAIVE") != "" {
		os.Exit(naivetest.Main(os.Args[1:]))
	}
	debug.SetGCPercent(400) // many small sidecars run at once: there is enough memory, but not enough processors
	goleak.VerifyTestMain(m)
}

// exited prints the error of a request and returns the exit status.
func exited(_ any, err error) int {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// yes runs sendMain with these words at a terminal where it is the only process, as a person who says yes to them.
func (r *rig) yes(words ...string) error {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), os.Args[0], append([]string{r.client.Socket}, words...)...)
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_SEND=1")
	tty, err := pty.Start(cmd)
	require.NoError(r.t, err)
	defer tty.Close()
	said, _ := io.ReadAll(tty) // its end is an error
	if cmd.Wait() != nil {
		return errors.New(strings.TrimSpace(string(said)))
	}
	return nil
}

// sendMain makes one request, mostly a message from inside a pane. Its arguments are the sidecar's socket, the
// target, the text and, if there is a fourth, the id, TYPE:PRIORITY, "direct", "close" or "forge". With "forge" the
// request claims everything that a message may not say of itself.
// Some words in place of the target are other requests: "stop" takes a chat, and "mute" a session; "ask" and
// "start" are beginMain's. With "resume" and a chat, "approve" or "reject" and an id, or "rollback" of the
// policies, a person says yes.
func sendMain(args []string) int {
	c := clientAt(args[0])
	switch args[1] {
	case "resume":
		return exited(c.ResumeChat(context.Background(), api.ChatRef{Chat: args[2], Sure: true}))
	case "approve":
		return exited(api.Call(context.Background(), c.Client, api.Decide, api.DecideRequest{ID: args[2], Choice: api.ChoiceApprove, Sure: true}))
	case "reject":
		return exited(api.Call(context.Background(), c.Client, api.Decide, api.DecideRequest{ID: args[2], Choice: api.ChoiceReject, Say: "not there", Sure: true}))
	case "rollback":
		return exited(c.RollbackPolicy(context.Background(), api.RollbackPolicyRequest{Sure: true}))
	}
	if len(args) > 3 && args[3] == "forge" {
		return forgeMain(args)
	}
	if args[1] == "stop" {
		if _, err := clientAt(args[0]).StopChat(context.Background(), api.ChatRef{Chat: args[2]}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}
	if args[1] == "ask" || args[1] == "start" {
		return beginMain(args)
	}
	if args[1] == "mute" {
		return exited(api.Call(context.Background(), c.Client, api.StopNotices, api.StopNoticesRequest{Session: args[2]}))
	}
	req := api.SendRequest{To: args[1], Text: args[2]}
	switch {
	case len(args) > 3 && args[3] == "direct":
		req.Direct = true
	case len(args) > 3 && args[3] == "close":
		req.CloseLink = true
	case len(args) > 3:
		kind, priority, typed := strings.Cut(args[3], ":")
		if req.Type, req.Priority = kind, priority; !typed {
			req.ID, req.Type = message.ID(args[3]), ""
		}
	}
	if thread, set := os.LookupEnv("INTERCOM_TEST_THREAD"); set {
		c.Agent = &api.AgentCall{Client: "codex-mcp-client", Thread: thread}
	}
	return exited(c.Send(context.Background(), req))
}

// forgeMain sends a message to the sidecar without its client, and claims what a message may not say of itself.
func forgeMain(args []string) int {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", args[0])
	}
	body := fmt.Sprintf(`{"to":%q,"text":%q,"timeout_ns":0}`, args[1], args[2])
	claims := `{"depth":0,"hops":0,"origin":"human","trust":"person","from":{"name":"tester","number":0},` +
		`"meta":{"depth":"0"},"message":{"depth":0,"origin":"human"},` + body[1:]
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	for _, body := range []string{claims, body} { // the claims may be ignored, or the whole request refused
		request, err := http.NewRequest("POST", "http://sidecar/v1/send", strings.NewReader(body))
		if err != nil {
			return 1
		}
		request.Header.Set(api.VersionHeader, api.Version)
		request.Header.Set("Content-Type", "application/json")
		answer, err := client.Do(request)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		answer.Body.Close()
		if answer.StatusCode < 300 {
			return 0
		}
	}
	return 1
}

// rig is a whole sidecar in this process, serving a private tmux server with personas in
// real panes.
type rig struct {
	*tmuxtest.Server
	t      testing.TB
	dir    string
	cfg    daemon.Config
	client client
	heard  *heard
	end    func() error // ends the sidecar and tells how it ended
	wait   func() error // waits until it has ended by itself
}

// option changes how a rig is set up.
type option func(*daemon.Config)

// newRig starts a server of the newest version at hand and talks to it in tmux's own protocol, which costs least.
// `make long` starts the oldest version and uses the transport that a person would have. A test that must hold on
// several versions or transports uses eachServer, eachTransport or tmuxtest.EachVersion.
func newRig(t testing.TB, opts ...option) *rig {
	all := tmuxtest.Versions(t)
	if longTest() {
		return newRigOn(t, all[0], opts...)
	}
	return newRigOn(t, all[len(all)-1], append([]option{over("native")}, opts...)...)
}

// newOldRig is newRig on the oldest version at hand, which passes on every byte of a paste.
func newOldRig(t testing.TB, opts ...option) *rig {
	return newRigOn(t, tmuxtest.Versions(t)[0], append([]option{over("native")}, opts...)...)
}

// newRigOn is newRig on a chosen version of tmux.
func newRigOn(t testing.TB, v tmuxtest.Version, opts ...option) *rig {
	r := &rig{Server: tmuxtest.NewServer(t, v), t: t, heard: &heard{}}
	var err error
	r.dir, err = os.MkdirTemp("", "ic") // short: a socket's path is at most 104 bytes
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(r.dir) })
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "run"), 0o700))
	paths, err := api.Places(r.getenv, r.Socket)
	require.NoError(t, err)
	r.cfg = daemon.Config{
		Paths: paths, Tmux: v.Bin, Version: "test", Person: "tester", Log: slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo})),
	}
	for _, opt := range opts {
		opt(&r.cfg)
	}
	r.client = clientAt(paths.Socket)
	if _, err := os.Lstat(paths.State); errors.Is(err, fs.ErrNotExist) {
		empty, err := journaltest.Empty()
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(paths.State, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(paths.State, "journal.db"), empty, 0o600))
	}
	r.start()
	t.Cleanup(func() {
		if t.Failed() {
			r.confess()
		}
	})
	return r
}

// confess logs the state that a failed test leaves: every pane as the sidecar judges it and as it looks, and the
// last messages and receipts.
func (r *rig) confess() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	panes, _ := r.Try("list-panes", "-a", "-F", "#{pane_id}")
	for _, pane := range strings.Fields(panes) {
		e, err := r.client.Explain(ctx, api.ExplainRequest{Pane: pane})
		shown, _ := r.Try("capture-pane", "-p", "-S", "-200", "-t", pane)
		r.t.Logf("%s: %+v %v\n%s", pane, e, err, strings.TrimRight(shown, "\n"))
	}
	events, err := r.client.Log(ctx, api.LogQuery{Limit: 200})
	for _, e := range events[max(0, len(events)-40):] {
		if m := e.Message; m != nil {
			r.t.Logf("%s message %s depth %d: %.80q", e.At.Format(time.TimeOnly+".000"), m.ID, m.Depth, m.Body)
		}
		if e.Receipt != nil {
			r.t.Logf("%s receipt %s: %s %+v", e.At.Format(time.TimeOnly+".000"), e.Receipt.Message, told(*e.Receipt), e.Receipt.Evidence)
		}
	}
	if err != nil {
		r.t.Log(err)
	}
}

// start runs the sidecar until the test ends, or until end is called.
func (r *rig) start() {
	r.t.Helper()
	r.heard.forget()
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan struct{}), make(chan error, 1)
	cfg := r.cfg
	cfg.Ready = func() { close(ready) }
	go func() { ended <- daemon.Run(ctx, cfg) }()
	select {
	case <-ready:
	case err := <-ended:
		cancel()
		require.NoError(r.t, err, "start the sidecar")
	}
	r.wait = sync.OnceValue(func() error { return <-ended })
	wait := r.wait
	r.end = func() error {
		cancel()
		return wait()
	}
	end := r.end
	r.t.Cleanup(func() { _ = end() })
}

func (r *rig) getenv(name string) string {
	return map[string]string{
		"HOME": r.dir, "XDG_RUNTIME_DIR": filepath.Join(r.dir, "run"), "XDG_STATE_HOME": filepath.Join(r.dir, "state"),
	}[name]
}

// agent is a persona in a pane.
type agent struct {
	*rig
	name, pane, log, control string
	prompt                   string
	session                  message.Peer

	mu     sync.Mutex // guards read and offset
	read   []persona.Record
	offset int64
}

// line starts a line persona in a pane of its own and waits until it reads keys. It is not adopted yet.
func (r *rig) line(name string, flags ...string) *agent {
	r.t.Helper()
	return r.lineIn("", name, flags...)
}

// lineIn is line in a directory; "" is tmux's own.
func (r *rig) lineIn(dir, name string, flags ...string) *agent {
	r.t.Helper()
	return r.lineBy(nil, dir, name, flags...)
}

// lineBy is lineIn, but another program starts the persona.
func (r *rig) lineBy(starter []string, dir, name string, flags ...string) *agent {
	r.t.Helper()
	a := &agent{rig: r, name: name, log: filepath.Join(r.dir, name+".jsonl"), control: filepath.Join(r.dir, name+".ctl"), prompt: strings.ToLower(name) + "> "}
	args := append(a.command(), flags...)
	if dir != "" {
		args = append([]string{"env", "-C", dir}, args...)
	}
	args = slices.Concat(starter, args)
	a.pane = r.NewPane(args[0], args[1:]...)
	r.waitFor(name+" reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

// adopted starts a line persona and adopts it.
func (r *rig) adopted(name string, flags ...string) *agent {
	r.t.Helper()
	a := r.line(name, flags...)
	as := "line"
	if slices.Contains(flags, "--bracketed") {
		as = "line-paste"
	}
	a.adopt(as)
	return a
}

func (a *agent) adopt(as string) {
	a.t.Helper()
	var err error
	a.session, err = a.client.Adopt(a.t.Context(), api.AdoptRequest{Pane: a.pane, As: as, Name: a.name})
	require.NoError(a.t, err, "adopt %s", a.name)
}

// records returns all that the persona has logged. It does not read the same part of the log twice: tests ask
// often, and would take the machine's time from what they test.
func (a *agent) records() []persona.Record {
	a.mu.Lock()
	defer a.mu.Unlock()
	f, err := os.Open(a.log)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			a.t.Logf("log of %s: %v", a.name, err)
		}
		return a.read
	}
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, a.offset, 1<<40))
	if err != nil {
		a.t.Logf("log of %s: %v", a.name, err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var r persona.Record
		if err := json.Unmarshal(line, &r); err != nil {
			a.t.Logf("log of %s: %v", a.name, err)
		}
		a.read, a.offset = append(a.read, r), a.offset+int64(len(line))
	}
	return slices.Clip(a.read)
}

// texts returns the texts of the persona's records of one kind, in order.
func (a *agent) texts(event string) (all []string) {
	for _, r := range a.records() {
		if r.Event == event {
			all = append(all, r.Text)
		}
	}
	return all
}

func (a *agent) received() []string { return a.texts(persona.EventReceived) }
func (a *agent) said() []string     { return a.texts(persona.EventSaid) }
func (a *agent) count(event string) (n int) {
	for _, r := range a.records() {
		if r.Event == event {
			n++
		}
	}
	return n
}

// bytes returns everything that the persona has read from its terminal.
func (a *agent) bytes() []byte {
	var all []byte
	for _, r := range a.records() {
		if r.Event == persona.EventRead {
			all = append(all, r.Bytes...)
		}
	}
	return all
}

// do gives the persona a command by its control channel, not by its terminal.
func (a *agent) do(format string, args ...any) {
	a.t.Helper()
	command := fmt.Sprintf(format, args...)
	before := a.count(persona.EventCommand)
	require.NoError(a.t, persona.Control(a.control, command))
	a.waitFor(a.name+" took "+command, func() bool { return a.count(persona.EventCommand) > before })
}

// drafts puts a text into the persona's composer, as soon as the persona shows one.
func (a *agent) drafts(text string) {
	a.t.Helper()
	a.waitFor(a.name+" drafts", func() bool { return persona.Control(a.control, ":draft "+text) == nil })
}

// screen returns what the pane shows, with its history.
func (a *agent) screen() string { return a.Run("capture-pane", "-p", "-J", "-S", "-", "-t", a.pane) }

// chat starts a chat among agents; set is a list of KEY=VALUE.
func (r *rig) chat(agents []*agent, set ...string) message.Chat {
	r.t.Helper()
	req := api.StartChatRequest{Set: map[string]string{}}
	for _, a := range agents {
		req.Panes = append(req.Panes, a.pane)
	}
	for _, pair := range set {
		key, value, _ := strings.Cut(pair, "=")
		req.Set[key] = value
	}
	chat, err := r.client.StartChat(r.t.Context(), req)
	require.NoError(r.t, err, "start chat")
	return chat
}

// say puts a person's words into a chat.
func (r *rig) say(chat message.Chat, text string) {
	r.t.Helper()
	_, err := r.client.Say(r.t.Context(), api.SayRequest{Chat: string(chat.ID), Text: text})
	require.NoError(r.t, err, "say")
}

// send sends one message, waits for it as wait says and returns the receipt. If wait is for submitted, an answered
// message counts as submitted.
func (r *rig) send(to *agent, text string, wait api.Wait, timeout time.Duration) message.Receipt {
	r.t.Helper()
	sent, err := r.client.Send(r.t.Context(), api.SendRequest{To: to.pane, Text: text, Wait: wait, Timeout: timeout})
	require.NoError(r.t, err, "send")
	if sent.Receipt.State == message.Answered && wait == api.WaitSubmitted {
		sent.Receipt.State = message.Submitted // it was, and has been answered already
	}
	return sent.Receipt
}

// receipts returns all receipts of the sidecar so far, in order.
func (r *rig) receipts() (all []message.Receipt) {
	r.t.Helper()
	for _, e := range r.events() {
		if e.Receipt != nil {
			all = append(all, *e.Receipt)
		}
	}
	return all
}

// waitFor waits for a condition as long as tmuxtest.WaitFor does. It looks more often, because here a look costs no
// process.
func (r *rig) waitFor(what string, cond func() bool) {
	r.t.Helper()
	tmuxtest.WaitForEvery(r.t, 30*time.Millisecond, what, cond)
}

// testWriter writes a log into the test's log.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimRight(string(p), "\n"))
	return len(p), nil
}

// runUntilEnd runs a sidecar that is expected to end by itself.
func runUntilEnd(t testing.TB, cfg daemon.Config) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
	defer cancel()
	return daemon.Run(ctx, cfg)
}
