package pane

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A message is not typed alike everywhere: a text that was typed into another agent, too, tells
// nothing, whatever stands around it there.
func TestBindings_tellsByWhatWasTypedIntoNoOther(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, theirs, ours string
		want               bool
	}{
		{"the same", "go on", "go on", false},
		{"filled up with blanks", "go on", "go on" + strings.Repeat(" ", 1000), false},
		{"filled up with line breaks", "go on" + strings.Repeat("\n", 10), "go on", false},
		{"together with another message", "go on\n\nand say why", "go on", false},
		{"of two messages the one", "say why", "go on\n\nsay why", false},
		{"another", "go on", "stop", true},
	} {
		var b bindings
		b.noteTyped("bob", tt.theirs, noon)
		b.noteTyped("ada", tt.ours, noon)
		assert.Equal(t, tt.want, b.tells("ada", tt.ours, noon.Add(sameTextFor-1)), tt.name)
		assert.True(t, b.tells("ada", tt.ours, noon.Add(sameTextFor)), "%s, long ago", tt.name)
	}
}
