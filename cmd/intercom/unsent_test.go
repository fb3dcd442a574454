package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A command that stops or pauses a chat names the panes in whose composers a text of that chat stands without an Enter, and says
// how it can be sent. It does not name texts of other chats, or of a chat that goes on. If it stops or pauses everything, it also
// names texts of single messages, except those that had been given up before.
func TestUnsent_isNamed(t *testing.T) {
	const (
		stands  = "intercom: note: our text stands in the composer of Ben (%7), without its Enter: "
		byHand  = stands + "press Enter there to send it, or clear it; until then nothing else is typed there\n"
		resumed = stands + "intercom chat resume --all sends it\n"
	)
	delivery, chat, another := message.NewID(), message.NewID(), message.NewID()
	over, paused := message.Chat{ID: chat, Name: "pair", State: message.ChatOver}, message.Chat{ID: chat, Name: "pair", State: message.ChatPaused}
	on := message.Chat{ID: chat, Name: "pair", State: message.ChatOn}
	for name, c := range map[string]struct {
		chats []message.Chat
		of    message.ID // the text's chat
		last  message.ReceiptState
		args  []string
		want  string
	}{
		"stop":                     {[]message.Chat{over}, chat, message.Uncertain, []string{"stop", "pair"}, byHand},
		"stop, and no receipt yet": {[]message.Chat{over}, chat, message.Typed, []string{"stop", "pair"}, byHand},
		"stop after a few":         {[]message.Chat{on}, chat, message.Typed, []string{"stop", "pair", "--after-answer"}, ""},
		"stop all":                 {[]message.Chat{over}, chat, message.Typed, []string{"stop", "--all"}, byHand},
		"stop all, single":         {nil, "", message.Typed, []string{"stop", "--all"}, resumed},
		"pause":                    {[]message.Chat{paused}, chat, message.Held, []string{"pause", "pair"}, stands + "intercom chat resume pair sends it\n"},
		"pause all":                {[]message.Chat{paused}, chat, message.Held, []string{"pause", "--all"}, resumed},
		"pause all, single":        {[]message.Chat{paused}, "", message.Held, []string{"pause", "--all"}, resumed},
		"given up before":          {[]message.Chat{paused}, "", message.Uncertain, []string{"pause", "--all"}, ""},
		"another chat's":           {[]message.Chat{over}, another, message.Typed, []string{"stop", "pair"}, ""},
		"one that ended before":    {[]message.Chat{over}, another, message.Uncertain, []string{"stop", "--all"}, ""},
		"of a single message":      {[]message.Chat{over}, "", message.Typed, []string{"stop", "pair"}, ""},
	} {
		ben := message.Peer{ID: message.NewID(), Name: "Ben"}
		for i := range c.chats {
			c.chats[i].Participants = []message.Participant{{Peer: message.NewID(), Name: "Ada", Left: true}, {Peer: ben.ID, Name: ben.Name}}
		}
		b := &fakeBackend{
			chats: c.chats, sessions: []message.Peer{ben}, log: []message.Event{
				{Chat: c.of, Receipt: &message.Receipt{Delivery: delivery, State: message.Queued}},
				{Chat: c.of, Receipt: &message.Receipt{Delivery: delivery, State: c.last}},
			},
			recorded: api.Recording{Explanation: message.Explanation{Pane: "%7", Unsent: []message.ID{message.NewID(), delivery}}},
		}
		w := newWorld(t)
		w.serve(t, b)
		r := w.run(append([]string{"chat"}, c.args...)...)
		require.Zero(t, r.code, name)
		assert.Equal(t, c.want, r.err, name)
	}
}

// After a release our text counts as left in the composer unless the log says that it was submitted. Without the log, it may be.
func TestUnsent_leftByARelease(t *testing.T) {
	delivery, ben := message.NewID(), message.Peer{Name: "Ben", PaneOf: message.PaneOf{Pane: "%7"}}
	w := newWorld(t)
	b := &fakeBackend{}
	w.serve(t, b)
	for state, want := range map[message.ReceiptState]string{
		message.Typed:     "our text stands in the composer of Ben (%7), without its Enter: press Enter there to send it, or clear it",
		message.Submitted: "",
	} {
		b.log = []message.Event{{Receipt: &message.Receipt{Delivery: delivery, State: state}}}
		assert.Equal(t, want, leftUnsent(t.Context(), &api.Client{Socket: w.places(t).Socket}, ben, []message.ID{delivery}))
	}
	nobody := &api.Client{Socket: filepath.Join(t.TempDir(), "none.sock")}
	assert.Equal(t, "our text may stand in the composer of Ben (%7), without its Enter: look there", leftUnsent(t.Context(), nobody, ben, []message.ID{delivery}))
	assert.Empty(t, leftUnsent(t.Context(), nobody, ben, nil))
}

// If a chat is paused and then stopped while our text stands below a dialog, the text gets no Enter, and each command names its
// pane, even if the agent shows one line instead of the text. A person can send it, and then the pane takes the next message.
func TestUnsent_inAPane(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.coder("claude"), st.coder("codex")
	for _, c := range []struct {
		to, other *coder
		text      string
	}{
		{codex, claude, "hello"},
		{codex, claude, strings.Repeat("a long message ", 100)},
		{claude, codex, strings.Repeat("a long message\n", 30)},
	} {
		st.runs("chat", "start", c.other.pane, c.to.pane, "--name", "pair")
		st.runs("chat", "mute", "pair", c.other.pane)
		before := len(c.to.received())
		c.to.do(":dialog paste true")
		st.runs("chat", "say", "pair", c.text)
		c.to.explained("our text waits for its Enter: ")
		assert.Contains(t, st.runs("chat", "pause", "pair"), c.to.unsent()+"intercom chat resume pair sends it")
		st.Run("send-keys", "-t", c.to.pane, "Escape")
		c.to.explained("because its chat or everything is paused: intercom chat resume sends it")
		assert.Regexp(t, `(?m)^`+c.to.kind+` .* our text stands in the composer `, st.runs("session", "list"))
		assert.Contains(t, st.runs("chat", "stop", "pair"), c.to.unsent()+"press Enter there to send it, or clear it")
		c.to.explained("will not get one: press Enter there to send it, or clear it")
		assert.Contains(t, st.runs("explain", c.to.pane), "a live composer with our text\n")
		assert.Len(t, c.to.received(), before, "nobody has pressed Enter")
		assert.Regexp(t, `(?m)^`+c.to.kind+` .* our text stands in the composer `, st.runs("session", "list"))

		st.Run("send-keys", "-t", c.to.pane, "Enter")
		st.runs("send", c.to.pane, "next", "--timeout", "1m")
		require.Len(t, c.to.received(), before+2)
		assert.Contains(t, c.to.received()[before], strings.TrimSpace(c.text), "by the person")
		assert.Contains(t, c.to.received()[before+1], "next")
	}
}

// A command that stops everything names the text of a single message too. It is sent once everything is resumed.
func TestUnsent_singleMessage(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	codex := st.unsentBelowDialog()
	assert.Contains(t, st.runs("chat", "stop", "--all"), codex.unsent()+"intercom chat resume --all sends it")
	st.Run("send-keys", "-t", codex.pane, "Escape")
	codex.explained("because its chat or everything is paused: intercom chat resume sends it")
	assert.Contains(t, st.runs("chat", "pause", "--all"), codex.unsent()+"intercom chat resume --all sends it")
	assert.Empty(t, codex.received())
	st.runs("chat", "resume", "--all")
	tmuxtest.WaitFor(t, "it is sent", func() bool { return len(codex.received()) == 1 })
}

// uninstall names it too, since nothing could tell of it later.
func TestUnsent_byUninstall(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	codex := st.unsentBelowDialog()
	out, code := st.intercom("uninstall", "--force")
	assert.Zero(t, code, out)
	assert.Contains(t, out, codex.unsent()+"press Enter there to send it, or clear it")
	assert.Empty(t, codex.received())
}

// The keys of the screen say the same as the commands.
func TestUnsent_byTheScreensKeys(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	codex := st.unsentBelowDialog()
	screen := st.shell() // a person's shell: nobody else may ask what stands there
	st.Run("resize-window", "-t", screen, "-x", "240", "-y", "30")
	st.Run("send-keys", "-t", screen, "-l", thisProgram()+" ui --server="+st.Socket)
	st.Run("send-keys", "-t", screen, "Enter")
	st.WaitForText(screen, "codex")
	st.Run("send-keys", "-t", screen, "P")
	st.WaitForText(screen, "P resumes; "+codex.unsent())
	st.WaitForText(screen, "P resume everything") // the screen knows by now
	st.Run("send-keys", "-t", screen, "P")
	st.WaitForText(screen, "messages are typed again")
}

// unsentBelowDialog is an agent with a single message of ours in its composer, below a dialog.
func (st *stage) unsentBelowDialog() *coder {
	st.t.Helper()
	codex := st.coder("codex")
	st.runs("adopt", codex.pane)
	codex.do(":dialog paste true")
	_, code := st.intercom("send", codex.pane, "hello", "--timeout", "1s")
	require.NotZero(st.t, code, "it waits")
	codex.explained("our text waits for its Enter: ")
	return codex
}

// runs is like intercom, for a command that must succeed.
func (st *stage) runs(args ...string) string {
	st.t.Helper()
	out, code := st.intercom(args...)
	require.Zero(st.t, code, out)
	return out
}

// explained waits until `explain` says that of the agent's pane.
func (a *coder) explained(says string) {
	a.st.t.Helper()
	tmuxtest.WaitFor(a.st.t, says, func() bool { return strings.Contains(a.st.runs("explain", a.pane), says) })
}

// unsent is the beginning of a note that names the agent's pane.
func (a *coder) unsent() string {
	return "our text stands in the composer of " + a.kind + " (" + a.pane + "), without its Enter: "
}

// `chat remove` and `release` name the pane whose composer holds our text too, and the plugin's keys say the same as the
// commands.
func TestUnsent_removedAndByKeys(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.coder("claude"), st.coder("codex")
	st.load()
	me := st.sit("base")
	stands := func(starts ...string) {
		t.Helper()
		st.runs(append([]string{"chat", "start", claude.pane, codex.pane, "--name", "pair"}, starts...)...)
		st.runs("chat", "mute", "pair", claude.pane)
		codex.do(":dialog paste true")
		st.runs("chat", "say", "pair", "hello")
		codex.explained("our text waits for its Enter: ")
	}
	clear := func() {
		t.Helper()
		st.Run("send-keys", "-t", codex.pane, "Escape")
		codex.explained("a live composer with our text")
		st.Run("send-keys", "-t", codex.pane, "Enter")
		codex.explained("a live, empty composer")
	}
	stands()
	st.runs("chat", "stop", "pair", "--after-answer")
	assert.Regexp(t, `(?m)pair +on .*ends after the next answer$`, st.runs("chat", "list"))
	assert.Contains(t, st.runs("chat", "show", "pair"), "on: ends after the next answer")
	assert.Contains(t, st.runs("chat", "remove", "pair", codex.pane), codex.unsent()+"press Enter there to send it, or clear it")
	clear()

	stands()
	st.Run("select-window", "-t", claude.pane)
	me.menu("x")
	me.sees("our text stands in the composer of codex")
	clear()

	stands()
	assert.Contains(t, st.runs("release", codex.pane), codex.unsent()+"press Enter there to send it, or clear it")
}
