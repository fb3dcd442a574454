package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A popup says what makes its action impossible before it asks for anything. Esc and C-c leave every popup, and q those into
// which nothing is typed.
func TestU23_RefusalsComeBeforeTheWork(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex, third := st.coder("claude"), st.coder("codex"), st.agent("opencode", "")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")

		me.menu("a")
		me.sees("no answer of it is known")
		me.sees("Press Enter, q or Escape.")
		me.types("1 stays here") // the popup swallows what was meant for its questions
		me.press("Enter")
		me.seesNot("no answer of it is known")
		assert.Empty(t, st.status().Sessions, "nobody stays adopted by that")

		claude.do(":turn say the plan has three steps")
		me.press("g", "o", "Enter")
		tmuxtest.WaitFor(t, "it has said so", func() bool { return len(claude.records(persona.EventSaid)) == 1 })
		out, code := st.intercom("chat", "start", codex.pane, third.Pane, "--name", "other")
		require.Zero(t, code, out)

		// Panes in a chat cannot be picked for another one, but can be asked.
		for _, leave := range []string{"q", "Escape", "C-c"} {
			me.menu("c")
			me.sees("q closes")
			me.sees("These would be refused:")
			me.press("Enter")
			me.sees("cannot be picked: ")
			me.sees("is in a chat with ")
			me.press(leave)
			me.seesNot("cannot be picked")
		}
		me.menu("a")
		me.sees("q closes")
		me.press("1")
		me.sees("a line of your own")
		me.press("Escape")
		me.sees("+ - answers") // back at the list of panes
		me.press("q")
		me.seesNot("+ - answers")

		// This pane itself is in a chat.
		out, code = st.intercom("chat", "stop", "other")
		require.Zero(t, code, out)
		out, code = st.intercom("chat", "start", claude.pane, third.Pane, "--name", "mine")
		require.Zero(t, code, out)
		me.menu("c")
		me.sees("prefix + B, then x, in a pane of that chat ends it")
		me.press("C-c")
		me.seesNot("ends it")
		for _, leave := range []string{"Escape", "C-c"} {
			me.menu("s")
			me.sees("Esc leave")
			me.types("q quite something")
			me.sees("> q quite something")
			me.press(leave)
			me.seesNot("quite something")
		}
		for _, entry := range []string{"l", "i", "d"} {
			for _, leave := range []string{"q", "Escape", "C-c"} {
				me.menu(entry)
				me.sees("q closes")
				me.press(leave)
				me.seesNot("q closes")
			}
		}
		assert.NotContains(t, received(t, third), "quite something")
		assert.Equal(t, "go\r", besidesPastes(claude.keys()))
	})
}

// In a pane without an agent, the key picks two other panes.
func TestU23_TwoArePickedFromAThird(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		st.two()
		st.load()
		st.Run("select-window", "-t", st.Base)
		me := st.sit("base")
		me.menu("c")
		me.sees("start a chat between two other panes: pick the first")
		me.press("1")
		me.sees("with")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): on")
	})
}

// If sending a line fails, the line stays where it was typed, to be changed or sent again.
func TestU23_NoTypedLineIsLost(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")
		claude.do(":turn say the plan has three steps")
		me.press("g", "o", "Enter")
		tmuxtest.WaitFor(t, "it has said so", func() bool { return len(claude.records(persona.EventSaid)) == 1 })

		// Everything is stopped between the choice of a pane and the line.
		me.menu("a")
		me.sees("for " + claude.pane + ", ask")
		first := regexp.MustCompile(`1 +` + codex.pane + ` `)
		tmuxtest.WaitFor(t, "codex stands first", func() bool { return first.MatchString(me.screen()) })
		me.press("1")
		me.sees("a line of your own")
		me.types("is it so")
		me.press("BSpace", "BSpace", "BSpace", "x", "Left", "y", "C-a", "W", "C-e", "z", "Home", "Right", "DC", "i", "End", "C-w")
		me.types("right?")
		me.sees("> Wis right?")
		me.press("C-u")
		me.types("is it?")
		out, code := st.intercom("chat", "pause", "--all")
		require.Zero(t, code, out)
		me.press("Enter")
		me.sees("everything is stopped")
		me.sees("> is it?")
		out, code = st.intercom("chat", "resume", "--all")
		require.Zero(t, code, out)
		codex.do(":turn say it is")
		me.press("Enter")
		me.sees("asked; the answer comes back here")
		tmuxtest.WaitFor(t, "it is asked", func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), "is it?") })
		tmuxtest.WaitFor(t, "the answer is back", func() bool { return len(st.status().Chats) == 0 })

		// The chat ends while a line for it is typed.
		out, code = st.intercom("chat", "start", claude.pane, codex.pane, "--name", "one")
		require.Zero(t, code, out)
		me.menu("s")
		me.sees("Esc leave")
		me.types("stay here")
		out, code = st.intercom("chat", "stop", "one")
		require.Zero(t, code, out)
		me.press("Enter")
		me.sees("is in no chat")
		me.sees("> stay here")
		out, code = st.intercom("chat", "start", claude.pane, codex.pane, "--name", "two")
		require.Zero(t, code, out)
		me.press("Enter")
		me.sees("said to two: claude ↔ codex")
		tmuxtest.WaitFor(t, "it is heard", func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), "stay here") })
		assert.Empty(t, st.Run("list-buffers"))
		assert.Equal(t, "go\r", besidesPastes(claude.keys()))
	})
}

// If the tmux server was started from a shell whose INTERCOM_SERVER names another one, keys still act on the server in which they
// are pressed. What is typed for a popup stays in it, even if its program fails.
func TestU23_KeysOfAServerThatWasNamedAnother(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.agent("claude", ""), st.agent("codex", "")
		st.Run("set-environment", "-g", "INTERCOM_SERVER", st.home+"/dead")
		st.load()
		st.Run("select-window", "-t", claude.Pane)
		me := st.sit("base")
		me.press("C-b", st.chatKey)
		me.sees("q closes")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): on")

		// A program that has been replaced or is broken.
		program := st.home + "/broken"
		tmuxtest.Program(t, program, "#!/bin/sh\necho it broke\nexit 2\n")
		st.Run("set-option", "-g", usedOption, program)
		for _, key := range []string{"Enter", "q", "Escape"} {
			me.menu("l")
			me.sees("it broke")
			me.sees("Press Enter, q or Escape.")
			if key == "Enter" { // a word that begins with q closes nothing, nor does a key whose sequence begins with Escape
				me.types("quick 1")
				me.press("Up")
			}
			me.press(key)
			me.seesNot("it broke")
		}
		assert.Empty(t, besidesPastes(received(t, claude)+received(t, codex)))
	})
}
