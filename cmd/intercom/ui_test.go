package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// An agent that opens the screen at a terminal of its own and presses keys there gets no further than with commands: each
// decision is refused.
func TestS12_S28_TheScreenIsNoWayAround(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	held := st.askedAbout(claude, "rm -rf everything")
	me := st.sit("base")
	screen := thisProgram() + " ui inbox --server=" + st.Socket
	key := fmt.Sprintf(" --origin '%s %s'", me.client, claude.pane) // as if a key had been pressed there
	for i, c := range []struct{ way, screen, says string }{
		{"%s", screen, "this runs inside"},
		{"%s", screen + key, "this runs inside"},
		{"env -u TMUX -u TMUX_PANE setsid -f %s", screen, "only a person may"},
		{`setsid -f env -i PATH="$PATH" HOME="$HOME" INTERCOM_TEST_MAIN=$INTERCOM_TEST_MAIN XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" TERM=xterm %s`, screen, "only a person may"},
		{"tmux -S " + st.Socket + " run-shell -b %s", screen, "only a person may"},
		{"tmux -S " + st.Socket + " new-window -d %s", screen, "only a person may"},
	} {
		dir := filepath.Join(st.home, fmt.Sprint("screen", i))
		require.NoError(t, os.Mkdir(dir, 0o700))
		hands, shown := filepath.Join(dir, "hands"), filepath.Join(dir, "shown")
		require.NoError(t, syscall.Mkfifo(hands, 0o600))
		tmuxtest.Program(t, filepath.Join(dir, "run.sh"), "#!/bin/sh\nexec script -qfc \"stty rows 24 cols 80; exec "+c.screen+"\" "+shown+" <"+hands+" >/dev/null 2>&1\n")
		claude.do(":exec " + fmt.Sprintf(c.way, filepath.Join(dir, "run.sh")))
		keys, err := os.OpenFile(hands, os.O_WRONLY, 0)
		require.NoError(t, err)
		press := func(key, until string) {
			t.Helper()
			_, err := keys.WriteString(key)
			require.NoError(t, err)
			tmuxtest.WaitFor(t, c.way+": "+until, func() bool {
				data, _ := os.ReadFile(shown)
				return strings.Contains(string(data), until)
			})
		}
		press("", "rm -rf everything")
		press("a", c.says)
		press("y", "rm -rf") // answers no question
		press("x", c.says)
		press("y", "rm -rf")
		require.NoError(t, keys.Close()) // closing the keys ends the terminal
		require.Len(t, st.held(), 1, c.way)
	}
	assert.Equal(t, held.Delivery, st.held()[0].Delivery)
	assert.Empty(t, codex.received())
}

// Every key does what the bottom line says, at a terminal of 80 by 24, and what the screen reports is true.
func TestU6_U8_theScreenByItsKeys(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.gated()
		held := st.askedAbout(claude, "日本語 and 👩\u200d💻 "+strings.Repeat("words ", 40)+"the end")
		me := st.sit("base")
		me.resize(80, 25) // the last row is the status line
		shell := st.shell()
		st.Run("select-window", "-t", shell)
		me.types(thisProgram() + " ui inbox")
		me.press("Enter")
		me.sees("your yes")
		me.sees("a approve")

		// The whole message, and back.
		me.press("Enter")
		me.sees("the end")
		me.sees("q back")
		me.press("q")
		me.sees("q closes")

		// n approves nothing.
		me.press("a")
		me.sees("Approve it?")
		me.sees("y yes")
		me.press("n")
		me.sees("nothing was done")
		require.Len(t, st.held(), 1)

		// A reply in the target's place, given up by Escape.
		me.press("r")
		me.sees("answer claude yourself")
		me.types("not yet")
		me.sees("> not yet")
		me.press("Escape")
		me.sees("a approve")

		// The other tabs.
		me.press("4")
		me.sees("waiting for approval")
		me.press("/")
		me.types("zzz")
		me.sees("nothing here has these words")
		me.press("Escape")
		me.sees("q closes") // a key right after Escape would count as one with Alt
		me.press("2")
		me.sees("claude waits for your yes")
		me.press("w")
		me.sees("on · ")
		me.press("q", "1")
		me.sees("your yes")

		// A chat is unmuted and muted, paused, said to, and resumed.
		me.press("2", "m")
		me.sees("a number chooses")
		me.press("2") // muted from the beginning
		me.sees("codex is no longer muted")
		assert.True(t, st.status().Chats[0].Participants[1].MaySpeak)
		me.press("m")
		me.sees("2  codex")
		me.press("2")
		me.sees("codex is muted")
		assert.False(t, st.status().Chats[0].Participants[1].MaySpeak)
		me.press("p")
		me.sees("paused; r resumes")
		me.press("s")
		me.sees("say to")
		me.types("a word of mine")
		me.press("Enter")
		me.sees("held: ")
		me.press("r")
		me.sees("resumed")
		tmuxtest.WaitFor(t, "they are said", func() bool { return len(codex.received()) == 1 })
		assert.Contains(t, codex.received()[0], "a word of mine")

		// The approval.
		me.press("3", "Home", "a")
		me.sees("y yes")
		me.press("y")
		me.sees("approved: claude")
		tmuxtest.WaitFor(t, "it is heard", func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), "the end") })
		out, _ := st.intercom("log", held.Message.Short())
		assert.Contains(t, out, "(person: approved by ")

		// To a pane, back, and out.
		me.press("2", "Down", "g")
		tmuxtest.WaitFor(t, "the pane", func() bool {
			return st.Run("display-message", "-p", "-c", me.client, "#{pane_id}") == claude.pane
		})
		st.Run("select-window", "-t", shell)
		me.press("2", "Home", "x")
		me.sees("ended; nothing more is relayed")
		assert.Empty(t, st.status().Chats)
		me.press("q")
		me.sees("$")
		assert.NotContains(t, st.Run("capture-pane", "-p", "-t", shell), "q close", "the screen is as it was")
		assert.Empty(t, besidesPastes(codex.keys()))
	})
}

// If two screens ask for the same approval, the second is told that it was already given, and by whom.
func TestU6_theSameYesTwice(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	claude, codex := st.gated()
	st.askedAbout(claude, "the only one")
	me := st.sit("base")
	var shells []string
	for range 2 {
		shells = append(shells, st.shell())
		st.Run("select-window", "-t", shells[len(shells)-1])
		me.types(thisProgram() + " ui inbox")
		me.press("Enter")
		me.sees("a approve")
		me.press("a")
		me.sees("y yes")
	}
	me.press("y")
	me.sees("approved: claude")
	st.Run("select-window", "-t", shells[0])
	me.sees("y yes")
	me.press("y")
	me.sees("already approved by ")
	tmuxtest.WaitFor(t, "it is heard", func() bool { return len(codex.received()) == 1 })
}

// A person can watch the chat of a pane live, with what is said and its state, and act on it there.
func TestU28_watchAChat(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")
		me.menu("w") // in no chat yet: all chats are shown, and the closing key stays in the popup
		me.sees("g go to pane")
		me.press("q")
		me.seesNot("g go to pane")
		assert.Empty(t, claude.keys())
		out, code := st.intercom("chat", "start", claude.pane, codex.pane, "--set", "depth=2", "--set", "stall=off")
		require.Zero(t, code, out)
		me.menu("w")
		me.sees("claude ↔ codex")
		me.sees("on · quiet · 0 turns")
		claude.do(":say what I found") // from here on they answer each other
		me.sees("what I found")
		me.sees("paused: ")
		me.sees("2 turns, depth ")
		me.press("r")
		me.sees("Resume it?")
		me.sees("y yes")
		me.press("n")
		me.sees("nothing was done")
		assert.Equal(t, message.ChatPaused, st.status().Chats[0].State)
		me.press("x")
		me.sees("ended; nothing more is relayed")
		me.sees("ended: ")
		me.press("q")
		me.seesNot("q back")
		assert.Empty(t, st.status().Chats)
	})
}
