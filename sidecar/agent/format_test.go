package agent

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Each agent has a format with everything that every agent has, and nothing else has a format.
func TestFormats(t *testing.T) {
	for _, a := range profile.Agents() {
		f, ok := formats[Kind(a.Name)]
		require.True(t, ok, "%s has no format", a.Name)
		assert.NotEmpty(t, f.npm, a.Name)
		assert.NotNil(t, f.home, a.Name)
		assert.NotNil(t, f.desk, a.Name)
		assert.NotNil(t, f.parser, a.Name)
		assert.NotNil(t, f.ask, a.Name)
		assert.NotNil(t, f.watch, a.Name)
		assert.True(t, (f.pattern == nil) != (f.archive == nil), "%s keeps its conversations either in files or elsewhere", a.Name)
	}
	assert.Len(t, formats, len(profile.Agents()))
}
