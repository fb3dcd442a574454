package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The participants of the chat say whose words wait, also when the session that the setting named
// has gone and another peer takes that name: what it said before still waits, nobody leaves the
// chat, and a session that comes back under its name is asked about again.
func TestApprove_gateOutlivesTheOneItNames(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Approve: "a"}, "a", "b", "c")
	r.say(s[0], "its last words")
	_, _ = r.step(Gone{Peer: s[0].ID, Reason: message.PaneMissing})
	r.must(Rename{Peer: "b", Name: "a"})
	assert.Empty(t, r.shows(c.ID).Limits.Approve, "nobody is there whom it names")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}})
	assert.Empty(t, r.out)
	for _, d := range r.all("its last words") {
		assert.Equal(t, []string{"queued", "held: waiting for approval"}, r.states(d.ID))
	}
	for _, q := range []Request{
		StopChat{By: By{Kind: Agent, Peer: s[1].ID}, Chat: string(c.ID)},
		RemoveMember{By: By{Kind: Agent, Peer: s[1].ID}, Chat: string(c.ID), Peer: "a"},
	} {
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrPersonOnly, "%T", q)
	}
	r.say(s[1], "its own")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}})
	assert.Len(t, r.out, 1, "the name does not make it the one that is asked about")

	r.must(Rename{Peer: "a", Name: "b"})
	back := r.adopt("a")[0]
	r.must(AddMember{Chat: string(c.ID), Peer: "a"})
	assert.Equal(t, "a", r.shows(c.ID).Limits.Approve)
	r.say(back, "here I am")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}})
	assert.Len(t, r.out, 1)
	assert.Len(t, r.all("here I am"), 2)
}

// A delivery that waits for a yes still waits when its agent has gone and come back, even if a
// person said no meanwhile to the deliveries of those who were there.
func TestApprove_goneAndBack(t *testing.T) {
	for _, refused := range []bool{false, true} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		c := r.chat(message.Limits{Approve: "a"}, "a", "b", "c")
		r.say(s[0], "x")
		d := r.to(s[1], "x")
		_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone})
		require.Equal(t, message.AgentGone, r.book.Last[d.ID].Reason)
		if refused {
			r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDrop})
		}
		_, err := r.step(Adopted{Token: 1, Peer: s[1]})
		require.NoError(t, err)
		r.must(AddMember{Chat: string(c.ID), Peer: "b"})
		r.restart(0)
		assert.Empty(t, r.out)
		assert.Equal(t, message.AwaitingApproval, r.book.Last[d.ID].Reason)
		r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver})
		assert.Contains(t, handedIDs(r.out), d.ID)
	}
}

// In a chat that asks for a person's yes, a message waits for the person, however long the policy
// would wait; also in the next run. Elsewhere the policy's word holds.
func TestApprove_noPolicyOutwaitsTheChat(t *testing.T) {
	for _, verb := range []message.Verb{message.VerbAsk, message.VerbHold} {
		for _, setting := range []string{"", "a", message.ApproveAll} {
			r := newRig(t)
			r.async = true
			s := r.adopt("a", "b")
			r.chat(message.Limits{Approve: setting}, "a", "b")
			r.say(s[0], "x")
			r.decide(message.Verdict{Decision: message.Decision{Verb: verb, Reason: "it says so", Expires: time.Minute, Otherwise: message.VerbDeliver}})
			r.pass(2 * time.Minute)
			assert.Equal(t, setting == "", len(r.out) == 1, "%s %q", verb, setting)
			r.restart(0)
			r.pass(2 * time.Minute)
			assert.Equal(t, setting == "", len(r.out) == 1, "%s %q, another run", verb, setting)
			if setting != "" {
				assert.Equal(t, "it says so", r.book.Decided[r.only("x").Message.ID].Reason, "the verdict is the policy's")
			}
		}
	}
}

// In a chat whose words wait for a yes, policies send some of them on to somebody outside of it,
// and a filter fails. Decided anew, they still wait for that yes, and once the chat has ended, for
// a person.
func TestS12_DecidedAnewWaitsForTheChatsYes(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "outsider")
	c := r.chat(message.Limits{Approve: message.ApproveAll}, "a", "b")
	r.say(s[0], "rm -rf /")
	original := r.commits[len(r.commits)-1].Received[0]
	to := []message.Address{{Peer: s[2].ID}}
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbHold}, Unfiltered: true, To: to})
	first := r.only("rm -rf /")
	require.Equal(t, []string{"queued", "held: its filter failed"}, r.states(first.ID))
	for range 2 {
		_, _ = r.step(Reconsider{Messages: []message.Envelope{original}})
		q := r.s.question(original.ID)
		require.NotNil(t, q)
		require.NotNil(t, q.Chat, "policies see what it was said in")
		r.restart(0)
	}
	_, _ = r.step(Reconsider{Messages: []message.Envelope{original}})
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: to})
	assert.Empty(t, r.out, "nobody has said yes")
	all := r.all("rm -rf /")
	require.Len(t, all, 2)
	assert.Equal(t, []string{"queued", "held: waiting for approval"}, r.states(all[1].ID))

	r.say(s[1], "another")
	original = r.commits[len(r.commits)-1].Received[0]
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbHold}, Unfiltered: true, To: to})
	r.must(StopChat{Chat: string(c.ID)})
	asked := len(r.pending)
	_, _ = r.step(Reconsider{Messages: []message.Envelope{original}})
	assert.Len(t, r.pending, asked)
	assert.Equal(t, message.Unfiltered, r.book.Last[r.only("another").ID].Reason)
}

// A delivery that waits for a yes, and whose agent has gone, goes to nobody in its place just
// because nobody said no in time to the deliveries of the others; nor to the agent itself when it
// is back.
func TestV10_NoYesIsNoneForAnHeir(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b", "c")
	r.say(s[0], "x")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbDeliver}, Outcomes: []message.Outcome{
		{Target: s[2].ID, Decision: message.Decision{Verb: message.VerbAsk}},
	}})
	r.ends(s[2], message.PaneMissing)
	r.pass(2 * time.Minute)
	require.Len(t, r.out, 1)
	r.adopt("d")
	d := r.to(s[2], "x")
	_, err := r.ask(AddMember{Chat: string(c.ID), Peer: "d", Backlog: []Backlog{{Delivery: d, To: "d"}}})
	require.ErrorIs(t, err, ErrRequest)
	_, err = r.step(Adopted{Token: 1, Peer: s[2]})
	require.NoError(t, err)
	r.must(AddMember{Chat: string(c.ID), Peer: "c"})
	r.restart(0)
	assert.NotContains(t, handedIDs(r.out), d.ID)
	assert.Equal(t, message.AwaitingApproval, r.book.Last[d.ID].Reason)
	r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver})
	assert.Contains(t, handedIDs(r.out), d.ID)
	assert.False(t, r.made[d.ID].Asked)
}

// A message for several sessions lapses once: one notice, one word to its author, and a receipt for
// each.
func TestApprove_lapsesOnce(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c", "d")
	r.chat(message.Limits{}, "a", "b", "c", "d")
	r.say(s[0], "x")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbBounce}})
	told := len(r.notices)
	r.pass(2 * time.Minute)
	require.Len(t, r.notices, told+1)
	assert.Contains(t, r.notices[told], "from a expired after 1m:")
	require.Len(t, r.pending, 2, "its author is told, once")
	require.Len(t, r.all("x"), 3)
	for _, d := range r.all("x") {
		assert.Equal(t, []string{"queued", "held: waiting for approval", "expired: waiting for approval"}, r.states(d.ID))
	}
}

// A message that goes because nobody said no counts as one message for the brakes, however many it
// is for.
func TestApprove_lapsesThroughTheBrakesOnce(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c", "d", "e", "f", "g")
	lapse := func(n int) []message.Delivery {
		before := len(r.out)
		_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
		var to []message.Address
		for _, one := range s[1 : 1+n] {
			to = append(to, message.Address{Peer: one.ID})
		}
		r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbDeliver}, To: to})
		r.pass(2 * time.Minute)
		return r.out[before:]
	}
	assert.Len(t, lapse(usual.FanOut), usual.FanOut)
	verdicts := 0
	for _, commit := range r.commits {
		verdicts += len(commit.Verdicts)
	}
	assert.Equal(t, 2, verdicts, "the policy's, and one on all of it when time was up")
	told := len(r.notices)
	assert.Empty(t, lapse(usual.FanOut+1))
	require.Len(t, r.notices, told+2, "that a yes is waited for, and that it is held")
	assert.Contains(t, r.notices[told+1], "a message from a is held: "+string(message.AtFanOut))
	for _, d := range r.all("x")[usual.FanOut:] {
		assert.Equal(t, message.AtFanOut, r.book.Last[d.ID].Reason)
	}
}

// Each target lapses as is decided for it, and those that still wait also lapse in the next run.
func TestApprove_lapsesEachItsWay(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c", "d", "e")
	r.chat(message.Limits{}, "a", "b", "c", "d", "e")
	r.say(s[0], "x")
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbHold, Reason: "for ever"}, Outcomes: []message.Outcome{
		{Target: s[1].ID, Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbDeliver}},
		{Target: s[2].ID, Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: message.VerbDrop}},
		{Target: s[3].ID, Decision: message.Decision{Verb: message.VerbHold, Reason: "for longer", Expires: time.Hour, Otherwise: message.VerbDeliver}},
	}})
	r.pass(2 * time.Minute)
	last := func(n int) string {
		states := r.states(r.to(s[n], "x").ID)
		return states[len(states)-1]
	}
	now := func() []string { return []string{last(1), last(2), last(3), last(4)} }
	assert.Equal(t, []string{"queued", "expired: waiting for approval", "held: for longer", "held: for ever"}, now())
	require.Len(t, r.out, 1)
	r.submit(r.out...)
	r.restart(0)
	assert.Empty(t, r.out)
	assert.Equal(t, []string{"submitted", "expired: waiting for approval", "held: for longer", "held: for ever"}, now())
	r.pass(2 * time.Hour)
	assert.Equal(t, []string{"submitted", "expired: waiting for approval", "queued", "held: for ever"}, now())
	r.must(DecideHeld{Message: r.to(s[4], "x").Message.ID, Verb: message.VerbDeliver})
	assert.Equal(t, "queued", last(4))
}

// The receipt of a message from a participant of the chat does not show the agent's answer before a
// person said yes to it; the receipt of a message from outside, or from a person, does.
func TestApprove_wordsOfAnAnswer(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{Approve: "a"}, "a", "b")
	answered := func(by By) message.Receipt {
		sent := r.must(Send{By: by, To: "a", Message: message.Envelope{Body: "how?"}}).Receipts[0]
		r.submit(r.out[len(r.out)-1])
		r.say(s[0], "like this", sent.Delivery)
		return r.book.Last[sent.Delivery]
	}
	for who, want := range map[By]string{{Kind: Agent, Peer: s[1].ID}: "", {Kind: Agent, Peer: s[2].ID}: "like this", {Kind: Person}: "like this"} {
		got := answered(who)
		assert.Equal(t, message.Answered, got.State)
		assert.Equal(t, want, got.Words, "%+v", who)
	}
	for _, d := range r.all("like this") {
		assert.Equal(t, message.AwaitingApproval, r.book.Last[d.ID].Reason)
	}
	said := r.say(s[1], "in the chat")
	require.Len(t, said, 1)
	r.submit(said...)
	r.say(s[0], "an answer there", said[0].ID)
	assert.Equal(t, message.Answered, r.book.Last[said[0].ID].State)
	assert.Empty(t, r.book.Last[said[0].ID].Words)
}

// Until a person says something to that agent, they are told once of what is held, and then once of
// what is refused.
func TestBrake_whatIsRefusedIsCalledThat(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	flood := func(n int) (last message.Receipt) {
		for range n {
			last = r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}}).Receipts[0]
		}
		return last
	}
	require.Equal(t, message.Held, flood(usual.Minute+maxHeld).State)
	require.Equal(t, message.Failed, flood(1).State)
	r.now = r.now.Add(2 * time.Minute)
	require.Equal(t, message.Failed, flood(usual.Minute+1).State)
	require.Equal(t, []string{"a message from a is held: " + string(message.AtOwnMinute)}, r.notices)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Person: true}})
	require.Equal(t, message.Failed, flood(2).State)
	require.Len(t, r.notices, 2)
	assert.Equal(t, "a message from a is refused, because too many of its messages already wait: "+string(message.AtOwnMinute), r.notices[1])
}

// A policy cannot claim that a person decided; and a yes is asked for only if something is left
// that it would let go.
func TestDecided_isThePolicysAlone(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Person: message.Person{Name: "ada"}})
	assert.Zero(t, r.book.Decided[r.only("x").Message.ID].Person)

	_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "y"}})
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.PaneMissing})
	r.pending = r.pending[:2] // a is told too that it is gone
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbAsk}, To: []message.Address{{Peer: s[1].ID}, {Peer: s[2].ID}}})
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], "a's message to c awaits your approval")
}
