package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The last words of a real agent, said before anybody followed it, go to another one with a line of the person's, as
// one prompt. The answer comes back, and nothing further goes across. The same holds while both are in chats, which
// hear nothing of it, and go on.
func TestLab_U24_Ask(t *testing.T) {
	t.Parallel()
	l := newLab(t, []labtest.Kind{labtest.Claude, labtest.Codex})
	claude, codex := l.agent(labtest.Claude), l.agent(labtest.Codex)
	claude.says("[[say It is **done**:\n\n- one é 日本\n- two]]")
	codex.says("[[say I am ready.]]")
	ask := func(from, to *labAgent, name, other, last, answer string) {
		heard, back := len(to.Received()), len(from.Received())
		line := "[[say " + answer + "]]"
		chat, err := l.client.Ask(l.Context(), api.AskRequest{From: from.Pane, To: to.Pane, Say: line})
		require.NoError(l, err)
		asked, err := l.client.Asked(l.Context(), api.AskedQuery{Chat: chat.ID, Wait: api.WaitEnded, Timeout: labtest.Patience})
		require.NoError(l, err)
		assert.Equal(l, message.ChatOver, asked.Chat.State, "%+v", asked.Receipt)
		assert.Equal(l, message.Answered, asked.Receipt.State)
		require.Len(l, asked.Answers, 1)
		assert.Equal(l, answer, asked.Answers[0].Body)
		require.NotNil(l, asked.Back)
		to.hears(heard + 1)
		from.hears(back + 1)
		assert.Equal(l, to.typed("["+name+"] (1):\n\n"+last+"\n\n[tester] (0):\n\n"+line), to.heard()[heard])
		assert.Equal(l, "["+other+"] (2):\n\n"+answer, from.heard()[back])
		from.WaitForIdle()
		to.WaitForIdle()
		assert.Len(l, to.Received(), heard+1, "nothing further goes across")
	}
	ask(claude, codex, "claude", "codex", "It is **done**:\n\n- one é 日本\n- two", "It is not.")
	// Codex's answer is now its last words, which go with the next question.
	answers := codex.Answers()
	ask(codex, claude, "codex", "claude", answers[len(answers)-1], "Why not?")

	mine, ben := l.alone(claude)
	theirs, cyd := l.alone(codex)
	answers = claude.Answers()
	ask(claude, codex, "claude", "codex", answers[len(answers)-1], "Because it rains.")
	for _, chat := range []message.Chat{mine, theirs} {
		assert.Equal(l, message.ChatOn, l.current(chat).State)
	}
	claude.says("[[say This is for the chat.]]")
	codex.says("[[say So is this.]]")
	ben.hears("[claude] (1):\n\nThis is for the chat.")
	cyd.hears("[codex] (1):\n\nSo is this.")
	assert.Len(l, ben.received(), 1, "nothing of the question")
	assert.Len(l, cyd.received(), 1, "nor of the answer")
}
