package relay

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The last words of the first participant go first, then the line of the person who starts the
// chat, both handed over in one step.
func TestStartChat_includeLast(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	assert.Empty(t, r.say(s[0], "what I found"))
	assert.Empty(t, r.say(s[0], " \n"))
	r.must(StartChat{By: By{Kind: Person, Name: "ada"}, Peers: []string{"a", "b", "c"}, IncludeLast: true, Say: "is it so?"})
	require.Len(t, r.out, 4)
	for i, want := range []struct {
		to   message.ID
		text string
	}{
		{s[1].ID, "[a] (1):\n\nwhat I found"},
		{s[2].ID, "[a] (1):\n\nwhat I found"},
		{s[1].ID, "[ada] (0):\n\nis it so?"},
		{s[2].ID, "[ada] (0):\n\nis it so?"},
	} {
		assert.Equal(t, want.to, r.out[i].Target, i)
		assert.Equal(t, want.text, text(r.out[i]), i)
	}
	begins := slices.IndexFunc(r.last, func(e Effect) bool { _, ok := e.(Deliver); return ok })
	for _, e := range r.last[begins : begins+4] {
		assert.IsType(t, Deliver{}, e, "all at once")
	}
	first := r.book.Received[0]
	assert.Equal(t, message.KindLast, first.Type)
	assert.Equal(t, s[0].ID, first.From.Peer)
	assert.Equal(t, 1, first.From.Number)
	assert.Equal(t, message.OriginAgent, first.Origin)
	assert.Equal(t, message.TrustVerified, first.Trust)
}

// The turn from the first participant's own account counts if it is later than what was heard of it
// here.
func TestStartChat_theLaterWords(t *testing.T) {
	for _, c := range []struct {
		heard, told time.Duration // how long before now; 0: nothing
		all         bool
		want        string
	}{
		{time.Minute, 0, false, "heard"},
		{time.Minute, time.Hour, false, "heard"},
		{time.Hour, time.Minute, false, "told"},
		{0, time.Minute, false, "told"},
		{0, time.Minute, true, "all of it"},
		{0, 0, false, ""},
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		now := r.now.Add(2 * time.Hour)
		if c.heard > 0 {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "heard", Ended: now.Add(-c.heard)}})
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "half", Cut: message.Interrupted, Ended: now}})
		}
		q := StartChat{Peers: []string{"a", "b"}, IncludeLast: true}
		if c.told > 0 {
			q.Last = message.Turn{Words: "told", All: "all of it", Ended: now.Add(-c.told)}
		}
		if c.all {
			q.Limits.Words = "all"
		}
		r.now = now
		steps := len(r.commits)
		heard := r.must(Recall{Peer: "a"}).Turn
		assert.Equal(t, c.heard > 0, heard.Words == "heard")
		_, err := r.ask(q)
		if c.want == "" {
			require.ErrorIs(t, err, ErrNothingSaid)
			assert.ErrorContains(t, err, `"a"`)
			assert.Len(t, r.commits, steps, "nothing was changed")
			assert.Empty(t, r.s.open())
			continue
		}
		require.NoError(t, err)
		require.Len(t, r.out, 1)
		assert.Equal(t, c.want, r.out[0].Message.Body)
	}
}

// The first words lie as deep as the turn in which they were said. A person who passes them on says
// them once more, so that they pass every brake, and their answer restarts the depth; an agent's
// own do not.
func TestStartChat_depthOfTheLastWords(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{Depth: 3}, "a", "b")
	for range 2 {
		r.submit(r.say(s[0], "ping")...)
		r.submit(r.say(s[1], "pong")...)
	}
	require.Equal(t, message.ChatPaused, r.shows(c.ID).State, "depth 4 is too deep")
	r.must(StopChat{Chat: string(c.ID)})
	handed := len(r.out)
	r.must(StartChat{Peers: []string{"b", "c"}, Limits: message.Limits{Depth: 3}, IncludeLast: true, OneWay: true, Turns: 1})
	require.Len(t, r.out[handed:], 1, "it passes the brake")
	last := r.book.Received[len(r.book.Received)-1]
	assert.Equal(t, 4, last.Depth)
	d := r.out[handed]
	assert.Zero(t, d.Message.Depth)
	r.submit(d)
	back := r.say(s[2], "so it is", d.ID)
	require.Len(t, back, 1)
	assert.Equal(t, 1, back[0].Message.Depth)
	r.submit(back...)

	r.submit(r.send(s[0], "b", "single")...)
	before := len(r.book.Received)
	again := r.must(StartChat{Peers: []string{"b", "c"}, IncludeLast: true}).Chats[0]
	assert.Equal(t, 1, r.book.Received[before].Depth, "that of the turn, whatever was typed to it since")
	r.must(StopChat{Chat: string(again.ID)})
	r.submit(r.send(s[0], "b", "single")...)
	out := r.must(StartChat{By: By{Kind: Agent, Peer: s[1].ID}, Peers: []string{"b", "a"}, IncludeLast: true, Say: "and this"})
	require.Len(t, out.Chats, 1)
	mine := r.book.Received[len(r.book.Received)-2:]
	assert.Equal(t, []string{message.KindLast, message.KindSay}, []string{mine[0].Type, mine[1].Type})
	assert.Equal(t, []string{"pong", "and this"}, []string{mine[0].Body, mine[1].Body})
	for _, m := range mine {
		assert.Equal(t, message.OriginAgent, m.Origin)
		assert.Equal(t, s[1].ID, m.From.Peer)
		assert.Greater(t, m.Depth, 1, "what it says now answers what was typed to it")
	}
	assert.Equal(t, "[b] (1):\n\nand this", text(r.out[len(r.out)-1]))
}

// An agent speaks only for itself, and may not send another agent's words around.
func TestStartChat_anAgentAsksForItself(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.say(s[0], "mine")
	r.say(s[1], "theirs")
	by := By{Kind: Agent, Peer: s[0].ID}
	for _, q := range []StartChat{
		{Peers: []string{"b", "a"}, IncludeLast: true},
		{Peers: []string{"b", "a"}, Say: "as if I were b"},
		{Peers: []string{"b", "a"}, OneWay: true},
		{Peers: []string{"b", "c"}, IncludeLast: true},
		{Peers: []string{"a", "b", "c"}, Say: "all of you"},
		{Peers: []string{"a", "b"}, Limits: message.Limits{Depth: 99}},
	} {
		q.By = by
		_, err := r.ask(q)
		require.ErrorIs(t, err, ErrPersonOnly, "%+v", q)
	}
	r.must(StartChat{By: by, Peers: []string{"a", "b"}, IncludeLast: true, OneWay: true, Turns: 1, Say: "is it so?"})
	assert.Len(t, r.out, 2)
}

// The words with which an agent begins chats count among what it sends of its own accord.
func TestStartChat_anAgentsFirstWordsAreBraked(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	by := By{Kind: Agent, Peer: s[0].ID}
	for range usual.Minute {
		c := r.must(StartChat{By: by, Peers: []string{"a", "b"}, Say: "again"}).Chats[0]
		require.Equal(t, message.ChatOn, r.shows(c.ID).State)
		r.must(StopChat{By: by, Chat: string(c.ID)})
	}
	c := r.must(StartChat{By: by, Peers: []string{"a", "b"}, Say: "again"}).Chats[0]
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	assert.Equal(t, string(message.AtOwnMinute), r.shows(c.ID).Why)
}

// In a one-way chat the answers come back to the first participant, and nothing else goes across.
func TestOneWay_answersComeBack(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.must(StartChat{Peers: []string{"a", "b", "c"}, Say: "begin", OneWay: true, Turns: 2}).Chats[0]
	require.True(t, c.OneWay)
	r.submit(r.out...)
	assert.Empty(t, r.say(s[0], "what the first says stays"))
	back := r.say(s[1], "of b")
	require.Len(t, back, 1)
	assert.Equal(t, s[0].ID, back[0].Target)
	assert.Equal(t, "[b] (2):\n\nof b", text(back[0]))
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	last := r.say(s[2], "of c")
	require.Len(t, last, 1)
	r.submit(back...)
	r.submit(last...)
	assert.Equal(t, message.ChatOver, r.shows(c.ID).State, "two answers")
	assert.Equal(t, "b and c answered", r.shows(c.ID).Why)
}

func TestOneWay_promptsAndNoticesToo(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.must(StartChat{Peers: []string{"a", "b", "c"}, OneWay: true, Limits: message.Limits{Person: true}})
	prompt := func(of message.Peer) []message.Delivery {
		before := len(r.out)
		r.now = r.now.Add(time.Second)
		_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: of.ID, Words: "answer", Prompt: "typed", Person: true, Ended: r.now}})
		return r.out[before:]
	}
	assert.Empty(t, prompt(s[0]))
	for _, d := range prompt(s[1]) {
		assert.Equal(t, s[0].ID, d.Target)
	}
	assert.Len(t, r.out, 2)
}

// A one-way chat cannot go on without the participant that gets the answers.
func TestOneWay_endsWithItsFirst(t *testing.T) {
	for name, end := range map[string]func(*rig, message.Chat, message.Peer){
		"gone": func(r *rig, _ message.Chat, s message.Peer) {
			_, _ = r.step(Gone{Peer: s.ID, Reason: message.PaneMissing})
		},
		"removed": func(r *rig, c message.Chat, s message.Peer) {
			r.must(RemoveMember{Chat: string(c.ID), Peer: s.Name})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c")
			c := r.must(StartChat{Peers: []string{"a", "b", "c"}, OneWay: true}).Chats[0]
			end(r, c, s[0])
			assert.Equal(t, message.ChatOver, r.shows(c.ID).State)
		})
	}
}

// What the other participant still says about something else, before all of the question has
// reached it, is no answer.
func TestOneWay_anAnswerFollowsTheQuestion(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.say(s[0], "what I found")
	c := r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, Say: "is it so?", OneWay: true, Turns: 1}).Chats[0]
	last, line := r.out[0], r.out[1]
	assert.Empty(t, r.say(s[1], "of something else"))
	r.submit(last) // a line program gets them one by one
	assert.Empty(t, r.say(s[1], "an answer to the half of it", last.ID))
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	r.now = r.now.Add(time.Minute)
	r.submit(line)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "told of late", Ended: r.now.Add(-time.Second)}})
	r.must(Say{Chat: string(c.ID), Body: "take your time", To: []string{"b"}})
	back := r.say(s[1], "yes", line.ID)
	require.Len(t, back, 1)
	assert.Equal(t, "[b] (2):\n\nyes", text(back[0]))
}

// A question that nobody can answer any more ends, and whoever waits for it is told.
func TestOneWay_aQuestionThatCannotBeAnswered(t *testing.T) {
	fail := func(r *rig, d message.Delivery) {
		require.NoError(r.t, r.report(d.ID, message.Failed, message.BodyTooLong))
	}
	for name, c := range map[string]struct {
		what func(*rig, message.Peer, message.Delivery)
		why  string
	}{
		"failed": {func(r *rig, _ message.Peer, d message.Delivery) { fail(r, d) }, whyUnanswered},
		"expired": {func(r *rig, _ message.Peer, d message.Delivery) {
			require.NoError(r.t, r.report(d.ID, message.Held, message.InComposer))
			r.pass(time.Minute + 2*time.Second)
		}, whyUnanswered},
		"without a word": {func(r *rig, b message.Peer, d message.Delivery) {
			r.submit(d)
			assert.Empty(r.t, r.say(b, "", d.ID))
		}, whyUnanswered},
		"cut short": {func(r *rig, b message.Peer, d message.Delivery) {
			r.submit(d)
			r.now = r.now.Add(time.Second)
			before := len(r.out)
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: b.ID, Words: "ha", Cut: message.Interrupted, Answers: []message.ID{d.ID}, Ended: r.now}})
			require.Len(r.t, r.out[before:], 1, "the one who asked is told")
			assert.Equal(r.t, message.ChatOn, r.s.chats[0].State, "not before that has arrived")
			r.submit(r.out[before:]...)
		}, whyUnanswered},
		"uncertain": {func(r *rig, _ message.Peer, d message.Delivery) {
			require.NoError(r.t, r.report(d.ID, message.Typed, ""))
			require.NoError(r.t, r.report(d.ID, message.Uncertain, message.NotTaken))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b")
			r.say(s[0], "what I found")
			q := r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, OneWay: true, Turns: 1, Limits: message.Limits{Expire: time.Minute}}).Chats[0]
			c.what(r, s[1], r.out[0])
			if c.why == "" {
				assert.Equal(t, message.ChatOn, r.shows(q.ID).State, "it may be answered yet")
				assert.Len(t, r.say(s[1], "late"), 1)
				return
			}
			assert.Equal(t, message.ChatOver, r.shows(q.ID).State)
			assert.Equal(t, c.why, r.shows(q.ID).Why)
		})
	}
}

// A part of a question that may have been taken keeps the question open, whatever became of the
// rest.
func TestOneWay_aQuestionInDoubt(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.say(s[0], "what I found")
	c := r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, Say: "is it so?", OneWay: true, Turns: 1}).Chats[0]
	require.NoError(t, r.report(r.out[0].ID, message.Failed, message.BodyTooLong))
	require.NoError(t, r.report(r.out[1].ID, message.Typed, ""))
	require.NoError(t, r.report(r.out[1].ID, message.Uncertain, message.NotTaken))
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	assert.Len(t, r.say(s[1], "yes"), 1)
}

// A one-way chat is still one after a restart: its answers come back, and are counted.
func TestOneWay_outlivesTheRun(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.say(s[0], "what I found")
	c := r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, OneWay: true, Turns: 2}).Chats[0]
	r.submit(r.out...)
	r.submit(r.say(s[1], "one")...)
	r.restart(0)
	assert.True(t, r.shows(c.ID).OneWay)
	assert.Empty(t, r.say(s[0], "what the first says stays"))
	back := r.say(s[1], "two")
	require.Len(t, back, 1)
	assert.Equal(t, s[0].ID, back[0].Target)
	r.submit(back...)
	assert.Equal(t, message.ChatOver, r.shows(c.ID).State)
}

// The first words of a chat that were undecided when the run ended are its first words in the next
// run, and still go together.
func TestStartChat_undecidedWhenTheRunEnded(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.say(s[0], "what I found")
	r.async = true
	c := r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, Say: "is it so?"}).Chats[0]
	require.Len(t, r.pending, 2)
	r.restart(0)
	require.Len(t, r.pending, 2)
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	assert.Empty(t, r.out, "it waits for the other")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[1], Decision: message.Decision{Verb: message.VerbDeliver}}})
	require.Len(t, r.out, 2)
	assert.Equal(t, "[a] (1):\n\nwhat I found", text(r.out[0]))
	assert.Equal(t, c.ID, r.out[0].Chat)
}

// send makes a session send a single message, and returns what was handed out.
func (r *rig) send(from message.Peer, to, body string) []message.Delivery {
	before := len(r.out)
	r.must(Send{By: By{Kind: Agent, Peer: from.ID}, To: to, Message: message.Envelope{Body: body}})
	return r.out[before:]
}

// If first messages of a chat, which are decided together, are bounced, their author is told: the
// notice about the first takes its place behind the second, and is decided in its turn.
func TestOpening_sentBackTogether(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b")
	r.say(s[0], "what it said last")
	r.must(StartChat{Peers: []string{"a", "b"}, IncludeLast: true, Say: "begin"})
	first := r.pending
	require.Len(t, first, 2)
	for _, id := range first {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbBounce, Reason: "not that"}}})
	}
	require.Len(t, r.pending, 3, "a notice to a")
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[2], Decision: message.Decision{Verb: message.VerbDeliver}}})
	assert.Contains(t, r.book.Decided, r.pending[2])
	require.Len(t, r.out, 1)
	assert.Equal(t, s[0].ID, r.out[0].Target)
}
