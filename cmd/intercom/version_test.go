package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Programs of the same revision count as the same version, whichever of README's ways installed them.
func TestU18_theSameRevisionIsNoOtherVersion(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		one, other string
		same       bool
	}{
		{"73c0af1", "73c0af1", true},
		{"73c0af1", "v0.0.0-20261124043800-73c0af1627df", true}, // make install, and go install
		{"v0.1.0-5-g73c0af1", "v0.1.1-0.20261124043800-73c0af1627df", true},
		{"v0.1.0", "v0.1.0", true},
		{"v0.1.0", "v0.1.1", false},
		{"73c0af1", "329efbc", false},
		{"73c0af1", "73c0af1-dirty", false},
		{"73c0af1", "v0.0.0-20261124043800-73c0af1627df+dirty", false},
		{"73c0af1", "73c0af1-405718231223", false}, // the plugin, built from changed sources
		{"v0.1.0-5-g73c0af1", "v0.1.0", false},
		{"devel", "unknown", false},
		{"", "73c0af1", false},
	} {
		assert.Equal(t, c.same, sameBuild(c.one, c.other), "%s and %s", c.one, c.other)
		assert.Equal(t, c.same, sameBuild(c.other, c.one), "%s and %s", c.other, c.one)
	}
}
