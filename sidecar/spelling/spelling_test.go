package spelling

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestDistance(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"", ""}: 0, {"plan", "plan"}: 0, {"plan", "plam"}: 1, {"plan", "pln"}: 1, {"plan", "plain"}: 1, {"plan", "paln"}: 1,
		{"prority", "priority"}: 1, {"", "plan"}: 4, {"abc", "xyz"}: 3, {strings.Repeat("x", 300), "x"}: 300,
	} {
		assert.Equal(t, want, Distance(words[0], words[1]), words)
	}
}

func TestDistance_bothWays(t *testing.T) {
	words := rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := words.Draw(t, "a"), words.Draw(t, "b")
		assert.Equal(t, Distance(a, b), Distance(b, a))
		assert.Equal(t, a == b, Distance(a, b) == 0)
	})
}
