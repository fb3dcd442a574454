package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Each entry of the menu works by its letter and by the arrows, and none of these keys reaches an agent. TestU5_editThePolicies
// and TestU5_askAnotherPane test the entries that edit the policies and ask.
func TestU5_menuByTheKeyboardAlone(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		st.colourMarked()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")
		words := 0
		says := func(text string) {
			t.Helper()
			words++
			claude.do(":turn say " + text)
			me.press("g", "o", "Enter")
			tmuxtest.WaitFor(t, "it has said "+text, func() bool { return len(claude.records(persona.EventSaid)) >= words })
		}
		heard := func(text string) {
			t.Helper()
			tmuxtest.WaitFor(t, "the other to hear "+text, func() bool { return strings.Contains(strings.Join(codex.received(), "\n"), text) })
		}
		page := func(key, entry, title string, shows ...string) {
			t.Helper()
			for _, open := range []func(){func() { me.menu(key) }, func() { me.choose(entry) }} {
				open()
				for _, text := range append(shows, title) {
					me.sees(text)
				}
				me.press("q")
				me.seesNot(title)
			}
		}

		// tmux does not show a menu that does not fit; this one fits a small terminal.
		status := st.Run("show-options", "-gqv", "@intercom-status")
		for _, width := range []int{40, 32} {
			me.resize(width, 15)
			st.Run("set-option", "-g", "@intercom-status", strings.Repeat("x", 30))
			me.press("C-b", "B")
			me.sees("doctor")
			me.sees("chat with")
			me.press("q")
			me.seesNot("chat with")
		}
		st.Run("set-option", "-g", "@intercom-status", status)
		me.resize(140, 30)

		// Start a chat and end it, in both ways.
		me.menu("c")
		me.sees("q closes")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): on")
		require.Len(t, st.status().Chats, 1)
		me.choose("stop the chat")
		me.sees("claude (1) ↔ codex (2): ended")
		require.Empty(t, st.status().Chats)
		me.choose("chat with")
		me.sees("q closes")
		me.press("Enter")
		me.sees("claude (1) ↔ codex (2): on")
		me.menu("x")
		me.sees("claude (1) ↔ codex (2): ended")
		require.Empty(t, st.status().Chats)
		me.menu("x") // there is none to end, and the next step is told
		me.sees("intercom: pane " + claude.pane + " is in no chat → prefix + B, then c, starts one")
		me.menu("c")
		me.sees("q closes")
		me.press("1")
		me.sees("claude (1) ↔ codex (2): on")

		// A muted pane's words stay there.
		me.menu("m")
		me.sees("claude (1) is muted")
		chat := st.status().Chats[0]
		assert.False(t, chat.Participants[0].MaySpeak)
		assert.True(t, chat.Participants[1].MaySpeak)
		says("between us")
		me.choose("mute or unmute this pane")
		me.sees("claude (1) is no longer muted")
		assert.True(t, st.status().Chats[0].Participants[0].MaySpeak)
		says("for everybody")
		heard("for everybody")
		assert.NotContains(t, strings.Join(codex.received(), "\n"), "between us")
		me.menu("m") // otherwise they would go on talking
		me.sees("claude (1) is muted")

		// While everything is stopped, messages are held and listed in the inbox.
		me.menu("p")
		me.sees("everything is stopped: nothing is typed any more")
		assert.True(t, st.status().Stopped)
		me.menu("s")
		me.sees("to claude (1) ↔ codex (2)")
		me.types("a line of mine")
		me.press("Enter")
		me.sees("held: ")
		tmuxtest.WaitFor(t, "it waits for both", func() bool { return len(st.held()) >= 2 })
		page("i", "inbox", "q closes", "a line of mine", string(message.Paused))
		assert.NotContains(t, strings.Join(codex.received(), "\n"), "a line of mine")
		me.choose("resume everything")
		me.sees("messages are typed again; chats resumed: 1")
		assert.False(t, st.status().Stopped)
		heard("a line of mine")
		me.choose("stop everything")
		me.sees("everything is stopped: nothing is typed any more")
		assert.True(t, st.status().Stopped)
		me.menu("r")
		me.sees("messages are typed again")
		assert.False(t, st.status().Stopped)
		me.choose("say something")
		me.sees("to claude (1) ↔ codex (2)")
		me.types("one more")
		me.press("Enter")
		me.sees("said to claude ↔ codex")
		heard("one more")

		// The pages: chats, watch and doctor.
		page("l", "chats", "q closes", "claude ↔ codex", "panes")
		page("w", "watch", "q back", "claude ↔ codex", "on · ")
		page("d", "doctor", "intercom doctor", "keys of the plugin: prefix + ")

		assert.Equal(t, strings.Repeat("go\r", words), besidesPastes(claude.keys()), "and no key that was meant for us")
		assert.Empty(t, besidesPastes(codex.keys()))
	})
}

// The menu's entry to ask takes this pane's last answer with a line of the person's to a picked pane, and brings one answer back.
// Then nothing more is relayed.
func TestU5_askAnotherPane(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		claude, codex := st.coder("claude"), st.coder("codex")
		st.load()
		st.colourMarked()
		st.Run("select-window", "-t", claude.pane)
		me := st.sit("base")

		me.choose("ask another pane") // nothing was said yet
		me.sees("no answer of it is known")
		me.sees("Press Enter, q or Escape.")
		me.press("Enter")
		me.seesNot("no answer of it is known")
		assert.Empty(t, codex.keys())

		claude.do(":turn say the plan has three steps")
		me.press("g", "o", "Enter")
		tmuxtest.WaitFor(t, "it has said so", func() bool { return len(claude.records(persona.EventSaid)) == 1 })
		codex.do(":turn say four would be better")
		claude.do(":turn say then four it is")
		me.menu("a")
		me.sees("for " + claude.pane + ", ask")
		me.press("1")
		me.sees("a line of your own")
		me.types("is it?")
		me.press("Enter")
		me.sees("claude (1) ← codex (2): asked; the answer comes back here → prefix + B, l shows its progress")
		tmuxtest.WaitFor(t, "the answer is back", func() bool { return len(claude.received()) == 2 })
		require.Len(t, codex.received(), 1)
		assert.Contains(t, codex.received()[0], "the plan has three steps")
		assert.Contains(t, codex.received()[0], "is it?")
		assert.Contains(t, claude.received()[1], "four would be better")
		tmuxtest.WaitFor(t, "the question is over", func() bool { return len(st.status().Chats) == 0 })
		tmuxtest.WaitFor(t, "it has said that", func() bool { return len(claude.records(persona.EventSaid)) == 2 })
		assert.Len(t, codex.received(), 1, "nothing further goes across")
		assert.Equal(t, 1, strings.Count(codex.keys(), "\r"))
	})
}

// The policies are edited in a popup of the menu. An error in them is shown there with an offer to edit again, and success is
// told at the client.
func TestU5_editThePolicies(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		editor := filepath.Join(st.home, "editor.sh")
		require.NoError(t, os.WriteFile(editor, []byte("#!/bin/sh\nprintf '\\033[2J\\033[H'\nread -p 'what to write: ' text\nprintf '%s\\n' \"$text\" >\"$1\"\n"), 0o700))
		st.Run("set-environment", "-g", "EDITOR", "sh "+editor)
		st.Run("set-environment", "-gu", "VISUAL")
		st.load()
		me := st.sit("base")
		me.menu("e")
		me.sees("what to write:")
		me.types("intercom.confgure {}")
		me.press("Enter")
		me.sees("Edit again?")
		me.sees("did you mean")
		me.press("y")
		tmuxtest.WaitFor(t, "the editor again", func() bool {
			return !strings.Contains(st.outer.Run("capture-pane", "-p", "-t", me.pane), "Edit again?")
		})
		me.sees("what to write:")
		me.types("intercom.configure {}")
		drawn := filepath.Join(st.home, "drawn") // everything drawn, since before tmux 3.6 a notice stays for two seconds only
		st.outer.Run("pipe-pane", "-t", me.pane, "cat >'"+drawn+"'")
		me.press("Enter")
		tmuxtest.WaitFor(t, "it is told", func() bool {
			text, _ := os.ReadFile(drawn)
			return strings.Contains(string(text), "in use as they are saved")
		})
	})
}

// Helpers.

// marked is the background colour of the marked entry of a menu.
const marked = "colour201"

// colourMarked makes every tmux draw the marked entry of a menu in that colour.
func (st *stage) colourMarked() {
	st.Run("set-option", "-gw", "mode-style", "bg="+marked)
	_, _ = st.Try("set-option", "-gw", "menu-selected-style", "bg="+marked) // since 3.4
}

var rendition = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// choose opens the menu and goes to an entry with the arrows.
func (s *seat) choose(entry string) {
	s.t.Helper()
	s.press("C-b", "B")
	s.sees("stop the chat")
	for range 14 {
		at := s.atEntry()
		if strings.HasPrefix(at, entry) {
			s.press("Enter")
			return
		}
		s.press("Down")
		tmuxtest.WaitFor(s.t, "the next entry", func() bool { return s.atEntry() != at })
	}
	require.Fail(s.t, "no arrow leads to it", "%q in\n%s", entry, s.screen())
}

// atEntry is the marked entry of the menu. It looks twice, since a row may just be being redrawn.
func (s *seat) atEntry() (entry string) {
	s.t.Helper()
	look := func() string {
		for row := range strings.Lines(s.outer.Run("capture-pane", "-e", "-p", "-t", s.pane)) {
			if _, row, found := strings.Cut(row, "48;5;"+strings.TrimPrefix(marked, "colour")); found {
				return strings.TrimSpace(rendition.ReplaceAllString("\x1b[0"+row, ""))
			}
		}
		return ""
	}
	tmuxtest.WaitFor(s.t, "the marked entry", func() bool {
		entry = look()
		return entry != "" && entry == look()
	})
	return entry
}

var paste = regexp.MustCompile(`(?s)\x1b\[200~.*?\x1b\[201~\r?`)

// besidesPastes is a program's input without pastes and the Enter behind each.
func besidesPastes(keys string) string { return paste.ReplaceAllString(keys, "") }
