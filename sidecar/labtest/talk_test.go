package labtest_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
)

func TestTalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed, agent := rapid.String().Draw(t, "seed"), rapid.StringMatching(`[a-z]{1,6}`).Draw(t, "agent")
		n := rapid.IntRange(1, 1000).Draw(t, "n")
		said := labtest.Talk(seed, agent, n)
		assert.Equal(t, said, labtest.Talk(seed, agent, n), "known beforehand")
		mark := fmt.Sprintf("%s-%d: ", agent, n)
		assert.True(t, strings.HasPrefix(said, mark))
		assert.Equal(t, 1, strings.Count(said, mark))
		assert.NotContains(t, said, "[[", "nobody takes it for a directive")
		assert.Equal(t, strings.TrimSpace(said), said, "clients trim what they are given")
		for _, other := range []string{labtest.Talk(seed, agent, n+1), labtest.Talk(seed, agent+"x", n), labtest.Talk(seed+"x", agent, n)} {
			assert.NotEqual(t, strings.TrimPrefix(said, mark), other[strings.Index(other, ": ")+2:])
		}
	})
}

func TestTalk_forms(t *testing.T) {
	var all strings.Builder
	longest := 0
	for n := 1; n <= 9; n++ {
		said := labtest.Talk("seed", "bob", n)
		longest = max(longest, strings.Count(said, "\n"))
		all.WriteString(said)
	}
	for _, form := range []string{"```", "\t", "|---|", "漢", "🧑‍🔬", "❯ 1. Yes", "/exit", "! is", "[Alice] (7):"} {
		assert.Contains(t, all.String(), form)
	}
	assert.Greater(t, longest, 50, "one is longer than a screen")
}
