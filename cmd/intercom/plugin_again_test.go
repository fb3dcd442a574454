package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// When an agent is restarted in its pane, the person is told once that it is back, and one key in the menu restores its chat.
// Before that key nothing is typed into it. The menu has the entry only while it has an effect, and grows no higher by it.
func TestV12_oneKeyTakesTheChatUpAgain(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coderInShell("claude"), st.coderInShell("codex")
		aside := st.NewPane("cat")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")
		out, code := st.intercom("chat", "start", claude.pane, codex.pane, "--name", "plans")
		require.Zero(t, code, out)
		me.press("C-b", "B")
		me.sees("mute or unmute this pane")
		high := menuRows(me.screen())
		assert.LessOrEqual(t, high, 14)
		assert.NotContains(t, me.screen(), "restore the chat")
		me.press("x")
		me.sees("ended")
		out, code = st.intercom("chat", "start", "--again", "plans") // a person ended the chat, so it is restored by hand
		require.Zero(t, code, out)

		// What was not typed is kept, and the shell below the agent gets nothing.
		st.Run("send-keys", "-l", "-t", claude.pane, "a draft")
		codex.do(":say kept for you")
		tmuxtest.WaitFor(t, "it is held", func() bool { return len(st.held()) == 1 })
		claude.do(":exit")
		tmuxtest.WaitFor(t, "the end of the chat", func() bool { return len(st.status().Chats) == 0 })
		require.Len(t, st.held(), 1)
		assert.Equal(t, "agent gone", string(st.held()[0].Reason))
		out, _ = st.intercom("chat", "list", "--ended")
		assert.Contains(t, out, "agent gone")
		assert.NotContains(t, out, "back: ")
		assert.Empty(t, st.status().Returned)

		claude.starts()
		me.sees("intercom: claude in " + claude.pane + " is back: prefix + B, then g, restores chat plans")
		out, _ = st.intercom("chat", "list", "--ended")
		assert.Contains(t, out, "back: claude in "+claude.pane+", of chat plans ")
		require.Len(t, st.status().Returned, 1)
		assert.Contains(t, out, "intercom chat start --again "+st.status().Returned[0].Chat.Short())
		out, _ = st.intercom("status")
		assert.Contains(t, out, "back: claude in "+claude.pane)
		require.Len(t, claude.received(), 0)
		assert.NotContains(t, claude.keys(), "kept for you", "nothing by itself")

		me.press("C-b", "B")
		me.sees("restore the chat")
		assert.NotContains(t, me.screen(), "mute or unmute this pane")
		assert.LessOrEqual(t, menuRows(me.screen()), high)
		me.press("g")
		me.sees("claude (1) ↔ codex (2): on again; the next answer goes across → prefix + B, s says a line")
		claude.gets(t, "[codex] (2):\n\nkept for you")
		tmuxtest.WaitFor(t, "an empty inbox", func() bool { return len(st.held()) == 0 })
		claude.do(":say I am here")
		codex.gets(t, "[claude] (1):\n\nI am here")
		codex.do(":say so am I")
		claude.gets(t, "[codex] (2):\n\nso am I")
		assert.Len(t, claude.received(), 2)
		tmuxtest.WaitFor(t, "the menu as it was", func() bool { return st.Run("show-options", "-sqv", "@intercom-back") == "" })
		assert.Equal(t, 1, toldOf(st, " is back: "))

		// The other agent returns. From a pane that is in no chat the key restores the latest chat.
		codex.do(":exit")
		tmuxtest.WaitFor(t, "the end of the chat", func() bool { return len(st.status().Chats) == 0 })
		codex.starts()
		me.sees("intercom: codex in " + codex.pane + " is back")
		st.Run("select-window", "-t", aside)
		me.press("C-b", "B")
		me.sees("restore the chat")
		me.press("g")
		me.sees("claude (1) ↔ codex (2): on again")
		codex.do(":say and me")
		claude.gets(t, "[codex] (2):\n\nand me")
		assert.Equal(t, 2, toldOf(st, " is back: "))

		// The command of the key, if there is no chat to restore.
		out, code = st.intercom("plugin", "again", "--origin", me.client+" "+aside)
		assert.Equal(t, 1, code, out)
		me.sees("intercom: no agent that left a chat is back in its pane")
		for _, a := range []*coder{claude, codex} {
			assert.NotContains(t, besidesPastes(a.keys()), "g", "keys that were meant for us")
		}
	})
}

// A chat of three goes on without an agent that ended. When it is back, the same key in its pane adds it to the chat again; the
// menus of the others' panes keep their own entries.
func TestV12_oneKeyLetsItInAgain(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coderInShell("claude"), st.coderInShell("codex")
		third := st.agent("gemini", "")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")
		out, code := st.intercom("chat", "start", claude.pane, codex.pane, third.Pane, "--name", "plans", "--role", claude.pane+"=author")
		require.Zero(t, code, out)
		claude.do(":exit")
		tmuxtest.WaitFor(t, "it has gone", func() bool {
			chats := st.status().Chats
			return len(chats) == 1 && chats[0].Participants[0].Gone
		})
		out, _ = st.intercom("chat", "list")
		assert.Contains(t, out, "claude (1) author gone")
		claude.starts()
		me.sees("intercom: claude in " + claude.pane + " is back: prefix + B, then g, lets it back into chat plans")
		out, _ = st.intercom("chat", "list")
		assert.Contains(t, out, "back: claude in "+claude.pane+", of chat plans ")
		st.Run("select-window", "-t", codex.pane)
		me.press("C-b", "B")
		me.sees("mute or unmute this pane")
		assert.NotContains(t, me.screen(), "restore the chat")
		me.press("q")
		st.Run("select-window", "-t", claude.pane)
		me.press("C-b", "B")
		me.sees("restore the chat")
		me.press("g")
		me.sees("codex (2) ↔ gemini (3) ↔ claude (4): on again")
		claude.do(":say back")
		codex.gets(t, "[claude] (4):\n\nback")
		assert.Equal(t, 1, toldOf(st, " is back: "))
	})
}

// Helpers.

// coderInShell is like coder, started by hand in a shell that remains when it ends. It gives no replies.
func (st *stage) coderInShell(kind string) *coder {
	st.t.Helper()
	a := st.coderOf(kind)
	a.pane = st.NewPane("env", "PS1=$ ", "HISTFILE=", "ENV=", "sh", "-i")
	st.WaitForText(a.pane, "$")
	a.starts()
	return a
}

// starts starts the stand-in in its shell.
func (a *coder) starts() {
	a.st.t.Helper()
	ready := len(a.records(persona.EventReady))
	a.st.Run("send-keys", "-l", "-t", a.pane, strings.Join(a.command("--reply", "none"), " "))
	a.st.Run("send-keys", "-t", a.pane, "Enter")
	tmuxtest.WaitFor(a.st.t, a.kind+" reads keys", func() bool { return len(a.records(persona.EventReady)) > ready })
}

// gets waits until the stand-in has received a message.
func (a *coder) gets(t *testing.T, text string) {
	t.Helper()
	tmuxtest.WaitFor(t, a.kind+" gets "+text, func() bool { return strings.Contains(strings.Join(a.received(), "\n"), text) })
}

// toldOf counts the notices that contain a text.
func toldOf(st *stage, text string) (n int) {
	for _, notice := range st.notices() {
		if strings.Contains(notice, text) {
			n++
		}
	}
	return n
}

// menuRows is how many rows of a screen a menu takes.
func menuRows(screen string) (n int) {
	for line := range strings.Lines(screen) {
		if strings.ContainsAny(line, "│┌└├") || strings.Contains(line, "lqqq") || strings.Contains(line, "mqqq") {
			n++
		}
	}
	return n
}
