package trust_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/trust"
)

func TestList(t *testing.T) {
	one, two, three := strings.Repeat("1a", 32), strings.Repeat("2b", 32), strings.Repeat("3c", 32)
	l := trust.In(filepath.Join(t.TempDir(), "state", "intercom"))
	assert.False(t, l.Trusted("a place/of policy.lua", one), "there is no list yet")
	require.NoError(t, l.Add(one, "/p/a place/of policy.lua"))
	require.NoError(t, l.Add(two, "/q/a place/of policy.lua"))
	assert.True(t, l.Trusted("a place/of policy.lua", one))
	assert.True(t, l.Trusted("a place/of policy.lua", two))
	assert.False(t, l.Trusted("a place/of policy.lua", three))
	assert.False(t, l.Trusted("a place/of policy.lua", ""))
	assert.False(t, l.Trusted("another.yaml", two), "it was seen as something else")
	assert.False(t, l.Trusted("place/of policy.lua", two))
	info, err := os.Stat(l.Path())
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode())

	require.NoError(t, l.Add(three, "/p/a place/of policy.lua"))
	assert.True(t, l.Trusted("a place/of policy.lua", three))
	assert.False(t, l.Trusted("a place/of policy.lua", one), "what the file had before")
	require.NoError(t, l.Add(three, "/another/a place/of policy.lua"))
	require.NoError(t, l.Remove(three, "/p/a place/of policy.lua"))
	assert.False(t, l.Trusted("a place/of policy.lua", three), "in no file")
	assert.True(t, l.Trusted("a place/of policy.lua", two))

	// What a file had before it was changed, or went, can be taken back still.
	assert.True(t, l.Listed("", "/q/a place/of policy.lua"))
	assert.True(t, l.Listed(two, "/elsewhere/a place/of policy.lua"))
	assert.False(t, l.Listed("", "/p/a place/of policy.lua"))
	assert.False(t, l.Listed(three, "/p/a place/of policy.lua"))

	assert.Error(t, l.Add("x", "/p"))
	assert.Error(t, l.Add(one, "/p\n"+three+" /q"))

	// A list that others can write, or that is none, trusts nothing and is not changed.
	require.NoError(t, os.Chmod(l.Path(), 0o620))
	assert.False(t, l.Trusted("a place/of policy.lua", two))
	assert.ErrorContains(t, l.Add(one, "/p"), "only you can write")
	require.NoError(t, os.Chmod(l.Path(), 0o600))
	assert.True(t, l.Trusted("a place/of policy.lua", two))
	moved := l.Path() + ".moved"
	require.NoError(t, os.Rename(l.Path(), moved))
	require.NoError(t, os.Symlink(moved, l.Path()))
	assert.False(t, l.Trusted("a place/of policy.lua", two))
	require.NoError(t, os.Remove(l.Path()))
	require.NoError(t, os.WriteFile(l.Path(), []byte("nonsense\n\n"+two+" /q/a place/of policy.lua\n"), 0o600))
	assert.True(t, l.Trusted("a place/of policy.lua", two))
}
