package repository

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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
		all.Go(func() {
			_, err := r.Add(Registered{ID: fmt.Sprintf("agent-%d", i), Path: "/src/one"})
			assert.NoError(t, err)
		})
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

// A list of agents in a form that is not ours to change stays as it is, and the error says so. One that is
// changed keeps its mode.
func TestRegistry_addLosesNothing(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		text  string
		added bool
	}{
		"flow style":          {"agents: {a: {path: /a}, b: {path: /b}}\n", false},
		"indented by 4":       {"agents:\n    a:\n        path: /a\n", false},
		"quoted":              {"\"agents\":\n  a:\n    path: /a\n", false},
		"flow style, no YAML": {"agents: {a: {path: /a}\n", false},
		"empty":               {"agents: {}\n", true},
		"nothing yet":         {"version: 1\nagents: ~ # none\n", true},
		"ours":                {"agents: # mine\n  a:\n    path: /a\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Registry{Path: filepath.Join(t.TempDir(), "agents.yaml")}
			require.NoError(t, os.WriteFile(r.Path, []byte(one.text), 0o600))
			_, err := r.Add(Registered{ID: "ada", Path: "/src/one"})
			if one.added {
				require.NoError(t, err)
				_, ok := r.Find("ada")
				assert.True(t, ok)
				require.NoError(t, r.Disable("ada", "/src/one"))
			} else {
				require.ErrorContains(t, err, "by hand")
				text, err := os.ReadFile(r.Path)
				require.NoError(t, err)
				assert.Equal(t, one.text, string(text))
			}
			info, err := os.Stat(r.Path)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		})
	}
}

// An agent that is added takes no other one's place: the name stays with whoever has it, here or on another computer. One
// that is gone or not enabled gives way, and is named.
func TestRegistry_nameOfAnother(t *testing.T) {
	t.Parallel()
	there, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	for name, one := range map[string]struct {
		had   string
		taken string // who has the name
		was   string // whose place it takes
	}{
		"here":              {"    path: " + there + "\n    enabled: true\n", there, ""},
		"elsewhere":         {"    host: desk\n    path: /src/ada\n    method: ssh\n    enabled: true\n", "desk:/src/ada", ""},
		"elsewhere, as one": {"    host: desk\n    path: /src/one\n    enabled: true\n", "desk:/src/one", ""},
		"not enabled":       {"    path: " + there + "\n    enabled: false\n", "", there},
		"gone":              {"    path: " + gone + "\n    enabled: true\n", "", gone},
		"its own":           {"    path: /src/one\n    enabled: true\n    description: \"mine\"\n", "", ""},
		"its own, disabled": {"    path: /src/one\n    enabled: false\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Registry{Path: filepath.Join(t.TempDir(), "agents.yaml")}
			text := "agents:\n  ada:\n" + one.had + "  ben:\n    path: /src/ben\n"
			require.NoError(t, os.WriteFile(r.Path, []byte(text), 0o600))
			was, err := r.Add(Registered{ID: "ada", Path: "/src/one"})
			assert.Equal(t, one.was, was.Path)
			if one.taken == "" {
				require.NoError(t, err)
				found, ok := r.Find("ada")
				assert.True(t, ok)
				assert.Equal(t, "/src/one", found.Path)
			} else {
				require.ErrorContains(t, err, fmt.Sprintf("%q already belongs to %q", "ada", one.taken))
			}
			now, err := os.ReadFile(r.Path)
			require.NoError(t, err)
			if one.taken != "" || name == "its own" {
				assert.Equal(t, text, string(now))
			}
		})
	}
}

// Of two repositories that are added at once by one name, one has it, and the other is told so.
func TestRegistry_oneNameAtOnce(t *testing.T) {
	t.Parallel()
	r := Registry{Path: filepath.Join(t.TempDir(), "agents.yaml")}
	const many = 10
	var all sync.WaitGroup
	var added, taken atomic.Int32
	for range many {
		dir := t.TempDir()
		all.Go(func() {
			_, err := r.Add(Registered{ID: "ada", Path: dir})
			if _, is := errors.AsType[*TakenError](err); is {
				taken.Add(1)
			} else if assert.NoError(t, err) {
				added.Add(1)
			}
		})
	}
	all.Wait()
	assert.Equal(t, int32(1), added.Load())
	assert.Equal(t, int32(many-1), taken.Load())
}
