package talk

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
)

// A port that takes over a message file that was emptied by hand leaves the other port's callback only if
// something else is unread there.
func TestK26_aMessageFileIsLeftToAnother(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := Home{Dir: filepath.Join(dir, ".ai-talk"), Claims: filepath.Join(dir, "claims")}
	file, alias := filepath.Join(dir, "mine.jsonl"), filepath.Join(dir, "alias")
	require.NoError(t, os.Symlink(dir, alias))
	line := Message{Text: "one"}.appendLine(nil)
	for name, left := range map[string][]byte{"nothing else": nil, "its inbox": line} {
		p, q := who.Port(freePort(t)), who.Port(freePort(t))
		require.NoError(t, who.want(p.Number, Wish{MessageFile: file}))
		_, err := p.Unwant()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(p.Inbox(), left, 0o600))
		require.NoError(t, (&appender{callback: p.Callback()}).call())

		require.NoError(t, os.WriteFile(file, line, 0o600))
		assert.Equal(t, FileError, codeOf(who.want(q.Number, Wish{MessageFile: filepath.Join(alias, "mine.jsonl")})), "by another name")
		assert.Equal(t, []string{file}, p.remembered())
		require.NoError(t, os.Remove(file))
		serves, err := claim.Take(p.claim())
		require.NoError(t, err)
		require.NoError(t, p.announce(server{Key: "key", File: file}))
		refused, _ := errors.AsType[*Error](who.want(q.Number, Wish{MessageFile: file}))
		require.NotNil(t, refused, "a listener is about to end")
		assert.Equal(t, FileError, refused.Code)
		assert.Contains(t, refused.Details["hint"], "try again in a second", "there is none to stop")
		require.NoError(t, serves.Release())

		require.NoError(t, who.want(q.Number, Wish{MessageFile: file}))
		assert.Empty(t, p.remembered())
		assert.Equal(t, left != nil, p.Unread(), name)
		_, err = q.Unwant()
		require.NoError(t, err)
		require.NoError(t, who.want(p.Number, Wish{MessageFile: file}), "and back")
		_, err = p.Unwant()
		require.NoError(t, err)
	}
}

// A message file that only cannot be read for a while is not forgotten, and no other port may have it
// meanwhile.
func TestTalk_aMessageFileThatCannotBeReadNow(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(t *testing.T, file string) (back func()){
		"its directory is away": func(t *testing.T, file string) func() {
			dir := filepath.Dir(file)
			require.NoError(t, os.Rename(dir, dir+".away"))
			return func() { require.NoError(t, os.Rename(dir+".away", dir)) }
		},
		"it has another name": func(t *testing.T, file string) func() {
			require.NoError(t, os.Link(file, file+".2"))
			return func() { require.NoError(t, os.Remove(file+".2")) }
		},
	} {
		dir := t.TempDir()
		who := Home{Dir: filepath.Join(dir, ".ai-talk"), Claims: filepath.Join(dir, "claims")}
		file, other := filepath.Join(dir, "f", "mine.jsonl"), filepath.Join(dir, "other.jsonl")
		require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
		p, q := who.Port(freePort(t)), who.Port(freePort(t))
		require.NoError(t, who.want(p.Number, Wish{MessageFile: file}))
		_, err := p.Unwant()
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, Message{Text: "one"}.appendLine(nil), 0o600))

		back := away(t, file)
		refused, _ := errors.AsType[*Error](who.want(q.Number, Wish{MessageFile: file}))
		if assert.NotNil(t, refused, name) {
			assert.Contains(t, refused.Error(), "cannot be read now", name)
			assert.NotEmpty(t, refused.Details["hint"], name)
		}
		require.NoError(t, who.want(p.Number, Wish{MessageFile: other}), name)
		_, err = p.Unwant()
		require.NoError(t, err)
		assert.Contains(t, p.remembered(), file, name)
		back()
		assert.Equal(t, []string{file}, p.earlier(p.Inbox()), name)
	}
}

// Several ports remember one file, as an earlier version let them, and each has unread messages as far as the
// others know. If a port does what it is told, it can have the file.
func TestTalk_aFileThatSeveralPortsRemember(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	who := Home{Dir: filepath.Join(dir, ".ai-talk"), Claims: filepath.Join(dir, "claims")}
	file := filepath.Join(dir, "mine.jsonl")
	p, q := who.Port(freePort(t)), who.Port(freePort(t))
	require.NoError(t, errors.Join(p.make(), q.make()))
	for _, pair := range [][2]Port{{p, q}, {q, p}} {
		require.NoError(t, os.WriteFile(file, Message{Text: "one"}.appendLine(nil), 0o600))
		for _, one := range pair {
			require.NoError(t, one.remember(file))
		}
		refused, _ := errors.AsType[*Error](who.want(pair[0].Number, Wish{MessageFile: file}))
		require.NotNil(t, refused)
		require.Contains(t, refused.Details["hint"], fmt.Sprintf("intercom talk check --port %d --clear takes them out", pair[1].Number))
		assert.Equal(t, []string{"one"}, texts(pair[1].unread(t, CheckOptions{Clear: true})))
		require.NoError(t, who.want(pair[0].Number, Wish{MessageFile: file}))
		_, err := pair[0].Unwant()
		require.NoError(t, err)
	}
}
