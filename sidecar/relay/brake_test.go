package relay

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Two parrots: paused at the limit, nothing lost, resumed by a person.
func TestBrake_depth(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Rate: 1000}, "a", "b")
	said := func(from int) []message.Delivery {
		out := r.say(s[0], "go")
		for i := from; ; i++ {
			if len(out) == 0 {
				return nil
			}
			require.Equal(t, i, out[0].Message.Depth)
			r.submit(out...)
			to := s[1]
			if out[0].Target == s[0].ID {
				to = s[0]
			}
			out = r.say(to, "parrot", out[0].ID)
		}
	}
	said(1)
	assert.Len(t, r.out, 20, "a message at the limit still goes")
	got, _ := r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatPaused, got.State)
	assert.Equal(t, "depth limit reached", got.Why)
	require.Len(t, r.notices, 1)
	assert.Equal(t, "a ↔ b paused after 20 turns", r.notices[0])
	require.Len(t, r.made, 21)

	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	require.Len(t, r.out, 21, "the one beyond it was held")
	held := r.out[20]
	assert.Equal(t, []string{"queued", "held: depth limit reached", "queued"}, r.states(held.ID))
	assert.Zero(t, held.Message.Depth)
	r.submit(held)
	next := r.say(s[0], "parrot", held.ID)
	require.Len(t, next, 1)
	assert.Equal(t, 1, next[0].Message.Depth)
}

// A delivery that a limit catches between its paste and its Enter is completed, unless somebody
// pauses or stops the chat meanwhile.
func TestBrake_whatWasPastedGetsItsEnter(t *testing.T) {
	begun := func() (r *rig, chat string, pasted message.Delivery) {
		r = newRig(t)
		s := r.adopt("a", "b")
		c := r.chat(message.Limits{Rate: 2}, "a", "b")
		pasted = r.say(s[0], "pasted")[0]
		waiting := r.say(s[0], "waiting")[0]
		require.NoError(t, r.report(pasted.ID, message.Typed, ""))
		require.Empty(t, r.say(s[0], "beyond"))
		require.Equal(t, string(message.AtRateLimit), r.shows(c.ID).Why)
		assert.Equal(t, []Cancel{{IDs: []message.ID{waiting.ID}, Reason: message.Paused}}, r.cancel)
		assert.ErrorIs(t, r.report(waiting.ID, message.Typed, ""), ErrPaused, "what was not pasted waits")
		return r, string(c.ID), pasted
	}
	r, _, pasted := begun()
	r.submit(message.Delivery{ID: pasted.ID, Typed: true})
	assert.Equal(t, []string{"queued", "typed", "typed", "submitted"}, r.states(pasted.ID))

	r, chat, pasted := begun() // tmux did not paste it
	require.NoError(t, r.report(pasted.ID, message.Held, message.TmuxRefused))
	assert.Equal(t, []string{"queued", "typed", "held: pane changed while we looked", "held: chat paused"}, r.states(pasted.ID))
	assert.ErrorIs(t, r.report(pasted.ID, message.Typed, ""), ErrPaused)
	handed := len(r.out)
	r.must(ResumeChat{Chat: chat, Sure: true})
	require.Equal(t, pasted.ID, r.out[handed].ID, "in its order")

	for want, asked := range map[error]func(chat string) Request{
		ErrPaused:  func(chat string) Request { return PauseChat{Chat: chat} },
		ErrStopped: func(string) Request { return PauseChat{Chat: All} },
		ErrEnded:   func(chat string) Request { return StopChat{Chat: chat} },
	} {
		r, chat, pasted := begun()
		r.must(asked(chat))
		assert.ErrorIs(t, r.report(pasted.ID, message.Typed, ""), want)
		assert.Contains(t, r.cancel[len(r.cancel)-1].IDs, pasted.ID, "its sink asks once more")
	}
}

// What is said during a pause meets the limits like everything else: beyond one, it goes only at a
// resume that is a person's word about that limit, and the person is told once.
func TestB1_WhatIsSaidInAPauseMeetsTheLimits(t *testing.T) {
	for _, all := range []bool{false, true} {
		r := newRig(t)
		s := r.adopt("a", "b")
		c := r.chat(message.Limits{Depth: 2}, "a", "b")
		out := r.say(s[0], "one")
		r.submit(out...)
		out = r.say(s[1], "two", out[0].ID)
		require.Equal(t, 2, out[0].Message.Depth)
		r.submit(out...)
		which := string(c.ID)
		if all {
			which = All
		}
		r.must(PauseChat{Chat: which})
		told := len(r.notices)
		require.Empty(t, r.say(s[1], "of its own"))
		require.Empty(t, r.say(s[0], "beyond", out[0].ID))
		require.Empty(t, r.say(s[0], "and more"))
		assert.Equal(t, []string{"a ↔ b paused after 2 turns"}, r.notices[told:])
		assert.Equal(t, message.HoldPause, r.book.Last[r.to(s[0], "of its own").ID].Hold)
		assert.Equal(t, message.HoldLimit, r.book.Last[r.to(s[1], "beyond").ID].Hold)

		r.restart(0)
		_, err := r.ask(ResumeChat{Chat: which})
		braked, ok := errors.AsType[*BrakedError](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, []string{"chat a ↔ b is paused: depth limit reached"}, braked.Why)
		assert.Empty(t, r.out)

		r.must(ResumeChat{Chat: which, Sure: true})
		require.Len(t, r.out, 3)
		for i, words := range []string{"of its own", "beyond", "and more"} {
			assert.Equal(t, words, r.out[i].Message.Body)
			assert.Zero(t, r.out[i].Message.Depth)
		}
	}
}

// What is said during a pause and is within all limits goes when the chat is resumed.
func TestB1_WhatIsSaidInAPauseGoesWithIt(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Rate: 2}, "a", "b")
	r.must(PauseChat{Chat: string(c.ID)})
	r.say(s[0], "one")
	r.say(s[0], "two")
	r.must(ResumeChat{Chat: string(c.ID)})
	require.Len(t, r.out, 2)
	r.submit(r.out...)
	require.Empty(t, r.say(s[0], "three"), "they count")
	assert.Equal(t, string(message.AtRateLimit), r.shows(c.ID).Why)
}

// What a policy sends on out of a chat is held with the chat, goes on with it, and ends with it, in
// the next run too.
func TestB1_SentOnGoesOnWithItsChat(t *testing.T) {
	for _, how := range []string{"pause", "brake"} {
		for _, resumed := range []bool{true, false} {
			r := newRig(t)
			r.async = true
			s := r.adopt("a", "b", "c")
			c := r.chat(message.Limits{Rate: 1}, "a", "b")
			to := []message.Address{{Peer: s[2].ID}, {Peer: s[1].ID}}
			if how == "pause" {
				r.must(PauseChat{Chat: string(c.ID)})
			} else {
				r.say(s[0], "one")
				r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: to})
				require.Len(t, r.out, 2)
				r.submit(r.out...)
			}
			r.say(s[0], "for both")
			r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: to})
			r.restart(0)
			require.Empty(t, r.out)
			require.Len(t, r.all("for both"), 2)
			if !resumed {
				r.must(StopChat{Chat: string(c.ID)})
				assert.Equal(t, message.ChatEnded, r.book.Last[r.to(s[2], "for both").ID].Reason)
				continue
			}
			r.must(ResumeChat{Chat: string(c.ID), Sure: true})
			require.Len(t, r.out, 2, how)
			assert.Equal(t, []message.ID{s[2].ID, s[1].ID}, []message.ID{r.out[0].Target, r.out[1].Target})
		}
	}
}

// An agent may act on a message before its sink has seen that it was taken: what it sends then
// still lies deeper.
func TestBrake_depth_countsFromEnter(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{}, "a", "b")
	out := r.say(s[0], "one")
	r.submit(out...)
	out = r.say(s[1], "two", out[0].ID)
	r.submit(out...)
	out = r.say(s[0], "three", out[0].ID)
	require.Equal(t, 3, out[0].Message.Depth)
	require.NoError(t, r.report(out[0].ID, message.Typed, ""), "leave for the paste")
	require.NoError(t, r.report(out[0].ID, message.Typed, ""), "leave for Enter")
	r.must(Send{By: By{Kind: Agent, Peer: s[1].ID}, To: "c", Message: message.Envelope{Body: "at once"}})
	assert.Equal(t, 4, r.out[len(r.out)-1].Message.Depth)
}

func TestBrake_rateAndBytes(t *testing.T) {
	for name, c := range map[string]struct {
		limits message.Limits
		words  string
		goes   int
		why    message.Reason
	}{
		"rate":  {message.Limits{}, "x", 20, message.AtRateLimit},
		"bytes": {message.Limits{Bytes: 1000}, strings.Repeat("x", 489), 2, message.AtByteLimit}, // and eleven of the attribution
	} {
		r := newRig(t)
		s := r.adopt("aa", "b", "c")
		chat := r.chat(c.limits, "aa", "b", "c")
		for range c.goes {
			out := r.say(s[0], c.words)
			require.True(t, len(out) == 2, name)
			r.submit(out...)
		}
		assert.Empty(t, r.say(s[0], c.words), name)
		got, _ := r.s.Snapshot().Chat(chat.ID)
		assert.Equal(t, message.ChatPaused, got.State)
		assert.Equal(t, string(c.why), got.Why)
		assert.Len(t, r.notices, 1)
		r.must(ResumeChat{Chat: string(chat.ID), Sure: true})
		assert.Equal(t, 2*c.goes+2, len(r.out), "those that were held go out")
		for range c.goes {
			assert.Len(t, r.say(s[0], c.words), 2, "rates begin anew")
		}
	}
}

// The settings in init.lua hold from then on, also for what was sent before.
func TestBrake_ownLimitsAreThePersons(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	send := func(to string) message.Receipt {
		return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: to, Message: message.Envelope{Body: "x"}}).Receipts[0]
	}
	_, _ = r.step(LimitsChanged{Own: route.Sends{Minute: 2, Hour: 3}})
	for _, to := range []string{"b", "b", "c"} {
		assert.Equal(t, message.Queued, send(to).State)
	}
	assert.Equal(t, message.AtOwnHour, send("d").Reason, "the fourth of an hour")
	_, _ = r.step(LimitsChanged{Own: route.Sends{Minute: 2}})
	assert.Equal(t, message.Queued, send("d").State, "thirty again")
	assert.Equal(t, message.AtOwnMinute, send("b").Reason, "the third of a minute")
}

// A later message does not overtake one of the same agent that waits at a limit: neither when the
// limit is raised, nor when a minute has passed.
func TestBrake_T43_nothingOvertakesWhatWaits(t *testing.T) {
	for how, change := range map[string]func(r *rig){
		"raised":  func(r *rig) { _, _ = r.step(LimitsChanged{Own: route.Sends{Minute: 4}}) },
		"a while": func(r *rig) { r.now = r.now.Add(2 * time.Minute) },
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		send := func(to, text string) message.Receipt {
			return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: to, Message: message.Envelope{Body: text}}).Receipts[0]
		}
		_, _ = r.step(LimitsChanged{Own: route.Sends{Minute: 2}})
		for _, text := range []string{"1", "2"} {
			require.Equal(t, message.Queued, send("b", text).State)
		}
		require.Equal(t, message.AtOwnMinute, send("b", "3").Reason)
		require.Equal(t, message.AtOwnMinute, send("b", "4").Reason)
		change(r)
		assert.Equal(t, message.Queued, send("c", "other").State, "%s: another target waits for nothing", how)
		last := send("b", "5")
		var went []string
		for _, d := range r.out {
			if d.Target == s[1].ID {
				went = append(went, d.Message.Body)
			}
		}
		assert.Equal(t, []string{"1", "2", "3", "4"}, went, how)
		assert.Equal(t, message.AtOwnMinute, last.Reason, "%s: those before it have used the limit up", how)
	}
}

// Words of a chat that policies send on to somebody outside of it, and that wait at a rate, wait
// with that chat for a person: a later message of their author lets none of them go, and does not
// wait for them.
func TestBrake_aMessageReleasesNothingOfAChat(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "outsider")
	c := r.chat(message.Limits{Rate: 1}, "a", "b")
	r.async = true
	for _, words := range []string{"one", "two"} {
		r.say(s[0], words)
		r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: []message.Address{{Peer: s[1].ID}, {Peer: s[2].ID}}})
	}
	r.async = false
	require.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	held := r.to(s[2], "two")
	require.Equal(t, []string{"queued", "held: rate limit reached"}, r.states(held.ID))
	single := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "outsider", Message: message.Envelope{Body: "x"}}).Receipts[0]
	assert.Equal(t, message.Queued, single.State)
	assert.Len(t, r.states(held.ID), 2, "nobody has said yes to it")
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	assert.Equal(t, "queued", r.states(held.ID)[2])
}

// What an agent sends while everything is stopped counts against its limits: a person who lets
// everything go on is asked about what is beyond the limits, and the rest is no more than they
// allow.
func TestBrake_whileEverythingIsStopped(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	ada := By{Kind: Person, Name: "ada"}
	send := func(text string) message.Receipt {
		return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: text}}).Receipts[0]
	}
	_, _ = r.step(LimitsChanged{Own: route.Sends{Minute: 3}})
	r.must(PauseChat{Chat: All})
	for i := range 7 {
		want := message.Stopped
		if i >= 3 {
			want = message.AtOwnMinute
		}
		assert.Equal(t, want, send(fmt.Sprint(i)).Reason)
	}
	r.now = r.now.Add(2 * time.Minute)
	assert.Equal(t, message.AtOwnMinute, send("7").Reason, "behind those before it")
	assert.Empty(t, r.out)
	_, err := r.step(Requested{Token: 99, Request: ResumeChat{By: ada, Chat: All}})
	assert.EqualError(t, err, "single messages held at a limit: 5")
	r.must(ResumeChat{By: ada, Chat: All, Sure: true})
	var went []string
	for _, d := range r.out {
		went = append(went, d.Message.Body)
	}
	assert.Equal(t, []string{"0", "1", "2", "3", "4", "5", "6", "7"}, went)
}

func TestBrake_single(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d", "e")
	send := func(to string) message.Receipt {
		return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: to, Message: message.Envelope{Body: "x"}}).Receipts[0]
	}
	for range usual.Minute {
		assert.Equal(t, message.Queued, send("b").State)
	}
	held := send("b")
	assert.Equal(t, message.Held, held.State)
	assert.Equal(t, message.AtOwnMinute, held.Reason)
	assert.Len(t, r.notices, 1)
	for range 10 {
		send("c")
		send("d")
	}
	assert.Equal(t, message.AtOwnHour, send("e").Reason, "thirty in an hour")
	r.now = r.now.Add(30 * time.Minute)
	assert.Equal(t, message.AtOwnHour, send("e").Reason)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Person: true}})
	before := len(r.out)
	assert.Equal(t, message.Queued, send("e").State, "a person's word")
	assert.Len(t, r.out, before+3, "with those that waited before it")
	r.must(ResumeChat{Chat: "all", Sure: true})
	assert.Len(t, r.out, before+4, "released by a person")
	_, _ = r.step(Tick{})
	r.now = r.now.Add(2 * time.Minute)
	_, _ = r.step(Tick{})
	assert.Empty(t, r.s.present(s[0].ID).sends)
}

// A duplicate id is dropped with a receipt; whatever a message claims, its depth is ours.
func TestB4_forged(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Rate: 1000}, "a", "b")
	id := message.NewID()
	for i, by := range []By{{Kind: Agent, Peer: s[0].ID}, {Kind: Agent, Peer: s[0].ID}, {Kind: Agent, Peer: s[1].ID}, {Kind: Person}} {
		to := "b"
		if by.Peer == s[1].ID {
			to = "a"
		}
		a := r.must(Send{By: by, To: to, Message: message.Envelope{ID: id, Body: "x"}})
		require.Len(t, a.Receipts, 1)
		if i == 0 {
			require.Equal(t, message.Queued, a.Receipts[0].State)
			continue
		}
		assert.Equal(t, message.Failed, a.Receipts[0].State)
		assert.Equal(t, message.Duplicate, a.Receipts[0].Reason)
		assert.Equal(t, []string{"failed: duplicate id"}, r.states(a.Receipts[0].Delivery), "written down")
	}
	r.tokens++
	a, err := r.step(Requested{Token: r.tokens, Seen: true, Request: Send{By: By{Kind: Person}, To: "b", Message: message.Envelope{ID: message.NewID(), Body: "x"}}})
	require.NoError(t, err)
	assert.Equal(t, message.Duplicate, a.Receipts[0].Reason, "known to the journal alone")
	require.Len(t, r.out, 1)
	twice := Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "once", Ended: r.now}}
	_, _ = r.step(twice)
	require.Len(t, r.out, 2)
	_, _ = r.step(twice)
	assert.Len(t, r.out, 2)

	// A ring of a chat and single messages meets the limit, whatever the messages claim.
	r.submit(r.out...)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "begin", Person: true, Ended: r.now}})
	for depth := 1; depth <= 20; depth++ {
		last := r.out[len(r.out)-1]
		require.Equal(t, depth, last.Message.Depth)
		r.submit(last)
		if depth%2 == 0 {
			r.say(s[0], "by chat", last.ID)
			continue
		}
		r.must(Send{By: By{Kind: Agent, Peer: s[1].ID}, To: "a", Message: message.Envelope{
			Body: "by message", Depth: []int{0, -1 << 62, 1}[depth%3], Origin: message.OriginHuman, Trust: message.TrustPerson,
			Meta: map[string]string{"depth": "0", "hops": "0"},
		}})
	}
	got, _ := r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatPaused, got.State)
	assert.Equal(t, string(message.AtDepthLimit), got.Why)
}

func TestDepth(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Rate: 1000}, "a", "b", "c")
	depth := func(out []message.Delivery) int {
		t.Helper()
		require.NotEmpty(t, out)
		return out[0].Message.Depth
	}
	first := r.say(s[0], "first")
	assert.Equal(t, 1, depth(first), "a person's prompt lies before it")
	assert.Equal(t, 1, depth(r.say(s[0], "on its own")), "the same cause goes on")
	r.submit(first[0])
	second := r.say(s[1], "second", first[0].ID)
	assert.Equal(t, 2, depth(second))
	assert.Equal(t, 2, depth(r.say(s[1], "goes on")))
	r.submit(first[1], second[1])
	assert.Equal(t, 3, depth(r.say(s[2], "third", first[1].ID, second[1].ID)), "the greatest of what was submitted")
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "c", Message: message.Envelope{Body: "x"}})
	r.submit(r.out[len(r.out)-1]) // of depth 1
	assert.Equal(t, 2, depth(r.say(s[2], "fourth")), "what came before its last turn counts no more")
	last := r.out[len(r.out)-4] // the third turn, to b
	require.Equal(t, 3, last.Message.Depth)
	require.Equal(t, s[1].ID, last.Target)
	r.submit(last)

	// A single message in the middle of a turn is as deep as the turn will be.
	r.must(Send{By: By{Kind: Agent, Peer: s[1].ID}, To: "a", Message: message.Envelope{Body: "x", Depth: -3}})
	assert.Equal(t, 4, r.out[len(r.out)-1].Message.Depth)

	// A person's own word restarts the depth.
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "to a person", Person: true, Ended: r.now}})
	assert.Equal(t, 1, r.out[len(r.out)-1].Message.Depth)
	r.must(Say{Chat: string(c.ID), Body: "people"})
	said := r.out[len(r.out)-3:]
	assert.Zero(t, depth(said))
	r.submit(said...)
	assert.Equal(t, 1, depth(r.say(s[2], "answer", said[2].ID)))

	// A message that may have been taken counts as a cause too.
	deep := r.out[len(r.out)-1]
	require.Equal(t, s[1].ID, deep.Target)
	require.NoError(t, r.report(deep.ID, message.Typed, ""))
	require.NoError(t, r.report(deep.ID, message.Uncertain, message.NotTaken))
	assert.Equal(t, 2, depth(r.say(s[1], "x")))
}

// A person's word passes every brake; only a pause holds it.
func TestSay_alwaysPasses(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Depth: 1, Rate: 1, Bytes: 20}, "a", "b")
	for range 50 {
		a := r.must(Say{Chat: string(c.ID), Body: "a person's word that is longer than the limit"})
		assert.Len(t, a.Receipts, 2)
		for _, one := range a.Receipts {
			assert.Equal(t, message.Queued, one.State)
		}
	}
	assert.Len(t, r.say(s[0], "x"), 1, "it used up nothing")
	r.must(PauseChat{Chat: string(c.ID)})
	assert.Equal(t, message.Paused, r.must(Say{Chat: string(c.ID), Body: "x"}).Receipts[0].Reason)
	for _, q := range []Say{
		{Chat: string(c.ID), Body: "x", By: By{Kind: Agent, Peer: s[0].ID}},
		{Chat: string(c.ID)},
		{Chat: "none", Body: "x"},
		{Chat: string(c.ID), Body: "x", To: []string{"nobody"}},
	} {
		_, err := r.ask(q)
		assert.Error(t, err)
	}
}

// Up to a maximum number, the messages of one agent wait for a yes; more are refused, and others
// are served as usual, by the same pane.
func TestBrake_waitingForAYesIsBounded(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{Approve: "a"}, "a", "b")
	send := func(by By) message.Receipt {
		return r.must(Send{By: by, To: "b", Message: message.Envelope{Body: "x"}}).Receipts[0]
	}
	first := send(By{Kind: Agent, Peer: s[0].ID})
	for range maxHeld - 1 {
		require.Equal(t, message.AwaitingApproval, send(By{Kind: Agent, Peer: s[0].ID}).Reason)
	}
	told := len(r.notices)
	refused := send(By{Kind: Agent, Peer: s[0].ID})
	assert.Equal(t, message.Failed, refused.State)
	assert.Equal(t, QueueFull, refused.Reason)
	assert.Len(t, r.notices, told, "nobody is asked about it")
	assert.Equal(t, message.Queued, send(By{Kind: Agent, Peer: s[2].ID}).State)
	assert.Equal(t, message.Queued, send(By{Kind: Person}).State)
	r.must(DecideHeld{Message: first.Message, Verb: message.VerbDrop})
	assert.Equal(t, message.AwaitingApproval, send(By{Kind: Agent, Peer: s[0].ID}).Reason)
}

// What is held at a limit goes on only at a person's yes, and only that restarts the depth: pausing
// and resuming a chat is no way around its limits.
func TestS12_B1_OnlyAYesResumesWhatIsBraked(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Depth: 3}, "a", "b")
	var out []message.Delivery
	said := func(n int) {
		for i := range n {
			var answers []message.ID
			if len(out) > 0 {
				r.submit(out...)
				answers = append(answers, out[0].ID)
			}
			out = r.say(s[i%2], "word", answers...)
		}
	}
	said(2)
	r.submit(out...)
	r.must(PauseChat{Chat: string(c.ID)})
	before := len(r.out)
	require.Empty(t, r.say(s[0], "word", out[0].ID))
	_, err := r.ask(ResumeChat{Chat: string(c.ID)})
	require.NoError(t, err)
	out = r.out[before:]
	require.Len(t, out, 1, "what was held goes")
	assert.Equal(t, 3, out[0].Message.Depth, "as deep as it was")
	r.submit(out...)
	out = r.say(s[1], "word", out[0].ID)
	require.Empty(t, out, "the limit counts from before the pause")
	for _, which := range []string{string(c.ID), All} {
		_, err := r.ask(ResumeChat{Chat: which})
		braked, ok := errors.AsType[*BrakedError](err)
		require.True(t, ok, "%v", err)
		assert.Contains(t, braked.Error(), "is paused: depth limit reached")
	}
	r.must(PauseChat{Chat: string(c.ID)}) // a person's pause on top changes nothing
	_, err = r.ask(ResumeChat{Chat: string(c.ID)})
	require.Error(t, err)
	r.restart(0)
	_, err = r.ask(ResumeChat{Chat: string(c.ID)})
	require.Error(t, err, "nor in the next run")
	before = len(r.out)
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	require.Len(t, r.out, before+1)
	assert.Zero(t, r.out[before].Message.Depth)
	_, err = r.ask(ResumeChat{Chat: string(c.ID)})
	assert.NoError(t, err, "it goes on already")
}

// A person's word, said into the chat or typed by hand into the pane, is not counted and restarts
// the depth: what the agents say next is an answer to it. A turn that only agents caused does not.
func TestB5_PersonsWordResetsTheDepth(t *testing.T) {
	for name, c := range map[string]struct {
		word  func(r *rig, c message.Chat, s message.Peer)
		depth int // of what is said next
		state message.ChatState
	}{
		"chat say": {func(r *rig, c message.Chat, _ message.Peer) {
			before := len(r.out)
			r.must(Say{Chat: string(c.ID), Body: "go on"})
			require.Len(r.t, r.out[before:], 2)
			for _, d := range r.out[before:] {
				assert.Zero(r.t, d.Message.Depth)
			}
			r.submit(r.out[before:]...)
		}, 1, message.ChatOn},
		"by hand": {func(r *rig, _ message.Chat, s message.Peer) {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Person: true, Ended: r.now}})
		}, 1, message.ChatOn},
		"an agent": {func(r *rig, _ message.Chat, s message.Peer) {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Ended: r.now}})
		}, 0, message.ChatPaused},
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		chat := r.chat(message.Limits{Depth: 3}, "a", "b")
		for i := range 3 {
			d := r.say(s[i%2], fmt.Sprintf("word %d", i))
			require.Len(t, d, 1, name)
			require.Equal(t, i+1, d[0].Message.Depth, name)
			r.submit(d...)
		}
		c.word(r, chat, s[1])
		d := r.say(s[1], "and on")
		assert.Equal(t, c.state, r.shows(chat.ID).State, name)
		if c.depth == 0 {
			assert.Empty(t, d, name)
		} else if assert.Len(t, d, 1, name) {
			assert.Equal(t, c.depth, d[0].Message.Depth, name)
		}
	}
}

// A person who puts an agent into a chat restarts its depth, even if its pane reports only later
// that the agent took, or may have taken, what was said to it in a chat that was over by then. An
// agent that starts a chat keeps its depth, and what is still to reach an agent from elsewhere has
// the depth that it had.
func TestStartChat_aPersonBeginsTheDepthAnew(t *testing.T) {
	start := func(r *rig, by By) {
		r.must(StartChat{By: by, Peers: []string{"b", "c"}})
	}
	add := func(r *rig, _ By) {
		c := r.chat(message.Limits{}, "c", "d")
		r.must(AddMember{Chat: string(c.ID), Peer: "b"})
	}
	for name, c := range map[string]struct {
		begin    func(r *rig, by By)
		agent    bool                   // the agent itself starts the chat
		becomes  []message.ReceiptState // the states of what was pasted to it
		restarts bool
		want     int
	}{
		"not known to be taken": {start, false, []message.ReceiptState{message.Uncertain}, false, 1},
		"taken late":            {start, false, []message.ReceiptState{message.Submitted}, false, 1},
		"taken after all":       {start, false, []message.ReceiptState{message.Uncertain, message.Submitted}, false, 1},
		"added":                 {add, false, []message.ReceiptState{message.Uncertain}, false, 1},
		"in the next run":       {start, false, []message.ReceiptState{message.Uncertain}, true, 1},
		"an agent":              {start, true, []message.ReceiptState{message.Uncertain}, false, 4},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c", "d")
		old := r.chat(message.Limits{}, "a", "b")
		var deep message.Delivery
		for i := range 3 {
			deep = r.say(s[i%2], "word")[0]
			if i < 2 {
				r.submit(deep)
			}
		}
		require.Equal(t, 3, deep.Message.Depth, name)
		require.NoError(t, r.report(deep.ID, message.Typed, ""), name)
		r.must(StopChat{Chat: string(old.ID)})
		by := By{Kind: Person}
		if c.agent {
			by = By{Kind: Agent, Peer: s[1].ID}
		}
		c.begin(r, by)
		for _, state := range c.becomes {
			r.tokens++
			_, err := r.step(Reported{Token: r.tokens, Receipt: message.Receipt{Delivery: deep.ID, Target: s[1].ID, State: state}})
			require.NoError(t, err, name)
		}
		if c.restarts {
			r.restart(0)
		}
		first := r.say(s[1], "a new subject")
		require.NotEmpty(t, first, name)
		assert.Equal(t, c.want, first[0].Message.Depth, name)
	}

	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.s.present(s[0].ID).last = 7
	late := r.sends(s[0], s[1], "on its way")
	start(r, By{Kind: Person})
	r.submit(late)
	first := r.say(s[1], "of that, too")
	require.NotEmpty(t, first)
	assert.Equal(t, 8, first[0].Message.Depth)
}
