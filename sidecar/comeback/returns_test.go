package comeback

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// By the time the command is run, the name of the chat may be that of another one.
func TestComeback_itsCommandMeansNoOtherChat(t *testing.T) {
	c := Comeback{Absence: Absence{
		Chat: message.Chat{ID: message.NewID(), Name: "plans", State: message.ChatOver},
		Gone: []Lost{{As: message.Participant{Name: "Ada"}, Was: message.Peer{PaneOf: message.PaneOf{Pane: "%3"}}}},
	}}
	assert.Equal(t, "Ada in %3 is back: intercom chat start --again "+c.Chat.ID.Short()+" restores chat plans", c.text(""))
	assert.Equal(t, "Ada in %3 is back: prefix + B, then g, restores chat plans", c.text("prefix + B"))
}
