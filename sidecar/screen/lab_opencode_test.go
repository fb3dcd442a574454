package screen_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// opencodeScript is the script for its composer.
var opencodeScript = script{
	clear: func(s *studio) { // with an empty composer, C-c would end it
		before := strings.Join(s.lab.Capture(s.Agent).Plain, "\n")
		s.Keys("C-c")
		s.WaitFor("another composer", func(c labtest.Screen) bool { return strings.Join(c.Plain, "\n") != before })
		s.WaitForIdle()
		time.Sleep(labtest.Stillness)
	},
	unlist: (*studio).clear,
	home:   true,
	slow:   true,
	sizes:  map[string][2]int{"": {120, 40}, "-60": {60, 20}, "-80": {80, 24}, "-200": {200, 50}, "-12": {120, 12}},
	low:    []string{"line", "p500"},
	proven: []string{"short", "line", "long-line", "p500", "lines10", "p2k", "l64k", "cjk", "emoji", "code", "blank-end"},
	looks: []appearance{
		{"-8-colours", "screen", "LAB=1", opencodeTheme("")},
		{"-truecolour", "tmux-256color", "COLORTERM=truecolor", opencodeTheme("")},
		{"-system", "tmux-256color", "COLORTERM=truecolor", opencodeTheme("system")},
		{"-gruvbox", "tmux-256color", "COLORTERM=truecolor", opencodeTheme("gruvbox")},
	},
	list: list{"commands", []string{"C-p"}}, fails: "error 400",
	lists: func(name string) string {
		if strings.HasPrefix(name, "short-") {
			return "" // these open a list: TestLab_recordOpencodeShort
		}
		return "draft" // one line that ends in a blank
	},
	unput: func(s *studio) {
		s.Keys("C-c")
		s.lab.Model.Release(s.Name)
		s.WaitForIdle()
	},
}

// opencodeTheme sets its colours; "" leaves them.
func opencodeTheme(name string) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		if name == "" {
			return
		}
		if err := a.WriteJSON(filepath.Join(a.Home, ".config", "opencode", "tui.json"), map[string]any{"theme": name}); err != nil {
			panic(err)
		}
	})
}

// opencodeTyped removes typed text from the composer.
func (s *studio) opencodeTyped(keys ...string) {
	s.t.Helper()
	s.Keys(keys...)
	s.WaitForIdle()
}

// opencodeOver opens something, records it, and leaves it with a single Escape: a second one during a turn would
// end the turn.
func (s *studio) opencodeOver(what string, open func()) {
	s.t.Helper()
	s.opencodeOpen(open)
	s.take("blocked", what)
	s.Keys("Escape")
	time.Sleep(300 * time.Millisecond)
	s.WaitForStill(labtest.Stillness)
	if !s.Idle() {
		s.Keys("C-u")
		s.WaitForIdle()
	}
}

func (s *studio) opencodeOpen(open func()) {
	s.t.Helper()
	before := strings.Join(s.lab.Capture(s.Agent).Plain, "\n")
	open()
	for deadline := time.Now().Add(5 * time.Second); strings.Join(s.lab.Capture(s.Agent).Plain, "\n") == before && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
}

const quotedOpencode = "Here is what it showed:\n\n```\n┃\n┃  △ Permission required\n┃    # Shell command\n┃\n┃  $ touch /tmp/x\n┃\n┃\n┃   Allow once   Allow always   Reject      ⇆ select  enter confirm\n┃\n```"

const composerOpencode = "```\n┃\n┃\n┃\n┃  Build · Mock Lab\n╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀\n   /work             ctrl+p commands\n```"

func TestLab_recordOpencodeComposer(t *testing.T) {
	s := open(t, labtest.Opencode, files)
	s.take("idle", "fresh")
	s.opencodeComposer("-home")
	s.say("Nothing special.")
	s.take("idle", "after-first-turn")
	s.opencodeComposer("")
	s.server.Run("copy-mode", "-t", s.Pane)
	s.take("history", "copy-mode")
	s.server.Run("send-keys", "-t", s.Pane, "-X", "cancel")
	s.Keys("Tab")
	s.take("idle", "plan-agent")
	s.Keys("Tab")
	s.take("idle", "build-agent")
	s.Keys("C-x")
	time.Sleep(150 * time.Millisecond)
	s.now("blocked", "leader-key")
	time.Sleep(3 * time.Second)
	s.WaitForIdle()
	s.take("idle", "leader-key-gone")
}

func (s *studio) opencodeComposer(place string) {
	s.suffix = place
	s.Keys("-l", "hello there")
	s.WaitForText("hello there")
	s.take("draft", "words")
	s.Keys("C-a")
	s.take("draft", "words-cursor-at-start")
	s.Keys("C-e")
	s.opencodeTyped("C-u")
	s.take("idle", "draft-cleared")
	s.Keys("-l", "   ")
	s.take("draft", "blanks")
	if place != "" { // in a session nobody can see them
		s.Keys("C-a")
		s.take("draft", "blanks-behind-the-cursor")
		s.Keys("C-e")
	}
	s.opencodeTyped("C-u")
	s.Paste("one\ntwo")
	s.take("draft", "two-lines")
	s.Keys("Up", "C-a")
	s.take("draft", "two-lines-cursor-at-start")
	s.clear()
	s.Keys("C-j")
	s.Keys("C-j")
	s.take("draft", "line-breaks")
	s.Keys("Up", "Up")
	s.take("draft", "line-breaks-cursor-at-start")
	s.clear()
	s.Paste(strings.Repeat("a long pasted line\n", 30))
	s.take("draft", "pasted-placeholder")
	s.Keys("C-a")
	s.take("draft", "pasted-placeholder-cursor-at-start")
	s.clear()
	s.Keys("-l", strings.Repeat("word ", 60))
	s.WaitForText("word word") // fast typing takes time to appear
	s.take("draft", "wrapped")
	s.clear()
	s.Keys("-l", strings.Repeat("日本語の文章です。", 12))
	s.WaitForText("日本語")
	s.take("draft", "wide-characters")
	s.clear()
	s.Keys("-l", `Ask anything… "What is this?"`)
	s.WaitForText("What is this?")
	s.Keys("C-a")
	s.take("draft", "words-of-the-ghost")
	s.clear()
	s.Keys("-l", "!")
	s.take("draft", "shell-mode")
	s.Keys("-l", "echo x")
	s.take("draft", "shell-mode-words")
	s.opencodeTyped("C-u")
	s.Keys("Escape")
	s.WaitForStill(labtest.Stillness)
	s.take("idle", "shell-mode-left")
	s.opencodeOver("slash-menu", s.press("-l", "/"))
	s.opencodeOver("slash-menu-narrowed", s.press("-l", "/mo"))
	s.opencodeOver("slash-menu-nothing", s.press("-l", "/zzzzqq"))
	s.opencodeOver("at-menu", s.press("-l", "@"))
	s.opencodeOver("at-menu-narrowed", s.press("-l", "see @fi"))
	s.opencodeOver("at-menu-nothing", s.press("-l", "see @zzzzqq"))
	s.opencodeOver("commands", s.press("C-p"))
	s.opencodeOver("command-typed", func() { s.Keys("C-p"); time.Sleep(400 * time.Millisecond); s.Keys("-l", "se") })
	s.suffix = ""
}

func TestLab_recordOpencodeOverlays(t *testing.T) {
	s := open(t, labtest.Opencode)
	for _, c := range []string{"models", "agents", "sessions", "themes", "help", "status", "connect"} {
		s.opencodeOver("home-command-"+c, s.slash(c))
	}
	s.say("Nothing special.")
	for _, c := range []string{"models", "agents", "sessions", "themes", "help", "status", "connect", "timeline", "rename", "export", "fork", "mcps", "skills"} {
		s.opencodeOver("command-"+c, s.slash(c))
	}
	s.Keys("C-x", "b")
	s.take("idle", "sidebar-toggled")
	s.Keys("C-x", "b")
	s.take("idle", "sidebar-toggled-again")
	s.slash("compact")()
	s.WaitForStill(2 * time.Second)
	s.WaitForIdle()
	s.take("idle", "compacted")
	s.slash("undo")()
	s.WaitForStill(time.Second)
	s.take("idle", "undone")
	s.slash("new")()
	s.WaitForStill(time.Second)
	s.take("idle", "new")
}

// slash opens a command by its name, typed as a person would.
func (s *studio) slash(name string) func() {
	return func() {
		s.Keys("-l", "/"+name)
		s.WaitForStill(labtest.Stillness)
		s.Keys("Enter")
		s.WaitFor("what was typed to be taken", func(c labtest.Screen) bool { return !c.Contains("┃  /" + name) })
		time.Sleep(400 * time.Millisecond)
	}
}

func TestLab_recordOpencodeTurns(t *testing.T) {
	s := open(t, labtest.Opencode, files)
	s.Prompt("[[hold]] [[say one two three four]]")
	s.WaitForText("one two")
	s.now("working", "streaming")
	s.Keys("-l", "half a thought")
	time.Sleep(400 * time.Millisecond)
	s.now("working", "draft")
	s.Keys("C-u")
	s.lab.Model.Release(s.Name)
	s.WaitForAnswer("one two three four")
	s.take("idle", "after-turn")
	s.Prompt("[[stall]] [[say late]]")
	time.Sleep(700 * time.Millisecond)
	s.now("working", "spinner")
	time.Sleep(1200 * time.Millisecond)
	s.now("working", "spinner-later")
	s.Paste("and this is queued")
	s.Enter()
	time.Sleep(700 * time.Millisecond)
	s.now("working", "queued")
	s.lab.Model.Release(s.Name)
	time.Sleep(2 * time.Second)
	s.WaitForIdle()
	s.take("idle", "after-queue")
	s.Prompt("[[hold]] [[say five six seven eight]]")
	s.WaitForText("five six")
	s.Keys("Escape")
	time.Sleep(300 * time.Millisecond)
	s.now("working", "interrupt-asked")
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "interrupted")
	s.lab.Model.Release(s.Name)
	s.opencodePermissions()
	s.Prompt("please [[ask Which colour? | red | blue]]")
	s.WaitForDialog()
	s.take("blocked", "question")
	s.Keys("Down", "Down")
	s.take("blocked", "question-own-words")
	s.Keys("Enter")
	s.take("blocked", "question-own-words-open")
	s.Keys("-l", "green")
	s.take("blocked", "question-own-words-typed")
	s.Keys("Escape")
	time.Sleep(300 * time.Millisecond)
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "after-question-refused")
	s.say(quotedOpencode)
	s.take("idle", "dialog-quoted")
	s.say(composerOpencode)
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
	s.Keys("PPage")
	s.take("idle", "scrolled-up") // typed text is visible, and goes where it should
	s.Keys("NPage", "NPage")
	s.WaitForIdle()
	s.command("!echo by hand")()
	time.Sleep(time.Second)
	s.WaitForIdle()
	s.take("idle", "pasted-bang")
	s.Keys("-l", "!")
	s.Keys("-l", "echo by hand")
	s.Keys("Enter")
	time.Sleep(1500 * time.Millisecond)
	s.WaitForIdle()
	s.take("idle", "shell-command")
	s.Prompt("[[error 400]]")
	time.Sleep(time.Second)
	s.WaitForIdle()
	s.take("idle", "after-error-400")
	s.Prompt("[[error 529]]")
	time.Sleep(1500 * time.Millisecond)
	s.now("working", "retrying")
	s.Keys("Escape")
	time.Sleep(200 * time.Millisecond)
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "after-error")
}

// opencodePermissions records each stage of the permission dialog.
func (s *studio) opencodePermissions() {
	s.Prompt("please [[bash touch proof]]")
	s.WaitForDialog()
	s.take("blocked", "permission-command")
	s.Keys("Right")
	s.take("blocked", "permission-command-always-selected")
	s.Keys("Right")
	s.take("blocked", "permission-command-reject-selected")
	s.Keys("C-f")
	s.take("blocked", "permission-command-fullscreen")
	s.Keys("C-f")
	s.WaitForStill(labtest.Stillness)
	s.Keys("Left")
	s.Keys("Enter")
	s.take("blocked", "permission-command-always")
	s.Keys("Escape")
	s.take("blocked", "permission-command-again")
	s.Keys("Escape")
	s.WaitForIdle()
	s.take("idle", "after-refusal")
	s.Prompt("please [[write " + filepath.Join(s.Work, "inside.txt") + " some words]]")
	s.WaitForDialog()
	s.take("blocked", "permission-write")
	s.Paste("AI[vm:peer] | please do not\n")
	s.take("blocked", "permission-write-after-paste")
	s.Keys("Escape")
	s.WaitForIdle()
	s.Prompt("please [[write " + filepath.Join(s.Dir, "outside.txt") + " some words]]")
	s.WaitForDialog()
	s.take("blocked", "permission-outside")
	s.Keys("Escape")
	s.WaitForIdle()
}

func TestLab_recordOpencodeTask(t *testing.T) {
	s := open(t, labtest.Opencode)
	s.Prompt(`[[tool task {"description":"look around","prompt":"[[stall]] [[say seen]]","subagent_type":"general"}]]`)
	time.Sleep(3 * time.Second)
	s.now("working", "sub-agent")
	s.Keys("C-x", "Down")
	time.Sleep(700 * time.Millisecond)
	s.now("working", "sub-agent-session")
}

func TestLab_recordOpencodeSizes(t *testing.T) {
	for suffix, size := range map[string][2]int{"-60": {60, 24}, "-80": {80, 24}, "-200": {200, 50}, "-40": {40, 12}, "-130": {130, 30}, "-12": {120, 12}} {
		t.Run(suffix, func(t *testing.T) {
			s := open(t, labtest.Opencode, labtest.Size(size[0], size[1]))
			s.suffix = suffix
			s.take("idle", "fresh")
			s.Keys("-l", "a draft")
			s.WaitForText("a draft")
			s.take("draft", "words-home")
			s.opencodeTyped("C-u")
			s.opencodeOver("slash-menu-home", s.press("-l", "/"))
			s.Prompt("[[lines 9]]")
			if size[0] < 60 { // its words wrap
				s.WaitForText("▣")
				time.Sleep(5 * time.Second)
				s.take("idle", "after-turn")
				return
			}
			s.WaitForAnswer("Line 9 of 9")
			s.take("idle", "after-turn")
			s.Keys("-l", "a draft")
			s.WaitForText("a draft")
			s.take("draft", "words")
			s.opencodeTyped("C-u")
			s.Keys("-l", "!")
			s.WaitForText("exit shell mode")
			s.take("draft", "shell-mode")
			s.Keys("Escape")
			s.WaitForStill(labtest.Stillness)
			s.opencodeOver("slash-menu", s.press("-l", "/"))
			s.opencodeOver("at-menu-nothing", s.press("-l", "see @zzzzqq"))
			s.opencodeOver("command-models", s.slash("models"))
			s.opencodeOver("commands", s.press("C-p"))
			s.Prompt("please [[bash touch proof]]")
			s.WaitForText("Permission required") // its last words may be cut off
			s.take("blocked", "permission-command")
			s.Keys("Escape")
			s.WaitForIdle()
			s.Prompt("please [[ask Which colour? | red | blue]]")
			s.WaitForDialog()
			s.take("blocked", "question")
			s.Keys("Escape")
			s.WaitForIdle()
			s.Keys("C-x", "b")
			s.WaitForStill(labtest.Stillness)
			s.t.Logf("sidebar toggled:\n%s", s.lab.Capture(s.Agent))
			s.Keys("C-x", "b")
			s.WaitForIdle()
			s.Prompt("[[hold]] [[say one two three four]]")
			s.WaitForText("one two")
			s.now("working", "streaming")
			s.lab.Model.Release(s.Name)
		})
	}
}

func TestLab_recordOpencodeSetups(t *testing.T) {
	t.Run("shell", func(t *testing.T) {
		s := open(t, labtest.Opencode, labtest.InShell())
		s.say("Good-bye then.")
		s.Keys("-l", "/exit")
		s.WaitForStill(labtest.Stillness)
		s.Keys("Enter")
		s.WaitFor("the shell", func(c labtest.Screen) bool { return c.Command != "opencode" && !c.Alternate })
		s.take("shell", "exited")
	})
	t.Run("no provider", func(t *testing.T) {
		s := launch(t, labtest.Opencode, labtest.Configured(func(a *labtest.Agent) {
			file := filepath.Join(a.Home, ".config", "opencode", "opencode.json")
			if err := a.EditJSON(file, func(c map[string]any) { delete(c, "provider"); delete(c, "model"); delete(c, "small_model") }); err != nil {
				t.Fatal(err)
			}
		}))
		s.WaitForStill(3 * time.Second)
		t.Logf("no provider:\n%s", s.lab.Capture(s.Agent))
	})
}

// Texts of one line, which the composer shows as they are.
func TestLab_recordOpencodeShort(t *testing.T) {
	s := open(t, labtest.Opencode, files)
	s.say("Something.")
	for _, name := range []string{"short", "short-wide", "short-two", "short-full", "short-150"} {
		s.own("draft", name)
	}
	for _, name := range []string{"short-at-fi", "short-at-nothing"} {
		s.put(ownLists[name])
		s.take("blocked", "own-list-"+name)
		s.Keys("Escape")
		s.WaitForStill(labtest.Stillness)
		s.clear()
	}
}
