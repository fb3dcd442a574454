package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
)

// A pane is in a conversation only if its screen does not say otherwise, and says something.
func TestO5_ScreenThatGoesWithAConversation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		prompt string // that is shown
		shown  bool
		state  message.PaneState
		last   string // that is recorded; "" is unknown
		want   bool
	}{
		"the same prompt":                   {"go on", true, message.Working, "go on", true},
		"the same, at rest":                 {"go on", true, message.Idle, "go on", true},
		"drawn as Markdown":                 {"use x", true, message.Working, "use `x`", true},
		"another prompt":                    {"go on", true, message.Working, "stop", false},
		"another prompt, a dialog":          {"go on", true, message.Blocked, "stop", false},
		"an empty conversation, after /new": {"", true, message.Idle, "go on", false},
		"none in sight, at work":            {"", true, message.Working, "go on", true},
		"a dialog over it":                  {"", false, message.Blocked, "go on", true},
		"an unknown screen":                 {"", false, message.Unknown, "go on", false},
		"a mark of what was pasted":         {"[Pasted Content 1200 chars]", true, message.Working, "go on", true},
		"such a mark, at rest":              {"[Pasted Content 1200 chars]", true, message.Idle, "go on", false},
		"a command to the program":          {"/status", true, message.Idle, "go on", false},
		"a last prompt that is unknown":     {"go on", true, message.Working, "", true},
		"such a prompt, at rest":            {"go on", true, message.Idle, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, inTalk(screen.Talk{Prompt: c.prompt}, c.shown, c.state, c.last, c.last != ""))
		})
	}
}

// A transcript that two agents are bound to belongs to neither.
func TestO5_BoundToOneAlone(t *testing.T) {
	t.Parallel()
	var b bindings
	_, ok := b.writer("/a")
	assert.False(t, ok)
	b.bind("ada", "/a")
	b.bind("bob", "/b")
	id, ok := b.writer("/a")
	assert.True(t, ok)
	assert.EqualValues(t, "ada", id)
	b.bind("bob", "/a")
	_, ok = b.writer("/a")
	assert.False(t, ok, "two")
	b.unbind("ada")
	id, _ = b.writer("/a")
	assert.EqualValues(t, "bob", id)
}
