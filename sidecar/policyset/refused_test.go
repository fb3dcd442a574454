package policyset

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A notice about files that cannot be used begins with what applies meanwhile, so that a terminal shows it however long
// the error is.
func TestRefused_tellsFirstWhatHolds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var shown []string
	r.o.Shown = func(text string) { shown = append(shown, text) }
	r.save("init.lua", "-- first")
	r.begin()
	r.save("init.lua", "if true then")
	r.changed(r.Context())
	require.Len(t, shown, 1)
	assert.Regexp(t, `^policy: the previous policies stay in use: init\.lua:1: `, shown[0])
}
