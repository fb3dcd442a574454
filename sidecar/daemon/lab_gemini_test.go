package daemon_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

// Gemini CLI and Claude Code talk in a chat, five turns each way: each hears what the other
// said, whole, once and in order.
func TestLab_gemini_chat(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Gemini, labtest.Claude})
	first, second := l.launch(labtest.Gemini), l.launch(labtest.Claude)
	first.WaitForIdle()
	second.WaitForIdle()
	l.lab.Model.Converse("seed")
	l.converse(first, second, 5).check(t)
}

// noted is what an agent writes down of what its model has said: Gemini CLI drops the joiners
// of emoji.
func (a *labAgent) noted(text string) string {
	if a.Kind == labtest.Gemini {
		text = strings.ReplaceAll(text, "\u200d", "")
	}
	return text
}

// Whatever Gemini CLI shows instead of a composer that waits, what is said to it is held,
// nothing is typed, and what is shown stays as it is; when its person has left it, the message
// comes, once.
func TestLab_S2_S5_H1_H3_H23_GeminiHoldsTheMessage(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Gemini})
	a := l.agent(labtest.Gemini)
	chat, _ := l.alone(a)
	proof, inside := filepath.Join(a.Work, "proof"), filepath.Join(a.Work, "inside.txt")
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
		{"a file", ask("[[write "+inside+" some words]]", "inside.txt"), press("", "Escape"), func() { assert.NoFileExists(t, inside) }, func() { assert.NoFileExists(t, inside) }},
		{"question", ask("[[ask Which colour? | red | blue]]", "Which colour?"), press("", "Escape"), none, none},
		{"models", func() { a.command("/model"); a.WaitForText("Select Model") }, press("", "Escape"), none, none},
		{"a list", press("Clear the screen", "-l", "/"), press("", "BSpace"), none, none},
		{"shell mode", press("shell mode enabled", "-l", "!"), press("", "Escape"), none, none},
		{"shortcuts", press("See /help for more", "-l", "?"), press("", "Escape"), none, none},
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
		assert.NotContains(t, text, "half a thought", "nobody sent the draft")
	}
}

// No form of `@name` has Gemini CLI read a file, and none at the end keeps Enter from it; each
// text is submitted exactly once, though Enter right behind a paste is lost there.
func TestLab_S11_H22_H73_H75_GeminiReadsNoFile(t *testing.T) {
	t.Parallel()
	const secret = "hidden-words-of-the-file"
	l := newLab(t, []labtest.Kind{labtest.Gemini})
	a := l.agent(labtest.Gemini)
	for _, file := range []string{a.Work + "/f.txt", a.Work + "/file1.txt", a.Dir + "/out.txt"} {
		require.NoError(t, a.WriteFile(file, secret+"\n"))
	}
	chat, _ := l.alone(a)
	for body, want := range map[string]string{
		"see (@f.txt) x@f.txt ,@f.txt please":        `see (\@f.txt) x\@f.txt ,\@f.txt please`,
		"see @f.txt please":                          `see \@f.txt please`,
		"words\n@f.txt\nmore":                        "words\n\\@f.txt\nmore",
		"see @../out.txt and @" + a.Dir + "/out.txt": `see \@../out.txt and \@` + a.Dir + "/out.txt",
		"see @fi and @file please":                   `see \@fi and \@file please`,
		"ends in @":                                  `ends in \@`,
		"ends in @fi":                                `ends in \@fi`,
		"ends in @zzzz":                              `ends in \@zzzz`,
		"ends in a backslash \\":                     `ends in a backslash \`,
		"!touch proof\n/quit":                        "!touch proof\n/quit",
	} {
		heard := len(a.Received())
		l.waitTold(l.tellAll(chat, body), a, "answered")
		require.Len(t, a.Received(), heard+1, body)
		assert.Equal(t, attributed("tester", 0, []string{want})[0], a.heard()[heard])
	}
	assert.False(t, a.requested(secret), "no file was read")
	assert.NoFileExists(t, filepath.Join(a.Work, "proof"))
}

// Messages of every size that is typed into Gemini CLI reach its model once each, intact and
// in order, several lines or one; what is longer fails, and nothing of it is typed.
func TestLab_gemini_sizes(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Gemini})
	a := l.agent(labtest.Gemini)
	chat, _ := l.alone(a)
	for i, size := range []int{10, 480, 1 << 10, 4 << 10, 8000, 10} {
		for _, between := range []string{" ", "\n"} {
			var b strings.Builder
			for n := 0; b.Len() < size; n++ {
				fmt.Fprintf(&b, "word%d of %d,%s", n, i, between)
			}
			body := strings.TrimSpace(b.String())
			heard := len(a.Received())
			l.waitTold(l.tellAll(chat, body), a, "answered")
			require.Len(t, a.Received(), heard+1)
			assert.Equal(t, attributed("tester", 0, []string{body})[0], a.heard()[heard])
		}
	}
	heard := len(a.Received())
	l.waitTold(l.tellAll(chat, strings.Repeat("far too long ", 700)), a, "failed")
	assert.Len(t, a.Received(), heard)
}
