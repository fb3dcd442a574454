package repository

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// yamlAgents returns the agents as a YAML library reads them, nil if the file is not YAML.
func yamlAgents(t *testing.T, r Registry) map[string]any {
	t.Helper()
	text, err := os.ReadFile(r.Path)
	require.NoError(t, err)
	all := struct{ Agents map[string]any }{map[string]any{}}
	if yaml.Unmarshal(text, &all) != nil {
		return nil
	}
	if all.Agents == nil {
		return map[string]any{}
	}
	return all.Agents
}

// AEA's list of agents is written by scripts and by hand. Whatever it contains, an agent that is added is
// found, and none of those that were found before is lost or changed.
func FuzzRegistry(f *testing.F) {
	f.Add("# AEA Agent Registry\nversion: \"1.0\"\nagents:\n  claude-a:\n    path: /a\n    enabled: true\n    description: \"A\"\n")
	f.Add("agents: {}\n")
	f.Add("agents:\n  claude-added:\n    path: '/old'\n    host: elsewhere\n  b:\n    path: /b\n    enabled: true\nmore: x\n")
	f.Add("agents: {a: {path: /a}, b: {path: /b}}\n")
	f.Add("agents:\n    a:\n        path: /a\n")
	f.Add("agents: # mine\n  a:\n    path: /a\n\"agents2\": {x: 1}\n")
	f.Add("\"agents\":\n  a: {path: /a}\n")
	f.Add("\tagents:\r\n  'q''q': \r\n      path: \"\\x2f\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		r := Registry{Path: filepath.Join(t.TempDir(), "registry.yaml")}
		require.NoError(t, os.WriteFile(r.Path, []byte(text), 0o600))
		before, err := r.List()
		if err != nil {
			return
		}
		one := Registered{ID: "claude-added", Path: "/added", Enabled: true, Description: "x"}
		wasYAML := yamlAgents(t, r)
		if _, err := r.Add(one); err != nil {
			now, err := os.ReadFile(r.Path)
			require.NoError(t, err)
			require.Equal(t, text, string(now), "what is refused changes nothing")
			return
		}
		if wasYAML != nil {
			now := yamlAgents(t, r)
			require.Contains(t, now, one.ID)
			delete(wasYAML, one.ID)
			delete(now, one.ID)
			assert.Equal(t, wasYAML, now)
		}
		found, ok := r.Find(one.ID)
		require.True(t, ok)
		assert.Equal(t, one.Path, found.Path)
		after, err := r.List()
		require.NoError(t, err)
		for _, was := range before {
			if was.ID != one.ID {
				assert.True(t, slices.Contains(after, was), "%+v is lost: %+v", was, after)
			}
		}
	})
}
