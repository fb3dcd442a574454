package daemon_test

import (
	"path/filepath"
	"strings"
	"testing"

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
	l.waitsBehind(a, chat, "half a thought", []obstacle{
		{"permission", a.asks("[[bash touch proof]]", "touch proof"), a.pressed("", "Enter"), func() { assert.NoFileExists(t, proof) }, func() { assert.FileExists(t, proof) }},
		{"permission refused", a.asks("[[bash rm proof]]", "rm proof"), a.pressed("", "Escape"), nil, func() { assert.FileExists(t, proof) }},
		{"always", func() { a.asks("[[bash rm proof]]", "rm proof")(); a.pressed("Always allow", "Right", "Enter")() }, func() { a.pressed("Permission required", "Escape")(); a.pressed("", "Escape")() }, nil, func() { assert.FileExists(t, proof) }},
		{"a file", a.asks("[[write "+outside+" some words]]", "outside.txt"), a.pressed("", "Escape"), func() { assert.NoFileExists(t, outside) }, func() { assert.NoFileExists(t, outside) }},
		{"question", a.asks("[[ask Which colour? | red | blue]]", "Which colour?"), a.pressed("", "Escape"), nil, nil},
		{"commands", a.pressed("Commands", "C-p"), a.pressed("", "Escape"), nil, nil},
		{"a list", a.pressed("/agents", "/"), a.pressed("", "Escape"), nil, nil},
		{"shell mode", a.pressed("exit shell mode", "-l", "!"), a.pressed("", "Escape"), nil, nil},
		{"a draft", a.pressed("half a thought", "-l", "half a thought"), a.pressed("", "C-u"), nil, nil},
	})
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
