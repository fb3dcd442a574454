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
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

func TestChat_wordsGoToTheOthers(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	c := r.chat(message.Limits{}, "a", "b", "c", "d")
	for i, author := range s {
		out := r.say(author, "hello")
		require.Len(t, out, 3)
		for _, d := range out {
			assert.NotEqual(t, author.ID, d.Target)
			assert.Equal(t, fmt.Sprintf("[%s] (%d):\n\nhello", author.Name, i+1), text(d))
			assert.Equal(t, c.ID, d.Chat)
			assert.Equal(t, []string{"queued"}, r.states(d.ID))
		}
	}
}

func TestChat_noOthersWords(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	assert.Empty(t, r.say(s[2], "in no chat"))
	r.chat(message.Limits{}, "a", "b")
	assert.Empty(t, r.say(s[2], "in no chat"))
	assert.Empty(t, r.say(s[0], " \n"), "no words")
	old := Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "old", Ended: start.Add(-time.Second)}}
	_, _ = r.step(old)
	assert.Empty(t, r.out, "a turn that ended before the chat began is none of it")
}

func TestChat_errors(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	_ = r.must(StartChat{Peers: []string{"a", "b"}, Name: "pair"}).Chats[0]
	_, _ = r.step(Gone{Peer: s[3].ID, Reason: message.PaneMissing})
	steps := len(r.commits)
	for _, c := range []struct {
		q    StartChat
		is   error
		text string
	}{
		{StartChat{Peers: []string{"a", "b"}}, ErrActive, `start chat: chat "pair" (a ↔ b) of these sessions is already active`},
		{StartChat{Peers: []string{"b", "A"}}, ErrActive, "already active"},
		{StartChat{Peers: []string{"b", "a"}}, ErrInChat, "already active"},
		{StartChat{Peers: []string{"a", "c"}}, ErrInChat, `session "a" is in chat "pair" (a ↔ b)`},
		{StartChat{Peers: []string{"c", "a", "b"}}, ErrInChat, `session "a" is in chat "pair"`},
		{StartChat{Peers: []string{"c", "d"}}, registry.ErrEnded, `session "d" has ended: pane is gone`},
		{StartChat{Peers: []string{"c", "nobody"}}, registry.ErrUnknown, `no session "nobody"`},
		{StartChat{Peers: []string{"c"}}, ErrRequest, "at least two"},
		{StartChat{Peers: []string{"c", "c"}}, ErrRequest, "named twice"},
	} {
		_, err := r.ask(c.q)
		require.ErrorIs(t, err, c.is)
		assert.ErrorContains(t, err, c.text)
	}
	_, err := r.ask(StartChat{Peers: []string{"a", "c"}})
	assert.False(t, errors.Is(err, ErrActive), "another chat")
	assert.Len(t, r.commits, steps, "nothing was changed")
	assert.Len(t, r.say(s[0], "unharmed"), 1)
	_, in := r.s.Snapshot().ChatOf(s[2].ID)
	assert.False(t, in)

	e := r.adopt("e")
	for _, q := range []StartChat{
		{Limits: message.Limits{Depth: -1}},
		{Limits: message.Limits{Header: "none"}},
		{Limits: message.Limits{LineBreak: "\n"}},
		{Turns: -1},
		{Say: " "},
		{Say: "\xff"},
		{Say: strings.Repeat("x", message.MaxBody+1)},
		{Name: "PAIR"},
		{Name: "a b"},
		{By: By{Kind: Agent, Peer: s[0].ID}},
		{By: By{Kind: Agent, Peer: s[2].ID}, Limits: message.Limits{Depth: 99}},
	} {
		q.Peers = []string{"c", e[0].Name}
		_, err := r.ask(q)
		assert.Error(t, err, "%+v", q)
	}
	r.must(StartChat{By: By{Kind: Agent, Peer: s[2].ID}, Peers: []string{"c", "e"}})
}

func TestChat_firstWordGoesToAllButTheFirst(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	r.must(StartChat{By: By{Kind: Person, Name: "Ada L."}, Peers: []string{"a", "b", "c"}, Say: "begin"})
	require.Len(t, r.out, 2)
	for i, d := range r.out {
		assert.Equal(t, s[i+1].ID, d.Target)
		assert.Equal(t, "[Ada-L] (0):\n\nbegin", text(d))
	}
}

func TestChat_pauseAndResume(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	waiting, typed, sent := r.say(s[0], "waiting")[0], r.say(s[0], "typed")[0], r.say(s[0], "sent")[0]
	r.submit(sent)
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	require.NoError(t, r.report(waiting.ID, message.Held, message.AgentWorking))
	got := r.must(PauseChat{Chat: c.ID.Short(), By: By{Kind: Person, Name: "ada"}})
	assert.Equal(t, message.ChatPaused, got.Chats[0].State)
	assert.Equal(t, "paused by ada", got.Chats[0].Why)
	assert.Equal(t, []Cancel{{IDs: []message.ID{waiting.ID, typed.ID}, Reason: message.Paused}}, r.cancel)
	assert.Equal(t, []string{"queued", "held: agent working", "held: chat paused"}, r.states(waiting.ID))
	assert.Equal(t, []string{"queued", "typed"}, r.states(typed.ID))

	assert.ErrorIs(t, r.report(waiting.ID, message.Typed, ""), ErrPaused, "before the first byte")
	assert.ErrorIs(t, r.report(waiting.ID, message.Held, message.InComposer), ErrPaused, "not the sink's any more")
	assert.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrPaused, "before Enter")
	require.NoError(t, r.report(typed.ID, message.Held, message.OursInComposer), "the truth is taken")
	assert.Empty(t, r.say(s[0], "said meanwhile"), "held")
	assert.Empty(t, r.say(s[1], "and from there"))

	handed := len(r.out)
	r.must(ResumeChat{Chat: c.ID.Short(), Sure: true})
	out := r.out[handed:]
	require.Len(t, out, 4)
	assert.Equal(t, []message.ID{waiting.ID, typed.ID}, handedIDs(out[:2]), "in the order of decision")
	assert.Equal(t, []string{"said meanwhile", "and from there"}, []string{out[2].Message.Body, out[3].Message.Body})
	for i, want := range []struct {
		typed   bool
		attempt int
	}{{false, 2}, {true, 2}, {false, 1}, {false, 1}} {
		assert.Equal(t, want.typed, out[i].Typed, i)
		assert.Equal(t, want.attempt, out[i].Attempt, i)
		assert.Zero(t, out[i].Message.Depth, "resumed by a person's word")
	}
	r.submit(out...)
	assert.Equal(t, []string{"queued", "typed", "held: our text stands in the composer", "typed", "submitted"}, r.states(typed.ID))
	_, err := r.ask(ResumeChat{Chat: c.ID.Short(), By: By{Kind: Agent, Peer: s[0].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly)
}

func TestChat_stop(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	waiting, typed, sent := r.say(s[0], "waiting")[0], r.say(s[0], "typed")[0], r.say(s[0], "sent")[0]
	r.submit(sent)
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	r.must(StopChat{Chat: string(c.ID)})
	assert.Equal(t, []string{"queued", "failed: chat ended"}, r.states(waiting.ID))
	assert.ErrorIs(t, r.report(waiting.ID, message.Typed, ""), ErrNotOurs)
	assert.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrEnded)
	require.NoError(t, r.report(typed.ID, message.Uncertain, message.ChatEnded))
	assert.Empty(t, r.say(s[0], "after the end"), "no stray delivery")
	assert.Empty(t, r.say(s[1], "last answer", sent.ID))
	assert.Equal(t, []string{"queued", "typed", "typed", "submitted", "answered"}, r.states(sent.ID), "what was said to it is known all the same")
	assert.Empty(t, r.s.under)
	for _, q := range []Request{StopChat{Chat: string(c.ID)}, PauseChat{Chat: string(c.ID)}, ResumeChat{Chat: string(c.ID)}, Say{Chat: string(c.ID), Body: "x"}} {
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrEnded)
	}
	r.chat(message.Limits{}, "a", "b")
	assert.Len(t, r.say(s[0], "anew"), 1)
}

func TestChat_stoppedWhilePaused(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	entered, typed, waiting := r.say(s[0], "entered")[0], r.say(s[0], "typed")[0], r.say(s[0], "waiting")[0]
	require.NoError(t, r.report(entered.ID, message.Typed, ""))
	require.NoError(t, r.report(entered.ID, message.Typed, ""))
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	r.must(PauseChat{Chat: string(c.ID)})
	r.must(StopChat{Chat: string(c.ID)})
	require.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrEnded, "its sink asks once more, since it was taken back")
	require.NoError(t, r.report(typed.ID, message.Uncertain, message.ChatEnded), "and tells what became of it")
	assert.Equal(t, []string{"queued", "held: chat paused", "failed: chat ended"}, r.states(waiting.ID))
	require.NoError(t, r.report(entered.ID, message.Submitted, ""), "Enter was pressed before the pause")
	assert.Equal(t, []message.ID{entered.ID, typed.ID}, r.cancel[len(r.cancel)-1].IDs)
	r.say(s[1], "answer", entered.ID)
	assert.Equal(t, message.Answered, r.receipts[entered.ID][4].State)
	assert.Empty(t, r.s.under)
}

func TestAll_nothingIsTyped(t *testing.T) {
	for name, stop := range map[string]Request{"pause": PauseChat{Chat: "all"}, "stop": StopChat{Chat: "ALL"}} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c", "d", "e")
			r.chat(message.Limits{}, "a", "b")
			r.chat(message.Limits{}, "c", "d")
			first, second := r.say(s[0], "one")[0], r.say(s[2], "two")[0]
			r.must(Send{To: "e", Message: message.Envelope{Body: "single"}})
			single := r.out[len(r.out)-1]
			require.NoError(t, r.report(second.ID, message.Typed, ""))

			r.must(stop)
			handed := len(r.out)
			for _, d := range []message.Delivery{first, second, single} {
				assert.Error(t, r.report(d.ID, message.Typed, ""))
			}
			assert.ErrorIs(t, r.report(single.ID, message.Typed, ""), ErrStopped)
			assert.Equal(t, []string{"queued", "held: everything is stopped"}, r.states(single.ID))
			r.say(s[0], "three")
			held := r.must(Send{To: "e", Message: message.Envelope{Body: "later"}})
			assert.Equal(t, message.Held, held.Receipts[0].State)
			_, err := r.ask(StartChat{Peers: []string{"e", "a"}})
			assert.Error(t, err)
			if name == "pause" {
				_, err = r.ask(ResumeChat{Chat: r.s.chats[0].ID.Short()})
				assert.ErrorIs(t, err, ErrStopped)
			}
			_, err = r.ask(ResumeChat{Chat: "all", By: By{Kind: Agent, Peer: s[0].ID}})
			assert.ErrorIs(t, err, ErrPersonOnly)
			assert.Len(t, r.out, handed, "nothing was handed out")

			r.must(ResumeChat{Chat: "all", Sure: true})
			var bodies []string
			for _, d := range r.out[handed:] {
				bodies = append(bodies, d.Message.Body)
			}
			if name == "pause" {
				assert.Equal(t, []string{"one", "two", "single", "three", "later"}, bodies)
			} else {
				assert.Equal(t, []string{"single", "later"}, bodies)
				assert.ErrorIs(t, r.report(second.ID, message.Typed, ""), ErrEnded)
			}
		})
	}
}

func TestChat_turns(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.must(StartChat{Peers: []string{"a", "b"}, Turns: 2}).Chats[0]
	first := r.say(s[0], "question")
	r.submit(first...)
	second := r.say(s[1], "answer", first[0].ID)
	require.Len(t, second, 1, "the last turn is delivered still")
	assert.Empty(t, r.say(s[0], "too much"))
	got, _ := r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatOn, got.State, "until the last word has arrived")
	r.submit(second...)
	got, _ = r.s.Snapshot().Chat(c.ID)
	assert.Equal(t, message.ChatOver, got.State)
	assert.Equal(t, whyTurns, got.Why)
}

// When a person stops the chat with After, what is being said at that moment still arrives, as the
// last.
func TestChat_endsAfterTheAnswer(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	first := r.say(s[0], "question")
	r.submit(first...)
	r.must(StopChat{By: ada, Chat: string(c.ID), After: true})
	r.must(StopChat{By: ada, Chat: string(c.ID), After: true}) // again: this does not add a turn
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	last := r.say(s[1], "answer", first[0].ID)
	require.Len(t, last, 1)
	assert.Empty(t, r.say(s[0], "too much"))
	r.submit(last...)
	assert.Equal(t, message.ChatOver, r.shows(c.ID).State)
	assert.Equal(t, "stopped after the last answer by "+ada.Name, r.shows(c.ID).Why)
}

// If both are at work, both are heard.
func TestChat_endsAfterTheAnswersOfAll(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	for _, one := range s {
		_, _ = r.step(StateChanged{Peer: one.ID, State: message.Working})
	}
	r.must(StopChat{By: ada, Chat: string(c.ID), After: true})
	r.submit(r.say(s[0], "one answer")...)
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	last := r.say(s[1], "the other")
	require.Len(t, last, 1)
	r.submit(last...)
	assert.Equal(t, message.ChatOver, r.shows(c.ID).State)
}

// What is said while the last turns of a chat wait for a yes is passed on to nobody; a person is
// told so, once.
func TestChat_whatIsBeyondItsTurnsIsTold(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.must(StartChat{Peers: []string{"a", "b"}, Turns: 1, Limits: message.Limits{Approve: message.ApproveAll}}).Chats[0]
	assert.Empty(t, r.say(s[0], "may I?"))
	for _, words := range []string{"one more", "and one more"} {
		assert.Empty(t, r.say(s[1], words))
	}
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	told := 0
	for _, n := range r.notices {
		if strings.Contains(n, "b is not relayed any more") {
			told++
		}
	}
	assert.Equal(t, 1, told, r.notices)
}

// Nobody waits for participants that are not heard: a muted one, and the asker in a one-way chat.
func TestChat_endsAfterTheAnswersOfThoseWhoAreHeard(t *testing.T) {
	for name, q := range map[string]StartChat{
		"muted":   {Peers: []string{"a", "b"}, Muted: []bool{true}, Turns: 20},
		"one-way": {Peers: []string{"a", "b"}, OneWay: true, Turns: 20},
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		c := r.must(q).Chats[0]
		for _, one := range s {
			_, _ = r.step(StateChanged{Peer: one.ID, State: message.Working})
		}
		for range 2 {
			r.must(StopChat{By: ada, Chat: string(c.ID), After: true})
		}
		assert.Equal(t, 1, r.shows(c.ID).Turns, name)
		assert.Equal(t, 20, r.shows(c.ID).Chosen, "%s: what was meant with it is known still", name)
		assert.Empty(t, r.say(s[0], "not heard"), name)
		last := r.say(s[1], "the answer")
		require.Len(t, last, 1, name)
		r.submit(last...)
		assert.Equal(t, message.ChatOver, r.shows(c.ID).State, name)
	}
}

func TestChat_agentsTouchOnlyTheirOwn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b")
	for _, q := range []Request{
		PauseChat{Chat: string(c.ID), By: By{Kind: Agent, Peer: s[2].ID}},
		StopChat{Chat: string(c.ID), By: By{Kind: Agent, Peer: s[2].ID}},
		PauseChat{Chat: All, By: By{Kind: Agent, Peer: s[0].ID}},
		StopChat{Chat: All, By: By{Kind: Agent, Peer: s[0].ID}},
	} {
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrPersonOnly)
	}
	got := r.must(PauseChat{Chat: string(c.ID), By: By{Kind: Agent, Peer: s[1].ID}})
	assert.Equal(t, "paused by b", got.Chats[0].Why)
	got = r.must(StopChat{Chat: string(c.ID), By: By{Kind: Person}})
	assert.Equal(t, "stopped by person", got.Chats[0].Why)
	_, err := r.ask(PauseChat{Chat: "none"})
	assert.ErrorIs(t, err, registry.ErrUnknown)
}

func TestSpoke_longAndBrokenWords(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Bytes: 1 << 30}, "a", "b")
	long := r.say(s[0], strings.Repeat("é", message.MaxBody))[0].Message
	assert.NoError(t, long.Validate())
	assert.True(t, long.Truncated)
	assert.Len(t, long.Body, message.MaxBody)
	odd := r.say(s[0], "x"+strings.Repeat("é", message.MaxBody))[0].Message
	assert.NoError(t, odd.Validate(), "never cut within a character")
	broken := r.say(s[0], "a\xffb")[0].Message
	assert.Equal(t, "a\uFFFDb", broken.Body)
	assert.False(t, broken.Truncated)
}

func TestStateChanged_isToldAndNotWritten(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a")[0]
	steps := len(r.commits)
	for range 2 {
		_, _ = r.step(StateChanged{Peer: s.ID, State: message.Working, Why: "no prompt"})
	}
	assert.Empty(t, r.last, "told once")
	assert.Len(t, r.commits, steps)
	got, _ := r.s.Snapshot().Peer(s.ID)
	assert.Equal(t, message.Working, got.State)
}

// An agent cannot speak for a person, and cannot undo a person's pause by a detour.
func TestChat_agentsStayAgents(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	by := By{Kind: Agent, Peer: s[0].ID}
	r.must(StartChat{By: by, Peers: []string{"a", "b"}, Name: "pair"})
	r.must(PauseChat{Chat: "pair"})
	_, err := r.ask(StopChat{By: by, Chat: "pair"})
	assert.ErrorIs(t, err, ErrPersonOnly)
	_, err = r.ask(ResumeChat{By: by, Chat: "pair"})
	assert.ErrorIs(t, err, ErrPersonOnly)
}

// Permission, then a stop, then a refusal by tmux: nothing was typed, and the delivery has an end.
func TestChat_refusedAfterTheEndHasFailed(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	d := r.say(s[0], "one")[0]
	require.NoError(t, r.report(d.ID, message.Typed, ""))
	r.must(StopChat{Chat: "all"})
	require.NoError(t, r.report(d.ID, message.Held, message.TmuxRefused))
	states := r.states(d.ID)
	assert.Equal(t, "failed: chat ended", states[len(states)-1])
	assert.Empty(t, r.s.under)
}

// An agent's answer to something said in a chat that is over goes nowhere in its next chat, which
// it may not know of; unless the agent itself has started that chat.
func TestChat_whatAnswersTheLastOne(t *testing.T) {
	for name, c := range map[string]struct {
		start func(s []message.Peer) StartChat
		heard bool
	}{
		"its own":       {func(s []message.Peer) StartChat { return StartChat{By: agent(s[0]), Peers: []string{"a", "b"}} }, true},
		"a person's":    {func([]message.Peer) StartChat { return StartChat{By: ada, Peers: []string{"a", "b"}} }, false},
		"the other one": {func(s []message.Peer) StartChat { return StartChat{By: agent(s[1]), Peers: []string{"a", "b"}} }, false},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		first := r.chat(message.Limits{}, "a", "b")
		told := r.say(s[1], "for a")
		r.submit(told...)
		r.must(StopChat{By: ada, Chat: string(first.ID)})
		second := r.must(c.start(s)).Chats[0]
		said := r.say(s[0], "words of a", handedIDs(told)...)
		if !c.heard {
			assert.Empty(t, said, name)
			continue
		}
		if assert.Len(t, said, 1, name) {
			assert.Equal(t, second.ID, said[0].Chat)
		}
		question := r.must(StartChat{By: ada, Peers: []string{"c", "a"}, Say: "and you?", OneWay: true, Turns: 1, Question: true}).Chats[0]
		asked := r.out[len(r.out)-1]
		require.Equal(t, question.ID, asked.Chat)
		r.submit(asked)
		said = r.say(s[0], "to c alone", asked.ID)
		if assert.Len(t, said, 1, "%s: what is asked beside it is still answered there", name) {
			assert.Equal(t, question.ID, said[0].Chat)
		}
	}
}
