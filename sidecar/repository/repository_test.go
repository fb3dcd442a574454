package repository_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/aea"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

func TestOf(t *testing.T) {
	dir := t.TempDir()
	deep := filepath.Join(dir, "shop", "web", "src")
	require.NoError(t, os.MkdirAll(deep, 0o700))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shop", ".git"), 0o700))
	assert.Equal(t, filepath.Join(dir, "shop"), repository.Of(deep))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "shop", "web", ".aea"), 0o700))
	assert.Equal(t, filepath.Join(dir, "shop", "web"), repository.Of(deep), "the nearest")
	require.NoError(t, os.WriteFile(filepath.Join(deep, ".git"), nil, 0o600))
	assert.Equal(t, deep, repository.Of(deep), "a tree of another one's work has a file")
	assert.Equal(t, "", repository.Of(""))
	assert.Equal(t, "", repository.Of("shop/web"))
	assert.Equal(t, "", repository.Of("/gone (deleted)"))
	if os.Geteuid() == 0 {
		require.NoError(t, os.Lchown(filepath.Join(deep, ".git"), 12345, -1))
		assert.Equal(t, filepath.Join(dir, "shop", "web"), repository.Of(deep), "somebody else's is nothing to us")
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	shop := filepath.Join(dir, "shop")
	file := filepath.Join(shop, repository.ConfigFile)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	_, err := repository.Read(shop)
	assert.ErrorIs(t, err, fs.ErrNotExist)

	text := "response_policy: {issue: {high: {auto_respond: true}, low: {auto_respond: false}}}"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	c, err := repository.Read(shop)
	require.NoError(t, err)
	assert.Equal(t, text, c.Text)
	assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256([]byte(text))), c.Hash)
	_, broken := c.Problem()
	assert.False(t, broken)
	assert.Equal(t, aea.Answer, c.Holds(true).Choose("issue", "high", false).Action)
	assert.Equal(t, aea.Ask, c.Holds(false).Choose("issue", "high", false).Action)
	assert.Equal(t, aea.Ask, c.Holds(false).Choose("issue", "low", false).Action)

	require.NoError(t, os.WriteFile(file, []byte("a: b\nresponse_policy: [\n"), 0o600))
	c, err = repository.Read(shop)
	require.NoError(t, err)
	p, broken := c.Problem()
	assert.True(t, broken)
	assert.Equal(t, 2, p.Line)

	// Nothing else in its place is read or keeps anybody waiting.
	outside := filepath.Join(dir, "outside")
	require.NoError(t, os.MkdirAll(outside, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "agent-config.yaml"), []byte(text), 0o600))
	for way, c := range map[string]struct {
		make func()
		says string
	}{
		"a link out":      {func() { require.NoError(t, os.Symlink(filepath.Join(outside, "agent-config.yaml"), file)) }, "escapes"},
		"a relative link": {func() { require.NoError(t, os.Symlink("../../outside/agent-config.yaml", file)) }, "escapes"},
		"a pipe":          {func() { require.NoError(t, syscall.Mkfifo(file, 0o600)) }, "not a regular file"},
		"a directory":     {func() { require.NoError(t, os.Mkdir(file, 0o700)) }, "not a regular file"},
		"too much":        {func() { require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("#", aea.MaxConfig+1)), 0o600)) }, "more than 65536 bytes"},
	} {
		require.NoError(t, os.Remove(file))
		c.make()
		_, err = repository.Read(shop)
		assert.ErrorContains(t, err, c.says, way)
		assert.NotErrorIs(t, err, fs.ErrNotExist, way)
	}
	require.NoError(t, os.RemoveAll(filepath.Dir(file)))
	require.NoError(t, os.Symlink(outside, filepath.Dir(file)))
	_, err = repository.Read(shop)
	assert.ErrorContains(t, err, "escapes", "all of .aea leads out")
	assert.Equal(t, shop, repository.Of(shop), "it is a repository all the same, and says nothing")
}
