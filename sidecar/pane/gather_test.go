package pane

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// Messages of two chats, one of them a question beside the other, do not make one prompt, since one turn would answer in both.
// Single messages go with either.
func TestGather_oneChatAtATime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		chats []message.ID // of what waits
		want  int          // so many of it go together
	}{
		"one chat":                {[]message.ID{"chat", "chat"}, 2},
		"single messages":         {[]message.ID{"", ""}, 2},
		"and a chat":              {[]message.ID{"", "chat", "", "chat"}, 4},
		"a question beside it":    {[]message.ID{"chat", "chat", "question", "chat"}, 2},
		"before it":               {[]message.ID{"question", "chat"}, 1},
		"a single one in between": {[]message.ID{"question", "", "chat"}, 2},
	} {
		core := coreOf("a", "b", "c", "d")
		core.prof.Reads = profile.Bracketed
		core.queue = core.queue[:len(c.chats)]
		for i, chat := range c.chats {
			core.queue[i].Chat = chat
		}
		parts, acts := core.gather(noon, line())
		assert.Len(t, parts, c.want, name)
		assert.Empty(t, acts, name)
	}
}
