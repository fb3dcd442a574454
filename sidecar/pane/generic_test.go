package pane

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What is new above a composer stands below what was there, which may have moved up under a head that
// stays. If nothing of that is left, nobody knows what else is missing.
func TestNewer(t *testing.T) {
	for _, c := range []struct {
		name, before, now, want string
		whole                   bool
	}{
		{"nothing", "a b", "a b", "", true},
		{"below", "a b", "a b c d", "c d", true},
		{"the first of all", "", "c", "c", true},
		{"moved up", "a b c", "c d", "d", true},
		{"moved up under a head", "head a b c", "head b c d", "d", true},
		{"repeated", "a a", "a a a", "a", true},
		{"all has gone", "a b", "x y", "x y", false},
		{"all has gone under a head", "head a b", "head x y", "x y", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, whole := newer(strings.Fields(c.before), strings.Fields(c.now))
			assert.Equal(t, c.want, strings.Join(lines, " "))
			assert.Equal(t, c.whole, whole)
		})
	}
}

// The text that a program was given is no words of its own, however it frames and wraps it.
func TestWithout(t *testing.T) {
	text := "[Ada] (1): one two three "
	answer := []string{"● one two", ""}
	for _, shown := range [][]string{
		{"❯ [Ada] (1): one two three"},
		{"> [Ada] (1): one", "  two three"},
		{"│ [Ada] (1): one two │", "│ three              │"},
	} {
		assert.Equal(t, answer, without(append(shown, answer...), text))
	}
	assert.Equal(t, answer, without(answer, text))
}

func TestChromeless(t *testing.T) {
	said := "\n────\nwords\n──── a rule of its own\nTokens: few\n"
	assert.Equal(t, "words", chromeless(said, []string{"────", "Tokens: "}))
	assert.Equal(t, said, chromeless(said, nil))
}
