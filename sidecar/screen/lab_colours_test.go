package screen_test

import (
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// Terminals of few and of many colours, and other themes.
func TestLab_recordColours(t *testing.T) {
	for _, kind := range labtest.Kinds {
		c := scripts[kind]
		for _, look := range c.looks {
			t.Run(string(kind)+look.suffix, func(t *testing.T) {
				s := openOn(t, look.terminal, kind, labtest.Environ(look.variable, "CLAUDE_CODE_MAX_RETRIES=0"), look.theme)
				s.suffix = look.suffix
				s.take("idle", "fresh")
				s.Keys("-l", "hello there")
				s.WaitForText("hello there")
				s.Keys("C-a")
				s.take("draft", "words-cursor-at-start")
				s.Keys("C-e")
				s.clear()
				s.Prompt("[[hold]] [[say one two three four]]")
				s.WaitForText("one two")
				s.now("working", "streaming")
				s.lab.Model.Release(s.Name)
				s.WaitForAnswer("one two three four")
				s.take("idle", "after-turn")
				s.Prompt("please [[bash touch proof]]")
				s.WaitForDialog()
				s.take("blocked", "permission-command")
				s.Keys("Escape")
				s.home()
				if c.list.what != "" {
					s.Keys(c.list.keys...)
					s.WaitForStill(time.Second)
					s.take("blocked", c.list.what)
				}
				if c.fails == "" {
					return
				}
				s.home()
				s.Prompt("[[" + c.fails + "]]")
				s.WaitForStill(time.Second)
				s.WaitForIdle()
				s.take("idle", "after-error")
			})
		}
	}
}
