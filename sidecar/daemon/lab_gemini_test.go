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
	l.waitsBehind(a, chat, "half a thought", []obstacle{
		{"permission", a.asks("[[bash touch proof]]", "touch proof"), a.pressed("", "Enter"), func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) }},
		{"permission refused", a.asks("[[bash rm proof]]", "rm proof"), a.pressed("", "Escape"), nil, func() { assert.FileExists(t, proof) }},
		{"a file", a.asks("[[write "+inside+" some words]]", "inside.txt"), a.pressed("", "Escape"), func() { assert.NoFileExists(t, inside) }, func() { assert.NoFileExists(t, inside) }},
		{"question", a.asks("[[ask Which colour? | red | blue]]", "Which colour?"), a.pressed("", "Escape"), nil, nil},
		{"models", func() { a.command("/model"); a.WaitForText("Select Model") }, a.pressed("", "Escape"), nil, nil},
		{"a list", a.pressed("Clear the screen", "-l", "/"), a.pressed("", "BSpace"), nil, nil},
		{"shell mode", a.pressed("shell mode enabled", "-l", "!"), a.pressed("", "Escape"), nil, nil},
		{"shortcuts", a.pressed("See /help for more", "-l", "?"), a.pressed("", "Escape"), nil, nil},
		{"a draft", a.pressed("half a thought", "-l", "half a thought"), a.pressed("", "C-u"), nil, nil},
	})
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
