package repository

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An agent of that repository is not offered any more, whether or not its entry said that it was enabled; entries of others by
// its name stay as they are.
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
