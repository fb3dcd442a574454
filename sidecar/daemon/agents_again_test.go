package daemon_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An agent that is restarted in its pane: its chat of two ends, the message that was not typed yet is kept, and the
// sidecar tells the person once that the agent is back, even if the sidecar is restarted meanwhile. Nothing is typed
// into the new agent until a person starts the chat again; then it has its old place, and gets the message that was
// kept.
func TestV12_AgentRestartedInItsPane(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a, ben := r.coderInShell(kind, "Ada", silent...), r.adopted("Ben", bracketed...)
			a.adopt("")
			person := r.person(ben.pane)
			chat := r.chat([]*agent{a, ben}, unlimited...)
			a.do(":turn say of the first")
			ben.do(":say begin")
			ben.gets("[Ada] (1):\n\nof the first")
			a.types("a draft")
			ben.do(":say for the first")
			old := r.waitsFor("for the first")
			r.told(old, draftHeld)
			first := a.session

			a.leavesShell()
			r.told(old, "held: agent gone")
			r.waitFor("the chat of two is over", func() bool { return r.current(chat).State == message.ChatOver })
			ended, err := r.client.Chats(t.Context(), true)
			require.NoError(t, err)
			require.Len(t, ended, 1)
			assert.Equal(t, "agent gone", ended[0].Why)
			assert.Empty(t, r.returned(), "a shell is there")
			_, err = r.client.StartChat(t.Context(), api.StartChatRequest{Again: string(chat.ID)})
			assert.ErrorContains(t, err, "not here: Ada")

			a.startsInShell(kind, silent...)
			before := len(a.bytes())
			r.waitFor("it is told of", func() bool { return strings.Contains(person.last(), "Ada in "+a.pane+" is back") })
			require.NoError(t, r.end())
			r.start()
			r.waitFor("the menu knows, in the next life too", func() bool { return r.backOption() == "- " })
			require.Len(t, r.returned(), 1)
			assert.Equal(t, []api.ReturnedAgent{{Name: "Ada", Agent: kind, Pane: a.pane}}, r.returned()[0].Agents)
			held, err := r.client.Inbox(t.Context())
			require.NoError(t, err)
			require.Len(t, held, 1)
			assert.Equal(t, "Ada", held[0].To)
			assert.Empty(t, held[0].Pane)
			r.looked(func() bool { return len(a.bytes()) == before && r.last(old) == "held: agent gone" })
			sessions, err := r.client.Sessions(t.Context())
			require.NoError(t, err)
			require.Len(t, sessions, 1, "Ben")

			next, err := r.client.StartChat(t.Context(), api.StartChatRequest{Again: string(chat.ID)})
			require.NoError(t, err)
			assert.Equal(t, []string{"Ada", "Ben"}, placesOf(next))
			assert.NotEqual(t, first.ID, next.Participants[0].Peer)
			a.session.ID = next.Participants[0].Peer
			a.gets("[Ben] (2):\n\nfor the first")
			a.do(":turn say of the second")
			ben.do(":say and now")
			ben.gets("[Ada] (1):\n\nof the second")
			assert.Equal(t, []string{"[Ben] (2):\n\nbegin", "[Ben] (2):\n\nfor the first", "[Ben] (2):\n\nand now"}, partsOf(a), "each once")
			assert.Equal(t, []string{"[Ada] (1):\n\nof the first", "[Ada] (1):\n\nof the second"}, partsOf(ben))
			assert.Contains(t, r.trail(old), "failed: handed on to the agent that took its place")
			r.waitFor("the menu as it was", func() bool { return r.backOption() == "" })
			assert.Empty(t, r.returned())
			assert.Len(t, r.offers(), 1)
		})
	}
}

// A larger chat goes on without an agent that ended. When the agent is back, a person can let it in again: at a new
// place with its old role, and it gets the message that was kept for it.
func TestV12_LargerChatGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, ben, cyd := r.coderInShell("claude", "Ada", silent...), r.adopted("Ben", bracketed...), r.adopted("Cyd", bracketed...)
	a.adopt("")
	chat, err := r.client.StartChat(t.Context(), api.StartChatRequest{
		Panes: []string{a.pane, ben.pane, cyd.pane}, Name: "plans", Roles: map[string]string{a.pane: "author"},
	})
	require.NoError(t, err)
	_, err = r.client.StartChat(t.Context(), api.StartChatRequest{Again: "plans"})
	assert.ErrorContains(t, err, "is already running")
	a.types("a draft")
	ben.do(":say for all")
	cyd.gets("[Ben] (2):\n\nfor all")
	old := r.waitsFor("for all")
	a.leavesShell()
	r.waitFor("it has left", func() bool { return r.current(chat).Participants[0].Left })
	assert.Equal(t, message.ChatOn, r.current(chat).State)
	cyd.do(":say without it")
	ben.gets("[Cyd] (3):\n\nwithout it")

	a.startsInShell("claude", silent...)
	before := len(a.bytes())
	r.waitFor("it is told of", func() bool { return len(r.offers()) == 1 })
	assert.Contains(t, r.offers()[0], "intercom chat start --again "+chat.ID.Short()+" lets it back into chat plans")
	assert.Equal(t, message.ChatOn, r.returned()[0].State)
	r.looked(func() bool { return len(a.bytes()) == before })
	_, err = r.client.StartChat(t.Context(), api.StartChatRequest{Again: "plans", Say: "welcome"})
	assert.ErrorContains(t, err, "is still running, and cannot be changed")
	now, err := r.client.StartChat(t.Context(), api.StartChatRequest{Again: "plans"})
	require.NoError(t, err)
	assert.Equal(t, chat.ID, now.ID)
	require.Equal(t, []string{"Ada", "Ben", "Cyd", "Ada"}, placesOf(now))
	assert.Equal(t, "author", now.Participants[3].Role)
	assert.Equal(t, 4, now.Participants[3].Number)
	a.gets("[Ben] (2):\n\nfor all")
	a.do(":turn say here I am")
	ben.do(":say who is there?")
	cyd.gets("[Ada] (4):\n\nhere I am")
	assert.NotContains(t, partsOf(a), "[Cyd] (3):\n\nwithout it", "said while it was away")
	assert.Equal(t, 1, strings.Count(strings.Join(partsOf(a), "\n"), "for all"))
	assert.Contains(t, r.trail(old), "failed: handed on to the agent that took its place")

	// A person removes the agent from the chat before it ends: the sidecar does not offer to let it in again.
	_, err = r.client.RemoveMember(t.Context(), api.MemberRequest{Chat: "plans", Pane: a.pane})
	require.NoError(t, err)
	a.leavesShell()
	a.startsInShell("claude", silent...)
	r.looked(func() bool { return len(r.returned()) == 0 })
	assert.Len(t, r.offers(), 1)
}

// Both agents of a chat are restarted, one of them by tmux. The sidecar offers the chat when both are back. An agent
// of another kind in the pane does not count, nor does another program of the agent's name, such as its updater.
func TestV12_BothAgentsRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.coderInShell("claude", "Ada", silent...), r.coder("codex", "Bea", silent...)
	a.adopt("")
	b.adopt("")
	r.Run("set-option", "-w", "-t", b.pane, "remain-on-exit", "on")
	chat := r.chat([]*agent{a, b}, append(slices.Clone(unlimited), "words=all")...)
	b.do(":exit")
	r.waitFor("the chat is over", func() bool { return r.current(chat).State == message.ChatOver })
	a.leavesShell()
	r.waitFor("both have gone", func() bool {
		sessions, err := r.client.Sessions(t.Context())
		return err == nil && len(sessions) == 0
	})
	r.Run("respawn-pane", "-k", "-t", b.pane, "sh", b.coderScript("codex", silent...))
	r.waitFor("Bea again", func() bool { return b.count("ready") > 1 })
	a.startsInShell("codex", silent...)
	r.looked(func() bool { return len(r.returned()) == 0 })
	a.leavesShell()
	require.NoError(t, os.Mkdir(r.dir+"/update", 0o700))
	require.NoError(t, os.Symlink("/bin/sh", r.dir+"/update/claude"))
	a.types(r.dir+"/update/claude -c 'read -r line'", "Enter")
	r.WaitForFact(a.pane, "#{pane_current_command}", "claude")
	r.looked(func() bool { return len(r.returned()) == 0 })
	a.types("", "Enter")
	r.WaitForFact(a.pane, "#{pane_current_command}", "sh")
	assert.Empty(t, r.offers())
	a.startsInShell("claude", silent...)
	r.waitFor("they are told of", func() bool { return len(r.offers()) > 0 })
	assert.Contains(t, r.offers()[0], "Ada in "+a.pane+" and Bea in "+b.pane+" are back")

	next, err := r.client.StartChat(t.Context(), api.StartChatRequest{Again: string(chat.ID)})
	require.NoError(t, err)
	require.Equal(t, []string{"Ada", "Bea"}, placesOf(next))
	assert.Equal(t, "all", next.Limits.Words)
	a.do(":say how are you?")
	b.gets("[Ada] (1):\n\nhow are you?")
	assert.Len(t, r.offers(), 1)
}

// A question whose agent ended is not offered again: it has failed, and nothing is kept for it.
func TestS4_Returned_notAQuestion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, ben := r.coderInShell("claude", "Ada", silent...), r.adopted("Ben", bracketed...)
	a.adopt("")
	a.types("a draft")
	_, err := r.client.Ask(t.Context(), api.AskRequest{From: ben.pane, To: a.pane, Say: "how are you?"})
	if err != nil { // Ben has said nothing yet
		ben.do(":say something")
		r.waitFor("it is asked", func() bool {
			_, err = r.client.Ask(t.Context(), api.AskRequest{From: ben.pane, To: a.pane, Say: "how are you?"})
			return err == nil
		})
	}
	asked := a.session.ID
	a.leavesShell()
	r.waitFor("the question is over", func() bool { return len(r.status().Chats) == 0 })
	last := map[message.ID]string{}
	for _, receipt := range r.receipts() {
		if receipt.Target == asked {
			last[receipt.Message] = told(receipt)
		}
	}
	require.NotEmpty(t, last)
	for _, state := range last {
		assert.Equal(t, "failed: agent gone", state)
	}
	a.startsInShell("claude", silent...)
	r.looked(func() bool { return len(r.returned()) == 0 })
	require.NoError(t, r.end())
	r.start()
	held, err := r.client.Inbox(t.Context())
	require.NoError(t, err)
	assert.Empty(t, held)
	assert.Empty(t, r.returned())
	assert.Empty(t, r.offers())
}

// leavesShell ends an agent, and waits until the shell below it reads keys.
func (a *agent) leavesShell() {
	a.t.Helper()
	a.do(":exit")
	a.WaitForFact(a.pane, "#{pane_current_command}", "sh")
}

func (r *rig) status() api.Status {
	r.t.Helper()
	status, err := r.client.Status(r.t.Context())
	require.NoError(r.t, err)
	return status
}

// returned are the chats that a person can start again because their agents are back.
func (r *rig) returned() []api.Returned { return r.status().Returned }

// offers are the notices that agents are back.
func (r *rig) offers() (all []string) {
	r.t.Helper()
	events, err := r.client.Log(r.t.Context(), api.LogQuery{Limit: 10_000})
	require.NoError(r.t, err)
	for _, e := range events {
		if strings.Contains(e.Notice, " back: ") {
			all = append(all, e.Notice)
		}
	}
	return all
}

// backOption is the tmux option from which the menu knows that agents are back.
func (r *rig) backOption() string { return r.Run("show-options", "-sqv", "@intercom-back") }

// placesOf are the names of a chat's participants, in the order of their places.
func placesOf(c message.Chat) (names []string) {
	for _, p := range c.Participants {
		names = append(names, p.Name)
	}
	return names
}

// Two agents of a larger chat end, and the chat ends with the second. The sidecar offers the chat for the one that is
// back first, and again when both are. Each gets the message that was kept for it, also the one that ended while the
// chat went on.
func TestV12_TwoOfThreeRestarted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b, ben := r.coderInShell("claude", "Ada", silent...), r.coderInShell("codex", "Bea", silent...), r.adopted("Ben", bracketed...)
	a.adopt("")
	b.adopt("")
	chat := r.chat([]*agent{a, b, ben}, unlimited...)
	a.types("a draft")
	b.types("a draft")
	ben.do(":say for all")
	old := r.waitsFor("for all")
	r.waitFor("it waits for both", func() bool {
		held := 0
		for _, last := range r.trails(old) {
			if strings.HasPrefix(last, draftHeld) {
				held++
			}
		}
		return held == 2
	})
	a.leavesShell()
	r.waitFor("the chat goes on", func() bool { return r.current(chat).Participants[0].Left })
	b.leavesShell()
	r.waitFor("the chat is over", func() bool { return r.current(chat).State == message.ChatOver })
	b.startsInShell("codex", silent...)
	r.waitFor("one is told of", func() bool { return len(r.offers()) == 1 })
	assert.Contains(t, r.offers()[0], "Bea in "+b.pane+" is back")
	a.startsInShell("claude", silent...)
	r.waitFor("both are", func() bool { return len(r.offers()) == 2 })
	assert.Contains(t, r.offers()[1], "Bea in "+b.pane+" and Ada in "+a.pane+" are back")

	next, err := r.client.StartChat(t.Context(), api.StartChatRequest{Again: string(chat.ID)})
	require.NoError(t, err)
	require.Equal(t, []string{"Ada", "Bea", "Ben"}, placesOf(next))
	a.gets("[Ben] (3):\n\nfor all")
	b.gets("[Ben] (3):\n\nfor all")
}
