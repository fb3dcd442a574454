package render

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A notice has the header of the agent that it is about. A person has no id that could stand in a header.
func TestFor_noticeOfAPersonsDecision(t *testing.T) {
	e := message.Envelope{Type: message.KindNotice, Origin: message.OriginSystem, Body: "it was rejected", From: message.Address{Computer: message.LocalComputer, Name: "root"}}
	form, own := For(e, nil)
	assert.Equal(t, "[root] (0): [notice]\n\nit was rejected", Text(form, own))
	e.From.Peer = "01a20944-b5fc-7efb-94fe-c5e964d19478"
	form, own = For(e, nil)
	assert.Equal(t, "AI[local:01a20944-b5fc-7efb-94fe-c5e964d19478] | [notice] it was rejected", Text(form, own))
}
