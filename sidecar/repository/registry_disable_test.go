package repository

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent of that repository is no longer offered, whether or not its entry said that it was enabled. Entries
// of others with its name stay as they are.
func TestRegistry_disable(t *testing.T) {
	for name, one := range map[string]struct{ before, after string }{
		"enabled":       {"    path: /src/one\n    enabled: true\n", "    path: /src/one\n    enabled: false\n"},
		"nothing said":  {"    path: /src/one\n", "    enabled: false\n    path: /src/one\n"},
		"of another":    {"    path: /src/two\n    enabled: true\n", "    path: /src/two\n    enabled: true\n"},
		"and elsewhere": {"    path: /src/one\n    enabled: true\n  ada:\n    path: /src/one\n    host: desk\n    enabled: true\n", "    path: /src/one\n    enabled: false\n  ada:\n    path: /src/one\n    host: desk\n    enabled: true\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Registry{Path: filepath.Join(t.TempDir(), "agents.yaml")}
			const head, tail = "version: \"1.0\"\nagents:\n  ada:\n", "\n  ben:\n    path: /src/ben\n    enabled: true # yes\n"
			require.NoError(t, os.WriteFile(r.Path, []byte(head+one.before+tail), 0o600))
			require.NoError(t, r.Disable("ada", "/src/one"))
			text, err := os.ReadFile(r.Path)
			require.NoError(t, err)
			assert.Equal(t, head+one.after+tail, string(text))
		})
	}
}

// A list that a person keeps elsewhere, behind a link, stays there. Of entries that are added at once, none is
// lost.
func TestRegistry_byALinkAndAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	kept, r := filepath.Join(dir, "dotfiles", "agents.yaml"), Registry{Path: filepath.Join(dir, "agents.yaml")}
	require.NoError(t, os.Symlink("dotfiles/agents.yaml", r.Path)) // which is not there yet
	const many = 20
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() { assert.NoError(t, r.Add(Registered{ID: fmt.Sprintf("agent-%d", i), Path: "/src/one"})) })
	}
	all.Wait()
	require.NoError(t, r.Disable("agent-0", "/src/one"))
	target, err := os.Readlink(r.Path)
	require.NoError(t, err)
	assert.Equal(t, "dotfiles/agents.yaml", target)
	found, err := Registry{Path: kept}.List()
	require.NoError(t, err)
	assert.Len(t, found, many)
	_, ok := r.Find("agent-0")
	assert.False(t, ok)
}
