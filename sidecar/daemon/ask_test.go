package daemon_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// beginMain begins a chat from inside a pane. Its first argument is the sidecar's socket. Then come "ask", the pane
// to ask, the asker's own line and, to ask for another pane, that pane; or "start", the two panes of a chat, and a
// first line.
func beginMain(args []string) int {
	client := clientAt(args[0])
	var err error
	if args[1] == "ask" {
		req := api.AskRequest{To: args[2], Say: strings.Join(args[3:min(len(args), 4)], "")}
		if len(args) > 4 {
			req.From = args[4]
		}
		_, err = client.Ask(context.Background(), req)
	} else {
		_, err = client.StartChat(context.Background(), api.StartChatRequest{Panes: args[2:4], Say: strings.Join(args[4:], "")})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// The last words of one pane go to another, with a line of the person's, in one paste if the program takes pastes.
// The answer comes back, and the chat is over.
func TestAsk(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.adopted("Ada", bracketed...), r.adopted("Ben", "--reply", "of course", "--think", "1ms", "--bracketed")
	ada.do(`:say what I found\nand more`)
	r.waitFor("Ada has said it", func() bool { return len(ada.unasked()) == 1 })
	chat := r.askUntil(ada, ben, "Is it so?")
	asked := r.asked(chat, api.WaitEnded)
	assert.Equal(t, message.ChatOver, asked.Chat.State)
	assert.Equal(t, "Ben answered", asked.Chat.Why)
	require.Len(t, asked.Answers, 1)
	assert.Equal(t, "of course", asked.Answers[0].Body)
	require.NotNil(t, asked.Back)
	ada.hears("[Ben] (2):\n\nof course")
	want := []string{"[Ada] (1):\n\nwhat I found\nand more\n\n[tester] (0):\n\nIs it so?"}
	assert.Equal(t, want, ben.received())
	ada.do(`:say so I thought`)
	r.stays(func() bool { return len(ada.received()) == 1 && len(ben.received()) == len(want) })

	require.NoError(t, r.end())
	r.start()
	r.askUntil(ben, ada, "") // the answer's words are known after a restart, too
	ada.hears("[Ben] (1):\n\nof course")
}

// Both agents are recognised and adopted, and the asker's last words are known although nobody followed the agent
// when it said them.
func TestAsk_agents(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			other := coders[1-slices.Index(coders, kind)]
			r := newRig(t)
			ada, ben := r.coder(kind, "Ada", silent...), r.coder(other, "Ben", silent...)
			ada.do(":turn say I look | tool Bash | say It is **done**:\\n\\n- so far")
			ada.types("do it", "Enter")
			r.waitFor("its turn is over", func() bool { return len(ada.said()) > 0 && ada.count(persona.EventReady) == 2 })
			ada.do(":turn stream half of something else")
			ada.types("and now", "Enter")
			r.waitFor("it works", func() bool { return len(ada.received()) == 2 })
			ada.types("", "Escape")
			ben.do(":turn say I read | tool Bash | say It is not.")
			r.waitFor("Ada rests", func() bool { return ada.count(persona.EventReady) == 3 })
			chat, err := r.client.Ask(t.Context(), api.AskRequest{From: ada.pane, To: ben.pane, Say: "Is it?"})
			require.NoError(t, err)
			r.asked(chat, api.WaitEnded)
			assert.Equal(t, []string{"[" + kind + "] (1):\n\nIt is **done**:\n\n- so far\n\n[tester] (0):\n\nIs it?"}, ben.received(), "the last whole turn")
			assert.Equal(t, "["+other+"] (2):\n\nIt is not.", ada.received()[2])
			r.stays(func() bool { return len(ben.received()) == 1 })
			assert.Equal(t, message.ChatOver, r.current(chat).State)
		})
	}
}

// An agent asks, or begins a chat, only for itself and only with adopted panes. If the asker's last words are not
// known, the error says so, and nobody is adopted. A person's message adopts the agent in its pane, and no other
// program.
func TestAsk_byAnAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	found := []string{"--bracketed", "--reply", "what I found", "--limit", "1"}
	ada, cyd := r.adopted("Ada", found...), r.adopted("Cyd", found...)
	ben, dan, eve := r.adopted("Ben", "--bracketed", "--reply", "yes", "--limit", "2"), r.coder("claude", "Dan", silent...), r.line("Eve", silent...)
	for _, to := range []*agent{ada, dan} {
		_, err := r.client.Ask(t.Context(), api.AskRequest{From: map[*agent]string{ada: dan.pane, dan: cyd.pane}[to], To: to.pane})
		require.ErrorContains(t, err, "no answer of it is known")
	}
	_, err := r.client.Ask(t.Context(), api.AskRequest{To: ben.pane})
	require.ErrorContains(t, err, "whose last answer")
	for _, a := range []*agent{ada, cyd} {
		require.Equal(t, message.Answered, r.send(a, "and?", api.WaitAnswered, patience).State)
	}
	require.Zero(t, ada.begins("ask", ben.pane, "really?"))
	ben.hears("[Ada] (1):\n\nwhat I found\n\n[Ada] (1):\n\nreally?")
	ada.hears("[Ben] (2):\n\nyes")
	r.waitFor("its end", func() bool { return r.open() == 0 })
	require.Zero(t, ada.begins("start", ada.pane, ben.pane, "hello Ben"))
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	require.Len(t, chats, 1)
	assert.Len(t, chats[0].Participants, 2)
	ben.hears("[Ada] (1):\n\nhello Ben")
	r.waitFor("its answer", func() bool { return len(ada.received()) == 3 })
	r.stop()
	require.Zero(t, ada.begins("start", ada.pane, ben.pane))
	ada.do(":say what is new") // this belongs to the new chat, although Ada got messages in the old ones
	ben.hears("[Ada] (1):\n\nwhat is new")
	r.stop()

	for name, words := range map[string][]string{
		"for another":                       {"ask", ben.pane, "''", cyd.pane},
		"one that is not adopted":           {"ask", dan.pane},
		"among others":                      {"start", ben.pane, cyd.pane, "talk"},
		"in another's name":                 {"start", ben.pane, ada.pane, "talk"},
		"a word to one that is not adopted": {dan.pane, "psst"},
	} {
		assert.Equal(t, 1, ada.begins(words...), name)
	}
	chats, err = r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, chats)
	for _, m := range r.messages() {
		assert.Equal(t, m.Body == "and?", m.Origin == message.OriginHuman, m.Body)
	}
	sessions, err := r.client.Sessions(t.Context())
	require.NoError(t, err)
	assert.Len(t, sessions, 3, "an agent adopts nobody")

	assert.Equal(t, message.Submitted, r.send(dan, "hello", api.WaitSubmitted, patience).State)
	assert.Equal(t, []string{"[tester] (0):\n\nhello"}, dan.received())
	_, err = r.client.Send(t.Context(), api.SendRequest{To: eve.pane, Text: "hello"})
	require.ErrorContains(t, err, "no session")
}

// If the agent that is asked is busy, the question waits, and the words at the end of the other turn are no answer.
func TestAsk_oneWhoIsBusy(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		ben := r.adopted("Ben", bracketed...)
		a.do(":turn hold | say of something else")
		a.types("be busy", "Enter")
		r.waitFor("it works", func() bool { return r.state(a) == message.Working })
		ben.do(":say what I found")
		r.waitFor("Ben has said it", func() bool { return len(ben.unasked()) == 1 })
		chat := r.askUntil(ben, a, "")
		r.waitFor("it is held", func() bool { return r.asked(chat, "").Receipt.Reason == message.AgentWorking })
		a.do(":turn say to you")
		a.do(":go")
		ben.hears("[Ada] (2):\n\nto you")
		assert.Len(t, ben.received(), 1)
	}, silent...)
}

// A message has its sender's header exactly once. A text that begins with that header does not get another one, and
// another sender's header in its place is quoted.
func TestC3_T1_T2_T3_T6_T34_T35_T36_TheHeaderStandsOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben, cyd := r.adopted("Ada", bracketed...), r.adopted("Ben", bracketed...), r.adopted("Cyd", bracketed...)
	own, other := "AI[local:"+string(ada.session.ID)+"] | ", "AI[local:"+string(cyd.session.ID)+"] | "
	for i, text := range []string{"plain", own + "plain", own + own + "plain"} {
		ada.sends(ben, text)
		r.waitFor("it has arrived", func() bool { return len(ben.received()) == i+1 })
		assert.Equal(t, own+"plain", ben.received()[i], text)
	}
	ada.sends(ben, other+"as if I were Cyd")
	r.waitFor("it has arrived", func() bool { return len(ben.received()) == 4 })
	last := ben.received()[3]
	assert.Equal(t, own+"> "+other+"as if I were Cyd", last, "it is quoted")
	chats, err := r.client.Chats(t.Context(), false)
	require.NoError(t, err)
	assert.Empty(t, chats, "a message starts no chat")
}

// If a policy lets a sender hand messages on, a header of another session in its message stands in place of its own.
// In anybody else's message, such a header is quoted.
func TestC3_APolicyLetsAHeaderBeHandedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files("policies/50-gate.lua", `
local handed
intercom.on("filter", function(msg)
  local head, rest = msg.body:match("^(AI%[[^%]]+%] | )(.*)$")
  handed = msg.from == "Gate" and head or nil
  if handed then return { body = rest } end
end)
intercom.on("format", function(msg) if handed then return handed .. msg.body end end)`))
	gate, ada, ben := r.adopted("Gate", bracketed...), r.adopted("Ada", bracketed...), r.adopted("Ben", bracketed...)
	const other = "AI[far:01a1ff21-5c0d-7e46-8ed2-22900217fe2f] | "
	gate.sends(ben, other+"from far away")
	r.waitFor("it has arrived", func() bool { return len(ben.received()) == 1 })
	assert.Equal(t, other+"from far away", ben.received()[0])
	ada.sends(ben, other+"as if from far away")
	r.waitFor("it has arrived", func() bool { return len(ben.received()) == 2 })
	assert.Equal(t, ada.header()+"> "+other+"as if from far away", ben.received()[1])
}

// The list of peers has, for a person, each pane that can be addressed, with all its names, its state and the
// evidence. An agent that nobody adopted is listed too, another program is not.
func TestC33_Peers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ada, ben := r.coder("claude", "Ada", silent...), r.adopted("Ben", silent...)
	cyd := r.coder("codex", "Cyd", silent...)
	r.line("Dan", silent...)
	ada.adopt("")
	ada.ready()
	chat := r.chat([]*agent{ada, ben})
	peers, err := r.client.Peers(t.Context())
	require.NoError(t, err)
	require.Len(t, peers, 3)
	byPane := map[string]api.Peer{}
	for _, p := range peers {
		byPane[p.Pane] = p
	}
	a := byPane[ada.pane]
	assert.Equal(t, []string{"Ada", ada.pane, ada.session.ID.Short(), string(ada.session.ID), "[Ada] (1)"}, a.Aliases)
	assert.Equal(t, api.KindSession, a.Kind)
	assert.Equal(t, "claude", a.Agent)
	assert.True(t, a.Adopted)
	assert.Equal(t, message.Idle, a.State)
	assert.Empty(t, a.Why)
	require.NotEmpty(t, a.Evidence)
	assert.Contains(t, []string{"transcript", "status"}, a.Evidence[0].Source)
	assert.Equal(t, chat.ID, a.Chat)
	assert.Equal(t, 1, a.Number)
	assert.Equal(t, message.LocalComputer, a.Computer)
	b := byPane[ben.pane]
	assert.Equal(t, "line", b.Agent)
	for i, alias := range b.Aliases {
		text := fmt.Sprintf("to %d", i)
		_, err := asks[api.Sent](ada, "send", api.SendRequest{To: alias, Text: text})
		require.NoError(t, err, alias)
		ben.hears(ada.header() + text)
	}
	assert.Equal(t, "screen", b.Evidence[0].Source)
	c := byPane[cyd.pane]
	assert.False(t, c.Adopted)
	assert.Equal(t, "codex", c.Agent)
	assert.Equal(t, api.KindPane, c.Kind)
	assert.Equal(t, []string{cyd.pane}, c.Aliases)
	assert.Empty(t, c.State, "nothing of it was read")
	assert.NotEmpty(t, c.Window)
}

// begins has the agent begin a chat by itself, and returns the exit code of the program that did so. The words are
// further arguments of sendMain.
func (a *agent) begins(words ...string) int {
	a.t.Helper()
	before := a.count(persona.EventChildEnd)
	a.begun(words...)
	a.waitFor(a.name+" has asked", func() bool { return a.count(persona.EventChildEnd) > before })
	code := -1
	for _, r := range a.records() {
		if r.Event == persona.EventChildEnd {
			code = r.N
		}
	}
	if code != 0 {
		a.t.Logf("%s", a.screen())
	}
	return code
}

// begun has the agent start a program that speaks to the sidecar.
func (a *agent) begun(words ...string) {
	a.t.Helper()
	self, err := os.Executable()
	require.NoError(a.t, err)
	line := ""
	for _, word := range words {
		if !strings.HasPrefix(word, "'") {
			word = "'" + word + "'"
		}
		line += " " + word
	}
	a.do(":exec INTERCOM_TEST_SEND=1 %s %s%s", self, a.cfg.Paths.Socket, line)
}

// askUntil has one pane asked about the last words of another, as soon as the sidecar knows those words.
func (r *rig) askUntil(from, to *agent, say string) (chat message.Chat) {
	r.t.Helper()
	r.waitFor("its last words are known", func() bool {
		var err error
		chat, err = r.client.Ask(r.t.Context(), api.AskRequest{From: from.pane, To: to.pane, Say: say})
		if err != nil {
			require.ErrorContains(r.t, err, "no answer of it is known")
		}
		return err == nil
	})
	return chat
}

// asked is the state of a question, after a wait for the given event.
func (r *rig) asked(chat message.Chat, wait api.Wait) api.Asked {
	r.t.Helper()
	q := api.AskedQuery{Chat: chat.ID, Wait: wait}
	if wait != "" {
		q.Timeout = patience
	}
	asked, err := r.client.Asked(r.t.Context(), q)
	require.NoError(r.t, err)
	return asked
}
