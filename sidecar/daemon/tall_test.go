package daemon_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A text of many lines is seen in its composer, whose prompt has left the screen, whatever
// stands in the history by then.
func TestTextTallerThanTheScreen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ben := r.adopted("Ben", bracketed...)
	var lines []string
	for n := range 400 {
		lines = append(lines, fmt.Sprintf("line %d of a long text", n))
	}
	for range 3 {
		receipt := r.send(ben, strings.Join(lines, "\n"), api.WaitSubmitted, patience)
		assert.Equal(t, message.Submitted, receipt.State, "%v", receipt)
	}
	assert.Len(t, ben.received(), 3)
}

// The empty rows that a line editor shows for the line breaks at the end of a text are part
// of that text, and not what the program says.
func TestLineBreaksAtTheEndAreNoWords(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", bracketed...), r.adopted("Ben", bracketed...)
	chat := r.chat([]*agent{ada, ben})
	for range 3 {
		r.say(chat, "one\ntwo\n\n")
	}
	r.waitFor("both have them", func() bool { return len(ada.received()) >= 1 && len(ben.received()) >= 1 && r.open() == 0 })
	r.stays(func() bool { return len(r.turns()) == 0 })
}
