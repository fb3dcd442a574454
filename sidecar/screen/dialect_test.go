package screen

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Each agent has a complete dialect, and nothing else has a dialect.
func TestDialects(t *testing.T) {
	for _, a := range profile.Agents() {
		d, ok := dialects[a.Name]
		require.True(t, ok, "%s has no dialect", a.Name)
		assert.NotNil(t, d.judge, a.Name)
		assert.NotNil(t, d.field, a.Name)
		assert.NotNil(t, d.talk, a.Name)
		assert.NotNil(t, d.partly, a.Name)
		assert.NotNil(t, d.clear, a.Name)
		assert.NotNil(t, d.counts, a.Name)
	}
	assert.Len(t, dialects, len(profile.Agents()))
}
