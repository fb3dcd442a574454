package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestSend_exitCodeTellsTheTruth(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for _, c := range []struct {
		state              message.ReceiptState
		code, codeAnswered int
	}{
		{message.Queued, 4, 4},
		{message.Held, 5, 5},
		{message.Typed, 4, 4},
		{message.Submitted, 0, 4},
		{message.Answered, 0, 0},
		{message.Failed, 1, 1},
		{message.Expired, 1, 1},
		{message.Uncertain, 4, 4},
		{"", 4, 4},
		{"of tomorrow", 4, 4},
	} {
		b.receipt = message.Receipt{State: c.state, Reason: message.AgentWorking, Words: "mine"}
		for wait, code := range map[string]int{"": c.code, "submitted": c.code, "answered": c.codeAnswered} {
			args := []string{"send", "bob", "hi"}
			if wait != "" {
				args = append(args, "--wait", wait)
			}
			r := w.run(args...)
			assert.Equal(t, code, r.code, "%v: %s", args, c.state)
			assert.Contains(t, r.out, string(c.state))
			assert.Equal(t, code != 0 && code != 5, strings.Contains(r.err, "intercom: error: "), "%v: %q", args, r.err)
			assert.Equal(t, code == 5, strings.Contains(r.err, "intercom: note: held: "), "%v: %q", args, r.err)
			assert.Equal(t, c.state == message.Held, strings.HasPrefix(r.err, "intercom: note: waiting: agent working\n"), "%v: %q", args, r.err)

			r = w.run(append(args, "--json")...)
			assert.Equal(t, code, r.code)
			var sent api.Sent
			oneValue(t, r.out, &sent)
			assert.Equal(t, c.state, sent.Receipt.State)
		}
	}
}

func TestSend_whatFailedSaysWhatToDo(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for reason, want := range map[message.Reason]string{
		message.BodyTooLong: "error: failed: body too long\nintercom: hint: at most 64 KiB are typed into a line program",
		message.LineTooLong: "error: failed: line too long\nintercom: hint: the terminal there takes lines of at most 4095 bytes",
		message.TooManyRows: "error: failed: text needs more rows than the pane's history keeps\nintercom: hint: split it",
		message.Duplicate:   "error: that id was used for another message\nintercom: hint: without --id",
		message.AgentGone:   "error: failed: agent gone\nintercom: hint: intercom log ",
	} {
		b.receipt = message.Receipt{State: message.Failed, Reason: reason}
		r := w.run("send", "bob", "hi")
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, want)
	}

	for _, hold := range []message.Hold{message.HoldApproval, message.HoldPolicy, message.HoldFilter} { // only a person ends these
		b.receipt = message.Receipt{State: message.Held, Hold: hold, Reason: "a deployment"}
		assert.Contains(t, w.run("send", "bob", "hi").err, "intercom: note: held: a deployment\nintercom: hint: intercom inbox approve ")
	}

	b.receipt = message.Receipt{State: message.Answered}
	r := w.run("send", "bob", "hi", "--wait", "answered")
	assert.Zero(t, r.code)
	assert.Regexp(t, `^\S+ answered, without a word\n$`, r.out)
}

func TestSend_request(t *testing.T) {
	b := &fakeBackend{receipt: message.Receipt{State: message.Submitted}}
	w := newWorld(t)
	w.serve(t, b)
	sent := func(args ...string) api.SendRequest {
		t.Helper()
		r := w.run(append([]string{"send"}, args...)...)
		require.Zero(t, r.code, "%s", r.err)
		return b.took().(api.SendRequest)
	}
	got := sent("bob", "hi")
	assert.NotEmpty(t, got.ID)
	assert.Equal(t, api.SendRequest{ID: got.ID, To: "bob", Text: "hi", Wait: "submitted", Timeout: time.Second}, got)

	id := message.NewID()
	assert.Equal(t, api.SendRequest{ID: id, To: "bob", Text: "- x", Wait: "submitted", Timeout: time.Second},
		sent("--timeout", "1s", "bob", "--id", strings.ToUpper(string(id)), "--", "- x"), "flags anywhere, and text that looks like one")

	got = sent("bob", "hi", "--subject", "plans, and more", "--tag", "a,b", "--tag", "c")
	assert.Equal(t, []any{"plans, and more", []string{"a,b", "c"}}, []any{got.Subject, got.Tags})

	// A message that is not taken at once is asked about again, for the rest of the time.
	b.receipt.State, b.later = message.Held, &message.Receipt{State: message.Submitted}
	assert.InDelta(t, 10, sent("bob", "hi").Timeout.Seconds(), 5)
	assert.InDelta(t, 3600, sent("bob", "hi", "--wait", "submitted").Timeout.Seconds(), 60)
	b.receipt.State, b.later = message.Submitted, nil

	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte("a\nb\x1b\n"), 0o600))
	assert.Equal(t, "a\nb\x1b\n", sent("bob", "--file", file).Text)
	w.stdin = "from a pipe"
	assert.Equal(t, "from a pipe", sent("bob", "--file", "-").Text)

	w.stdin = strings.Repeat("x", message.MaxBody)
	assert.Len(t, sent("bob", "--file", "-").Text, message.MaxBody)
	w.stdin += "x"
	assert.Equal(t, 2, w.run("send", "bob", "--file", "-").code)
	assert.Equal(t, 2, w.run("send", "bob", "\xff").code, "JSON would change what is not UTF-8")
}

func TestCommands_examplesWork(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("dialogue.jsonl", []byte(`{"from":"Ada","body":"Thank you."}`+"\n"), 0o600))
	chat := message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatOn, Participants: []message.Participant{{Name: "alice", Number: 1}}}
	b := &fakeBackend{chats: []message.Chat{chat}, receipt: message.Receipt{State: message.Answered}, down: func() {}}
	b.asked = api.Asked{Chat: message.Chat{ID: message.NewID(), State: message.ChatOver, Turns: 1}, Answers: []message.Envelope{{Body: "yes"}}, Back: &message.Receipt{State: message.Submitted}}
	b.held = []api.Held{{Waiting: api.Waiting{Delivery: "01a1ff21-5c0d-7e46-8ed2-22904d0c8ed2", State: message.Held}}}
	w := newWorld(t)
	w.serve(t, b)
	every(t, func(cmd *cobra.Command) {
		for c := cmd; c != nil; c = c.Parent() {
			if c.Hidden {
				return
			}
		}
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		require.True(t, cmd.HasExample(), "%s --help has no example", cmd.CommandPath())
		for line := range strings.Lines(strings.TrimSpace(cmd.Example)) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " > ")
			if line == "intercom demo" || line == "intercom down" || line == "intercom uninstall" || strings.HasPrefix(line, "intercom inbox release") ||
				strings.HasPrefix(line, "intercom policy trust") || strings.HasPrefix(line, "intercom policy edit") || strings.HasPrefix(line, "intercom policy use ") || strings.HasPrefix(line, "intercom policy drop") || strings.HasPrefix(line, "intercom policy rollback") || cmd.Name() == "doctor" || cmd.Name() == "ui" ||
				strings.HasPrefix(cmd.CommandPath(), "intercom talk") || strings.HasPrefix(cmd.CommandPath(), "intercom aea") || strings.HasPrefix(cmd.CommandPath(), "intercom team") || strings.HasPrefix(cmd.CommandPath(), "intercom link") {
				continue // these have tests of their own
			}
			args := shellWords(t, line)
			r := w.run(args[1:]...)
			assert.Zero(t, r.code, "%s: %s", line, r.err)
		}
	})
}

func TestCommands_jsonIsOneValue(t *testing.T) {
	chat := message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatOn}
	b := &fakeBackend{
		chats: []message.Chat{chat}, receipt: message.Receipt{State: message.Answered},
		sessions: []message.Peer{{ID: message.NewID(), Name: "alice"}}, log: []message.Event{{Seq: 1, Kind: "notice"}},
		asked: api.Asked{Chat: message.Chat{ID: message.NewID(), State: message.ChatOver, Turns: 1}, Answers: []message.Envelope{{Body: "yes"}}, Back: &message.Receipt{State: message.Submitted}},
	}
	w := newWorld(t)
	w.serve(t, b)
	for _, line := range []string{
		"up", "status", "version", "adopt %1 --as line", "release %1", "name %1 bob", "chat start %1 %2", "chat list", "chat list --ended",
		"chat stop --all", "chat pause plans", "chat resume plans", "chat say plans hi", "chat stats plans", "send bob hi", "log", "log x",
		"adopt %1", "explain %1", "peers", "ask %1 --from %2", "hooks install claude", "hooks install codex --dry-run", "hooks uninstall claude",
		"policy diff", "policy log", "policy explain x", "policy check", "policy use",
	} {
		r := w.run(append(strings.Fields(line), "--json")...)
		assert.Zero(t, r.code, "%s: %s", line, r.err)
		assert.Empty(t, r.err, line)
		var value any
		oneValue(t, r.out, &value)
		assert.NotNil(t, value, line)
		before := w.run(append([]string{"--json"}, strings.Fields(line)...)...)
		assert.Zero(t, before.code, "%s: flags may come first", line)
	}
}

func TestCommands_showNothingThatATerminalActsOn(t *testing.T) {
	const evil = "\x1b]52;c;ZXZpbA==\x07 \u009b2J \x7f\r \u202egnp \u200b \xff #(touch X) \U000e0041 ok"
	name := "n\x1b[2J\n"
	session := message.Peer{ID: message.NewID(), Name: name, Title: evil, StateWhy: evil, PaneOf: message.PaneOf{Pane: "%1\x1b", Profile: evil, Foreground: message.Process{Name: evil}}}
	chat := message.Chat{ID: message.NewID(), Name: evil, State: message.ChatOn, Why: evil, Participants: []message.Participant{{Name: evil}}}
	now := time.Now()
	session.Ended, session.EndReason = &now, evil
	b := &fakeBackend{
		adopted: &session,
		recorded: api.Recording{Explanation: message.Explanation{
			Pane: evil, Session: evil, Agent: evil, Version: evil, Verified: evil, State: evil, Why: evil, WordsFrom: evil, Transcript: evil,
			Found: evil, Trouble: evil, Evidence: []message.Ground{{Source: evil, Says: evil, Weight: evil}}, Composer: message.ComposerNow{Live: true, Text: evil},
		}},
		status:   api.Status{Version: evil, Tmux: evil, Server: evil, Log: evil, Degraded: []string{evil}, Sessions: []message.Peer{session}, Chats: []message.Chat{chat}},
		sessions: []message.Peer{session}, chats: []message.Chat{chat},
		receipt: message.Receipt{State: message.Answered, Words: evil, Reason: evil},
		peers:   []api.Peer{{Name: name, Pane: evil, Session: evil, Agent: evil, State: evil, Why: evil, Window: evil, Computer: evil, Chat: evil, ChatName: evil, Evidence: []message.Ground{{Source: evil}}}},
		asked: api.Asked{
			Chat: chat, Receipt: message.Receipt{State: evil, Reason: evil}, Back: &message.Receipt{State: message.Failed, Reason: evil},
			Answers: []message.Envelope{{From: message.Address{Name: evil}, Body: evil}, {Body: "two\n" + evil}},
		},
		log: []message.Event{
			{Seq: 1, Kind: evil, Message: &message.Envelope{ID: evil, Type: evil, From: message.Address{Name: evil}, Body: "two\n" + evil}},
			{Seq: 2, Receipt: &message.Receipt{Message: evil, Reason: evil, Evidence: []message.Evidence{{Source: evil, Says: evil}}}},
			{Seq: 3, Change: &chat},
			{Seq: 4, Peer: &session},
			{Seq: 5, Notice: evil},
		},
	}
	w := newWorld(t)
	w.serve(t, b)
	for _, line := range []string{"status", "chat list", "chat stop --all", "send bob hi", "log", "log --md", "log -f", "up", "explain %1", "adopt %1", "peers", "ask %1 --from %2", "__complete release"} {
		args := strings.Fields(line)
		if args[0] == "__complete" {
			args = append(args, "")
		}
		r := w.run(args...)
		assert.NotEmpty(t, r.out, line)
		harmless(t, line, r.out+r.err)
		if args[0] == "__complete" || line == "log --md" {
			continue
		}
		r = w.run(append(args, "--json")...)
		harmless(t, line+" --json", r.out)
	}
	r := w.run("log", "--json")
	var events []message.Event
	oneValue(t, r.out, &events)
	require.Len(t, events, 5)
	assert.Equal(t, "two\n"+strings.ToValidUTF8(evil, "\ufffd"), events[0].Message.Body, "escaped, and the same to whoever parses it")
}

func TestLog_follow(t *testing.T) {
	plans := message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatOver}
	b := &fakeBackend{chats: []message.Chat{plans}, log: []message.Event{
		{Seq: 1, Kind: "notice", Notice: "of plans", Chat: plans.ID}, {Seq: 2, Kind: "notice", Notice: "of others"},
	}}
	w := newWorld(t)
	w.serve(t, b)
	r := w.run("log", "-f", "--json")
	require.Zero(t, r.code, r.err)
	var seqs []int64
	for line := range strings.Lines(r.out) {
		var e message.Event
		oneValue(t, line, &e)
		seqs = append(seqs, e.Seq)
	}
	assert.Equal(t, []int64{1, 2, 3, 4}, seqs, "what was, then what comes after it")

	for _, word := range []string{"plans", "Plans", string(plans.ID), plans.ID.Short()} {
		r = w.run("log", "-f", "--chat", word)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, 2, strings.Count(r.out, "of plans"), "%s", r.out)
		assert.Equal(t, 1, strings.Count(r.out, "of others"), "the sidecar filtered the first part, the command the second")
	}
	assert.Equal(t, 1, w.run("log", "-f", "--chat", "nobody").code)
}

func TestServer_whichOneIsMeant(t *testing.T) {
	for _, c := range []struct{ flag, variable, tmux, want string }{
		{"", "", "/tmp/tmux-0/default,123,0", "/tmp/tmux-0/default"},
		{"", "", "/tmp/a,b/default,123,0", "/tmp/a,b/default"},
		{"", "/v", "/t,1,0", "/v"},
		{"--server=/f", "/v", "/t,1,0", "/f"},
		{"--server=", "/v", "/t,1,0", ""},
		{"", "", "", ""},
	} {
		w := newWorld(t)
		w.env["INTERCOM_SERVER"], w.env["TMUX"] = c.variable, c.tmux
		args := []string{"status", "--json"}
		if c.flag != "" {
			args = append(args, c.flag)
		}
		r := w.run(args...)
		assert.Equal(t, 3, r.code)
		var status statusReply
		oneValue(t, r.out, &status)
		assert.Equal(t, c.want, status.Server, "%+v", c)
	}
}

func TestServer_publishedSocketIsFound(t *testing.T) {
	w := newWorld(t)
	w.serve(t, &fakeBackend{})
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	// As from a shell without the sidecar's environment.
	elsewhere := newWorld(t)
	elsewhere.env["INTERCOM_SERVER"] = w.env["INTERCOM_SERVER"]
	assert.Equal(t, 3, elsewhere.run("status").code)
	elsewhere.published = func(_ context.Context, server string) (string, error) {
		assert.Equal(t, p.Server, server)
		return p.Socket, nil
	}
	assert.Equal(t, 0, elsewhere.run("status").code)
	elsewhere.published = func(context.Context, string) (string, error) { return p.Socket + ".gone", nil }
	assert.Equal(t, 3, elsewhere.run("status").code, "what is no longer true does no harm")
}

// Helpers.

// world is the environment of a test's commands.
type world struct {
	env        map[string]string
	stdin      string
	executable string
	succession time.Duration // how long to wait for another sidecar
	hookTime   time.Duration // the time limit of a hook
	othersTime time.Duration // the time limit for an answer of another user's sidecar
	published  func(context.Context, string) (string, error)
}

// result is the outcome of a command.
type result struct {
	code     int
	out, err string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(run) })
	return &world{env: map[string]string{
		"HOME": t.TempDir(), "XDG_RUNTIME_DIR": run, "INTERCOM_SERVER": filepath.Join(run, "tmux"),
	}, executable: "/nonexistent/intercom"}
}

func (w *world) getenv(name string) string { return w.env[name] }

func (w *world) run(args ...string) result {
	var out, complaints bytes.Buffer
	code := run(context.Background(), env{
		Args: args, Stdin: strings.NewReader(w.stdin), Stdout: &out, Stderr: &complaints,
		Getenv: w.getenv, Published: w.published, Executable: w.executable, Succession: cmp.Or(w.succession, time.Millisecond), HookTime: w.hookTime, OthersTime: w.othersTime,
		Environ: func() []string {
			var pairs []string
			for name, value := range w.env {
				pairs = append(pairs, name+"="+value)
			}
			return pairs
		},
	})
	return result{code, out.String(), complaints.String()}
}

// serve runs the world's sidecar in this process.
func (w *world) serve(t *testing.T, b *fakeBackend) {
	t.Helper()
	w.serveOn(t, b, func(ln net.Listener) net.Listener { return ln })
}

// serveOn is like serve; over may wrap the listener.
func (w *world) serveOn(t *testing.T, b *fakeBackend, over func(net.Listener) net.Listener) {
	t.Helper()
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	ln, err := api.Listen(p.Runtime, p.Key)
	require.NoError(t, err)
	b.status.Version = cmp.Or(b.status.Version, built().Version)
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		s := b.offered(&api.Server{Logger: slog.New(slog.DiscardHandler)})
		assert.NoError(t, s.Serve(ctx, over(ln)))
	})
	t.Cleanup(func() {
		cancel()
		served.Wait()
		assert.NoError(t, ln.Release())
	})
}

// every visits all commands.
func every(t *testing.T, visit func(*cobra.Command)) {
	t.Helper()
	a := &app{env: env{Getenv: func(string) string { return "" }, Stdout: io.Discard, Stderr: io.Discard}}
	for todo := []*cobra.Command{a.root()}; len(todo) > 0; todo = todo[1:] {
		visit(todo[0])
		todo = append(todo, todo[0].Commands()...)
	}
}

// shellWords splits a line as a shell does.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `for w in `+strings.TrimSpace(line)+`; do printf '%s\0' "$w"; done`).Output()
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// oneValue checks that text is exactly one JSON value on one line.
func oneValue(t *testing.T, text string, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), into), "%q", text)
	assert.Equal(t, len(text)-1, strings.Index(text, "\n"), "%q", text)
}

// harmless checks that text holds nothing that a terminal would act on.
func harmless(t testing.TB, what, text string) {
	t.Helper()
	for _, r := range text {
		bad := r < ' ' && r != '\n' && !(r == '\t' && strings.HasPrefix(what, "__complete")) || r >= 0x7f && r < 0xa0 ||
			slices.Contains([]rune{'\u202e', '\u200b', '\U000e0041'}, r)
		require.False(t, bad, "%s prints %q", what, fmt.Sprintf("%c", r))
	}
}
