package worker

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestPattern_beginnings(t *testing.T) {
	for text, want := range map[string][]string{
		`sk-[\w-]{16,}|ghp_\w{20,}|AKIA[A-Z0-9]{16}`: {"sk-", "ghp_", "AKIA"},
		`\b(password|secret)\s*=`:                    {"password", "secret"},
		`(?i)password`:                               nil,
		`x?y`:                                        {"y"},
		`(a|b?)`:                                     nil,
		`[ab]c`:                                      {"c"},
		`.*`:                                         nil,
		``:                                           nil,
	} {
		p, err := newPattern(text)
		require.NoError(t, err)
		assert.ElementsMatch(t, want, p.literals, text)
	}
}

// A text that could not match does not match.
func TestPattern_possible(t *testing.T) {
	patterns := rapid.StringMatching(`((a|b|\(ab\|c\)|\(a\)|x)(\?|\*|\+|\{2\}|)){1,5}(\|[abc]{1,2}){0,2}`)
	texts := rapid.StringMatching(`[abcx]{0,8}`)
	rapid.Check(t, func(t *rapid.T) {
		text, in := patterns.Draw(t, "pattern"), texts.Draw(t, "text")
		if _, err := regexp.Compile(text); err != nil {
			t.Skip(err)
		}
		p, err := newPattern(text)
		require.NoError(t, err)
		if p.MatchString(in) {
			assert.True(t, p.possible(in), "%q in %q", text, in)
		}
	})
}
