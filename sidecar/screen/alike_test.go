package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// An agent's drawing of a text certainly contains only its letters, in their order.
func TestTalk_alike(t *testing.T) {
	shown := Talk{Prompt: "fix parse in main.go\nand more", Words: "It is done:\n\n• one\n• two (https://example.org)"}
	assert.True(t, shown.Told("fix `parse` in **main.go** and more"))
	assert.False(t, shown.Told("fix `parse` in main.go"))
	assert.True(t, shown.Said("Long before.\n\nIt is **done**:\n\n- one\n- [two](https://example.org)"))
	assert.True(t, shown.Said("- [two](https://example.org)"), "the last words of several")
	assert.False(t, shown.Said("It is **done**:\n\n- one\n- three"))
	assert.False(t, shown.Said(""))
	assert.False(t, Talk{}.Said("words"))
	assert.False(t, Talk{}.Told(""))
	assert.True(t, Talk{Prompt: "?!"}.Told("?!"))
	assert.False(t, Talk{Prompt: "?!"}.Told("??"))
	assert.False(t, Talk{Prompt: "[Pasted Content 1080 chars]"}.Told("[Pasted Content 1080 chars]"))
	assert.True(t, Talk{Prompt: "caf\u00e9"}.Told("cafe\u0301"), "an accent in another form")
	assert.True(t, Talk{Prompt: "👍"}.Told("👍🏽"))
	assert.True(t, Talk{Words: "caf\u00e9"}.Said("cafe\u0301"))
	assert.True(t, Talk{Prompt: "caf\u00e9 👨👩"}.Took("cafe\u0301 👨‍👩‍👧"), "as terminals leave off what has no room")
	assert.False(t, Talk{Prompt: "café"}.Took("café au lait"))
	assert.False(t, Talk{}.Took(""))
	assert.False(t, Talk{Words: "ok"}.Telling())
	assert.True(t, Talk{Words: strings.Repeat("word ", 10)}.Telling())
}

// Panes of two widths that show the same conversation have the same key.
func TestTalk_Key(t *testing.T) {
	narrow, words := Talk{Prompt: "fix the\nparser", Words: "It is\ndone."}.Key()
	wide, same := Talk{Prompt: "fix the parser", Words: "It is done."}.Key()
	assert.Equal(t, wide, narrow)
	assert.Equal(t, same, words)
	other, _ := Talk{Prompt: "fix the parser!"}.Key()
	assert.NotEqual(t, wide, other)
}

// A text of ours beside somebody else's is recognised, whatever a terminal has dropped from it.
func TestHasPart(t *testing.T) {
	const text = "[Ada] (1): 👍🏽 cafe\u0301\nand so on"
	for stands, want := range map[string]bool{
		"[Ada] (1): 👍 café and so on, says Bob": true,
		"[Ada] (1): 👍 caf":                      true,
		"[Ada] (1): 👍 café\nsomething":          true,
		"Bob: 👍 café":                           false,
		"":                                      false,
	} {
		assert.Equal(t, want, hasPart(text, stands), "%q", stands)
	}
}
