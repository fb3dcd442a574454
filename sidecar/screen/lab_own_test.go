package screen_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// script holds what differs between agents in how a text gets into a composer and out again.
type script struct {
	clear  func(s *studio)          // removes a draft of any length
	unput  func(s *studio)          // removes a draft while the agent answers, and lets it finish
	unlist func(s *studio)          // removes a draft that has opened a list
	lists  func(name string) string // the label of that text of ownLists; "": it is not recorded
	home   bool                     // it looks different before its first turn
	sizes  map[string][2]int        // sizes of the pane, by suffix of the recordings' names
	low    []string                 // texts that are recorded in a pane of few rows
	fits   bool                     // long texts are fitted to the part that it shows
	proven []string                 // texts that its model must get unchanged
	slow   bool                     // only in panes of one size when time is short
	looks  []appearance
	list   list   // a list that is recorded in each of them; empty: none
	fails  string // the directive that makes its model fail; "": it retries for too long
}

type (
	appearance struct {
		suffix, terminal, variable string
		theme                      labtest.Option
	}
	list struct {
		what string
		keys []string
	}
)

var scripts = map[labtest.Kind]script{}

func init() { // the scripts use the studio, which uses the scripts
	scripts[labtest.Claude], scripts[labtest.Codex] = claudeScript, codexScript
	scripts[labtest.Gemini], scripts[labtest.Opencode] = geminiScript, opencodeScript
}

// opens names the agents that show a text as it was pasted.
func opens(kind labtest.Kind) func(name string) string {
	return func(name string) string {
		if opensList(kind, name) {
			return "blocked"
		}
		return "draft"
	}
}

// files puts files into the directory of an agent, to be found by its lists.
var files = labtest.Configured(func(a *labtest.Agent) {
	for _, name := range []string{"file1.txt", "figure.md"} {
		if err := a.WriteFile(filepath.Join(a.Work, name), "words\n"); err != nil {
			panic(err)
		}
	}
})

// own records the composer with a text of ours in it, and clears it.
func (s *studio) own(label, name string) {
	s.t.Helper()
	s.put(ownTexts[name])
	s.take(label, "own-"+name)
	s.clear()
}

// put pastes a text and waits until it appears.
func (s *studio) put(text string) {
	s.t.Helper()
	before, a := strings.Join(s.lab.Capture(s.Agent).Plain, "\n"), agentOf(s.t, s.Kind)
	s.Paste(text)
	s.WaitFor("the paste", func(c labtest.Screen) bool {
		return strings.Join(c.Plain, "\n") != before && screen.JudgeOwn(newRecording(s.Kind, "", "", c).view(), a, text) != screen.Absent
	})
}

func agentOf(t testing.TB, kind labtest.Kind) profile.Agent {
	t.Helper()
	return agentNamed(t, string(kind))
}

func TestLab_recordOwn(t *testing.T) {
	for _, kind := range labtest.Kinds {
		c := scripts[kind]
		for suffix, size := range c.sizes {
			t.Run(string(kind)+suffix, func(t *testing.T) {
				s, a := open(t, kind, labtest.Size(size[0], size[1]), files), agentOf(t, kind)
				if c.home {
					s.suffix = suffix + "-home"
					s.own("draft", "line")
					s.own("draft", "p500")
					s.say("Something.")
				}
				s.suffix = suffix
				for name, text := range ownTexts {
					fits := suffix == "" || ownEverywhere[name]
					if suffix == "-12" {
						fits = slices.Contains(c.low, name)
					}
					if fits && len(text) <= a.InlineMax {
						s.own("draft", name)
					}
				}
				view := newRecording(kind, "", "", s.lab.Capture(s.Agent)).view()
				for _, name := range []string{"p500", "lines10"} {
					if !c.fits {
						break
					}
					fitted, ok := screen.Fitted(view, a, ownTexts[name])
					require.True(t, ok)
					s.put(fitted)
					s.take("draft", "own-fitted-"+name)
					s.clear()
				}
				if suffix != "" && suffix != "-60" {
					return
				}
				for name, text := range ownLists {
					if label := c.lists(name); label != "" {
						s.put(text)
						s.take(label, "own-list-"+name)
						c.unlist(s)
					}
				}
				s.Prompt("[[lines 60]]")
				s.WaitForAnswer("Line 60 of 60")
				s.own("draft", "below-answer")
			})
		}
	}
}

func TestLab_recordOwnStates(t *testing.T) {
	for _, kind := range labtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			s := open(t, kind)
			s.Prompt("[[hold]] [[say one two three four]]")
			s.WaitForText("one two")
			s.put(ownTexts["line"])
			time.Sleep(500 * time.Millisecond)
			s.now("working", "own-streaming")
			scripts[kind].unput(s)
			s.Prompt("please [[stall]] [[bash touch proof]]")
			time.Sleep(time.Second)
			s.put(ownTexts["line"])
			time.Sleep(500 * time.Millisecond)
			s.now("working", "own-working")
			s.lab.Model.Release(s.Name)
			s.WaitForDialog()
			time.Sleep(labtest.Stillness)
			s.now("blocked", "own-under-dialog")
			s.Keys("Escape")
			s.WaitFor("its own text", func(c labtest.Screen) bool {
				return screen.JudgeOwn(newRecording(kind, "", "", c).view(), agentOf(t, kind), ownTexts["line"]) != screen.Absent
			})
			time.Sleep(time.Second)
			s.now("draft", "own-after-dialog")
			s.clear()
			s.put(ownTexts["line"])
			s.Keys("C-a")
			s.take("draft", "own-elsewhere-cursor-at-start")
			s.Keys("C-e")
			s.Keys("-l", "!")
			s.take("draft", "own-elsewhere-and-a-letter")
			s.clear()
			s.Keys("-l", "mine ")
			s.put(ownTexts["line"])
			s.take("draft", "own-elsewhere-behind-a-draft")
			s.clear()
			s.put(ownTexts["p2k"])
			s.put(ownTexts["p2k"])
			s.take("draft", "own-elsewhere-twice")
			s.clear()
			s.put(ownTexts["p2k"])
			s.Keys("-l", "x")
			s.take("draft", "own-elsewhere-placeholder-and-a-letter")
			s.clear()
		})
	}
}

// More than a draft of ours.
func TestLab_recordOwnSetups(t *testing.T) {
	t.Run("vim", func(t *testing.T) {
		s := open(t, labtest.Claude, vimKeys)
		s.put(ownTexts["line"])
		s.take("draft", "vim-own-insert")
		s.Keys("Escape")
		s.take("draft", "vim-own-normal")
		c := open(t, labtest.Codex)
		c.command("/vim")()
		c.Keys("-l", "i")
		c.put(ownTexts["line"])
		c.take("draft", "vim-own-insert")
		c.Keys("Escape")
		c.take("draft", "vim-own-normal")
	})
	t.Run("status line", func(t *testing.T) {
		s := open(t, labtest.Claude, statusLine)
		s.WaitForText("second row")
		s.suffix = "-status-line"
		s.own("draft", "line")
	})
	t.Run("main screen", func(t *testing.T) {
		s := open(t, labtest.Claude, files, labtest.Environ("CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN=1", "CLAUDE_CODE_NO_FLICKER=0"))
		s.suffix = "-main-screen"
		s.own("draft", "line")
		s.own("draft", "lines10")
		s.put(ownLists["at-fi"])
		s.take("blocked", "own-list-at-fi")
		s.clear()
		c := open(t, labtest.Codex, files, labtest.Arguments("--no-alt-screen"))
		c.suffix = "-main-screen"
		c.own("draft", "line")
		c.own("draft", "lines10")
		c.put(ownLists["at-fi"])
		c.take("blocked", "own-list-at-fi")
		c.clear()
	})
}

// Texts of ours, typed as the sidecar does: pasted, with Enter as soon as they are Whole. The model gets every text
// once and unchanged, whatever the size of the pane.
func TestLab_ownTextIsProvenBeforeEnter(t *testing.T) {
	t.Parallel()
	for _, kind := range labtest.Kinds {
		c := scripts[kind]
		for _, suffix := range []string{"", "-60", "-12"} {
			if suffix != "" && c.slow && os.Getenv("INTERCOM_LONG") == "" {
				break
			}
			t.Run(string(kind)+suffix, func(t *testing.T) {
				t.Parallel()
				provesOwn(t, kind, c.sizes[suffix], c.proven...)
			})
		}
	}
}

// provesOwn types texts of ours into an agent in a pane of that size: pasted, with Enter when they are Whole and
// have settled.
func provesOwn(t *testing.T, kind labtest.Kind, size [2]int, names ...string) {
	t.Helper()
	lab, a := labtest.New(t, kind), agentOf(t, kind)
	agent := lab.Start(tmuxtest.NewServer(t, tmuxtest.Versions(t)[0]), kind, labtest.Size(size[0], size[1]), files)
	if a.Settle > 0 {
		agent.WaitForStill(2 * time.Second)
	}
	look := func() screen.View { return newRecording(kind, "", "", lab.Capture(agent)).view() }
	for _, name := range names {
		agent.WaitFor("a composer to type into", func(labtest.Screen) bool { return screen.Judge(look(), a).MayType })
		text, ok := screen.Fitted(look(), a, ownTexts[name])
		require.True(t, ok, name)
		require.Equal(t, screen.Absent, screen.JudgeOwn(look(), a, text), name)
		agent.Paste(text)
		agent.WaitFor("its own text "+name, func(labtest.Screen) bool { return screen.JudgeOwn(look(), a, text) == screen.Whole })
		require.NotEmpty(t, screen.OwnTail(look(), a), name)
		heard := len(agent.Received())
		for len(agent.Received()) == heard {
			time.Sleep(a.Settle)
			breaks := screen.Breaks(look(), a, text)
			agent.Keys("Enter")
			agent.WaitFor("its model", func(labtest.Screen) bool {
				return len(agent.Received()) > heard || screen.Breaks(look(), a, text) > breaks
			})
		}
		require.Len(t, agent.Received(), heard+1, name)
		want, got := strings.TrimSpace(ownTexts[name]), agent.Received()[heard]
		switch kind {
		case labtest.Gemini:
			require.Equal(t, want, strings.TrimSpace(got), name)
		case labtest.Claude: // it replaces tabs by blanks, and may compose characters
			alike := strings.NewReplacer("\t", "    ", "e\u0301", "é")
			require.Contains(t, alike.Replace(got), alike.Replace(want), name)
		default:
			require.Contains(t, got, want, name)
		}
	}
}

// vimKeys and statusLine change the settings of Claude Code.
var vimKeys = claudeSettings(func(c map[string]any) { c["editorMode"] = "vim" })

var statusLine = claudeSettings(func(c map[string]any) {
	c["statusLine"] = map[string]any{"type": "command", "command": `printf '\033[32m❯ main\033[0m · 3 files · $0.12\n1. second row ─────'`}
})

func claudeSettings(change func(c map[string]any)) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		if err := a.EditJSON(filepath.Join(a.Home, ".claude", "settings.json"), change); err != nil {
			panic(err)
		}
	})
}

// codexSettings changes the settings of Codex.
func codexSettings(replace ...string) labtest.Option {
	return labtest.Configured(func(a *labtest.Agent) {
		file := filepath.Join(a.Home, ".codex", "config.toml")
		text, err := os.ReadFile(file)
		if err == nil {
			err = a.WriteFile(file, strings.NewReplacer(replace...).Replace(string(text)))
		}
		if err != nil {
			panic(err)
		}
	})
}
