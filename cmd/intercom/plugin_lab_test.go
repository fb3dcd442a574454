package main

import (
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A person asks another pane by keys alone. Claude Code's last answer goes to Codex with the person's line, as one prompt; one
// answer comes back, and the question is over.
func TestLab_U15_askAnotherPaneByKeys(t *testing.T) {
	eachLabStage(t, func(t *testing.T, st *labStage) {
		claude, codex := st.start(labtest.Claude), st.start(labtest.Codex)
		claude.says("[[say I have not begun.]]")
		const last = "The plan has **three** steps:\n\n- one é 日本\n- two\n- three"
		claude.says("[[say " + last + "]]") // no sidecar follows it yet
		st.until("it has written that down", func() bool {
			files, err := filepath.Glob(filepath.Join(claude.Home, ".claude", "projects", "*", "*.jsonl"))
			require.NoError(t, err)
			return slices.ContainsFunc(files, func(file string) bool { return strings.Contains(read(t, file), `- three"`) })
		})
		claude.WaitForIdle() // Claude Code loses its composer if the size changes while it draws
		st.Run("select-window", "-t", claude.Pane)
		me, other := st.sit("base"), st.sit("base")
		claude.WaitForIdle()

		const line, answer = "Is it [[say Four would be better.]] right?", "Four would be better."
		me.menu("a")
		me.sees("for " + claude.Pane + ", ask")
		me.sees("q closes")
		me.press("1")
		me.sees("a line of your own")
		me.types(line)
		me.press("Enter")
		me.sees("claude (1) ← codex (2): asked; the answer comes back here")
		assert.NotContains(t, other.screen(), "asked;", "the other terminal")
		st.until("the question is over", func() bool { return len(st.status().Chats) == 0 && len(claude.Received()) == 3 })
		claude.answered(3)

		who, err := user.Current()
		require.NoError(t, err)
		assert.Equal(t, []string{"[claude] (1):\n\n" + last + "\n\n[" + who.Username + "] (0):\n\n" + line}, codex.Received())
		assert.Equal(t, []string{answer}, codex.Answers())
		assert.Equal(t, "[codex] (2):\n\n"+answer, claude.Received()[2])
		codex.WaitForIdle()
		assert.Len(t, claude.Received(), 3, "one answer comes back")
		assert.Len(t, codex.Received(), 1, "nothing further goes across")
		assert.Empty(t, st.held())
	})
}

// A chat is started, everything is stopped and resumed, and the chat ended by keys. What the two agents say goes across.
func TestLab_U14_chatByKeys(t *testing.T) {
	eachLabStage(t, func(t *testing.T, st *labStage) {
		claude, codex := st.start(labtest.Claude), st.start(labtest.Codex)
		st.Run("join-pane", "-d", "-h", "-s", codex.Pane, "-t", claude.Pane, ";", "select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
		me := st.sit("base")
		claude.WaitForIdle()
		codex.WaitForIdle()
		me.press("C-b", st.chatKey)
		me.sees("claude (1) ↔ codex (2): on; the next answer goes across")

		const first, second = "Here I begin.", "Here I go on."
		begun := false
		st.lab.Model.Script(func(x labtest.Exchange) (labtest.Reply, bool) {
			first := x.Agent == codex.Name && x.Side == "" && !begun
			begun = begun || first
			return labtest.Reply{Text: second, Stall: true}, first
		})
		me.types("[[say " + first + "]]") // into the composer below
		claude.WaitForStill(labtest.Stillness)
		me.press("Enter")
		st.until("Codex hears it", func() bool { return len(codex.Received()) > 0 })
		assert.Equal(t, []string{"[claude] (1):\n\n" + first}, codex.Received())
		me.menu("p")
		me.sees("everything is stopped: nothing is typed any more")
		assert.True(t, st.status().Stopped)
		st.lab.Model.Release(codex.Name)
		st.until("the answer waits", func() bool { return len(st.held()) > 0 })
		codex.answered(1)
		held := st.held()
		require.Len(t, held, 1)
		assert.Equal(t, message.Paused, held[0].Reason)
		assert.Contains(t, held[0].Envelope.Body, second)
		claude.WaitForIdle() // with an empty composer
		assert.Len(t, claude.Received(), 1)
		me.menu("r")
		me.sees("messages are typed again; chats resumed: 1")
		st.until("it goes on", func() bool { return len(claude.Received()) > 1 })
		me.menu("x")
		me.sees("claude (1) ↔ codex (2): ended; nothing more is relayed")
		assert.Empty(t, st.status().Chats)
		assert.Equal(t, "[codex] (2):\n\n"+second, claude.Received()[1])
	})
}

// Helpers.

// labStage is a stage whose panes hold real agents; their models are the lab's.
type labStage struct {
	*stage
	lab *labtest.Lab
}

// eachLabStage runs test on the oldest and the newest tmux with the plugin loaded, both at once and beside other tests, since
// agents wait most of the time.
func eachLabStage(t *testing.T, test func(t *testing.T, st *labStage)) {
	t.Helper()
	t.Parallel()
	ends(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		lab := labtest.New(t, labtest.Claude, labtest.Codex)
		st := &labStage{newStage(t, v), lab}
		st.load()
		test(t, st)
	})
}

// labAgent is a real agent in a pane of the stage's server.
type labAgent struct {
	*labtest.Agent
	st *labStage
}

// start starts an agent by hand in a shell, and waits for its composer. It is not adopted.
func (st *labStage) start(kind labtest.Kind) *labAgent {
	st.t.Helper()
	return &labAgent{st.lab.Start(st.Server, kind, labtest.InShell()), st}
}

// says types a prompt at the agent's pane and waits for its answer.
func (a *labAgent) says(prompt string) {
	a.st.t.Helper()
	n := len(a.Received())
	a.Prompt(prompt)
	a.answered(n + 1)
}

// answered waits until the agent's model has heard n texts in all and answered the last.
func (a *labAgent) answered(n int) {
	a.st.t.Helper()
	a.st.until(a.Name+" has answered", func() bool {
		all := a.Conversation()
		return len(a.Received()) >= n && all[len(all)-1].Over
	})
	a.WaitForIdle()
}

// until waits for a condition with an agent's patience.
func (st *labStage) until(what string, cond func() bool) {
	st.t.Helper()
	for deadline := time.Now().Add(labtest.Patience); !cond(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(deadline) {
			out, _ := st.intercom("log", "-v")
			require.Failf(st.t, "waited in vain", "%v for %s; what happened:\n%s", labtest.Patience, what, out)
		}
	}
}
