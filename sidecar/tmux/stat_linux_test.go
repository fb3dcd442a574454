package tmux

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cheap look at a process's group agrees with the whole one, whatever its name holds.
func TestGroupIn_agreesWithParseStat(t *testing.T) {
	for _, name := range []string{"sh", "a) R 1 2 3", "x y", strings.Repeat("n", 60)} {
		data := []byte("7 (" + name + ") S 1 42 42 34816 42 4194560 1 0 0 0 0 0 0 0 20 0 1 0 99 1 1")
		s, err := parseStat(data)
		require.NoError(t, err)
		assert.Equal(t, s.group, groupIn(data), name)
		assert.Equal(t, s.group, groupIn(data[:min(len(data), 256)]), name)
	}
	assert.Equal(t, -1, groupIn([]byte("7 (cut")))
	assert.Equal(t, -1, groupIn([]byte("7 (sh) S 1 42")))
}
