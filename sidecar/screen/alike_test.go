package screen

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// What an agent draws of a text has its letters, in their order, and nothing else of it for
// sure.
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
	assert.False(t, Talk{Words: "ok"}.Telling())
	assert.True(t, Talk{Words: strings.Repeat("word ", 10)}.Telling())
}
