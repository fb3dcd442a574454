package daemon_test

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func init() {
	if file := os.Getenv("INTERCOM_TEST_HOOK"); file != "" {
		os.Exit(hookMain(file, os.Args[1]))
	}
}

// hookMain runs as an agent's hook: it sends the request in a file to the sidecar.
func hookMain(file, socket string) int {
	var req api.HookRequest
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &req)
	}
	if err == nil {
		err = clientAt(socket).Hook(context.Background(), req)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// coders are the coding agents that have a stand-in.
var coders = []string{"claude", "codex"}

// inTurn are the agents for a test that is not about one in particular: one, chosen by the test's name, or all in a
// long run.
func inTurn(t testing.TB) []string {
	if longTest() {
		return coders
	}
	i := int(crc32.ChecksumIEEE([]byte(t.Name()))) % len(coders)
	return coders[i : i+1]
}

// eachCoder runs test once for the stand-in of each agent, adopted, in a rig of its own.
func eachCoder(t *testing.T, test func(t *testing.T, r *rig, a *agent), flags ...string) {
	t.Helper()
	ofCoders(t, coders, test, flags...)
}

// aCoder is eachCoder for the agents of inTurn.
func aCoder(t *testing.T, test func(t *testing.T, r *rig, a *agent), flags ...string) {
	t.Helper()
	ofCoders(t, inTurn(t), test, flags...)
}

func ofCoders(t *testing.T, kinds []string, test func(t *testing.T, r *rig, a *agent), flags ...string) {
	t.Helper()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.coder(kind, "Ada", flags...)
			a.adopt("")
			test(t, r, a)
		})
	}
}

// coder starts a stand-in for an agent in a pane of its own, as a program of that agent's
// name, and waits until it reads keys. It is not adopted yet.
func (r *rig) coder(kind, name string, flags ...string) *agent {
	r.t.Helper()
	a := r.agentOf(name)
	a.pane = r.NewPane("sh", a.coderScript(kind, flags...))
	r.waitFor(name+" reads keys", func() bool { return a.count(persona.EventReady) > 0 })
	return a
}

// coderInShell is coder, but starts the agent by hand in an interactive shell, which stays when the agent ends.
func (r *rig) coderInShell(kind, name string, flags ...string) *agent {
	r.t.Helper()
	a := r.agentOf(name)
	a.prompt = "$ "
	a.pane = r.NewPane("env", "PS1="+a.prompt, "HISTFILE=", "ENV=", "sh", "-i")
	r.WaitForText(a.pane, strings.TrimSpace(a.prompt))
	a.startsInShell(kind, flags...)
	return a
}

// startsInShell types the agent's command line into the shell of its pane.
func (a *agent) startsInShell(kind string, flags ...string) {
	a.t.Helper()
	ready := a.count(persona.EventReady)
	a.Run("send-keys", "-l", "-t", a.pane, a.coderScript(kind, flags...))
	a.Run("send-keys", "-t", a.pane, "Enter")
	a.waitFor(a.name+" reads keys", func() bool { return a.count(persona.EventReady) > ready })
}

// coderScript writes a program that becomes the stand-in, and returns its path. All stand-ins of a rig share one home
// and one directory.
func (a *agent) coderScript(kind string, flags ...string) string {
	a.t.Helper()
	bin, work := filepath.Join(a.dir, "bin"), filepath.Join(a.dir, "work")
	for _, dir := range []string{bin, work, a.home()} {
		require.NoError(a.t, os.MkdirAll(dir, 0o700))
	}
	program := filepath.Join(bin, kind)
	if err := os.Symlink(personatest.Program(a.t), program); err != nil {
		require.ErrorIs(a.t, err, os.ErrExist)
	}
	line := fmt.Sprintf("#!/bin/sh\ncd %s && exec env HOME=%s", work, a.home())
	for _, word := range append([]string{program, kind, "--name", a.name, "--log", a.log, "--control", a.control, "--think", "20ms"}, flags...) {
		line += " '" + word + "'"
	}
	path := filepath.Join(a.dir, a.name+".sh")
	tmuxtest.Program(a.t, path, line+"\n")
	return path
}

// home is where the stand-ins keep their files.
func (r *rig) home() string { return filepath.Join(r.dir, "home") }

// transcripts are the files in which the stand-ins of a kind wrote down their conversations.
func (r *rig) transcripts(kind string) []string {
	r.t.Helper()
	pattern := filepath.Join(r.home(), ".claude", "projects", "*", "*.jsonl")
	if kind == "codex" {
		pattern = filepath.Join(r.home(), ".codex", "sessions", "*", "*", "*", "*.jsonl")
	}
	paths, err := filepath.Glob(pattern)
	require.NoError(r.t, err)
	return paths
}

// explain is the sidecar's explanation of the agent's pane.
func (a *agent) explain() message.Explanation {
	a.t.Helper()
	e, err := a.client.Explain(a.t.Context(), api.ExplainRequest{Pane: a.pane})
	require.NoError(a.t, err, "explain %s", a.name)
	return e
}

// relayed are the words that were taken from the agent's turns, in order.
func (a *agent) relayed() (all []string) {
	a.t.Helper()
	for _, m := range a.messages() {
		if m.From.Peer == a.session.ID && m.Type == message.KindTurn {
			all = append(all, m.Body)
		}
	}
	return all
}

// partsOf are the messages that an agent received, one by one, even if several came in one paste.
func partsOf(a *agent) (all []string) {
	for _, text := range a.received() {
		all = append(all, parts(text)...)
	}
	return all
}

// gets waits until the agent received text as a message of its own, or as a part of one.
func (a *agent) gets(text string) {
	a.t.Helper()
	defer func() {
		if a.t.Failed() {
			a.t.Logf("%s received %q; its screen:\n%s", a.name, a.received(), a.screen())
		}
	}()
	a.waitFor(fmt.Sprintf("%s gets %q", a.name, text), func() bool { return slices.Contains(partsOf(a), text) })
}

// relays waits until those words were taken from the agent's turns, and asserts that no others were.
func (a *agent) relays(words ...string) {
	a.t.Helper()
	a.waitFor(fmt.Sprintf("%s is heard %d times", a.name, len(words)), func() bool { return len(a.relayed()) >= len(words) })
	require.Equal(a.t, words, a.relayed(), a.name)
}

// looked asserts that something holds for as long as the sidecar takes to look again at a held message.
func (r *rig) looked(holds func() bool) {
	r.t.Helper()
	for end := time.Now().Add(350 * time.Millisecond); time.Now().Before(end); time.Sleep(30 * time.Millisecond) {
		require.True(r.t, holds())
	}
}

// told waits until the last receipt of a message begins with want.
func (r *rig) told(id message.ID, want string) {
	r.t.Helper()
	defer func() {
		if r.t.Failed() {
			r.t.Logf("%v", r.trail(id))
		}
	}()
	r.waitFor(want, func() bool { return strings.HasPrefix(r.last(id), want) })
}

// evidenceOf is the first evidence of a message's last receipt in that state.
func (r *rig) evidenceOf(id message.ID, state message.ReceiptState) (e message.Evidence) {
	r.t.Helper()
	for _, receipt := range r.receiptsOf(id) {
		if receipt.State == state && len(receipt.Evidence) > 0 {
			e = receipt.Evidence[0]
		}
	}
	return e
}

// enters is how many Enters the agent has read.
func (a *agent) enters() int { return strings.Count(string(a.bytes()), "\r") }

// types sends keys to the agent's pane, as a person would.
func (a *agent) types(text string, keys ...string) {
	a.t.Helper()
	if text != "" {
		a.Run("send-keys", "-l", "-t", a.pane, text)
	}
	for _, key := range keys {
		a.Run("send-keys", "-t", a.pane, key)
	}
}

// ready waits until the sidecar would type into the agent's composer.
func (a *agent) ready() {
	a.t.Helper()
	a.waitFor(a.name+" is ready", func() bool { return a.explain().WouldType })
}

// inChat adopts a line program too, and starts a chat of the agent and the line program, which takes pastes and never
// answers.
func (a *agent) inChat(set ...string) (message.Chat, *agent) {
	a.t.Helper()
	ben := a.adopted("Ben", bracketed...)
	return a.chat([]*agent{a, ben}, append(slices.Clone(unlimited), set...)...), ben
}

// hook has the agent run one of its hooks, as a process below it.
func (a *agent) hook(h message.Hook) {
	a.t.Helper()
	h.Agent = a.session.Profile
	before := a.count(persona.EventChildEnd)
	file := filepath.Join(a.dir, fmt.Sprintf("%s.hook%d", a.name, before))
	data, err := json.Marshal(api.HookRequest{Hook: h, Pane: a.pane})
	require.NoError(a.t, err)
	require.NoError(a.t, os.WriteFile(file, data, 0o600))
	self, err := os.Executable()
	require.NoError(a.t, err)
	line := fmt.Sprintf("INTERCOM_TEST_HOOK=%s %s %s", file, self, a.cfg.Paths.Socket) // the file is this call's own
	a.do(":run %s", line)
	a.waitFor("the hook", func() bool { return len(a.exits(line)) > 0 })
	require.Zero(a.t, a.exits(line)[0], "exit code of the hook")
}

// stopOf is the name of the hook that an agent calls at the end of a turn.
func stopOf(a *agent) string {
	if a.session.Profile == "codex" {
		return "notify"
	}
	return "Stop"
}

// thread is the agent's own id of its conversation.
func (a *agent) thread() string {
	a.t.Helper()
	name := strings.TrimSuffix(filepath.Base(a.explain().Transcript), ".jsonl")
	require.GreaterOrEqual(a.t, len(name), 36, "no transcript is bound")
	return name[len(name)-36:]
}
