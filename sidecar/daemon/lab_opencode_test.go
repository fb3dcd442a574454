package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// opencode and Codex, started by hand, talk five turns each way: each model receives what the
// other one said, whole, once and in order, and nothing else.
func TestLab_opencode_chat(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Opencode, labtest.Codex})
	a, b := l.agent(labtest.Opencode), l.agent(labtest.Codex)
	l.lab.Model.Converse("seed")
	l.converse(a, b, 5).check(t)
}

// Whatever opencode shows in mid-chat instead of a composer that waits, what is said to it is
// held, nothing is typed, and what is shown stays as it is; when its person has left it, the
// message comes, once.
func TestLab_S2_H1_H3_OpencodeHoldsTheMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Opencode})
	a := l.agent(labtest.Opencode)
	chat, _ := l.alone(a)
	proof, outside := filepath.Join(a.Work, "proof"), filepath.Join(a.Dir, "outside.txt")
	none := func() {}
	ask := func(text, shows string) func() {
		return func() {
			a.Prompt("please " + text)
			a.WaitForDialog()
			a.WaitForText(shows)
		}
	}
	press := func(shows string, keys ...string) func() {
		return func() {
			a.WaitForStill(labtest.Stillness)
			a.Keys(keys...)
			if shows != "" {
				a.WaitForText(shows)
			}
		}
	}
	for i, c := range []struct {
		name             string
		open, answer     func()
		before, answered func() // what is true before the answer, and behind it
	}{
		{"permission", ask("[[bash touch proof]]", "touch proof"), press("", "Enter"), func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) }},
		{"permission refused", ask("[[bash rm proof]]", "rm proof"), press("", "Escape"), none, func() { assert.FileExists(t, proof) }},
		{"always", func() { ask("[[bash rm proof]]", "rm proof")(); press("Always allow", "Right", "Enter")() }, func() { press("Permission required", "Escape")(); press("", "Escape")() }, none, func() { assert.FileExists(t, proof) }},
		{"a file", ask("[[write "+outside+" some words]]", "outside.txt"), press("", "Escape"), func() { assert.NoFileExists(t, outside) }, func() { assert.NoFileExists(t, outside) }},
		{"question", ask("[[ask Which colour? | red | blue]]", "Which colour?"), press("", "Escape"), none, none},
		{"commands", press("Commands", "C-p"), press("", "Escape"), none, none},
		{"a list", press("/agents", "/"), press("", "Escape"), none, none},
		{"shell mode", press("exit shell mode", "-l", "!"), press("", "Escape"), none, none},
		{"a draft", press("half a thought", "-l", "half a thought"), press("", "C-u"), none, none},
	} {
		c.open()
		a.WaitForStill(labtest.Stillness)
		was, heard := a.screen(), len(a.Received())
		body := fmt.Sprintf("%d: please do NOT do that [[say as you like, %d]]", i, i)
		id := l.tellAll(chat, body)
		l.waitTold(id, a, "held")
		a.keeps(was, c.name)
		trail := l.trailTo(id, a)
		t.Logf("%s: %q", c.name, trail)
		assert.NotContains(t, trail, "typed", c.name)
		assert.False(t, a.explain().MayType, c.name)
		assert.Len(t, a.Received(), heard, c.name)
		c.before()

		c.answer()
		l.waitTold(id, a, "answered")
		c.answered()
		assert.Equal(t, 1, count(a.heard(), attributed("tester", 0, []string{body})[0]), "%s: once", c.name)
	}
	for _, text := range a.heard() {
		assert.False(t, strings.Contains(text, "half a thought"), "nobody sent the draft")
	}
	time.Sleep(labtest.Stillness)
	assert.True(t, a.Idle())
}

// What stands at the end of a text opens no list, and what stands at its beginning is no
// command: each is submitted by the first Enter, once, and attaches no file.
func TestLab_S11_H73_OpencodeTakesLastWordsAsText(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Opencode})
	a := l.agent(labtest.Opencode)
	const secret = "hidden-words-of-the-file"
	require.NoError(t, a.WriteFile(filepath.Join(a.Work, "file1.txt"), secret+"\n"))
	for i, body := range []string{"see @", "see @fi", "see @zzzz", "see @file1.txt", "!ls", "/models", "cost $imag", "see /mo"} {
		id := l.mail(a, body)
		l.waitTold(id, a, "submitted")
		got := a.hears(i + 1)[i]
		assert.Equal(t, i+1, len(a.Received()), body)
		assert.Contains(t, strings.ReplaceAll(got, `\@`, "@"), body)
		a.WaitForIdle()
	}
	assert.False(t, a.requested(secret), "no file was read")
}
