package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Two real agents, whose models report what each turn used: the chat pauses with the turn that reaches its limit of tokens. The
// notice, `chat stats` and `ui` say so, and the chat goes on after a yes.
func TestLab_B8_aChatAtItsTokens(t *testing.T) {
	t.Parallel()
	const limit = 120
	st := newPeersStage(t, labtest.Claude, labtest.Codex)
	claude, codex := st.starts(labtest.Claude), st.starts(labtest.Codex)
	me := st.sit("base")
	st.Run("select-window", "-t", claude.Pane)
	out, code := st.intercom("chat", "start", claude.Pane, codex.Pane, "--set", "stall=off", "--set", fmt.Sprint("tokens=", limit), "--say", "count, both of you")
	require.Zero(t, code, out)
	chat := func() message.Chat { return st.status().Chats[0] }
	st.until("it is paused", func() bool { return chat().State == message.ChatPaused })
	me.sees(fmt.Sprintf("claude ↔ codex paused after %d tokens", chat().Spent.Counted()))

	// What the models reported for each turn, by the lab's rule: 12 tokens in, and for the words one per four characters and one
	// more.
	turns := 0
	known := func() (all, last int) {
		for _, a := range []peersAgent{claude, codex} {
			for _, x := range a.Conversation() {
				last = 13 + len(x.Answer)/4
				all += last
				turns++
			}
		}
		return all, last
	}
	all, last := known()
	spent := chat().Spent
	t.Logf("%d turns: %d known, %s", turns, all, spent)
	assert.GreaterOrEqual(t, spent.Counted(), limit)
	assert.LessOrEqual(t, spent.Counted(), all, "no more than the models said")
	assert.Less(t, spent.Counted()-limit, 2*last, "with the turn that reached it")
	assert.Contains(t, chat().Why, string(message.AtTokenLimit))

	out, code = st.intercom("chat", "stats", string(chat().ID))
	require.Zero(t, code, out)
	assert.Contains(t, out, spent.String())
	shell := st.shell()
	st.Run("select-window", "-t", shell)
	me.types(thisProgram() + " ui chats")
	me.press("Enter")
	me.sees(fmt.Sprintf("%d tokens", spent.Counted()))
	said := len(claude.Conversation()) + len(codex.Conversation())
	me.press("r")
	me.sees("y yes")
	me.press("y")
	st.until("it goes on", func() bool { return len(claude.Conversation())+len(codex.Conversation()) > said })
	st.until("to its next limit", func() bool {
		return chat().State == message.ChatPaused && chat().Spent.Counted() >= spent.Counted()+limit
	})
	assert.Contains(t, chat().Why, string(message.AtTokenLimit))
}
