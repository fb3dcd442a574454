package profile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWith(t *testing.T) {
	p, err := Line().With(map[string]any{
		"quiet": 1.5, "settle": "2s", "inline_max": 100.0, "line_break": " / ", "chrome": []any{"| "}, "continuations": []string{"> "},
	})
	require.NoError(t, err)
	assert.Equal(t, []any{1500 * time.Millisecond, 2 * time.Second, 100, " / ", []string{"| "}, []string{"> "}},
		[]any{p.Quiet, p.Settle, p.InlineMax, p.LineBreak, p.Chrome, p.Continuations})
	assert.NotEqual(t, p.Chrome, Line().Chrome, "the table stays as it is")
	for _, bad := range []map[string]any{
		{"settle": -1.0},
		{"taken_within": "1ms"},
		{"quiet": "soon"},
		{"quiet": true},
		{"quiet": 1e9},
		{"inline_max": 1e9},
		{"inline_max": 1.5},
		{"line_break": "\n"},
		{"chrome": "x"},
		{"chrome": []any{1.0}},
		{"chrome": []string{""}},
		{"reads": "bracketed"},
		{"End": "x"},
	} {
		_, err := Line().With(bad)
		assert.ErrorContains(t, err, "profile line: ", "%v", bad)
	}
}

func TestKnown(t *testing.T) {
	for _, name := range append(Names(), "claude", "codex", "gemini", "opencode") {
		p, ok := Known(name)
		assert.True(t, ok && p.Name == name, name)
	}
	_, ok := Known("emacs")
	assert.False(t, ok)
}
