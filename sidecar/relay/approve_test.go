package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/render"
)

// The words of the agents that the setting names wait for a person's yes, beside their chat too.
// Other agents' words pass, and so do a person's words and what a person passes on.
func TestApprove_gate(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	_, err := r.ask(StartChat{Peers: []string{"a", "b"}, Limits: message.Limits{Approve: "c"}})
	require.ErrorIs(t, err, ErrRequest, "c is not in it")
	_, err = r.ask(StartChat{By: By{Kind: Agent, Peer: s[0].ID}, Peers: []string{"a", "b"}, Limits: message.Limits{Approve: "b"}})
	require.ErrorIs(t, err, ErrPersonOnly)
	c := r.chat(message.Limits{Approve: "a"}, "a", "b")
	assert.Empty(t, r.say(s[0], "rm -rf /"))
	d := r.only("rm -rf /")
	assert.Equal(t, []string{"queued", "held: waiting for approval"}, r.states(d.ID))
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], "a's message to b awaits your approval: intercom inbox approve "+d.Message.ID.Short()+" (the chat is set to approve=a)")
	require.Len(t, r.say(s[1], "what?"), 1, "b need not be asked about")
	r.must(Say{Chat: string(c.ID), Body: "a person's"})
	assert.Equal(t, []string{"queued"}, r.states(r.all("a person's")[1].ID))

	sent := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "past it"}})
	assert.Equal(t, message.AwaitingApproval, sent.Receipts[0].Reason, "not around it either")
	sent = r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "c", Message: message.Envelope{Body: "to another"}})
	assert.Equal(t, message.Queued, sent.Receipts[0].State)

	r.must(Rename{Peer: "a", Name: "innocent"})
	assert.Equal(t, "innocent", r.shows(c.ID).Limits.Approve)
	assert.Empty(t, r.say(s[0], "under another name"))
	for _, q := range []Request{
		StopChat{By: By{Kind: Agent, Peer: s[0].ID}, Chat: string(c.ID)},
		StopChat{By: By{Kind: Agent, Peer: s[1].ID}, Chat: string(c.ID)},
		RemoveMember{By: By{Kind: Agent, Peer: s[0].ID}, Chat: string(c.ID), Peer: "innocent"},
	} {
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrPersonOnly, "nor out of it")
	}

	r.must(StopChat{Chat: string(c.ID)})
	assert.Equal(t, "failed: chat ended", r.states(d.ID)[2])
	c = r.must(StartChat{Peers: []string{"b", "innocent"}, Limits: message.Limits{Approve: message.ApproveAll}, IncludeLast: true}).Chats[0]
	require.NotEmpty(t, r.out)
	assert.Equal(t, "what?", r.out[len(r.out)-1].Message.Body, "a person sends it across")
	r.must(AddMember{Chat: string(c.ID), Peer: "c"})
	assert.Empty(t, r.say(s[2], "who joins is asked about too"))
}

// A person's yes lets the message go as it is, once, after everything that went before it, and as
// the person's own word; in a paused chat it goes only when the chat is resumed.
func TestApprove_yes(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Approve: message.ApproveAll}, "a", "b", "c")
	r.say(s[0], "one")
	r.say(s[0], "two")
	one, two := r.all("one"), r.all("two")
	require.Len(t, one, 2)
	r.pass(3 * time.Hour)
	who := message.Person{Name: "ada", UID: 1000, PID: 7, Terminal: "/dev/pts/3", Pane: "%5"}
	a := r.must(DecideHeld{Message: two[0].Message.ID, Verb: message.VerbDeliver, Who: who})
	assert.Len(t, a.Receipts, 2, "to all whom it is for")
	require.Equal(t, []message.ID{two[0].ID, two[1].ID}, handedIDs(r.out))
	assert.Equal(t, "[a] (1):\n\ntwo", text(r.out[0]))
	assert.Zero(t, r.out[0].Message.Depth)
	last := r.receipts[two[0].ID][2]
	require.Len(t, last.Evidence, 1)
	assert.Equal(t, "approved by ada (uid 1000, pid 7, /dev/pts/3, pane %5)", last.Evidence[0].Says)
	assert.Equal(t, who, r.book.Decided[two[0].Message.ID].Person)

	for _, verb := range []message.Verb{message.VerbDeliver, message.VerbDrop} {
		_, err := r.ask(DecideHeld{Message: two[0].Message.ID, Verb: verb})
		require.ErrorIs(t, err, ErrDecided)
	}
	_, err := r.ask(DecideHeld{By: By{Kind: Agent, Peer: s[1].ID}, Message: one[0].Message.ID, Verb: message.VerbDeliver})
	require.ErrorIs(t, err, ErrPersonOnly)
	r.must(PauseChat{Chat: string(c.ID)})
	assert.Equal(t, "waiting for approval", string(r.book.Last[one[0].ID].Reason), "a pause does not decide it")
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	assert.Equal(t, "waiting for approval", string(r.book.Last[one[0].ID].Reason), "nor does its end")
	r.must(PauseChat{Chat: string(c.ID)})
	before := len(r.out)
	r.must(DecideHeld{Message: one[0].Message.ID, Verb: message.VerbDeliver})
	assert.Equal(t, message.Paused, r.book.Last[one[0].ID].Reason)
	require.Len(t, r.out, before)
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	assert.Subset(t, handedIDs(r.out[before:]), []message.ID{one[0].ID, one[1].ID})
}

// It also goes to an agent that had gone when a person edited the message, and is back in the next
// run.
func TestApprove_editedForWhoWasAway(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Approve: message.ApproveAll}, "a", "b", "c")
	r.say(s[0], "rm -rf /")
	d := r.to(s[1], "rm -rf /")
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.PaneDead})
	edited := "ls, and nothing else"
	r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver, Body: &edited, Who: message.Person{Name: "ada"}})
	require.Len(t, r.out, 1, "it goes to c")
	r.tokens++
	_, err := r.step(Adopted{Token: r.tokens, Peer: s[1]})
	require.NoError(t, err)
	r.must(AddMember{Chat: string(c.ID), Peer: "b"})
	r.restart(0)
	require.Len(t, r.out, 2)
	for i, one := range r.out {
		assert.Equal(t, []any{s[1+i].ID, edited}, []any{one.Target, one.Message.Body})
	}
	_, err = r.ask(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver})
	require.ErrorIs(t, err, ErrDecided)
}

// The edited text goes under the name of the original author, and the log shows it; the author and
// the cost stay as they were.
func TestApprove_edited(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Approve: message.ApproveAll}, "a", "b")
	r.say(s[0], "rm -rf /")
	d := r.only("rm -rf /")
	for _, bad := range []string{" ", string([]byte{0xff})} {
		_, err := r.ask(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver, Body: &bad})
		require.ErrorIs(t, err, ErrRequest)
	}
	edited := "ls, and nothing else"
	r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver, Body: &edited, Who: message.Person{Name: "ada"}})
	require.Len(t, r.out, 1)
	assert.Equal(t, "[a] (1):\n\nls, and nothing else", text(r.out[0]))
	assert.Equal(t, edited, r.made[d.ID].Message.Body, "on disk before it goes")
	assert.Contains(t, r.receipts[d.ID][2].Evidence[0].Says, "edited and approved by ada")
	assert.Equal(t, size(r.out[0]), r.s.present(s[1].ID).bytes)
	r.submit(r.out[0])
	assert.Zero(t, r.s.present(s[1].ID).bytes)
}

// A person edits the words as they will be typed, under their subject, and the result is typed byte
// for byte. It is parsed into a subject and a body again.
func TestApprove_editedSubject(t *testing.T) {
	for edited, want := range map[string][]string{
		"Subject: the plan\n\nls":  {"the plan", "ls"},
		"Subject: no plan\n\nls":   {"no plan", "ls"},
		"ls":                       {"", "ls"},
		"Subject:  the plan\n\nls": {"", "Subject:  the plan\n\nls"},
	} {
		for _, asIs := range []bool{false, true} {
			r := newRig(t)
			r.async = true
			s := r.adopt("a", "b")
			m := message.Envelope{Subject: "the plan", Body: "rm -rf /"}
			_, _ = r.ask(Send{To: "b", Message: m})
			r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbAsk}, Outcomes: []message.Outcome{
				{Target: s[1].ID, Decision: message.Decision{Verb: message.VerbAsk}, Body: &[]string{"rm -rf /"}[0], AsIs: asIs},
			}})
			d := r.only(map[bool]string{false: "Subject: the plan\n\nrm -rf /", true: "rm -rf /"}[asIs])
			r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver, Body: &edited, Who: message.Person{Name: "ada"}})
			require.Len(t, r.out, 1)
			assert.Equal(t, d.Head+d.Separator+edited, text(r.out[0]))
			assert.Equal(t, want, []string{r.out[0].Message.Subject, r.out[0].Message.Body})
		}
	}
}

// A no ends the message, with a receipt; with words, or with an answer in its place, its author is
// told.
func TestApprove_no(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Approve: "a"}, "a", "b")
	decide := func(words string, q DecideHeld) message.Delivery {
		r.say(s[0], words)
		d := r.only(words)
		q.Message, q.Who.Name = d.Message.ID, "ada"
		r.must(q)
		return d
	}
	d := decide("one", DecideHeld{Verb: message.VerbDrop})
	assert.Equal(t, []string{"queued", "held: waiting for approval", "failed: rejected"}, r.states(d.ID))
	assert.Empty(t, r.out)
	decide("two", DecideHeld{Verb: message.VerbDrop, Say: "not now"})
	require.Len(t, r.out, 1)
	assert.Equal(t, "[person] (0):\n\nnot now", text(r.out[0]))
	assert.Equal(t, s[0].ID, r.out[0].Target)
	d = decide("three", DecideHeld{Verb: message.VerbBounce, Say: "it is 42"})
	assert.Equal(t, "failed: answered by a person instead", r.states(d.ID)[2])
	require.Len(t, r.out, 2)
	assert.Equal(t, d.Message.ID, r.out[1].Message.InReplyTo)

	sent := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "beside it"}})
	r.must(DecideHeld{Message: sent.Message, Verb: message.VerbBounce, Say: "to you alone"})
	require.Len(t, r.out, 3)
	assert.Empty(t, r.out[2].Chat)
	assert.Equal(t, s[0].ID, r.out[2].Target)

	r.say(s[0], "four")
	d = r.only("four")
	for _, q := range []DecideHeld{
		{Verb: message.VerbAsk},
		{Verb: message.VerbBounce},
		{Verb: message.VerbDeliver, Say: "x"},
	} {
		q.Message = d.Message.ID
		_, err := r.ask(q)
		require.ErrorIs(t, err, ErrRequest)
	}
	_, _ = r.step(Gone{Peer: s[0].ID, Reason: message.PaneMissing})
	_, err := r.ask(DecideHeld{Message: d.Message.ID, Verb: message.VerbDrop, Say: "x"})
	require.Error(t, err, "its author has gone, and with it the chat")
}

// The next run knows what waits for a person, and lets none of it go by itself; what was received
// and undecided is decided there.
func TestApprove_afterARestart(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Approve: "a"}, "a", "b")
	r.say(s[0], "one")
	r.async = true
	r.say(s[0], "two")
	one := r.only("one")
	r.restart(0)
	require.Len(t, r.pending, 1, "asked about again")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	assert.Empty(t, r.out)
	r.pass(3 * time.Hour)
	assert.Equal(t, message.AwaitingApproval, r.book.Last[one.ID].Reason)
	assert.Equal(t, message.AwaitingApproval, r.book.Last[r.only("two").ID].Reason, "the chat is as it was set")
	r.must(DecideHeld{Message: one.Message.ID, Verb: message.VerbDeliver})
	require.Len(t, r.out, 1)
	assert.Equal(t, one.ID, r.out[0].ID)
	r.restart(0)
	require.Len(t, r.out, 1, "approved stays approved")
}

// A policy may say how long to wait for a person, in awake time, and what happens then.
func TestV10_notForEverWhereAPolicySaysSo(t *testing.T) {
	for otherwise, want := range map[message.Verb]string{
		"":                  "held: waiting for approval",
		message.VerbHold:    "held: waiting for approval",
		message.VerbDeliver: "queued",
		message.VerbDrop:    "expired: waiting for approval",
		message.VerbBounce:  "expired: waiting for approval",
	} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b")
		sent, _ := r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
		assert.Empty(t, sent.Receipts)
		v := message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: otherwise}}
		_, _ = r.step(Decided{v})
		d := r.only("x")
		r.pass(40 * time.Second)
		assert.Len(t, r.states(d.ID), 2)
		r.restart(0)
		r.pass(59 * time.Second)
		assert.Len(t, r.states(d.ID), 2, "it begins anew with another run")
		r.pending = nil
		r.pass(5 * time.Second)
		states := r.states(d.ID)
		assert.Equal(t, want, states[len(states)-1], otherwise)
		assert.Equal(t, otherwise == message.VerbDeliver, len(r.out) == 1)
		assert.Equal(t, otherwise == message.VerbBounce, len(r.pending) == 1, "its author is told")
	}
}

// What a policy holds for a time and then asks about, as a handoff during quiet hours, waits for a
// person's yes from then on, who is told; in the next run too.
func TestLapse_asksOnceItWasHeldForItsTime(t *testing.T) {
	for _, again := range []bool{false, true} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b")
		_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
		_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{
			Verb: message.VerbHold, Reason: "quiet hours", Expires: time.Minute, Otherwise: message.VerbAsk,
		}}})
		d := r.only("x")
		require.Equal(t, []string{"queued", "held: quiet hours"}, r.states(d.ID))
		require.Empty(t, r.notices)
		r.pass(2 * time.Minute)
		assert.Equal(t, []string{"queued", "held: quiet hours", "held: waiting for approval"}, r.states(d.ID))
		require.Len(t, r.notices, 1)
		assert.Contains(t, r.notices[0], "a's message to b awaits your approval: intercom inbox approve "+d.Message.ID.Short()+" (held for 1m)")
		if again {
			r.restart(0)
		}
		r.pass(2 * time.Minute)
		assert.Len(t, r.notices, 1, "once")
		assert.Empty(t, r.out)
		r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDeliver})
		assert.Len(t, r.out, 1)
	}
}

// An acknowledgement instead of a person's word is told to the author like an immediate one: if
// there is a text for it, or if an answer was asked for.
func TestApprove_lapsesAsAnAcknowledgement(t *testing.T) {
	for name, c := range map[string]struct {
		otherwise message.Verb
		text      string
		requires  bool
		told      string
	}{
		"nothing to say":         {otherwise: message.VerbAck},
		"words":                  {otherwise: message.VerbAck, text: "seen", told: "seen"},
		"an answer is asked for": {otherwise: message.VerbAck, requires: true, told: "your message was acknowledged"},
		"a bounce":               {otherwise: message.VerbBounce, told: "your message was not delivered: it was not approved in time"},
		"a bounce with words":    {otherwise: message.VerbBounce, text: "too late", told: "your message was not delivered: too late"},
	} {
		for _, again := range []bool{false, true} {
			r := newRig(t)
			r.async = true
			s := r.adopt("a", "b")
			_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x", RequiresResponse: c.requires}})
			_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbAsk}, Outcomes: []message.Outcome{
				{Target: s[1].ID, Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: c.otherwise}, Text: c.text},
			}}})
			if again {
				r.restart(0)
			}
			r.pending = nil
			r.pass(2 * time.Minute)
			d := r.only("x")
			assert.Equal(t, "expired: waiting for approval", r.states(d.ID)[len(r.states(d.ID))-1], name)
			if c.told == "" {
				assert.Empty(t, r.pending, name)
				continue
			}
			require.Len(t, r.pending, 1, name)
			assert.Equal(t, c.told, r.received().Body, name)
		}
	}
}

// A person's no is about the deliveries that wait for it: what another target is to get still goes
// to that one, in the next run too.
func TestV10_ANoToOneTargetIsNoneToAnother(t *testing.T) {
	for _, why := range []message.Reason{message.AgentWorking, "a reason of the pane's own"} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b", "c")
		r.chat(message.Limits{}, "a", "b", "c")
		r.say(s[0], "x")
		r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Outcomes: []message.Outcome{{Target: s[2].ID, Decision: message.Decision{Verb: message.VerbAsk}}}})
		require.Len(t, r.out, 1)
		d := r.out[0]
		require.NoError(t, r.report(d.ID, message.Held, why))
		r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDrop, Who: message.Person{Name: "ada"}})
		r.restart(0)
		require.Len(t, r.out, 1, "it goes on to b")
		assert.Equal(t, d.ID, r.out[0].ID)
	}
}

// A message that a policy lets go to nobody has its receipts; a bounce is told to the author.
func TestDecided_toNobody(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b", "c")
	r.say(s[0], "one")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDrop, Reason: "empty", Notify: true}}})
	for _, d := range r.all("one") {
		assert.Equal(t, []string{"failed: dropped by policy"}, r.states(d.ID))
	}
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], "a: drop (empty)")
	r.say(s[0], "two")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[1], Decision: message.Decision{Verb: message.VerbBounce, Reason: "not your turn"}}})
	require.Len(t, r.pending, 3)
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[2], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.Len(t, r.out, 1)
	assert.Equal(t, s[0].ID, r.out[0].Target)
	assert.Equal(t, "AI[local:"+string(s[1].ID)+"] | [notice] your message was not delivered: not your turn", text(r.out[0]))
}

// What a policy dropped is not lost: a person lets it go after all, once.
func TestApprove_fromTheTrash(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b", "c")
	r.say(s[0], "one")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDrop}}})
	trash := r.all("one")
	_, err := r.ask(DecideHeld{Message: r.pending[0], Verb: message.VerbDrop})
	require.ErrorIs(t, err, ErrDecided)
	r.must(RemoveMember{Chat: string(c.ID), Peer: "c"})
	decide := DecideHeld{Message: r.pending[0], Verb: message.VerbDeliver, Trash: trash, Who: message.Person{Name: "ada"}}
	a := r.must(decide)
	require.Len(t, a.Receipts, 1, "to those who are there")
	require.Len(t, r.out, 1)
	assert.Equal(t, "[a] (1):\n\none", text(r.out[0]))
	assert.Equal(t, s[1].ID, r.out[0].Target)
	assert.Equal(t, []string{"queued", "held: waiting for approval", "queued"}, r.states(r.out[0].ID))
	_, err = r.ask(decide)
	require.ErrorIs(t, err, ErrDecided)
	r.must(StopChat{Chat: string(c.ID)})
	decide.Trash[0].ID = r.id()
	_, err = r.ask(decide)
	require.ErrorIs(t, err, ErrRequest)
}

// A message that no filter has seen leaves the trash only as a person rewrote it.
func TestL6_UnfilteredStaysInTheTrash(t *testing.T) {
	for _, verb := range []message.Verb{message.VerbDrop, message.VerbBounce} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b")
		r.chat(message.Limits{}, "a", "b")
		r.say(s[0], "the key is 123")
		id := r.pending[0]
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: verb}, Unfiltered: true}})
		yes := DecideHeld{Message: id, Verb: message.VerbDeliver, Trash: r.all("the key is 123")}
		_, err := r.ask(yes)
		require.ErrorIs(t, err, ErrUnfiltered)
		r.restart(0)
		_, err = r.ask(yes)
		require.ErrorIs(t, err, ErrUnfiltered)
		edited := "a key"
		yes.Body = &edited
		r.must(yes)
		require.Len(t, r.out, 1)
		assert.Equal(t, "[a] (1):\n\na key", text(r.out[0]))
		assert.False(t, r.book.Deliveries[len(r.book.Deliveries)-1].Unfiltered)
	}
}

// Helpers.

// all returns the deliveries of the message with that text.
func (r *rig) all(body string) (all []message.Delivery) {
	for _, d := range r.book.Deliveries {
		if render.Words(d.Form, d.Message) == body {
			all = append(all, d)
		}
	}
	return all
}

func (r *rig) only(body string) message.Delivery {
	all := r.all(body)
	require.Len(r.t, all, 1)
	return all[0]
}

// A person may say no to whatever waits and was not typed, and its author is told; a message that
// got a yes, or is being typed, is out of reach.
func TestS12_NoToWhatWaitsForSomethingElse(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Depth: 2}, "a", "b", "c")
	no := func(id message.ID) error {
		_, err := r.ask(DecideHeld{Message: id, Verb: message.VerbDrop, Who: message.Person{Name: "ada"}})
		return err
	}

	// At its pane, which is busy.
	r.say(s[0], "at the pane")
	d := r.to(s[1], "at the pane")
	require.NoError(t, r.report(d.ID, message.Held, message.AgentWorking))
	require.NoError(t, r.report(r.to(s[2], "at the pane").ID, message.Typed, ""))
	require.NoError(t, no(d.Message.ID))
	assert.Equal(t, message.Rejected, r.book.Last[d.ID].Reason)
	assert.Equal(t, message.Typed, r.book.Last[r.to(s[2], "at the pane").ID].State, "what is typed stays")
	require.ErrorIs(t, r.report(d.ID, message.Typed, ""), ErrNotOurs, "and it cannot be typed any more")
	assert.Equal(t, []message.ID{d.ID}, r.cancel[len(r.cancel)-1].IDs)
	assert.Contains(t, text(r.out[len(r.out)-1]), "your message was not delivered: a person rejected it")
	require.ErrorIs(t, no(d.Message.ID), ErrDecided)

	// At a limit, and while everything is stopped.
	r.must(PauseChat{Chat: string(c.ID)})
	r.say(s[0], "paused")
	held := r.all("paused")
	require.Len(t, held, 2)
	require.NoError(t, no(held[0].Message.ID))
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	for _, one := range held {
		assert.Equal(t, message.Rejected, r.book.Last[one.ID].Reason)
	}

	// An agent cannot say no to anything.
	r.say(s[0], "more")
	_, err := r.ask(DecideHeld{By: By{Kind: Agent, Peer: s[1].ID}, Message: r.to(s[1], "more").Message.ID, Verb: message.VerbDrop})
	require.ErrorIs(t, err, ErrPersonOnly)
}

// Nobody can be told of the rejection of a person's own message, and an attempt to reject it with
// words is answered with that.
func TestReject_ofAPersonsOwn(t *testing.T) {
	r := newRig(t)
	r.async = true
	a := r.adopt("a")[0]
	_, _ = r.ask(Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "deploy"}})
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbHold, Reason: "a deployment"}, To: []message.Address{{Peer: a.ID}}})
	d := r.only("deploy")
	_, err := r.ask(DecideHeld{Message: d.Message.ID, Verb: message.VerbDrop, Say: "not now"})
	require.ErrorIs(t, err, ErrRequest)
	require.ErrorContains(t, err, "its author is a person, to whom no reply can be sent")
	r.must(DecideHeld{Message: d.Message.ID, Verb: message.VerbDrop})
}

// A person who is asked for their yes is told which rule asks. Two rules that ask for the same
// reason are told separately.
func TestApprove_theNoticeNamesTheRule(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c", "d")
	r.chat(message.Limits{}, "a", "b", "c", "d")
	r.say(s[0], "words")
	ask := func(target int, reason, by string) message.Outcome {
		return message.Outcome{Target: s[target].ID, Decision: message.Decision{Verb: message.VerbAsk, Reason: reason, By: by}}
	}
	r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Outcomes: []message.Outcome{
		ask(1, "it deletes files", "init.lua:12 deletions"), ask(2, "it deletes files", "guard.lua:3"), ask(3, "", "init.lua:20 handoffs"),
	}})
	require.Len(t, r.notices, 3)
	assert.Contains(t, r.notices[0], "a's message to b awaits your approval: ")
	assert.Contains(t, r.notices[0], " (it deletes files, by init.lua:12 deletions)")
	assert.Contains(t, r.notices[1], " (it deletes files, by guard.lua:3)")
	assert.Contains(t, r.notices[2], " (by init.lua:20 handoffs)")
}

// The end of a question is not reported as the end of a chat.
func TestAsk_theNoticeOfItsEnd(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.must(StartChat{Peers: []string{"a", "b"}, OneWay: true, Turns: 1, Question: true}).Chats[0]
	r.must(StopChat{By: By{Kind: Agent, Peer: s[0].ID}, Chat: string(c.ID)})
	require.NotEmpty(t, r.notices)
	assert.Contains(t, r.notices[len(r.notices)-1], "question a ← b has ended: stopped by a")
	_, err := r.ask(Say{By: By{Kind: Person}, Chat: string(c.ID), Body: "more"})
	assert.EqualError(t, err, "say: question a ← b has ended: stopped by a")
	assert.ErrorIs(t, err, ErrEnded)
}
