package screen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// geminiScript is the script for its composer.
var geminiScript = script{
	clear: func(s *studio) { // a second Ctrl-C would start to end it
		if !s.Idle() {
			s.Keys("C-c")
		}
		s.WaitForIdle()
	},
	unlist: (*studio).unmenu,
	sizes:  map[string][2]int{"": {120, 40}, "-60": {60, 24}, "-80": {80, 24}, "-200": {200, 50}, "-12": {120, 12}},
	low:    []string{"line", "p800"},
	fits:   true,
	slow:   true,
	proven: []string{"line", "long-line", "p500", "lines10", "p2k", "cjk", "emoji", "code", "blank-end", "marks"},
	looks: []appearance{
		{"-8-colours", "screen", "LAB=1", geminiSettings("ui.theme", "Default")},
		{"-truecolour", "tmux-256color", "COLORTERM=truecolor", geminiSettings("ui.theme", "Default")},
		{"-light", "tmux-256color", "LAB=1", geminiSettings("ui.theme", "Google Code")},
		{"-truecolour-light", "tmux-256color", "COLORTERM=truecolor", geminiSettings("ui.theme", "Google Code")},
		{"-ansi", "tmux-256color", "LAB=1", geminiSettings("ui.theme", "ANSI")},
		{"-no-colour", "tmux-256color", "NO_COLOR=1", geminiSettings("ui.theme", "Default")},
	},
	list:  list{"slash-menu", []string{"-l", "/"}},
	lists: opens(labtest.Gemini),
	unput: func(s *studio) {
		s.lab.Model.Release(s.Name)
		s.WaitForText("three four")
		s.Keys("C-c")
		s.WaitForIdle()
	},
}

// geminiSettings changes the settings of Gemini CLI: "ui.hideFooter" is a path of two names.
func geminiSettings(path string, value any) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		err := a.EditJSON(filepath.Join(a.Home, ".gemini", "settings.json"), func(c map[string]any) {
			names := strings.Split(path, ".")
			for _, name := range names[:len(names)-1] {
				inner, ok := c[name].(map[string]any)
				if !ok {
					inner = map[string]any{}
					c[name] = inner
				}
				c = inner
			}
			if last := names[len(names)-1]; value == nil {
				delete(c, last)
			} else {
				c[last] = value
			}
		})
		if err != nil {
			panic(err)
		}
	})
}

// escape presses Escape alone: together with a following key it would be another key.
func (s *studio) escape() {
	s.t.Helper()
	s.Keys("Escape")
	s.WaitForStill(700 * time.Millisecond)
}

// unmenu removes a few lines that have opened a list.
func (s *studio) unmenu() {
	s.t.Helper()
	s.Keys("C-u", "BSpace", "C-u", "BSpace", "C-u", "BSpace", "C-u")
	s.WaitForIdle()
}

func TestLab_recordGeminiComposer(t *testing.T) {
	s := open(t, labtest.Gemini, files)
	s.take("idle", "fresh")
	s.Keys("-l", "hello there")
	s.WaitForText("hello there")
	s.take("draft", "words")
	s.Keys("C-a")
	s.take("draft", "words-cursor-at-start")
	s.clear()
	s.take("idle", "draft-cleared")
	s.Keys("-l", "   ")
	s.take("draft", "blanks")
	s.Keys("C-a")
	s.take("draft", "blanks-behind-the-cursor")
	s.clear()
	s.Paste("one\ntwo")
	s.take("draft", "two-lines")
	s.Keys("Up", "C-a")
	s.take("draft", "two-lines-cursor-at-start")
	s.clear()
	s.Paste("\n\nx")
	s.Keys("BSpace")
	s.take("draft", "line-breaks")
	s.clear()
	s.Paste(strings.Repeat("a long pasted line\n", 30))
	s.take("draft", "pasted-placeholder")
	s.Keys("C-a")
	s.take("draft", "pasted-placeholder-cursor-at-start")
	s.clear()
	s.Paste(strings.Repeat("word ", 60))
	s.take("draft", "wrapped")
	s.clear()
	s.Keys("-l", "  Type your message or @path/to/file ")
	s.Keys("C-a")
	s.take("draft", "words-of-the-ghost")
	s.clear()
	s.Keys("-l", "日本語")
	s.take("draft", "wide-characters")
	s.clear()
	s.Keys("-l", "!")
	s.take("draft", "shell-mode")
	s.Keys("-l", "ls -la")
	s.take("draft", "shell-mode-words")
	s.Keys("C-c")
	s.WaitForStill(labtest.Stillness)
	s.Keys("Escape")
	s.WaitForIdle()
}

func TestLab_recordGeminiLists(t *testing.T) {
	s := open(t, labtest.Gemini, files)
	for what, keys := range map[string]string{"slash-menu": "/", "slash-menu-narrowed": "/mo", "at-menu": "@", "at-menu-narrowed": "@fi"} {
		s.Keys("-l", keys)
		s.WaitForStill(time.Second)
		s.take("blocked", what)
		s.unmenu()
	}
	s.Keys("-l", "?")
	s.take("blocked", "shortcuts")
	s.escape()
	s.Keys("C-r")
	s.take("blocked", "history-search")
	s.escape()
	s.WaitForIdle()
	s.server.Run("copy-mode", "-t", s.Pane)
	s.take("history", "copy-mode")
	s.server.Run("send-keys", "-t", s.Pane, "-X", "cancel")
}

func TestLab_recordGeminiModes(t *testing.T) {
	s := open(t, labtest.Gemini)
	for _, mode := range []string{"accepting-edits", "plan-mode"} {
		s.Keys("BTab")
		s.take("idle", mode)
	}
	s.Keys("BTab")
	s.WaitForStill(labtest.Stillness)
	s.Keys("C-y")
	s.take("idle", "yolo-mode")
	s.Keys("-l", "words")
	s.take("draft", "yolo-mode")
	s.clear()
	s.Keys("C-y")
	s.WaitForStill(labtest.Stillness)
	s.Keys("M-m")
	s.take("idle", "raw-markdown")
	s.Keys("M-m")
	s.WaitForStill(labtest.Stillness)
	s.Keys("F12")
	s.take("blocked", "console")
	s.Keys("F12")
	s.WaitForIdle()
	s.Keys("Tab", "Tab")
	s.take("idle", "clean-screen")
	s.Keys("-l", "words")
	s.take("draft", "clean-screen")
	s.clear()
	s.Keys("Tab", "Tab")
	s.WaitForStill(time.Second)
	s.Keys("C-c")
	s.WaitForText("again to exit")
	s.now("idle", "ctrl-c-hint")
}

func TestLab_recordGeminiTurns(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.Prompt("[[hold]] [[say one two three four]]")
	s.WaitForText("one two")
	s.now("working", "streaming")
	s.lab.Model.Release(s.Name)
	s.WaitForAnswer("one two three four")
	s.take("idle", "after-turn")
	s.Keys("Escape")
	time.Sleep(200 * time.Millisecond)
	s.now("idle", "escape-hint")
	time.Sleep(hintGone)
	s.Prompt("[[stall]] [[say late]]")
	time.Sleep(700 * time.Millisecond)
	s.now("working", "spinner")
	time.Sleep(1200 * time.Millisecond)
	s.now("working", "spinner-later")
	s.Paste("half a thought")
	time.Sleep(500 * time.Millisecond)
	s.now("working", "draft")
	s.Keys("Enter")
	time.Sleep(500 * time.Millisecond)
	s.now("working", "queued")
	s.lab.Model.Release(s.Name)
	time.Sleep(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-queue")
	s.Prompt("[[hold]] [[say five six seven eight]]")
	s.WaitForText("five six")
	s.Keys("Escape")
	s.WaitForText("cancelled")
	s.WaitForStill(labtest.Stillness)
	s.wipeHint()
	s.take("idle", "interrupted")
	s.lab.Model.Release(s.Name)
}

func TestLab_recordGeminiDialogs(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.Prompt("please [[bash touch proof]]")
	s.WaitForDialog()
	s.take("blocked", "permission-command")
	s.Keys("Down")
	s.take("blocked", "permission-command-second")
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "after-refusal")
	s.Prompt("please [[write " + filepath.Join(s.Dir, "outside.txt") + " some words]]")
	s.WaitForStill(2 * time.Second)
	s.WaitForIdle() // it must not write there, and is told so
	s.Prompt("please [[write " + filepath.Join(s.Work, "inside.txt") + " some words]]")
	s.WaitForDialog()
	s.take("blocked", "permission-write")
	s.Keys("Escape")
	s.WaitForIdle()
	s.Prompt("please [[bash touch proof3]]")
	s.WaitForDialog()
	s.WaitForStill(labtest.Stillness)
	s.Keys("Enter")
	s.WaitForIdle()
	s.take("idle", "after-command")
}

func TestLab_recordGeminiQuestions(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.WaitForStill(time.Second)
	s.Prompt("please [[ask Which colour? | red | blue]]")
	s.WaitForStill(2 * time.Second)
	s.take("blocked", "question")
	s.Keys("Escape")
	s.WaitForIdle()
	s.Prompt("[[error 529]]")
	time.Sleep(time.Second)
	s.now("working", "retrying")
	s.Keys("Escape")
	s.WaitForStill(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-error")
}

// wipeHint clears the text that an interrupted turn has put back into the composer, if any.
func (s *studio) wipeHint() {
	s.t.Helper()
	if !s.Idle() {
		s.clear()
	}
}

func TestLab_recordGeminiQuotes(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.say("Here is what it showed:\n\n```\n╭──────────────╮\n│ ? Shell  touch x │\n│ Allow execution of [Shell]?\n│ ● 1. Allow once\n│   2. No, suggest changes (esc)\n╰──────────────╯\n```")
	s.take("idle", "dialog-quoted")
	s.say("```\n" + strings.Repeat("─", 120) + "\n Shift+Tab to accept edits\n\n >   Type your message or @path/to/file\n\n workspace (/directory)\n```")
	s.take("idle", "composer-quoted")
	s.Prompt("please [[bash touch proof2]]")
	s.WaitForDialog()
	s.take("blocked", "permission-under-quoted-composer")
	s.Keys("Escape")
	s.WaitForIdle()
	s.say("日本語の答え 🚀 👨‍👩‍👧 ❤️ **é** and more 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字")
	s.take("idle", "wide-characters")
	s.Prompt("[[lines 60]]")
	s.WaitForAnswer("Line 60 of 60")
	s.take("idle", "long-answer")
	s.Prompt("[[say " + strings.Repeat("Maple ledger river compass ledger cache router. ", 40) + "]]")
	s.WaitForStill(3 * time.Second)
	s.take("blocked", "loop")
	s.Keys("Escape")
	s.WaitForStill(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-loop")
}

func TestLab_recordGeminiOverlays(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.WaitForStill(2 * time.Second)
	s.say("Nothing special.")
	for _, c := range []string{"settings", "theme", "model", "auth", "editor", "resume", "rewind", "privacy", "footer"} {
		t.Run(c, func(t *testing.T) {
			s.command("/" + c)()
			s.WaitForStill(1500 * time.Millisecond)
			s.take("blocked", "command-"+strings.ReplaceAll(c, " ", "-"))
			for range 4 {
				if s.Idle() {
					return
				}
				s.Keys("Escape")
				s.WaitForStill(700 * time.Millisecond)
			}
			s.WaitForIdle()
		})
	}
	for _, c := range []string{"help", "about", "stats", "tools", "mcp"} {
		s.command("/" + c)()
		s.WaitForStill(time.Second)
		s.WaitForIdle()
		s.take("idle", "command-"+c)
	}
	s.Keys("-l", "!")
	s.WaitForStill(labtest.Stillness)
	s.Keys("-l", "echo by hand")
	s.WaitForStill(labtest.Stillness)
	s.Keys("Enter")
	s.WaitForStill(time.Second)
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "shell-command")
	s.Keys("Escape", "Escape")
	s.WaitForStill(time.Second)
	s.take("blocked", "rewind")
	s.Keys("Escape")
	s.WaitForStill(time.Second)
	s.wipeHint()
	s.command("/clear")()
	s.WaitForStill(time.Second)
	s.WaitForIdle()
	s.take("idle", "cleared")
}

func TestLab_recordGeminiSizes(t *testing.T) {
	for suffix, size := range map[string][2]int{"-60": {60, 24}, "-80": {80, 24}, "-200": {200, 50}, "-12": {120, 12}} {
		t.Run(suffix, func(t *testing.T) {
			s := open(t, labtest.Gemini, labtest.Size(size[0], size[1]))
			s.suffix = suffix
			s.take("idle", "fresh")
			s.Prompt("[[lines 9]]")
			s.WaitForAnswer("Line 9 of 9")
			s.take("idle", "after-turn")
			s.Keys("-l", "a draft")
			s.take("draft", "words")
			s.clear()
			s.Prompt("please [[bash touch proof]]")
			s.WaitForDialog()
			s.take("blocked", "permission-command")
			s.Keys("Escape")
			s.WaitForIdle()
			s.Keys("-l", "/")
			s.WaitForStill(time.Second)
			s.take("blocked", "slash-menu")
			s.unmenu()
			s.Keys("-l", "!")
			s.take("draft", "shell-mode")
			s.Keys("Escape")
			s.WaitForIdle()
			s.Prompt("[[hold]] [[say one two three four]]")
			s.WaitForText("one two")
			s.now("working", "streaming")
			s.lab.Model.Release(s.Name)
		})
	}
}

func TestLab_recordGeminiSetups(t *testing.T) {
	t.Run("trust", func(t *testing.T) {
		s := launch(t, labtest.Gemini, geminiSettings("security.folderTrust.enabled", true))
		s.WaitForText("trust the files")
		s.take("blocked", "trust")
	})
	t.Run("auth", func(t *testing.T) {
		s := launch(t, labtest.Gemini, geminiSettings("security.auth.selectedType", nil), labtest.Environ("GEMINI_API_KEY="))
		s.WaitForText("authenticate")
		s.take("blocked", "auth")
	})
	t.Run("vim", func(t *testing.T) {
		s := launch(t, labtest.Gemini, geminiSettings("general.vimMode", true))
		s.WaitForText("NORMAL mode.")
		s.WaitForStill(time.Second)
		s.take("idle", "vim-insert")
		s.escape()
		s.take("blocked", "vim-normal-empty")
		s.Keys("-l", "i")
		s.WaitForText("NORMAL mode.")
		s.Paste("word")
		s.take("draft", "vim-insert")
		s.Keys("C-u")
		s.WaitForText("NORMAL mode.")
		s.put(ownTexts["line"])
		s.take("draft", "vim-own-insert")
		s.Keys("Escape")
		s.take("draft", "vim-own-normal")
	})
	t.Run("shell", func(t *testing.T) {
		s := open(t, labtest.Gemini, labtest.InShell())
		s.say("Good-bye then.")
		s.command("/quit")()
		s.WaitFor("the shell", func(c labtest.Screen) bool { return c.Command != "node" })
		s.take("shell", "exited")
	})
	t.Run("killed", func(t *testing.T) {
		s := open(t, labtest.Gemini, labtest.InShell())
		s.say("Good-bye then.")
		s.killAgent()
		s.WaitFor("the shell", func(c labtest.Screen) bool { return c.Command != "node" })
		s.take("shell", "killed")
	})
	t.Run("no foot", func(t *testing.T) {
		s := open(t, labtest.Gemini, geminiSettings("ui.hideFooter", true))
		s.suffix = "-no-foot"
		s.take("idle", "fresh")
		s.Keys("-l", "/")
		s.WaitForStill(time.Second)
		s.take("blocked", "slash-menu")
		s.unmenu()
		s.Keys("-l", "words")
		s.take("draft", "words")
	})
	t.Run("no title", func(t *testing.T) {
		s := launch(t, labtest.Gemini, geminiSettings("ui.dynamicWindowTitle", false))
		s.suffix = "-no-title"
		s.WaitForText("Type your message")
		s.take("idle", "fresh")
		s.Prompt("[[hold]] [[say one two three four]]")
		s.WaitForText("one two")
		s.now("working", "streaming")
		s.lab.Model.Release(s.Name)
		s.WaitForText("three four")
		s.WaitForStill(time.Second)
		s.Prompt("please [[bash touch proof]]")
		s.WaitForText("Allow execution")
		s.take("blocked", "permission-command")
	})
	t.Run("composer below dialogs", func(t *testing.T) {
		s := open(t, labtest.Gemini, geminiSettings("ui.collapseDrawerDuringApproval", false))
		s.suffix = "-with-composer"
		s.Prompt("please [[bash touch proof]]")
		s.WaitForDialog()
		s.take("blocked", "permission-command")
		s.Keys("Escape")
		s.WaitForIdle()
		s.take("idle", "after-refusal")
	})
	t.Run("focus lost", func(t *testing.T) {
		s := launch(t, labtest.Gemini)
		s.suffix = "-unfocused"
		s.WaitForIdle()
		s.server.Run("send-keys", "-t", s.Pane, "-H", "1b", "5b", "4f")
		s.take("idle", "fresh")
		s.Paste("words")
		s.take("draft", "words")
	})
	t.Run("alternate screen", func(t *testing.T) {
		s := open(t, labtest.Gemini, geminiSettings("ui.useAlternateBuffer", true))
		s.suffix = "-alternate-screen"
		s.take("idle", "fresh")
		s.Prompt("[[lines 60]]")
		s.WaitForAnswer("Line 60 of 60")
		s.take("idle", "after-turn")
		s.Keys("-l", "/")
		s.WaitForStill(time.Second)
		s.take("blocked", "slash-menu")
		s.unmenu()
		s.Prompt("please [[bash touch proof]]")
		s.WaitForDialog()
		s.take("blocked", "permission-command")
		s.Keys("Escape")
		s.WaitForIdle()
		s.Keys("F9")
		s.WaitForText("In Copy Mode")
		s.take("blocked", "its-copy-mode")
	})
	t.Run("servers", func(t *testing.T) {
		s := open(t, labtest.Gemini, geminiSettings("ui.showShortcutsHint", false))
		s.suffix = "-no-hint"
		s.take("idle", "fresh")
	})
}

// killAgent ends an agent that was started from a shell, as a crash would.
func (s *studio) killAgent() {
	s.t.Helper()
	for _, pid := range s.Processes() {
		if p, err := os.FindProcess(pid); err == nil && pid != s.PID {
			_ = p.Kill()
		}
	}
}

// An Enter that comes too soon makes a line break.
func TestLab_recordGeminiOwnRefused(t *testing.T) {
	s := open(t, labtest.Gemini)
	s.Paste(ownTexts["line"])
	s.Keys("Enter")
	s.take("draft", "own-line-refused")
}
