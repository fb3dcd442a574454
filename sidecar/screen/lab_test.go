package screen_test

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

var update = flag.Bool("update", false, "replace the recordings by what the lab shows now")

const anew = "recordings are made anew by: INTERCOM_LAB=1 go test -run TestLab_record -update ./sidecar/screen"

// studio is one agent of the lab whose screens are recorded.
type studio struct {
	*labtest.Agent
	t      *testing.T
	lab    *labtest.Lab
	server *tmuxtest.Server
	suffix string
}

func open(t *testing.T, kind labtest.Kind, options ...labtest.Option) *studio {
	t.Helper()
	return openOn(t, "tmux-256color", kind, options...) // the usual terminal
}

func openOn(t *testing.T, terminal string, kind labtest.Kind, options ...labtest.Option) *studio {
	t.Helper()
	s := launchOn(t, terminal, kind, options...)
	s.WaitForIdle()
	return s
}

func launch(t *testing.T, kind labtest.Kind, options ...labtest.Option) *studio {
	t.Helper()
	return launchOn(t, "tmux-256color", kind, options...)
}

func launchOn(t *testing.T, terminal string, kind labtest.Kind, options ...labtest.Option) *studio {
	t.Helper()
	if !*update {
		t.Skip(anew)
	}
	lab := labtest.New(t, kind)
	server := tmuxtest.NewServer(t, tmuxtest.Versions(t)[0])
	server.Run("set-option", "-s", "default-terminal", terminal)
	return &studio{Agent: lab.Launch(server, kind, options...), t: t, lab: lab, server: server}
}

// now records a screen that does not keep still.
func (s *studio) now(label, what string) {
	s.t.Helper()
	r := newRecording(s.Kind, label, what+s.suffix, s.lab.Capture(s.Agent))
	if *update {
		r.write(s.t)
	}
	s.judge(r)
}

// take records a screen when it keeps still.
func (s *studio) take(label, what string) {
	s.t.Helper()
	time.Sleep(labtest.Stillness) // until the last action shows
	s.WaitForStill(labtest.Stillness)
	s.now(label, what)
}

// judge compares the judgement of the current screen with its label.
func (s *studio) judge(r recording) {
	s.t.Helper()
	v := r.judge(s.t)
	assert.False(s.t, v.MayType && r.Label != "idle", "%s may be typed into: %s", r, says(v))
	assert.False(s.t, !v.MayType && r.Label == "idle", "%s is not recognised: %s: %s", r, v.State, says(v))
}

// overlay opens something with keys or a command, records it, and leaves it with Escape.
func (s *studio) overlay(what string, open func()) {
	s.t.Helper()
	before := strings.Join(s.lab.Capture(s.Agent).Plain, "\n")
	open()
	deadline := time.Now().Add(5 * time.Second)
	for strings.Join(s.lab.Capture(s.Agent).Plain, "\n") == before && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
	}
	s.take("blocked", what)
	s.home()
}

// home returns to the composer: it presses Escape until the composer is there and empty.
func (s *studio) home() {
	s.t.Helper()
	for range 4 {
		s.WaitForStill(labtest.Stillness)
		if s.Idle() {
			return
		}
		s.Keys("Escape")
		time.Sleep(150 * time.Millisecond)
	}
	s.Keys("C-u")
	s.WaitForIdle()
}

// hintGone is how long a second Ctrl-C would end the agent after the first.
const hintGone = 2500 * time.Millisecond

// clear removes a draft of any length.
func (s *studio) clear() {
	s.t.Helper()
	scripts[s.Kind].clear(s)
}

func (s *studio) command(text string) func() {
	return func() {
		s.Paste(text)
		s.Enter()
		time.Sleep(300 * time.Millisecond)
	}
}

func (s *studio) press(keys ...string) func() { return func() { s.Keys(keys...) } }

const quotedClaude = "Here is what it showed:\n\n" +
	" Bash command\n\n   touch /tmp/x\n\n Do you want to proceed?\n ❯ 1. Yes\n   2. No\n\n Esc to cancel · Tab to amend"

const quotedCodex = "Here is what it showed:\n\n  Would you like to run the following command?\n\n  $ touch /tmp/x\n\n› 1. Yes, proceed (y)\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel"

func (s *studio) say(text string) {
	s.t.Helper()
	n := len(s.Answers())
	s.Prompt("[[say " + text + "]]")
	s.WaitFor("the answer", func(labtest.Screen) bool { return len(s.Answers()) > n })
	s.WaitForIdle()
}

func frame(width int, glyph string) string {
	rule := strings.Repeat("─", width)
	return "```\n" + rule + "\n" + glyph + " \n" + rule + "\n  ? for shortcuts\n```"
}

// claudeScript is the script for its composer.
var claudeScript = likeClaude(labtest.Claude, func(theme string) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		if err := a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(m map[string]any) { m["theme"] = theme }); err != nil {
			panic(err)
		}
	})
})

// likeClaude returns the script of an agent whose composer has the keys of Claude Code's.
func likeClaude(kind labtest.Kind, theme func(name string) labtest.Option) script {
	return script{
		clear: func(s *studio) {
			s.Keys("C-c")
			s.WaitForIdle()
			time.Sleep(hintGone)
		},
		unlist: (*studio).clear,
		lists:  opens(kind),
		unput: func(s *studio) {
			s.Keys("C-u", "C-u", "C-u", "C-u")
			s.lab.Model.Release(s.Name)
			s.WaitForIdle()
		},
		sizes:  map[string][2]int{"": {120, 40}, "-60": {60, 20}, "-80": {80, 24}, "-200": {200, 50}, "-12": {120, 12}},
		low:    []string{"line", "p500"},
		fits:   true,
		proven: []string{"line", "long-line", "p500", "lines10", "p2k", "l64k", "cjk", "emoji", "code", "blank-end"},
		looks: []appearance{
			{"-8-colours", "screen", "LAB=1", theme("dark")},
			{"-truecolour", "tmux-256color", "COLORTERM=truecolor", theme("dark")},
			{"-light", "tmux-256color", "LAB=1", theme("light")},
			{"-truecolour-light", "tmux-256color", "COLORTERM=truecolor", theme("light")},
		},
		fails: "error 529",
	}
}

func TestLab_recordClaudeComposer(t *testing.T) {
	s := open(t, labtest.Claude)
	s.take("idle", "fresh")
	s.Keys("-l", "hello there")
	s.WaitForText("hello there")
	s.take("draft", "words")
	s.Keys("C-a")
	s.take("draft", "words-cursor-at-start")
	s.Keys("C-e", "C-u")
	s.WaitForIdle()
	s.take("idle", "draft-cleared")
	s.Keys("-l", "   ")
	s.take("draft", "blanks")
	s.Keys("C-a")
	s.take("idle", "blanks-behind-the-cursor") // nobody can see them
	s.Keys("C-e", "C-u")
	s.WaitForIdle()
	s.Paste("one\ntwo")
	s.take("draft", "two-lines")
	s.Keys("Up", "C-a")
	s.take("draft", "two-lines-cursor-at-start")
	s.Keys("C-c")
	s.WaitForText("Press Ctrl-C again")
	s.WaitForStill(labtest.Stillness)
	s.now("idle", "ctrl-c-hint")
	time.Sleep(hintGone)
	s.Paste("\n\n")
	s.take("draft", "line-breaks")
	s.Keys("Up", "Up", "C-a")
	s.take("draft", "line-breaks-cursor-at-start")
	s.clear()
	s.Paste(strings.Repeat("a long pasted line\n", 30))
	s.take("draft", "pasted-placeholder")
	s.Keys("C-a")
	s.take("draft", "pasted-placeholder-cursor-at-start")
	s.clear()
	s.Paste(strings.Repeat("word ", 60))
	s.take("draft", "wrapped")
	s.clear()
	s.Keys("-l", "!")
	s.take("draft", "shell-mode")
	s.Keys("BSpace")
	s.home()
	s.overlay("slash-menu", s.press("-l", "/"))
	s.overlay("slash-menu-narrowed", s.press("-l", "/mo"))
	s.overlay("at-menu", s.press("-l", "@"))
	s.Keys("-l", "?")
	s.WaitForText("for shell mode")
	s.take("blocked", "shortcuts")
	s.Keys("BSpace")
	s.WaitFor("the end of the help", func(c labtest.Screen) bool { return !c.Contains("for shell mode") })
	s.server.Run("copy-mode", "-t", s.Pane)
	s.take("history", "copy-mode")
	s.server.Run("send-keys", "-t", s.Pane, "-X", "cancel")
	s.Keys("BTab")
	s.take("idle", "accept-edits-mode")
	s.Keys("-l", "   ")
	s.Keys("C-a")
	s.take("idle", "accept-edits-mode-blanks-behind-the-cursor") // nobody can see them
	s.Keys("C-e", "C-u")
	s.WaitForIdle()
	s.Keys("BTab")
	s.take("idle", "plan-mode")
	s.Keys("-l", "x")
	s.Keys("C-a")
	s.take("draft", "plan-mode-letter-cursor-at-start")
	s.Keys("C-e", "C-u")
	s.WaitForIdle()
}

func TestLab_recordClaudeOverlays(t *testing.T) {
	s := open(t, labtest.Claude)
	s.say("Nothing special.")
	for _, c := range []string{"model", "status", "config", "help", "resume", "permissions", "theme", "hooks", "memory", "rewind", "export", "effort", "tasks", "login", "add-dir", "plugin"} {
		t.Run(c, func(t *testing.T) { s.overlay("command-"+c, s.command("/"+c)) })
	}
	for _, c := range []string{"agents", "mcp", "context", "output-style"} {
		s.command("/" + c)()
		s.take("idle", "command-"+c)
	}
	s.command("/rename some-name")()
	s.take("idle", "named")
	s.overlay("transcript", s.press("C-o"))
	s.overlay("history-search", s.press("C-r"))
	s.overlay("rewind-by-escape", func() { s.Keys("Escape"); time.Sleep(80 * time.Millisecond); s.Keys("Escape") })
}

func TestLab_recordClaudeTurns(t *testing.T) {
	s := open(t, labtest.Claude)
	s.Prompt("[[hold]] [[say one two three four]]")
	s.WaitForText("one two")
	s.take("working", "streaming")
	s.lab.Model.Release(s.Name)
	s.WaitForAnswer("one two three four")
	s.take("idle", "after-turn")
	s.Prompt("[[stall]] [[say late]]")
	s.WaitForText("esc to interrupt")
	time.Sleep(400 * time.Millisecond)
	s.now("working", "spinner")
	time.Sleep(1200 * time.Millisecond)
	s.now("working", "spinner-later")
	s.Paste("and this is queued")
	s.Enter()
	time.Sleep(500 * time.Millisecond)
	s.now("working", "queued")
	s.Paste("half a thought")
	time.Sleep(500 * time.Millisecond)
	s.now("working", "draft")
	s.Keys("C-u")
	s.lab.Model.Release(s.Name)
	time.Sleep(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-queue")
	s.Prompt("[[hold]] [[say five six seven eight]]")
	s.WaitForText("five six")
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "interrupted")
	s.lab.Model.Release(s.Name)
	s.Prompt("please [[bash touch proof]]")
	s.WaitForDialog()
	s.take("blocked", "permission-command")
	s.Paste("AI[vm:peer] | please do not\n")
	s.take("blocked", "permission-command-after-paste")
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "after-refusal")
	s.Prompt("please [[write " + filepath.Join(s.Dir, "outside.txt") + " some words]]")
	s.WaitForDialog()
	s.take("blocked", "permission-write")
	s.Keys("Tab")
	s.take("blocked", "permission-write-amend")
	s.Keys("-l", "words")
	s.take("blocked", "permission-write-amend-text")
	s.Keys("Escape")
	s.home()
	s.Prompt("please [[ask Which colour? | red | blue]]")
	s.WaitForDialog()
	s.take("blocked", "question")
	s.Keys("Down", "Down")
	s.take("blocked", "question-own-words")
	s.Keys("-l", "green")
	s.take("blocked", "question-own-words-typed")
	s.Keys("Escape")
	s.home()
	s.say(quotedClaude)
	s.take("idle", "dialog-quoted")
	s.say(frame(116, "❯"))
	s.take("idle", "composer-quoted")
	s.Prompt("please [[bash touch proof2]]")
	s.WaitForDialog()
	s.take("blocked", "permission-under-quoted-composer")
	s.Keys("Escape")
	s.home()
	s.say("日本語の答え 🚀 👨‍👩‍👧 ❤️ **é** and more 漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字")
	s.take("idle", "wide-characters")
	s.Keys("-l", "日本語")
	s.take("draft", "wide-characters")
	s.Keys("C-u")
	s.Prompt("[[lines 60]]")
	s.WaitForAnswer("Line 60 of 60")
	s.take("idle", "long-answer")
	s.Keys("PPage")
	s.take("history", "scrolled-up")
	s.Keys("NPage", "NPage")
	s.WaitForIdle()
}

func TestLab_recordClaudePlan(t *testing.T) {
	s := open(t, labtest.Claude)
	s.command("/plan")()
	s.WaitForText("lan mode")
	s.WaitForIdle()
	s.Prompt("please [[plan First this. Then that.]]")
	s.WaitForDialog()
	s.take("blocked", "plan")
	s.Keys("Down", "Down")
	s.take("blocked", "plan-third")
	s.Keys("Escape")
	s.home()
	s.take("idle", "after-plan-refused")
}

func TestLab_recordClaudeShells(t *testing.T) {
	s := open(t, labtest.Claude)
	s.Prompt(`[[tool Bash {"command":"sleep 600","description":"wait","run_in_background":true}]]`)
	s.WaitForStill(time.Second)
	if !s.Idle() {
		s.take("blocked", "permission-background")
		s.Enter()
		s.WaitForIdle()
	}
	s.take("idle", "background-task")
	s.Prompt("[[error 529 2]]")
	s.WaitForText("esc to interrupt")
	time.Sleep(1500 * time.Millisecond)
	s.now("working", "retrying")
	s.Keys("Escape")
	s.home()
	s.take("idle", "after-error")
	s.Prompt("[[error 400]]")
	time.Sleep(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-error-400")
}

func TestLab_recordClaudeErrors(t *testing.T) {
	s := open(t, labtest.Claude, labtest.Environ("CLAUDE_CODE_MAX_RETRIES=0"))
	s.Prompt("[[error 529]]")
	s.WaitForStill(time.Second)
	s.WaitForIdle()
	s.take("idle", "ghost-resend")
}

func TestLab_recordClaudeQuestions(t *testing.T) {
	s := open(t, labtest.Claude)
	s.Prompt(`[[tool AskUserQuestion {"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"red","description":"one"},{"label":"blue","description":"other"}]},{"question":"Which sizes?","header":"Sizes","multiSelect":true,"options":[{"label":"small","description":"one"},{"label":"large","description":"other"}]}]}]]`)
	s.WaitForDialog()
	s.take("blocked", "questions-first")
	s.Keys("Right")
	s.take("blocked", "questions-second")
	s.Keys("Right")
	s.take("blocked", "questions-submit")
	s.Keys("Escape")
	s.home()
	s.take("idle", "after-questions-refused")
}

func TestLab_recordClaudeBackground(t *testing.T) {
	s := open(t, labtest.Claude)
	s.Prompt(`[[tool Bash {"command":"sleep 600","description":"wait","run_in_background":true}]]`)
	s.WaitForStill(time.Second)
	if !s.Idle() {
		s.take("blocked", "permission-background")
		s.Enter()
		s.WaitForIdle()
	}
	s.take("idle", "background-task")
	s.Keys("Down")
	s.take("blocked", "background-task-selected")
	s.Keys("Enter")
	s.take("blocked", "background-task-list")
	s.home()
}

func TestLab_recordClaudeMainScreen(t *testing.T) {
	s := open(t, labtest.Claude, labtest.Environ("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1", "CLAUDE_CODE_NO_FLICKER=0", "CLAUDE_CODE_ENABLE_TASKS=1"))
	s.suffix = "-main-screen"
	s.take("idle", "fresh")
	s.Prompt("[[lines 40]]")
	s.WaitForAnswer("Line 40 of 40")
	s.take("idle", "after-turn")
	s.Keys("-l", "words")
	s.Keys("C-a")
	s.take("draft", "words-cursor-at-start")
	s.Keys("C-e", "C-u")
	s.WaitForIdle()
	s.Prompt("[[hold]] [[say one two three four]]")
	s.WaitForText("esc to interrupt")
	time.Sleep(400 * time.Millisecond)
	s.now("working", "streaming")
	s.lab.Model.Release(s.Name)
	s.WaitForAnswer("one two three four")
	s.Prompt("please [[bash touch proof]]")
	s.WaitForDialog()
	s.take("blocked", "permission-command")
	s.Keys("Escape")
	s.home()
	s.take("idle", "after-refusal")
	s.Prompt("please [[ask Which colour? | red | blue]]")
	s.WaitForDialog()
	s.take("blocked", "question")
	s.Keys("Escape")
	s.home()
	s.take("idle", "after-question")
}

func TestLab_recordClaudeSizes(t *testing.T) {
	for suffix, size := range map[string][2]int{"-60": {60, 24}, "-80": {80, 24}, "-200": {200, 50}, "-40": {40, 12}} {
		t.Run(suffix, func(t *testing.T) {
			s := open(t, labtest.Claude, labtest.Size(size[0], size[1]))
			s.suffix = suffix
			s.take("idle", "fresh")
			s.Prompt("[[lines 9]]")
			s.WaitForAnswer("Line 9 of 9")
			s.take("idle", "after-turn")
			s.Keys("-l", "a draft")
			s.take("draft", "words")
			s.Keys("C-u")
			s.WaitForIdle()
			s.Prompt("please [[bash touch proof]]")
			s.WaitForDialog()
			s.take("blocked", "permission-command")
			s.Keys("Escape")
			s.home()
			s.Prompt("please [[ask Which colour? | red | blue]]")
			s.WaitForDialog()
			s.take("blocked", "question")
			s.Keys("Escape")
			s.home()
			s.overlay("slash-menu", s.press("-l", "/"))
			s.overlay("command-model", s.command("/model"))
			s.Prompt("[[hold]] [[say one two three four]]")
			s.WaitForText("one two")
			s.take("working", "streaming")
			s.lab.Model.Release(s.Name)
		})
	}
}

func TestLab_recordClaudeSetups(t *testing.T) {
	t.Run("vim", func(t *testing.T) {
		s := open(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			for _, file := range []string{filepath.Join(a.Home, ".claude.json"), filepath.Join(a.Home, ".claude", "settings.json")} {
				if err := a.EditJSON(file, func(c map[string]any) { c["editorMode"] = "vim" }); err != nil {
					t.Fatal(err)
				}
			}
		}))
		s.take("idle", "vim-insert")
		s.Keys("-l", "word")
		s.take("draft", "vim-insert")
		s.Keys("Escape")
		s.take("draft", "vim-normal")
		s.Keys("-l", "dd")
		s.take("blocked", "vim-normal-empty")
		s.Paste("pasted in normal mode")
		s.WaitForStill(labtest.Stillness)
		t.Logf("after a paste in NORMAL mode:\n%s", s.lab.Capture(s.Agent))
		s.Keys("Escape")
		s.WaitForStill(labtest.Stillness)
		s.Keys("-l", "dd")
		s.WaitForStill(labtest.Stillness)
		s.Keys("-l", "i")
		s.WaitForText("INSERT")
		s.Prompt("please [[bash touch proof]]")
		s.WaitForDialog()
		s.take("blocked", "vim-permission")
		s.Keys("Escape")
		s.take("idle", "vim-after-refusal")
	})
	t.Run("status line", func(t *testing.T) {
		s := open(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			err := a.EditJSON(filepath.Join(a.Home, ".claude", "settings.json"), func(c map[string]any) {
				c["statusLine"] = map[string]any{"type": "command", "command": `printf '\033[32m❯ main\033[0m · 3 files · $0.12\n1. second row ─────'`}
			})
			if err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForText("second row")
		s.take("idle", "status-line")
		s.Keys("-l", "word")
		s.take("draft", "status-line")
		s.Keys("C-u")
		s.WaitForIdle()
		s.Prompt("please [[bash touch proof]]")
		s.WaitForDialog()
		s.take("blocked", "status-line-permission")
		s.Keys("Escape")
		s.WaitForIdle()
		s.take("idle", "status-line-after-refusal")
	})
	t.Run("shell", func(t *testing.T) {
		s := open(t, labtest.Claude, labtest.InShell())
		s.say("Good-bye then.")
		s.command("/exit")()
		s.WaitFor("the shell", func(c labtest.Screen) bool { return c.Command != "claude" && !c.Alternate })
		s.take("shell", "exited")
	})
	t.Run("project servers", func(t *testing.T) {
		s := launch(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			if err := a.EditJSON(filepath.Join(a.Home, ".claude", "settings.json"), func(c map[string]any) { delete(c, "enableAllProjectMcpServers") }); err != nil {
				t.Fatal(err)
			}
			servers := map[string]any{"mcpServers": map[string]any{"thing": map[string]any{"type": "stdio", "command": "true"}}}
			if err := a.WriteJSON(filepath.Join(a.Work, ".mcp.json"), servers); err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForText("MCP server")
		s.take("blocked", "project-servers")
	})
	t.Run("trust", func(t *testing.T) {
		s := launch(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			if err := a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(c map[string]any) { delete(c, "projects") }); err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForText("trust")
		s.take("blocked", "trust")
	})
	t.Run("key", func(t *testing.T) {
		s := launch(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			if err := a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(c map[string]any) { delete(c, "customApiKeyResponses") }); err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForText("API key")
		s.take("blocked", "custom-key")
	})
	t.Run("tour", func(t *testing.T) {
		s := launch(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			err := a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(c map[string]any) {
				delete(c, "hasCompletedOnboarding")
				delete(c, "theme")
			})
			if err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForStill(2 * time.Second)
		s.take("blocked", "tour")
	})
	t.Run("auto mode", func(t *testing.T) {
		s := launch(t, labtest.Claude, labtest.Configured(func(a *labtest.Agent) {
			err := a.EditJSON(filepath.Join(a.Home, ".claude.json"), func(c map[string]any) {
				for _, k := range []string{"hasResetAutoModeOptInForDefaultOffer", "hasSeenAutoDefaultNotice", "hasSeenAutoDefaultNudge"} {
					delete(c, k)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForStill(2 * time.Second)
		s.take("blocked", "auto-mode")
	})
}

func TestLab_recordClaudeAgents(t *testing.T) {
	s := open(t, labtest.Claude)
	s.Prompt(`[[tool Agent {"description":"look around","prompt":"[[stall]]","subagent_type":"general-purpose","run_in_background":false}]]`)
	time.Sleep(3 * time.Second)
	s.now("working", "sub-agent")
}
