package main

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Real agents, configured by `intercom hooks install`, call the real binary. They do not have the sidecar's environment, so the
// binary finds the socket through their tmux server.
func TestLab_U10_agentsTellWhatTheyDo(t *testing.T) {
	t.Parallel()
	built := sync.OnceValue(func() string { return build(t) })
	t.Run("claude", func(t *testing.T) {
		t.Parallel()
		s := newHookedAgent(t, labtest.Claude, built)
		agent := s.agent
		const first, second = "hello\nsecond line é 日本 [[say The **words** are these.]]", "please [[bash touch proof]]"
		agent.Prompt(first)
		agent.WaitForAnswer("are these.")
		stop := s.wait("Stop", 1)
		agent.Prompt(second)
		agent.WaitForDialog()
		asked := s.wait("PermissionRequest", 1)
		assert.Equal(t, "Bash", asked.Hook.Detail)
		assert.NoFileExists(t, filepath.Join(agent.Work, "proof"))
		agent.Enter()
		agent.WaitForAnswer("the tools have answered")
		s.wait("Stop", 2)

		// A sidecar that does not answer.
		s.backend.setSilent(true)
		agent.Prompt("[[say still quick]]")
		agent.WaitForAnswer("still quick")
		s.wait("Stop", 3)
		s.backend.setSilent(false)
		assert.NotContains(t, strings.ToLower(s.lab.Capture(agent).String()), "hook", "nothing of it is on the screen")
		agent.Paste("/exit")
		agent.Enter()
		s.wait("SessionEnd", 1)

		said, asks := agent.Answers(), agent.Received()
		require.Equal(t, []string{first, second, "[[say still quick]]"}, asks)
		thread := agent.Conversation()[0].Thread
		var events, prompts, words []string
		for _, h := range s.backend.told() {
			assert.Equal(t, "claude", h.Hook.Agent)
			assert.Equal(t, agent.Pane, h.Pane)
			assert.Equal(t, thread, h.Hook.Thread)
			assert.Equal(t, thread+".jsonl", filepath.Base(h.Hook.Transcript))
			switch h.Hook.Event {
			case "UserPromptSubmit":
				prompts = append(prompts, h.Hook.Prompt)
			case "Stop":
				words = append(words, h.Hook.Words)
			}
			if h.Hook.Event != "Notification" { // it comes after an idle time, so its place varies
				events = append(events, h.Hook.Event)
			}
		}
		assert.Equal(t, asks, prompts)
		require.NotEmpty(t, said)
		assert.Equal(t, []string{said[0], said[len(said)-2], said[len(said)-1]}, words)
		assert.Equal(t, []string{
			"SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit", "PermissionRequest", "Stop", "UserPromptSubmit", "Stop", "SessionEnd",
		}, events)
		assert.NotEmpty(t, stop.Hook.Turn)
		assert.Equal(t, s.wait("UserPromptSubmit", 1).Hook.Turn, stop.Hook.Turn)

		// Each prompt was reported before the model heard it.
		for i, x := range s.heard() {
			took := x.Began.Sub(s.wait("UserPromptSubmit", i+1).at)
			t.Logf("from the sidecar's ear to the model's: %v", took)
			assert.Positive(t, took)
		}
		assert.Equal(t, s.before, s.uninstall(t))
	})
	t.Run("codex", func(t *testing.T) {
		t.Parallel()
		s := newHookedAgent(t, labtest.Codex, built)
		agent := s.agent
		const first, second = "hello\nsecond line é 日本 [[say The **words** are these.]]", "[[say still quick]]"
		agent.Prompt(first)
		agent.WaitForAnswer("are these.")
		thread := agent.Conversation()[0].Thread
		require.NotEmpty(t, thread)
		s.thread = thread
		told := s.wait("notify", 1)
		s.backend.setSilent(true)
		agent.Prompt(second)
		agent.WaitForAnswer("still quick")
		again := s.wait("notify", 2)
		assert.NotContains(t, strings.ToLower(s.lab.Capture(agent).String()), "hook")
		require.Equal(t, []string{first, second}, agent.Received())

		want := message.Hook{Agent: "codex", Event: "notify", Thread: thread, Turn: told.Hook.Turn, Prompt: first, Words: agent.Answers()[0], Detail: "agent-turn-complete"}
		assert.Equal(t, api.HookRequest{Hook: want, Pane: agent.Pane}, told.HookRequest)
		want.Prompt, want.Words, want.Turn = second, agent.Answers()[1], again.Hook.Turn
		assert.Equal(t, api.HookRequest{Hook: want, Pane: agent.Pane}, again.HookRequest)
		assert.NotEmpty(t, told.Hook.Turn)
		assert.NotEqual(t, told.Hook.Turn, again.Hook.Turn)
		t.Logf("from the end of the answer to the sidecar's ear: %v", told.at.Sub(s.heard()[0].Ended))

		// Codex also writes into the file.
		after := strings.Split(s.uninstall(t), "\n")
		after = slices.DeleteFunc(after, func(line string) bool { return strings.HasPrefix(line, "screen_reader_detection_done") })
		assert.Equal(t, s.before, strings.Join(after, "\n"))
	})
}

// Why nothing is written into the hooks.json of Codex: with it, Codex starts with a dialog and runs no hook until a person has
// decided.
func TestLab_codexAsksWhetherHooksAreTrusted(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Codex)
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	agent := lab.Launch(server, labtest.Codex, labtest.Configured(func(a *labtest.Agent) {
		text := `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ` + a.Work + `/called"}]}]}}`
		require.NoError(t, a.WriteFile(filepath.Join(a.Home, ".codex", "hooks.json"), text))
	}))
	agent.WaitForText("need review")
	agent.WaitForStill(labtest.Stillness)
	agent.Keys("Escape")
	agent.WaitForIdle()
	agent.Prompt("[[say untrusted]]")
	agent.WaitForAnswer("untrusted")
	assert.NoFileExists(t, filepath.Join(agent.Work, "called"))
}

// Helpers.

// hookedAgent is an agent of the lab with our hooks installed, and the fake sidecar that they report to.
type hookedAgent struct {
	t       *testing.T
	lab     *labtest.Lab
	agent   *labtest.Agent
	backend *fakeBackend
	file    string // its configuration file
	before  string // the file's text before the installation
	command func(args ...string) string
	thread  string // if set, hooks of other threads do not count
}

func newHookedAgent(t *testing.T, kind labtest.Kind, binary func() string) *hookedAgent {
	t.Helper()
	s := &hookedAgent{t: t, lab: labtest.New(t, kind), backend: &fakeBackend{}}
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	server.Run("set-option", "-s", daemon.SocketOption, serveAt(t, s.backend))
	program := binary()
	s.agent = s.lab.Start(server, kind, labtest.Configured(func(a *labtest.Agent) {
		s.file = filepath.Join(a.Home, ".claude", "settings.json")
		if kind == labtest.Codex {
			s.file = filepath.Join(a.Home, ".codex", "config.toml")
		}
		s.before = read(t, s.file)
		s.command = func(args ...string) string {
			cmd := exec.CommandContext(context.Background(), program, append(args, string(kind))...)
			cmd.Env = []string{"HOME=" + a.Home, "PATH=/usr/bin:/bin"}
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
			return string(out)
		}
		assert.Contains(t, s.command("hooks", "install"), program)
	}))
	return s
}

// uninstall removes the hooks and returns the agent's configuration.
func (s *hookedAgent) uninstall(t *testing.T) string {
	t.Helper()
	assert.NotEqual(t, s.before, read(t, s.file))
	s.command("hooks", "uninstall")
	return read(t, s.file)
}

// wait waits for the n-th hook of an event.
func (s *hookedAgent) wait(event string, n int) told {
	s.t.Helper()
	var found told
	tmuxtest.WaitFor(s.t, event, func() bool {
		left := n
		for _, h := range s.backend.told() {
			if h.Hook.Event == event && (s.thread == "" || h.Hook.Thread == s.thread) {
				found = h
				left--
			}
			if left == 0 {
				return true
			}
		}
		return false
	})
	return found
}

// heard are the exchanges in which the model heard its user.
func (s *hookedAgent) heard() []labtest.Exchange {
	return slices.DeleteFunc(s.agent.Conversation(), func(x labtest.Exchange) bool { return len(x.User) == 0 })
}

// serveAt serves b on a socket of its own.
func serveAt(t *testing.T, b *fakeBackend) (socket string) {
	t.Helper()
	run, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(run) })
	ln, err := api.Listen(run, "lab")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		s := b.offered(&api.Server{Logger: slog.New(slog.DiscardHandler)})
		assert.NoError(t, s.Serve(ctx, ln))
	})
	t.Cleanup(func() {
		cancel()
		served.Wait()
		assert.NoError(t, ln.Release())
	})
	return filepath.Join(run, "lab.sock")
}

// build builds this program as it is installed.
func build(t testing.TB) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "intercom")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return binary
}
