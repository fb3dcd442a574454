package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// Claude Code, Codex and a line program in one chat: each hears what the others said, word for word, once, under its
// attribution, and nothing else. An agent's turn answers the messages that it got.
func TestChatOfTwoAgentsAndALineProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, bob, cyd := r.coder("claude", "Ada", silent...), r.coder("codex", "Bob", silent...), r.line("Cyd", bracketed...)
	ada.adopt("")
	bob.adopt("")
	cyd.adopt("line-paste")
	r.chat([]*agent{ada, bob, cyd}, unlimited...)

	long := func(name string) string {
		return name + " has a list:\n\n- one `code`\n- two **bold**\n\n\tand 日本語, é, 100 %" + strings.Repeat("\nand more of it", 90)
	}
	said := map[*agent]string{ada: long("Ada"), bob: long("Bob")}
	for a, words := range said {
		a.do(":turn say %s", strings.ReplaceAll(strings.ReplaceAll(words, "\n", `\n`), "\t", `\t`))
	}
	cyd.do(`:say begin,\nyou two`)
	for _, a := range []*agent{ada, bob} {
		a.gets("[Cyd] (3):\n\nbegin,\nyou two")
	}
	taken := func(a *agent, words string) string { // Claude Code turns tabs into blanks
		if a == ada {
			return strings.ReplaceAll(words, "\t", "    ")
		}
		return words
	}
	ada.gets(taken(ada, "[Bob] (2):\n\n"+said[bob]))
	bob.gets("[Ada] (1):\n\n" + said[ada])
	r.waitFor("Cyd heard both", func() bool { return len(partsOf(cyd)) == 2 })
	assert.ElementsMatch(t, []string{"[Ada] (1):\n\n" + said[ada], "[Bob] (2):\n\n" + said[bob]}, partsOf(cyd))
	r.waitFor("all is answered", func() bool { return r.open() == 0 && answeredBy(r, ada) == 2 && answeredBy(r, bob) == 2 })
	assert.Len(t, partsOf(ada), 2)
	assert.Len(t, partsOf(bob), 2)

	bodies := map[string]bool{}
	for _, m := range r.messages() {
		bodies[m.From.Name+": "+m.Body] = true
	}
	assert.Equal(t, map[string]bool{"Ada: " + said[ada]: true, "Bob: " + said[bob]: true, "Cyd: begin,\nyou two": true}, bodies)
	for _, receipt := range r.receipts() {
		switch receipt.State {
		case message.Answered:
			assert.Contains(t, []string{"", said[ada], said[bob]}, receipt.Words)
		case message.Submitted:
			if receipt.Target != cyd.session.ID {
				// If the transcript is late, the screen is the evidence.
				assert.Regexp(t, "^(consumed: |emptied: .*, and the agent works$)", receipt.Evidence[0].Says, told(receipt))
			}
		case message.Failed, message.Uncertain, message.Expired:
			t.Errorf("%s", told(receipt))
		}
	}
}

// A text that is taller than the composer, but too short for the agent to show a mark in its place, is taken whole
// and once.
func TestTextTallerThanTheComposer(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		text := "all of it:" + strings.Repeat("\nline", 30)
		if a.session.Profile == "claude" { // Claude Code shows a mark for three lines
			text = strings.Repeat("word and ", 75) + "end"
		}
		id := r.post(a, text)
		r.told(id, "submitted")
		assert.Equal(t, []string{"[tester] (0):\n\n" + text}, a.received())
		r.told(r.post(a, "hello"), "submitted")
	}, silent...)
}

// answeredBy counts the deliveries to an agent that were answered.
func answeredBy(r *rig, a *agent) (n int) {
	for _, receipt := range r.receipts() {
		if receipt.Target == a.session.ID && receipt.State == message.Answered {
			n++
		}
	}
	return n
}

// Two agents that answer by themselves are adopted by the start of their chat, and take six turns in all. Each hears
// every turn of the other once and in order, and none of its own.
func TestStandInsTalk(t *testing.T) {
	t.Parallel()
	eachTransport(t, func(t *testing.T, r *rig) {
		a, b := r.coder("claude", "Ada", parrot(3)...), r.coder("codex", "Bob", parrot(3)...)
		chat := r.chatSaying("hello", []*agent{a, b})
		waitUpTo(t, 2*patience, "six turns", func() bool { return len(a.said())+len(b.said()) == 6 })
		assertHeard(t, b, "[tester] (0):\n\nhello", "[claude] (1):\n\n", a.said())
		assertHeard(t, a, "", "[codex] (2):\n\n", b.said())
		assert.Equal(t, message.ChatOn, r.current(chat).State)
	})
}

// assertHeard waits until an agent has received all that another said, after the message in first, and asserts that
// it received nothing else.
func assertHeard(t *testing.T, a *agent, first, head string, said []string) {
	t.Helper()
	var want []string
	if first != "" {
		want = append(want, first)
	}
	for _, words := range said {
		want = append(want, head+words)
	}
	waitUpTo(t, patience, a.name+" heard all", func() bool { return len(a.received()) >= len(want) })
	assert.Equal(t, want, a.received(), a.name)
}

// The words of a turn are the text after its last tool call; with words = "all" they are all of its text.
func TestWordsBetweenTools(t *testing.T) {
	t.Parallel()
	inTheTable(t, "agent/turn_test.go: TestMachine_wordsAreTheTextAfterTheLastToolCall", "relay/interrupted_test.go: TestSpoke_wordsOfAll")
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		turn := ":turn say I look | tool Bash | say I look again | tool Bash | say Found it. | say All is well."
		chat, ben := a.inChat()
		a.do("%s", turn)
		r.say(chat, "look")
		ben.gets("[Ada] (1):\n\nFound it.\n\nAll is well.")
		r.stop()
		r.chat([]*agent{a, ben}, append(slices.Clone(unlimited), "words=all")...)
		a.do("%s", turn)
		a.types("look once more", "Enter")
		ben.gets("[Ada] (1):\n\nI look\n\nI look again\n\nFound it.\n\nAll is well.")
		assert.Len(t, a.relayed(), 2)
	}, silent...)
}

// One turn is one message, also if a hook reports it too, before or after the transcript does, and if a sub-agent
// speaks in between.
func TestOneTurnIsOneMessage(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		chat, ben := a.inChat()
		a.do(":turn say one")
		r.say(chat, "begin")
		ben.gets("[Ada] (1):\n\none")
		thread := a.thread()
		for n, early := range []bool{true, false} {
			words := fmt.Sprintf("word %d", n)
			heard := fmt.Sprintf("[Ada] (1):\n\n%s", words)
			a.do(":turn stream %s", words)
			a.types("go on", "Enter")
			r.waitFor("it works", func() bool { return r.state(a) == message.Working })
			if !early {
				a.do(":go")
				ben.gets(heard)
			}
			a.hook(message.Hook{Event: stopOf(a), Thread: thread, Words: words})
			if early {
				a.do(":go")
				ben.gets(heard)
			}
		}
		a.do(":turn say I ask somebody | side a sub-agent's words | hold | say They say so.")
		a.types("ask", "Enter")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		a.hook(message.Hook{Event: stopOf(a), Thread: "another", Words: "a sub-agent's words"})
		a.do(":go")
		ben.gets("[Ada] (1):\n\nI ask somebody\n\nThey say so.")
		r.looked(func() bool { return len(a.relayed()) == 4 })
		assert.Len(t, partsOf(ben), 5, "and a person's word: %q", ben.received())
	}, silent...)
}

// An agent begins its conversation anew during a chat. The others hear the new conversation, hear nothing of the old
// one again, and do not hear the turn that was cut off.
func TestAnotherConversationInMidChat(t *testing.T) {
	t.Parallel()
	eachCoder(t, func(t *testing.T, r *rig, a *agent) {
		chat, ben := a.inChat()
		a.do(":turn say of the first")
		r.say(chat, "begin")
		ben.gets("[Ada] (1):\n\nof the first")
		first := a.thread()
		a.types(map[string]string{"claude": "/clear", "codex": "/new"}[a.session.Profile], "Enter")
		a.do(":turn say of the second")
		r.say(chat, "and now")
		ben.gets("[Ada] (1):\n\nof the second")
		r.waitFor("another transcript", func() bool { return a.thread() != first })
		a.do(":turn stream never to the end")
		r.say(chat, "go on")
		a.gets("[tester] (0):\n\ngo on")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		a.do(":clear")
		a.do(":turn say of the third")
		r.say(chat, "once more")
		ben.gets("[Ada] (1):\n\nof the third")
		a.relays("of the first", "of the second", "of the third")
		assert.Equal(t, []string{"[tester] (0):\n\nbegin", "[tester] (0):\n\nand now", "[tester] (0):\n\ngo on", "[tester] (0):\n\nonce more"}, a.received())
	}, silent...)
}

// A turn that a person interrupts, or in which the model's service fails, is not relayed: the chat gets a notice, the
// message stays unanswered, and its author is told. The next turn is heard as always.
func TestATurnCutShort(t *testing.T) {
	t.Parallel()
	inTheTable(t, "agent/turn_test.go: TestMachine_interruptedAndFailedTurnsAreMarked", "relay/interrupted_test.go: TestCut_unanswered")
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		_, ben := a.inChat()
		for i, cut := range []struct{ turn, why, notice string }{
			{":turn stream half of an answer", "failed: interrupted by a person", "Ada was interrupted; nothing was relayed"},
			{":turn say half of it | fail", "failed: the service of its model failed", "Ada's model service failed; nothing was relayed"},
		} {
			a.do("%s", cut.turn)
			question := fmt.Sprintf("question %d", i)
			ben.do(":say %s", question)
			a.gets("[Ben] (2):\n\n" + question)
			if strings.Contains(cut.turn, "stream") {
				r.waitFor("it works", func() bool { return r.state(a) == message.Working })
				a.types("", "Escape")
			}
			id := r.idOf(question)
			r.told(id, cut.why)
			assert.Contains(t, r.notices(), cut.notice)
			r.waitFor("its author hears of it", func() bool {
				return len(ben.received()) == i+1 && strings.Contains(ben.received()[i], "your message was not answered")
			})
		}
		assert.Empty(t, a.relayed())
		a.do(":turn say whole")
		ben.do(":say and now")
		ben.gets("[Ada] (1):\n\nwhole")
		assert.Len(t, ben.received(), 3)
	}, silent...)
}

// idOf is the id of the last message with that body.
func (r *rig) idOf(body string) (id message.ID) {
	r.t.Helper()
	for _, m := range r.messages() {
		if m.Body == body {
			id = m.ID
		}
	}
	require.NotEmpty(r.t, id, "a message %q", body)
	return id
}

// The others do not hear a prompt that a person types into a pane by hand, only its answer, unless the chat has
// person=on. The depth begins anew. A muted participant is not heard.
func TestAPersonsOwnPrompt(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		chat, ben := a.inChat()
		depth := func(body string) int {
			i := slices.IndexFunc(r.messages(), func(m message.Envelope) bool { return m.Body == body })
			require.GreaterOrEqual(t, i, 0, body)
			return r.messages()[i].Depth
		}
		a.do(":turn say to you, Ben")
		ben.do(":say to Ada")
		ben.gets("[Ada] (1):\n\nto you, Ben")
		a.do(":turn say to my person")
		a.types("a question of my own", "Enter")
		ben.gets("[Ada] (1):\n\nto my person")
		assert.Greater(t, depth("to you, Ben"), depth("to my person"), "a person's word begins anew")
		assert.NotContains(t, strings.Join(ben.received(), "\n"), "a question of my own")

		_, err := r.client.MuteMember(t.Context(), api.MemberRequest{Chat: string(chat.ID), Pane: a.pane})
		require.NoError(t, err)
		a.do(":turn say in private")
		a.types("between us", "Enter")
		r.waitFor("its turn is over", func() bool { return slices.Contains(a.said(), "in private") && r.state(a) == message.Idle })
		r.stop()
		r.chat([]*agent{a, ben}, append(slices.Clone(unlimited), "person=on")...)
		a.do(":turn say to all of you")
		a.types("for all to hear", "Enter")
		ben.gets("[Ada] (1):\n\nto all of you")
		assert.Contains(t, partsOf(ben), "[tester] (0):\n\nfor all to hear")
		a.relays("to you, Ben", "to my person", "to all of you")
	}, silent...)
}

// The messages that wait for a working agent go to it in one paste, each under its own attribution, and its next turn
// answers all of them.
func TestV11_FiveMessagesInOnePasteToAnAgent(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		r.Run("resize-window", "-t", a.pane, "-x", "100", "-y", "50") // the composer shows all of it
		chat, ben := a.inChat()
		a.do(":turn hold")
		a.types("be busy", "Enter")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		var want []string
		for n := range 5 {
			ben.do(":say word %d", n)
			want = append(want, fmt.Sprintf("[Ben] (2):\n\nword %d", n))
			r.told(r.waitsFor(fmt.Sprintf("word %d", n)), map[bool]string{true: "held: agent working", false: "queued"}[n == 0])
		}
		assert.Equal(t, 1, a.enters(), "the person's")
		a.do(":turn say all of it")
		a.do(":go")
		ben.gets("[Ada] (1):\n\nall of it")
		require.Len(t, a.received(), 2)
		assert.Equal(t, want, parts(a.received()[1]))
		assert.Equal(t, 1, a.count(persona.EventPaste))
		r.waitFor("all are answered", func() bool { return answeredBy(r, a) == 5 })
		assert.Equal(t, message.ChatOn, r.current(chat).State)
	}, silent...)
}

// waitsFor waits for a message with that body, and returns its id.
func (r *rig) waitsFor(body string) message.ID {
	r.t.Helper()
	r.waitFor(body, func() bool {
		return slices.ContainsFunc(r.messages(), func(m message.Envelope) bool { return m.Body == body })
	})
	return r.idOf(body)
}
