package profile

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAgents(t *testing.T) {
	for _, a := range Agents() {
		found, ok := AgentByName(a.Name)
		assert.True(t, ok)
		assert.Equal(t, a, found)
		assert.NotEmpty(t, a.Verified)
		for _, name := range a.Processes {
			byProcess, ok := AgentByProcess("/usr/bin/" + name)
			assert.True(t, ok)
			assert.Equal(t, a.Name, byProcess.Name)
			_, _, refused := Refuse(name)
			assert.False(t, refused)
		}
		assert.NotEmpty(t, a.Marks.Live)
		assert.NotEmpty(t, a.Composer.Glyph)
	}
	_, ok := AgentByName("Claude")
	assert.False(t, ok, "names are exact")
	_, ok = AgentByProcess("node")
	assert.False(t, ok)
}
