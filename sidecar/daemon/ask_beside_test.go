package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A participant of one chat asks a participant of another. The question goes there with the asker's last words above
// it, and the answer comes back. The other participants of both chats hear neither, and the chats go on.
func TestU24_C48_AskedFromOneChatIntoAnother(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", bracketed...), r.coder("claude", "Ben", silent...)
	cyd, dan := r.adopted("Cyd", bracketed...), r.adopted("Dan", bracketed...)
	ben.adopt("")
	main, other := r.chat([]*agent{ada, cyd}), r.chat([]*agent{ben, dan})
	ada.do(":say what I found")
	cyd.hears("[Ada] (1):\n\nwhat I found")
	ben.do(":turn say so it is")
	question := r.askUntil(ada, ben, "Is it so?")
	assert.True(t, question.Aside)
	asked := r.asked(question, api.WaitEnded)
	require.Len(t, asked.Answers, 1)
	assert.Equal(t, "so it is", asked.Answers[0].Body)
	assert.Equal(t, "Ben answered", asked.Chat.Why)
	ada.hears("[Ben] (2):\n\nso it is")
	assert.Equal(t, []string{"[Ada] (1):\n\nwhat I found\n\n[tester] (0):\n\nIs it so?"}, ben.received())

	dan.do(":say go on")
	r.waitFor("Ben hears Dan", func() bool { return len(ben.received()) == 2 })
	ada.do(":say so I thought")
	r.waitFor("Ada has taken the answer in", func() bool { return r.asked(question, "").Back.State == message.Answered })
	ada.do(":say and on")
	cyd.hears("[Ada] (1):\n\nand on")
	assert.Len(t, cyd.received(), 2, "what was said in its chat, and nothing of the question")
	assert.Equal(t, "[Dan] (2):\n\ngo on", ben.received()[1])
	assert.Empty(t, dan.received(), "the answer was not for that chat")
	for _, c := range []message.Chat{main, other} {
		assert.Equal(t, message.ChatOn, r.current(c).State)
	}
}
