package relay

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

func TestReport_ladder(t *testing.T) {
	const (
		q, h, y, s, a = message.Queued, message.Held, message.Typed, message.Submitted, message.Answered
		f, e, u       = message.Failed, message.Expired, message.Uncertain
	)
	for _, c := range []struct {
		way  []message.ReceiptState
		next message.ReceiptState
		ok   bool
	}{
		{nil, y, true},
		{nil, h, true},
		{nil, f, true},
		{nil, e, true},
		{nil, s, false},
		{nil, a, false},
		{nil, u, false},
		{nil, "nonsense", false},
		{[]message.ReceiptState{h}, q, true},
		{[]message.ReceiptState{h}, y, true},
		{[]message.ReceiptState{h}, s, false},
		{[]message.ReceiptState{h}, u, false},
		{[]message.ReceiptState{y}, y, true},
		{[]message.ReceiptState{y}, h, true},
		{[]message.ReceiptState{y}, s, true},
		{[]message.ReceiptState{y}, u, true},
		{[]message.ReceiptState{y}, f, true},
		{[]message.ReceiptState{y}, q, false},
		{[]message.ReceiptState{y}, e, false},
		{[]message.ReceiptState{y}, a, false},
		{[]message.ReceiptState{y, h}, s, true},
		{[]message.ReceiptState{y, h}, u, true},
		{[]message.ReceiptState{y, h}, y, true},
		{[]message.ReceiptState{y, h}, q, false},
		{[]message.ReceiptState{y, h}, e, false},
		{[]message.ReceiptState{y, s}, a, true},
		{[]message.ReceiptState{y, s}, u, true},
		{[]message.ReceiptState{y, s}, y, false},
		{[]message.ReceiptState{y, s}, h, false},
		{[]message.ReceiptState{y, u}, s, false},
		{[]message.ReceiptState{f}, y, false},
	} {
		r := newRig(t)
		one := r.adopt("a", "b")
		r.chat(message.Limits{}, "a", "b")
		d := r.say(one[0], "x")[0]
		for _, state := range c.way {
			require.NoError(t, r.report(d.ID, state, "why"))
		}
		steps := len(r.commits)
		if err := r.report(d.ID, c.next, "why"); c.ok {
			assert.NoError(t, err, "%v, then %s", c.way, c.next)
			require.Greater(t, len(r.commits), steps)
			assert.Len(t, r.commits[steps].Receipts, 1)
		} else {
			assert.Error(t, err, "%v, then %s", c.way, c.next)
			assert.Len(t, r.commits, steps, "nothing is written down")
		}
	}
}

func TestReport_unknownOrForeign(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	d := r.say(s[0], "x")[0]
	assert.ErrorIs(t, r.report("nothing", message.Typed, ""), ErrNotOurs)
	_, err := r.step(Reported{Receipt: message.Receipt{Delivery: d.ID, Target: s[0].ID, State: message.Typed}})
	assert.ErrorIs(t, err, ErrImpossible)
}

func TestSend(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	a := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "AI[local:" + string(s[0].ID) + "] | hello"}})
	require.Len(t, a.Receipts, 1)
	assert.Equal(t, message.Queued, a.Receipts[0].State)
	assert.Equal(t, r.out[0].ID, a.Receipts[0].Delivery)
	assert.Equal(t, "AI[local:"+string(s[0].ID)+"] | hello", text(r.out[0]))
	r.must(Send{By: By{Kind: Person, Name: "ada"}, To: "%2", Message: message.Envelope{Body: "hello"}})
	assert.Equal(t, "[ada] (0):\n\nhello", text(r.out[1]))

	r.must(Send{By: By{Kind: Person, Name: "ada"}, To: "b", Message: message.Envelope{Body: "hello", Subject: " a\n plan ", Tags: []string{"x"}}})
	assert.Equal(t, "[ada] (0):\n\nSubject: a plan\n\nhello", text(r.out[2]))
	assert.Equal(t, []string{"x"}, r.out[2].Message.Tags)

	for _, c := range []struct {
		q  Send
		is error
	}{
		{Send{To: "a", Message: message.Envelope{Body: "x", Subject: strings.Repeat("x", message.MaxSubject+1)}}, ErrRequest},
		{Send{To: "a", Message: message.Envelope{Body: "x", Tags: make([]string, message.MaxTags+1)}}, ErrRequest},
		{Send{To: "a", Message: message.Envelope{Body: "x", Tags: []string{strings.Repeat("x", message.MaxTag+1)}}}, ErrRequest},
		{Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "a", Message: message.Envelope{Body: "x"}}, ErrRequest},
		{Send{By: By{Kind: Agent, Peer: "stranger"}, To: "a", Message: message.Envelope{Body: "x"}}, registry.ErrUnknown},
		{Send{To: "nobody", Message: message.Envelope{Body: "x"}}, registry.ErrUnknown},
		{Send{To: "a"}, ErrRequest},
		{Send{To: "a", Message: message.Envelope{Body: "\xff"}}, ErrRequest},
		{Send{To: "a", Message: message.Envelope{Body: strings.Repeat("x", message.MaxBody+1)}}, ErrRequest},
		{Send{To: "a", Message: message.Envelope{Body: "x", ID: "no id"}}, ErrRequest},
	} {
		_, err := r.ask(c.q)
		assert.ErrorIs(t, err, c.is)
		assert.NotContains(t, err.Error(), "not possible", "it says why")
	}
	assert.Len(t, r.out, 3)
}

// A sender that repeats a Repeatable request after waiting in vain gets the outcome of the first
// request, and no receipt of a second message is written. Once that is decided, the journal knows
// it.
func TestSend_askedAgainBeforeItIsDecided(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.async = true
	send := Send{By: By{Kind: Person}, To: "b", Message: message.Envelope{ID: message.NewID(), Body: "x"}, Repeatable: true}
	first, again := Token(71), Token(72)
	for _, token := range []Token{first, again} {
		_, err := r.step(Requested{Token: token, Request: send})
		require.NoError(t, err)
	}
	other := send
	other.Message.Body = "y"
	_, err := r.step(Requested{Token: 73, Request: other})
	require.ErrorIs(t, err, ErrUsed, "other words are another message")
	other = withBy(send, By{Kind: Agent, Peer: s[0].ID}).(Send)
	_, err = r.step(Requested{Token: 74, Request: other})
	require.ErrorIs(t, err, ErrUsed, "and so are those of somebody else")
	require.Empty(t, r.out)

	_, err = r.step(Decided{message.Verdict{Message: send.Message.ID, Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.NoError(t, err)
	require.Len(t, r.out, 1)
	told := map[Token]message.ID{}
	for _, effect := range r.last {
		if reply, ok := effect.(Reply); ok {
			require.Len(t, reply.Answer.Receipts, 1)
			told[reply.Token] = reply.Answer.Receipts[0].Delivery
		}
	}
	assert.Equal(t, map[Token]message.ID{first: r.out[0].ID, again: r.out[0].ID}, told)

	_, err = r.ask(send)
	require.ErrorIs(t, err, ErrUsed)
	assert.Len(t, r.made, 1, "nothing else was written down")
}

// What a message claims about its author, trust and depth never counts.
func TestSend_claimsAreIgnored(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{
		Body: "x", From: message.Address{Peer: s[1].ID, Name: "person"}, Origin: message.OriginHuman, Trust: message.TrustPerson,
		To: []message.Address{{Peer: s[0].ID}}, Depth: -7, Created: start.Add(-time.Hour),
	}})
	m := r.out[0].Message
	assert.Equal(t, message.Address{Computer: "local", Peer: s[0].ID, Name: "a"}, m.From)
	assert.Equal(t, message.OriginAgent, m.Origin)
	assert.Equal(t, message.TrustVerified, m.Trust)
	assert.Equal(t, 1, m.Depth)
	assert.Equal(t, s[1].ID, r.out[0].Target)
	assert.Equal(t, r.now, m.Created)
}

func TestGone_pair(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b")
	waiting, typed, sent := r.say(s[0], "waiting")[0], r.say(s[0], "typed")[0], r.say(s[0], "sent")[0]
	back := r.say(s[1], "back")[0]
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	r.submit(sent)
	r.must(Send{To: "b", Message: message.Envelope{Body: "single"}})
	single := r.out[len(r.out)-1]

	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.PaneDead})
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(waiting.ID))
	assert.Equal(t, []string{"queued", "typed", "uncertain: agent gone"}, r.states(typed.ID))
	assert.Equal(t, []string{"queued", "typed", "typed", "submitted"}, r.states(sent.ID))
	assert.Equal(t, []string{"queued", "failed: agent gone"}, r.states(single.ID))
	assert.Equal(t, []string{"queued", "failed: chat ended"}, r.states(back.ID))
	assert.Equal(t, []message.ID{s[1].ID}, r.forgot)
	got, _ := r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatOver, got.State)
	assert.Equal(t, "agent gone", got.Why)
	gone, _ := r.s.Snapshot().Peer(s[1].ID)
	assert.Equal(t, "pane is dead", gone.EndReason)
	assert.Empty(t, r.s.under, "the journal has it")
	_, err := r.ask(Send{To: "b", Message: message.Envelope{Body: "x"}})
	assert.ErrorIs(t, err, registry.ErrEnded)
	assert.Empty(t, r.say(s[1], "a voice from beyond"))
}

func TestGone_largerChatGoesOn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b", "c")
	r.async = true
	r.say(s[1], "last words")
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone})
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.Len(t, r.out, 2, "what it said while it was there is heard")
	r.async = false
	assert.Len(t, r.say(s[0], "still here"), 1)
	got, _ := r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatOn, got.State)
	assert.True(t, got.Participants[1].Left)
	assert.Equal(t, 3, got.Participants[2].Number, "numbers stay")
	_, _ = r.step(Gone{Peer: s[2].ID, Reason: message.AgentGone})
	got, _ = r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatOver, got.State)
}

func TestGone_beforeTheVerdict(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b", "c")
	r.async = true
	_, _ = r.ask(Send{To: "c", Message: message.Envelope{Body: "x"}})
	_, _ = r.ask(Say{Chat: r.s.chats[0].ID.Short(), To: []string{"c"}, Body: "y"})
	_, _ = r.step(Gone{Peer: s[2].ID, Reason: message.AgentGone})
	a, err := r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.NoError(t, err)
	require.Len(t, a.Receipts, 1)
	assert.Equal(t, message.Failed, a.Receipts[0].State)
	assert.Equal(t, message.AgentGone, a.Receipts[0].Reason)
	a, err = r.step(Decided{message.Verdict{Message: r.pending[1], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.NoError(t, err)
	require.Len(t, a.Receipts, 1)
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(a.Receipts[0].Delivery))
	assert.Empty(t, r.out)
}

func TestRelease(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b", "c")
	waiting := r.say(s[0], "x")
	require.NoError(t, r.report(waiting[1].ID, message.Typed, ""))
	_, err := r.ask(Release{Peer: "b", By: By{Kind: Agent, Peer: s[0].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly)
	r.must(Release{Peer: "b"})
	_, _ = r.step(Released{Peer: s[2].ID})
	assert.Equal(t, []string{"queued", "failed: pane was released"}, r.states(waiting[0].ID))
	assert.Equal(t, []string{"queued", "typed", "uncertain: pane was released"}, r.states(waiting[1].ID))
	assert.Equal(t, []message.ID{s[1].ID, s[2].ID}, r.forgot)
	assert.Equal(t, "pane was released", r.s.chats[0].Why)

	d := r.adopt("d")[0]
	lost := r.sends(s[0], d, "y")
	r.must(Release{Peer: "d", Reason: message.GivenBack})
	assert.Equal(t, []string{"queued", "failed: pane was released"}, r.states(lost.ID), "for its sender it is the same")
	assert.Equal(t, "pane was given back", r.s.byID[d.ID].EndReason)
}

func TestAdopt(t *testing.T) {
	r := newRig(t)
	s := r.adopt("claude", "claude", "Claude", "", "local", "../../x")
	var names []string
	for _, one := range s {
		names = append(names, one.Name)
		assert.Equal(t, "local", one.Computer)
	}
	assert.Equal(t, []string{"claude", "claude-2", "Claude-3", "line", "local-2", "x"}, names)

	_, err := r.step(Adopted{Token: 1, Peer: message.Peer{PaneOf: message.PaneOf{Pane: s[0].Pane}}})
	assert.ErrorIs(t, err, ErrAdopted)
	again := s[0]
	again.Name, again.Prompt = "other", "> "
	a, err := r.step(Adopted{Token: 1, Peer: again})
	require.NoError(t, err)
	assert.Equal(t, "claude", a.Peer.Name)
	got, _ := r.s.Snapshot().Find("claude")
	assert.Equal(t, "> ", got.Prompt)
	_, _ = r.step(Gone{Peer: s[0].ID})
	assert.Equal(t, "claude", r.adopt("claude")[0].Name, "the name is free again")
	_, err = r.step(Adopted{Token: 1})
	assert.ErrorIs(t, err, ErrRequest)
}

// Hostile input 36: names that imitate a header, a path, a system word or another name.
func TestH36_names(t *testing.T) {
	r := newRig(t)
	s := r.adopt("Alice", "bob")
	r.chat(message.Limits{}, "Alice", "bob")
	for _, name := range []string{
		"Alice] | x", "../../x", strings.Repeat("x", 300), "\U0001F600", "AI", "ai", "", "alice", "ALICE", "\u0410lice", "bo\u200bb", "bob\n",
	} {
		_, err := r.ask(Rename{Peer: "bob", Name: name})
		require.ErrorIs(t, err, registry.ErrName, "%q", name)
		assert.Equal(t, "[bob] (2):", r.say(s[1], "x")[0].Head)

		adopted := r.adopt(name)[0]
		assert.NoError(t, registry.CheckName(adopted.Name), "%q became %q", name, adopted.Name)
		found, err := r.s.Snapshot().Find(adopted.Name)
		require.NoError(t, err)
		assert.Equal(t, adopted.ID, found.ID, "nobody else goes by it")
	}
	r.must(Rename{Peer: "BOB", Name: "carol_2"})
	assert.Equal(t, "[carol_2] (2):", r.say(s[1], "x")[0].Head)
	c, _ := r.s.Snapshot().ChatOf(s[1].ID)
	assert.Equal(t, "carol_2", c.Participants[1].Name)
	for _, of := range []string{"Alice", "carol_2"} {
		_, err := r.ask(Rename{Peer: of, Name: "x", By: By{Kind: Agent, Peer: s[1].ID}})
		assert.ErrorIs(t, err, ErrPersonOnly, "%s: not even its own, by which policies know it", of)
	}
}

func TestDecided_inOrder(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	r.chat(message.Limits{}, "a", "b")
	r.chat(message.Limits{}, "c", "d")
	r.async = true
	r.say(s[0], "1")
	r.say(s[1], "2")
	r.say(s[0], "3")
	r.say(s[2], "other chat")
	verdict := func(i int, verb message.Verb) {
		_, _ = r.step(Decided{message.Verdict{Message: r.pending[i], Decision: message.Decision{Verb: verb, Reason: "because"}}})
	}
	verdict(2, message.VerbDeliver)
	assert.Empty(t, r.out, "waits for those before it")
	verdict(3, message.VerbDeliver)
	assert.Len(t, r.out, 1, "another chat does not")
	verdict(0, message.VerbHold)
	assert.Len(t, r.out, 1)
	verdict(0, message.VerbDeliver)
	assert.Len(t, r.out, 1, "a second verdict does not count")
	verdict(1, message.VerbDrop)
	require.Len(t, r.out, 2)
	assert.Equal(t, "3", r.out[1].Message.Body)
	assert.Empty(t, r.s.flows)
	assert.Empty(t, r.s.undecided)
	r.must(PauseChat{Chat: "all"})
	r.must(ResumeChat{Chat: "all", Sure: true})
	for _, d := range r.out {
		assert.NotEqual(t, "1", d.Message.Body, "what the policy holds, a resumed chat does not let go")
	}
}

func TestDecided_afterTheEnd(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	r.async = true
	r.say(s[0], "x")
	r.must(StopChat{Chat: string(c.ID)})
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	assert.Empty(t, r.out)
	require.Len(t, r.made, 1)
	for id := range r.made {
		assert.Equal(t, []string{"queued", "failed: chat ended"}, r.states(id))
	}
}

// What is over leaves the State.
func TestState_isBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopt("a")[0]
	for i := range 200 {
		b := r.adopt("b")[0]
		r.chat(message.Limits{}, "a", "b")
		d := r.say(a, "x")
		r.submit(d...)
		r.submit(r.say(b, fmt.Sprint(i), d[0].ID)...)
		_, _ = r.step(Gone{Peer: b.ID, Reason: message.AgentGone})
	}
	for range 2 * maxUnanswered {
		r.must(Send{To: "a", Message: message.Envelope{Body: "x"}})
		r.submit(r.out[len(r.out)-1])
	}
	assert.LessOrEqual(t, len(r.s.peers), pastPeers+1)
	assert.LessOrEqual(t, len(r.s.chats), pastChats)
	assert.LessOrEqual(t, len(r.s.under), maxUnanswered)
	for _, d := range r.s.under {
		assert.Empty(t, d.Message.Body)
	}
	assert.Zero(t, r.s.present(a.ID).waiting)
	assert.Zero(t, r.s.present(a.ID).bytes)

	for range maxWaiting {
		r.must(Send{To: "a", Message: message.Envelope{Body: "x"}})
	}
	full := r.must(Send{To: "a", Message: message.Envelope{Body: "x"}})
	assert.Equal(t, message.Failed, full.Receipts[0].State)
	assert.Equal(t, QueueFull, full.Receipts[0].Reason)
}

func TestIDs(t *testing.T) {
	r := newRig(t)
	last := message.ID("")
	for i := range 20000 {
		id := r.s.ids.next(start.Add(time.Duration(i%7) * time.Microsecond))
		parsed, err := message.ParseID(string(id))
		require.NoError(t, err)
		require.Equal(t, parsed, id)
		require.Equal(t, byte('7'), id[14])
		require.Contains(t, "89ab", string(id[19]))
		require.Greater(t, id, last)
		last = id
	}
	fresh := message.NewID()
	assert.Less(t, last, fresh[:8]+"-"+fresh[9:], "made of the same time as others")
}

// A paste that tmux refused typed nothing: the delivery waits again.
func TestReport_refusedPasteIsNotTyped(t *testing.T) {
	r := newRig(t)
	a := r.adopt("a", "b")
	chat := r.chat(message.Limits{}, "a", "b")
	d := r.say(a[0], "x")[0]
	require.NoError(t, r.report(d.ID, message.Typed, ""))
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))

	before := len(r.out)
	r.must(PauseChat{Chat: string(chat.ID)})
	r.must(ResumeChat{Chat: string(chat.ID), Sure: true})
	require.Len(t, r.out, before+1)
	assert.False(t, r.out[before].Typed, "it may be pasted")

	require.NoError(t, r.report(d.ID, message.Typed, ""))
	require.NoError(t, r.report(d.ID, message.Held, message.InComposer))
	r.must(PauseChat{Chat: string(chat.ID)})
	r.must(ResumeChat{Chat: string(chat.ID), Sure: true})
	require.Len(t, r.out, before+2)
	assert.True(t, r.out[before+1].Typed, "our text stands: only Enter is missing")

	// Without it, the end of the agent is a failure and nothing worse.
	single := r.must(Send{To: "b", Message: message.Envelope{Body: "y"}})
	sent := single.Receipts[0].Delivery
	require.NoError(t, r.report(sent, message.Typed, ""))
	require.NoError(t, r.report(sent, message.Held, message.TmuxRefused))
	_, _ = r.step(Gone{Peer: a[1].ID, Reason: message.AgentGone})
	states := r.states(sent)
	assert.Equal(t, "failed: agent gone", states[len(states)-1])
}
