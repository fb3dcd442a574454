package daemon_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// While Gemini CLI shows anything but a composer that waits, a message is held, nothing is typed, and its screen
// stays as it is. When its person has left that, the message comes once.
func TestLab_S2_S5_H1_H3_H5_H23_GeminiHoldsTheMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Gemini})
	a := l.agent(labtest.Gemini)
	chat, _ := l.alone(a)
	proof, inside := filepath.Join(a.Work, "proof"), filepath.Join(a.Work, "inside.txt")
	l.waitsBehind(a, chat, "half a thought", []obstacle{
		{"permission", a.asks("[[bash touch proof]]", "touch proof"), a.pressed("", "Enter"), func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) }},
		{"permission refused", a.asks("[[bash rm proof]]", "rm proof"), a.pressed("", "Escape"), nil, func() { assert.FileExists(t, proof) }},
		{"a file", a.asks("[[write "+inside+" some words]]", "inside.txt"), a.pressed("", "Escape"), func() { assert.NoFileExists(t, inside) }, func() { assert.NoFileExists(t, inside) }},
		{"question", a.asks("[[ask Which colour? | red | blue]]", "Which colour?"), a.pressed("", "Escape"), nil, nil},
		{"models", func() { a.command("/model"); a.WaitForText("Select Model") }, a.pressed("", "Escape"), nil, nil},
		{"a list", a.pressed("Clear the screen", "-l", "/"), a.pressed("", "BSpace"), nil, nil},
		{"shell mode", a.pressed("shell mode enabled", "-l", "!"), a.pressed("", "Escape"), nil, nil},
		{"shortcuts", a.pressed("See /help for more", "-l", "?"), a.pressed("", "Escape"), nil, nil},
		{"plan", func() {
			a.command("/plan")
			a.WaitForText("plan")
			a.WaitForIdle()
			a.asks("[[plan First this. Then that.]]", "First this. Then that.")()
			a.WaitFor("the plan, which is loaded a moment later", func(s labtest.Screen) bool {
				return slices.ContainsFunc(s.Plain, func(row string) bool { return strings.Contains(row, "First this.") && !strings.Contains(row, "[[plan") })
			})
		}, a.pressed("", "Escape"), nil, nil},
		{"a draft", a.pressed("half a thought", "-l", "half a thought"), a.pressed("", "C-u"), nil, nil},
	})
}

// While opencode shows anything but a composer that waits, a message is held, nothing is typed, and its screen stays
// as it is. When its person has left that, the message comes once.
func TestLab_S2_H1_H3_OpencodeHoldsTheMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Opencode})
	a := l.agent(labtest.Opencode)
	chat, _ := l.alone(a)
	proof, outside := filepath.Join(a.Work, "proof"), filepath.Join(a.Dir, "outside.txt")
	l.waitsBehind(a, chat, "half a thought", []obstacle{
		{"permission", a.asks("[[bash touch proof]]", "touch proof"), a.pressed("", "Enter"), func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) }},
		{"permission refused", a.asks("[[bash rm proof]]", "rm proof"), a.pressed("", "Escape"), nil, func() { assert.FileExists(t, proof) }},
		{"always", func() { a.asks("[[bash rm proof]]", "rm proof")(); a.pressed("Always allow", "Right", "Enter")() }, func() { a.pressed("Permission required", "Escape")(); a.pressed("", "Escape")() }, nil, func() { assert.FileExists(t, proof) }},
		{"a file", a.asks("[[write "+outside+" some words]]", "outside.txt"), a.pressed("", "Escape"), func() { assert.NoFileExists(t, outside) }, func() { assert.NoFileExists(t, outside) }},
		{"question", a.asks("[[ask Which colour? | red | blue]]", "Which colour?"), a.pressed("", "Escape"), nil, nil},
		{"commands", func() {
			a.pressed("Commands", "C-p")()
			a.WaitFor("the cursor of its list", func(s labtest.Screen) bool { return s.CursorVisible }) // which comes late on a busy machine
		}, a.pressed("", "Escape"), nil, nil},
		{"a list", a.pressed("/agents", "/"), a.pressed("", "Escape"), nil, nil},
		{"shell mode", a.pressed("exit shell mode", "-l", "!"), a.pressed("", "Escape"), nil, nil},
		{"a draft", a.pressed("half a thought", "-l", "half a thought"), a.pressed("", "C-u"), nil, nil},
	})
}

// obstacle is something that an agent shows instead of a composer that waits.
type obstacle struct {
	name             string
	open, answer     func()
	before, answered func() // checks before the answer, and after it; nil is none
}

// asks has the agent's model ask for something, and waits until that is shown.
func (a *labAgent) asks(text, shows string) func() {
	return func() {
		a.Prompt("please " + text)
		a.WaitForDialog()
		a.WaitForText(shows)
	}
}

// pressed has a person press keys when the screen keeps still, and waits until shows is on the screen.
func (a *labAgent) pressed(shows string, keys ...string) func() {
	return func() {
		a.WaitForStill(labtest.Stillness)
		a.Keys(keys...)
		if shows != "" {
			a.WaitForText(shows)
		}
	}
}

// waitsBehind has a message wait behind each obstacle: nothing is typed, and the screen stays as it is. When the
// person has left the obstacle, the message comes once. Nobody sends a draft that stood there.
func (l *labRig) waitsBehind(a *labAgent, chat message.Chat, draft string, all []obstacle) {
	l.Helper()
	for i, c := range all {
		a.drawn()
		c.open()
		still := 3 * labtest.Stillness // some agents draw a dialog before the words that precede it
		if a.Kind == labtest.Opencode {
			still *= 3 // opencode draws those late on a busy machine
		}
		a.WaitForStill(still)
		was, heard := a.screen(), len(a.Received())
		body := fmt.Sprintf("%d: please do NOT do that [[say as you like, %d]]", i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "held")
		a.keeps(was, c.name)
		trail := l.trailTo(id, a)
		l.Logf("%s: %q", c.name, trail)
		assert.NotContains(l, trail, "typed", c.name)
		assert.False(l, a.explain().MayType, c.name)
		assert.Len(l, a.Received(), heard, c.name)
		if c.before != nil {
			c.before()
		}
		c.answer()
		l.waitTold(id, a, "answered")
		if c.answered != nil {
			c.answered()
		}
		assert.Equal(l, 1, count(a.heard(), attributed("tester", 0, []string{body})[0]), "%s: once", c.name)
	}
	for _, text := range a.heard() {
		assert.NotContains(l, text, draft, "nobody sent the draft")
	}
	a.WaitForIdle() // nothing is under way
}
