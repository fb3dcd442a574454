package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A row of an editor may end before a character on whose width the editor and tmux disagree, but not after it.
func TestS29_RowsThatEditorsKeep(t *testing.T) {
	prompt, err := Literal("ada> ")
	require.NoError(t, err)
	family, x := "👩‍👩‍👧", strings.Repeat("x", 70)
	for text, want := range map[string]bool{
		family + " end": true, x + x + x: true, strings.Repeat("漢", 100): true,
		x + " is long " + family + " end":           true,
		x + family:                                  false, // its cells may end the row
		x[:68] + family:                             true,
		family + x + x:                              false,
		"one\n" + family + "\nthree " + x:           true,
		"one\n" + x + x + "\n" + family + x + "\n4": false,
		"❤️" + x + family + x:                       false,
		strings.Repeat(family, 30):                  false,
		strings.Repeat(family+"\n", 30):             true,
	} {
		assert.Equal(t, want, Straight(prompt, text, 80), "%q", text)
		for enough := max(1, StraightFrom(prompt, text)); enough < 400; enough++ {
			assert.True(t, Straight(prompt, text, enough), "%q at %d", text, enough)
		}
	}
	unsure, err := Pattern(`\[\d+\]> `)
	require.NoError(t, err)
	assert.True(t, Straight(unsure, family, 80))
	assert.False(t, Straight(unsure, x+" "+family, 80), "where it begins nobody knows")
	assert.False(t, Straight(prompt, "one\n"+strings.Repeat("x", 72)+family, 80), "with a continuation prompt or without one")
}
