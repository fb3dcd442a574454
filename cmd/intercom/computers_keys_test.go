package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// newLinkedStage is a computer of that name on the newest tmux, linked to others by a NATS server.
func newLinkedStage(t *testing.T, url, name string) *stage {
	t.Helper()
	all := tmuxtest.Versions(t)
	st := newStage(t, all[len(all)-1])
	st.joins(url, name, "")
	st.load()
	return st
}

// joins makes a stage a computer of that name; lua is the rest of its configuration.
func (st *stage) joins(url, name, lua string) {
	st.t.Helper()
	dir := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	require.NoError(st.t, os.MkdirAll(dir, 0o700))
	text := fmt.Sprintf("intercom.configure { computer = { name = %q, nats = %q }, %s }\n", name, url, lua)
	require.NoError(st.t, os.WriteFile(filepath.Join(dir, "init.lua"), []byte(text), 0o600))
}

// startHub runs a NATS server for the test.
func startHub(t *testing.T) *server.Server {
	t.Helper()
	hub, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	hub.Start()
	require.True(t, hub.ReadyForConnections(tmuxtest.Patience))
	t.Cleanup(func() { hub.Shutdown(); hub.WaitForShutdown() })
	return hub
}

// A person sees the other computer in the screen, finds its agent among those to pick, and starts a chat with it. Once the other
// computer is away, the screen says so, and its agent is listed with those that cannot be picked.
func TestN10_computersByKeys(t *testing.T) {
	t.Parallel()
	hub := startHub(t)
	desk, raspi := newLinkedStage(t, hub.ClientURL(), "desk"), newLinkedStage(t, hub.ClientURL(), "raspi")
	claude := desk.agent("claude", "")
	far := raspi.agent("codex", "")
	out, code := raspi.intercom("adopt", far.Pane, "--name", "Far")
	require.Zero(t, code, out)
	tmuxtest.WaitFor(t, "the session of the other computer", func() bool {
		for _, s := range askOf(desk, api.ListSessions) {
			if s.Computer == "raspi" {
				return true
			}
		}
		return false
	})

	desk.Run("select-window", "-t", claude.Pane)
	me := desk.sit("base")
	me.resize(80, 24)
	me.menu("c")
	me.sees("raspi/Far")
	assert.Contains(t, me.screen(), "on raspi")
	me.press("1")
	me.sees("claude (1) ↔ Far.raspi (2): on")
	require.Len(t, desk.status().Chats, 1)

	me.menu("l")
	me.sees("computers 1")
	me.sees("claude ↔ Far.raspi")
	me.press("5")
	me.sees("answers in")
	assert.Contains(t, me.screen(), "this one")
	me.press("Down")
	me.sees("it may here:")
	assert.Contains(t, me.screen(), "Far.raspi  codex")
	_, code = raspi.intercom("down")
	require.Zero(t, code)
	tmuxtest.WaitFor(t, "raspi is away", func() bool {
		for row := range strings.Lines(me.screen()) {
			if strings.Contains(row, "raspi") && strings.Contains(row, "away") {
				return true
			}
		}
		return false
	})
	me.press("q")
	me.seesNot("computers 1")
	me.menu("x")
	me.sees("ended")
	me.menu("c")
	me.sees("raspi cannot be reached now")
	me.press("q")
	me.seesNot("cannot be reached")
}

// An agent has a session started on another computer; its person picks that session by keys and asks it. Each side hears the
// other under a name with the other's computer, and the answer comes back. Messages that the session sends by itself carry that
// computer's name too.
func TestN10_T4_T28_pickedByKeys(t *testing.T) {
	t.Parallel()
	url := startHub(t).ClientURL()
	desk, raspi := newLinkedStage(t, url, "desk"), newLinkedStage(t, url, "raspi")
	program := filepath.Join(raspi.home, "codex")
	require.NoError(t, os.Symlink(personatest.Program(t), program))
	raspi.startsBy(url, "codex", `computers = { desk = { may = { "send", "answer", "chat", "start", "read" } } }, sessions = { allow = { "codex" }, roots = { "`+raspi.home+`" } }`)
	claude := desk.coder("claude")
	printed, code := desk.intercom("adopt", claude.pane, "--name", "claude")
	require.Zero(t, code, printed)
	tmuxtest.WaitFor(t, "raspi lets desk start", func() bool {
		here, there := askOf(desk, api.Computers), askOf(raspi, api.Computers)
		return len(here) == 2 && here[1].Present && len(there) == 2 && slices.Contains(there[1].May, "start")
	})

	// T28: the agent starts the session from its pane.
	out := claude.runs("session", "start", "--json", "--computer", "raspi", "--dir", raspi.home, "--agent", "codex", "--title", "Worker Task", "--message", "/next-work")
	var started api.StartedSession
	require.NoError(t, json.Unmarshal([]byte(out), &started), out)
	require.Equal(t, api.StartDone, started.Status, out)
	worker := raspi.started(t, started.Session.ID)
	own := desk.sessionIn(claude.pane)
	tmuxtest.WaitFor(t, "its first message", func() bool { return len(worker.received()) == 1 })
	assert.Equal(t, "AI[desk:"+own+"] | /next-work", worker.received()[0])
	tmuxtest.WaitFor(t, "the notice", func() bool { return len(claude.received()) == 1 })
	assert.Equal(t, "AI[raspi:"+string(started.Session.ID)+`] | [notice] "Worker Task" stopped: turn ended`, claude.received()[0])

	// Its person picks that session by keys and asks it.
	worker.do(":turn say four would be better")
	claude.do(":turn say then four it is")
	desk.Run("select-window", "-t", claude.pane)
	me := desk.sit("base")
	me.menu("a")
	me.sees("for claude (" + claude.pane + "), ask")
	me.sees("on raspi")
	row := regexp.MustCompile(`(\d) +\S*raspi/\S+`).FindStringSubmatch(me.screen())
	require.NotNil(t, row, me.screen())
	me.press(row[1])
	me.sees("a line of your own")
	me.types("is it four?")
	me.press("Enter")
	me.saw("claude (1) ← " + started.Session.Name + ".raspi (2): asked; the answer comes back here")
	said := func(a *coder) string { return strings.Join(a.received()[1:], "\n\n") }
	tmuxtest.WaitFor(t, "the answer", func() bool { return strings.Contains(said(claude), "four would be better") })
	tmuxtest.WaitFor(t, "the question is over", func() bool { return len(desk.status().Chats) == 0 })
	// The question may arrive in two separately typed parts. The worker's answer to the first part alone does not count as an
	// answer, and may be too late for the chat; then the worker gets the notice.
	asked, late, _ := strings.Cut(said(worker), "\n\nAI[desk:")
	assert.Regexp(t, `^\[claude\.desk\] \(1\):\n\n(?s:.+)\n\n\[\S+\] \(0\):\n\nis it four\?$`, asked)
	assert.Regexp(t, `^(\S+\] \| \[notice\] "claude\.desk" did not get your message: chat ended)?$`, late)
	assert.True(t, strings.HasPrefix(said(claude), "["+started.Session.Name+".raspi] (2):\n\nfour would be better"), said(claude))

	// T4: the session sends a message by itself.
	worker.runs("send", "desk/claude", "hello from here")
	hello := "AI[raspi:" + string(started.Session.ID) + "] | hello from here"
	tmuxtest.WaitFor(t, "it hears that", func() bool { return slices.Contains(claude.received(), hello) })
}

// startsBy has new sessions of an agent run a stand-in whose log and control files are named by its pane.
func (st *stage) startsBy(url, agent, lua string) {
	st.t.Helper()
	program := filepath.Join(st.home, "starts-"+agent)
	of := st.home + "/worker$TMUX_PANE"
	tmuxtest.Program(st.t, program, fmt.Sprintf("#!/bin/sh\nexec env HOME=%[1]s %[1]s/%[2]s %[2]s --name worker --log %[3]s.jsonl --control %[3]s.ctl --think 20ms\n", st.home, agent, of))
	st.joins(url, "raspi", fmt.Sprintf("profiles = { %s = { start = { %q } } }, %s", agent, program, lua))
}

// runs has the agent run a command in its pane and returns the output.
func (a *coder) runs(args ...string) string {
	a.st.t.Helper()
	out := filepath.Join(a.st.home, a.kind+"-ran")
	words := []string{thisProgram()}
	for _, word := range append(args, "--server="+a.st.Socket) {
		words = append(words, "'"+word+"'")
	}
	_ = os.Remove(out)
	tmuxtest.Program(a.st.t, out+".sh", "#!/bin/sh\n"+strings.Join(words, " ")+" >"+out+".part 2>&1 </dev/null\nmv "+out+".part "+out+"\n")
	a.do(":exec " + out + ".sh")
	var said []byte
	tmuxtest.WaitFor(a.st.t, "what "+args[0]+" says", func() bool {
		var err error
		said, err = os.ReadFile(out)
		return err == nil
	})
	return string(said)
}
