package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func direct(from, to message.Peer) Send {
	return Send{By: By{Kind: Agent, Peer: from.ID}, To: string(to.ID), Message: message.Envelope{Body: "hello"}, Direct: true}
}

func closing(from, to message.Peer) Send {
	return Send{By: By{Kind: Agent, Peer: from.ID}, To: string(to.ID), CloseLink: true}
}

func TestR1_R2_R27_ADirectMessageOpensOneLink(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	a := r.must(direct(s[0], s[1]))
	require.Len(t, a.Chats, 1)
	assert.Equal(t, []message.Participant{{Peer: s[0].ID, Name: "a", Number: 1, MaySpeak: true}, {Peer: s[1].ID, Name: "b", Number: 2, MaySpeak: true}}, a.Chats[0].Participants)
	assert.Equal(t, "", a.Chats[0].Name)
	require.Len(t, r.out, 1, "the message, once")
	assert.Equal(t, "AI[local:"+string(s[0].ID)+"] | hello", text(r.out[0]), "as any other")
	assert.Empty(t, r.out[0].Chat)
	r.submit(r.out[0])
	answer := r.say(s[1], "an answer", r.out[0].ID)
	require.Len(t, answer, 1, "its words, and no notice")
	assert.Equal(t, "[b] (2):\n\nan answer", text(answer[0]))
	for _, again := range []Send{direct(s[0], s[1]), direct(s[1], s[0])} {
		_, err := r.ask(again)
		assert.ErrorIs(t, err, ErrActive)
		assert.ErrorContains(t, err, "already active")
	}
	assert.Len(t, r.s.open(), 1)
	assert.Len(t, r.out, 2, "nothing was sent either")
}

// A message that is decided in a later run begins its link there, once.
func TestR1_TheLinkOutlivesTheRun(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.async = true
	_, _ = r.ask(direct(s[0], s[1]))
	require.Len(t, r.pending, 1)
	r.restart(0)
	require.Len(t, r.pending, 1)
	assert.Empty(t, r.s.open())
	deliver := func() {
		_, err := r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
		require.NoError(t, err)
	}
	deliver()
	require.Len(t, r.s.open(), 1)
	assert.Equal(t, []message.ID{s[0].ID, s[1].ID}, []message.ID{r.s.open()[0].Participants[0].Peer, r.s.open()[0].Participants[1].Peer})
	require.Len(t, r.out, 1)
	_, err := r.ask(StopChat{Chat: string(r.s.open()[0].ID)})
	require.NoError(t, err)
	r.restart(0)
	assert.Empty(t, r.pending)
	assert.Empty(t, r.s.open(), "it was begun once")
}

// A→B and B→A at once, decided in either order: one link, both messages.
func TestR27_BothAtOnce(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		r := newRig(t)
		s := r.adopt("a", "b")
		r.async = true
		_, _ = r.ask(direct(s[0], s[1]))
		_, _ = r.ask(direct(s[1], s[0]))
		require.Len(t, r.pending, 2)
		var chats []message.Chat
		for _, i := range order {
			a, err := r.step(Decided{message.Verdict{Message: r.pending[i], Decision: message.Decision{Verb: message.VerbDeliver}}})
			require.NoError(t, err)
			chats = append(chats, a.Chats...)
		}
		require.Len(t, chats, 2)
		assert.Equal(t, chats[0].ID, chats[1].ID)
		assert.Len(t, r.s.chats, 1)
		assert.Len(t, r.out, 2)
	}
}

func TestR28_R29_NoHalfLink(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	first := r.chat(message.Limits{}, "b", "c")
	_, err := r.ask(direct(s[0], s[1]))
	assert.ErrorIs(t, err, ErrInChat)
	assert.NotErrorIs(t, err, ErrActive)
	_, err = r.ask(direct(s[1], s[0]))
	assert.ErrorIs(t, err, ErrInChat, "nor out of it")
	assert.Equal(t, message.ChatOn, r.shows(first.ID).State)
	_, _ = r.step(Gone{Peer: s[3].ID, Reason: message.AgentGone})
	_, err = r.ask(direct(s[0], s[3]))
	assert.Error(t, err)
	_, err = r.ask(direct(s[0], s[0]))
	assert.ErrorIs(t, err, ErrRequest)
	assert.Len(t, r.s.chats, 1)
	assert.Empty(t, r.out)
	// One of the two enters another chat while policies think: the message goes, and no link opens.
	r.must(StopChat{Chat: string(first.ID)})
	r.async = true
	_, _ = r.ask(direct(s[0], s[1]))
	second := r.chat(message.Limits{}, "b", "c")
	a, err := r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.NoError(t, err)
	assert.Empty(t, a.Chats)
	assert.Len(t, r.out, 1)
	assert.Equal(t, message.ChatOn, r.shows(second.ID).State)
}

// Who may open a link, and when: an agent, for itself, with a message that policies and limits let go.
func TestC25_WhoOpensALink(t *testing.T) {
	for verb, states := range map[message.Verb]message.ReceiptState{
		message.VerbAsk: message.Held, message.VerbHold: message.Held, message.VerbBounce: message.Failed, message.VerbDrop: message.Failed,
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		r.async = true
		_, _ = r.ask(direct(s[0], s[1]))
		a, err := r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: verb}}})
		require.NoError(t, err)
		require.Len(t, a.Receipts, 1)
		assert.Equal(t, states, a.Receipts[0].State, verb)
		assert.Empty(t, a.Chats, verb)
		assert.Empty(t, r.s.chats, verb)
	}
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.async = true
	_, _ = r.ask(direct(s[0], s[1]))
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}, To: []message.Address{{Peer: s[2].ID}}}})
	assert.Empty(t, r.s.chats, "a policy sends it elsewhere")
	r.async = false
	r.s.present(s[0].ID).last = 99
	a := r.must(direct(s[0], s[1]))
	assert.Equal(t, message.AtDepthLimit, a.Receipts[0].Reason)
	assert.Empty(t, r.s.chats, "it is held at a limit")
	_, err := r.ask(Send{By: By{Kind: Unverified}, To: "b", Message: message.Envelope{Body: "x"}, Direct: true})
	assert.ErrorIs(t, err, ErrPersonOnly)
	_, err = r.ask(Send{To: "b", Message: message.Envelope{Body: "x"}, Direct: true})
	assert.ErrorIs(t, err, ErrRequest, "a person has no pane to link")
	r.must(StopChat{Chat: All})
	_, err = r.ask(direct(s[0], s[1]))
	assert.ErrorIs(t, err, ErrStopped)
}

// A held message opens its link when a person lets it go, also after a restart, and once: a link
// that is closed later stays closed. A message that a person refuses opens none.
func TestC25_AHeldMessageOpensItsLink(t *testing.T) {
	for _, yes := range []bool{true, false} {
		r := newRig(t)
		s := r.adopt("a", "b")
		r.async = true
		_, _ = r.ask(direct(s[0], s[1]))
		held := r.pending[0]
		_, err := r.step(Decided{message.Verdict{Message: held, Decision: message.Decision{Verb: message.VerbAsk}}})
		require.NoError(t, err)
		assert.Contains(t, r.notices[len(r.notices)-1], "; a yes connects the two as well")
		r.async = false
		r.restart(0)
		assert.Empty(t, r.s.open())
		decide := DecideHeld{Message: held, Verb: message.VerbDrop, Who: message.Person{Name: "ada"}}
		if yes {
			decide.Verb = message.VerbDeliver
		}
		r.must(decide)
		if !yes {
			assert.Empty(t, r.s.open())
			continue
		}
		require.Len(t, r.s.open(), 1)
		c := r.s.open()[0]
		assert.ElementsMatch(t, []message.ID{s[0].ID, s[1].ID}, c.there())
		require.Len(t, r.out, 1)
		assert.Empty(t, r.out[0].Chat, "as any single message")
		r.must(StopChat{Chat: string(c.ID)})
		r.restart(0)
		assert.Empty(t, r.s.open(), "it is not opened again")
	}
}

func TestR13_CloseLinkByEitherSide(t *testing.T) {
	for _, from := range []int{0, 1} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		c := r.must(direct(s[0], s[1])).Chats[0]
		_, err := r.ask(closing(s[2], s[1]))
		assert.ErrorIs(t, err, ErrNoLink, "nobody else's")
		_, err = r.ask(closing(s[0], s[2]))
		assert.ErrorIs(t, err, ErrNoLink)
		before := len(r.out)
		a := r.must(closing(s[from], s[1-from]))
		assert.Equal(t, c.ID, a.Chats[0].ID)
		assert.Equal(t, message.ChatOver, r.shows(c.ID).State)
		assert.Equal(t, "closed by "+s[from].Name, r.shows(c.ID).Why)
		assert.Len(t, r.out, before, "nothing is sent")
		_, err = r.ask(closing(s[from], s[1-from]))
		assert.ErrorIs(t, err, ErrNoLink)

		r.must(direct(s[0], s[1]))
		last := closing(s[from], s[1-from])
		last.Message.Body = "good bye"
		r.must(last)
		assert.Empty(t, r.s.open())
		assert.Equal(t, "AI[local:"+string(s[from].ID)+"] | good bye", text(r.out[len(r.out)-1]), "after the end")
		last.Message.Body = "bad\xff"
		r.must(direct(s[0], s[1]))
		_, err = r.ask(last)
		assert.Error(t, err)
		assert.Len(t, r.s.open(), 1, "and nothing of what is refused is done")
	}
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b", "c")
	_, err := r.ask(closing(s[0], s[1]))
	assert.ErrorIs(t, err, ErrRequest, "others are in it")
	r = newRig(t)
	s = r.adopt("a", "b")
	r.chat(message.Limits{Approve: message.ApproveAll}, "a", "b")
	_, err = r.ask(closing(s[0], s[1]))
	assert.ErrorIs(t, err, ErrPersonOnly, "a person watches over it")
}

// R19: a message that is not direct begins no chat, and has the same bytes and the same notice as
// ever.
func TestR19_NotDirectIsAsEver(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	d := r.sends(s[0], s[1], "hello")
	r.submit(d)
	assert.Equal(t, map[message.ID]string{s[0].ID: notice(s[1], "turn ended")}, r.stops(s[1], "", d))
	assert.Empty(t, r.s.chats)
	linked := newRig(t)
	s = linked.adopt("a", "b")
	linked.must(direct(s[0], s[1]))
	assert.Equal(t, text(d), text(linked.out[0]))
	assert.Equal(t, d.Form, linked.out[0].Form)
}
