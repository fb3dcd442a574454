package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// However many chats begin and end, the looks of the latest endedMost are remembered, and no others.
func TestLooks_areOfTheLatestChats(t *testing.T) {
	var l looks
	looked := 0
	captures := func(message.ID) int { return looked }
	chats := make([]message.Chat, 3*endedMost)
	for i := range chats {
		c := message.Chat{ID: message.NewID(), State: message.ChatOn, Participants: []message.Participant{{Peer: "a"}}}
		l.note(c, captures)
		looked += 2
		assert.Equal(t, 2, l.of(c, captures))
		c.State = message.ChatOver
		l.note(c, captures)
		l.note(c, captures) // a repetition changes nothing
		chats[i] = c
	}
	looked += 5
	assert.Equal(t, 2, l.of(chats[len(chats)-1], captures))
	assert.Equal(t, 2, l.of(chats[len(chats)-endedMost], captures))
	assert.Equal(t, 0, l.of(chats[len(chats)-endedMost-1], captures))
	assert.Len(t, l.over, endedMost)
	assert.Len(t, l.ended, endedMost)
	assert.Empty(t, l.began)
}

// The looks at a pane count once, however often its session left the chat and came back.
func TestLooks_countEachPaneOnce(t *testing.T) {
	var l looks
	looked := 3
	captures := func(message.ID) int { return looked }
	c := message.Chat{ID: message.NewID(), State: message.ChatOn, Participants: []message.Participant{{Peer: "a", Left: true}, {Peer: "a"}}}
	l.note(c, captures)
	looked += 2
	assert.Equal(t, 2, l.of(c, captures))
	c.State = message.ChatOver
	l.note(c, captures)
	assert.Equal(t, 2, l.of(c, captures))
}
