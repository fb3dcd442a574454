package relay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The words of a turn that was cut short go to nobody: the messages that it took fail, a person is
// told in the chat, and the agent that waits for an answer is told, once.
func TestCut_unanswered(t *testing.T) {
	for reason, c := range map[message.Reason]struct{ person, peer string }{
		message.Interrupted:   {"b was interrupted; nothing was relayed", `"b" stopped: interrupted by a person; your message was not answered`},
		message.ServiceFailed: {"b's model service failed; nothing was relayed", `"b" stopped: the service of its model failed; your message was not answered`},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		chat := r.chat(message.Limits{}, "a", "b", "c")
		var given []message.Delivery
		for _, from := range []message.Peer{s[0], s[2], s[0]} {
			given = append(given, to(s[1], r.say(from, "a question"))...)
		}
		r.must(Say{Chat: string(chat.ID), Body: "a person asks too", To: []string{"b"}})
		given = append(given, r.out[len(r.out)-1])
		r.submit(given...)

		before := len(r.out)
		turn := message.Turn{ID: r.id(), Peer: s[1].ID, Words: "half an ans", All: "all of half an ans", Cut: reason, Answers: handedIDs(given), Ended: r.now}
		_, _ = r.step(Spoke{Turn: turn})
		for _, d := range given {
			assert.Equal(t, "failed: "+string(reason), r.states(d.ID)[len(r.states(d.ID))-1])
		}
		told := r.out[before:]
		require.Len(t, told, 2, "each agent once, nobody else, and no words")
		for i, peer := range []message.Peer{s[0], s[2]} { // the latest asks first
			d := told[i]
			assert.Equal(t, peer.ID, d.Target)
			assert.Equal(t, "AI[local:"+string(s[1].ID)+"] | [notice] "+c.peer, text(d))
			assert.Equal(t, chat.ID, d.Chat)
			assert.Equal(t, message.KindNotice, d.Message.Type)
			assert.Equal(t, message.OriginSystem, d.Message.Origin)
			assert.Equal(t, chat.ID, d.Message.Chat)
			assert.Equal(t, 1, d.Message.Depth, "the person's word began anew")
		}
		assert.Equal(t, given[2].Message.ID, told[0].Message.InReplyTo)
		require.Len(t, r.notices, 1)
		assert.Equal(t, c.person, r.notices[0])
		for _, step := range r.commits {
			for _, n := range step.Notices {
				assert.Equal(t, chat.ID, n.Chat)
			}
		}

		_, _ = r.step(Spoke{Turn: turn})
		assert.Len(t, r.out, before+2)
		assert.Len(t, r.notices, 1)
		assert.Equal(t, 3, r.s.chat(chat.ID).taken, "it is no turn of the chat")

		// An answer to the notice goes on as usual, and an unanswered notice causes no other.
		r.submit(told...)
		answer := r.say(s[0], "then I do it myself", told[0].ID)
		require.Len(t, answer, 2)
		assert.Equal(t, 2, answer[0].Message.Depth)
		before = len(r.out)
		_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[2].ID, Cut: reason, Answers: []message.ID{told[1].ID}, Ended: r.now}})
		assert.Len(t, r.out, before)
		assert.Len(t, r.notices, 2, "a person is told of that one too")
	}
}

func TestCut_whoIsNotTold(t *testing.T) {
	for name, c := range map[string]struct {
		before func(r *rig, chat string)
		told   []string // the agents that are told
		notice bool
	}{
		"all here":          {func(*rig, string) {}, []string{"a", "c"}, true},
		"who waits is mute": {func(r *rig, chat string) { r.must(MuteMember{Chat: chat, Peer: "a"}) }, []string{"c"}, true},
		"who waits left":    {func(r *rig, chat string) { r.must(RemoveMember{Chat: chat, Peer: "a"}) }, []string{"c"}, true},
		"who waits is gone": {func(r *rig, _ string) { _, _ = r.step(Gone{Peer: r.s.Snapshot().Peers()[0].ID}) }, []string{"c"}, true},
		"it is mute":        {func(r *rig, chat string) { r.must(MuteMember{Chat: chat, Peer: "b"}) }, nil, false},
		"it left":           {func(r *rig, chat string) { r.must(RemoveMember{Chat: chat, Peer: "b"}) }, nil, false},
		"over":              {func(r *rig, chat string) { r.must(StopChat{Chat: chat}) }, nil, false},
		"paused":            {func(r *rig, chat string) { r.must(PauseChat{Chat: chat}) }, []string{"a", "c"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c")
			chat := r.chat(message.Limits{}, "a", "b", "c")
			given := append(to(s[1], r.say(s[0], "x")), to(s[1], r.say(s[2], "y"))...)
			r.submit(given...)
			c.before(r, string(chat.ID))
			before := len(r.out)
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Cut: message.Interrupted, Answers: handedIDs(given), Ended: r.now}})
			var told []string
			if name == "paused" {
				assert.Len(t, r.out, before, "held like all else")
				r.must(ResumeChat{Chat: string(chat.ID), Sure: true})
			}
			for _, d := range r.out[before:] {
				if d.Message.Type == message.KindNotice {
					told = append(told, r.s.present(d.Target).Name)
				}
			}
			assert.ElementsMatch(t, c.told, told)
			assert.Equal(t, c.notice, strings.Contains(strings.Join(r.notices, "\n"), "interrupted"))
		})
	}
}

// The sender of a single message that stays unanswered is told outside of any chat; that is no
// message of the session that stopped.
func TestCut_single(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "do it"}})
	r.must(Send{To: "b", Message: message.Envelope{Body: "a person's"}})
	given := r.out
	r.submit(given...)
	for range usual.Hour + 5 {
		r.now = r.now.Add(30 * time.Second)
		r.must(Send{By: By{Kind: Agent, Peer: s[1].ID}, To: "a", Message: message.Envelope{Body: "busy"}})
	}
	before := len(r.out)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Cut: message.ServiceFailed, Answers: handedIDs(given), Ended: r.now}})
	require.Len(t, r.out, before+1)
	told := r.out[before]
	assert.Equal(t, "AI[local:"+string(s[1].ID)+`] | [notice] "b" stopped: the service of its model failed; your message was not answered`, text(told))
	assert.Empty(t, told.Chat)
	assert.Equal(t, s[0].ID, told.Target)
	for _, n := range r.notices {
		assert.NotContains(t, n, "model", "no chat in which it could be shown")
	}
}

// What brakes words brakes notices too: a notice lies as deep as the turn that it is about.
func TestCut_braked(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	chat := r.chat(message.Limits{Depth: 2, Rate: 1000}, "a", "b")
	one := r.say(s[0], "one")
	r.submit(one...)
	two := r.say(s[1], "two", one[0].ID)
	r.submit(two...)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Cut: message.Interrupted, Answers: handedIDs(two), Ended: r.now}})
	assert.Equal(t, message.ChatPaused, r.shows(chat.ID).State)
	assert.Equal(t, string(message.AtDepthLimit), r.shows(chat.ID).Why)
}

// A notice that an earlier run had not decided about still belongs to its chat.
func TestCut_restored(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	chat := r.chat(message.Limits{Words: "all", Person: true}, "a", "b")
	given := r.say(s[0], "x")
	r.submit(given...)
	r.async = true
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Prompt: "hm", Cut: message.Interrupted, Answers: handedIDs(given), Ended: r.now}})
	require.Len(t, r.pending, 2)
	r.async = false
	r.restart(0)
	assert.Equal(t, chat.Limits, r.shows(chat.ID).Limits)
	require.Len(t, r.out, 2)
	for i, want := range []string{
		"[person] (0):\n\nhm",
		"AI[local:" + string(s[1].ID) + `] | [notice] "b" stopped: interrupted by a person; your message was not answered`,
	} {
		assert.Equal(t, want, text(r.out[i]))
		assert.Equal(t, s[0].ID, r.out[i].Target)
		assert.Equal(t, chat.ID, r.out[i].Chat)
	}
	require.Len(t, r.notices, 1)
	assert.Equal(t, "b was interrupted; only the prompt was relayed", r.notices[0])
}

func TestSpoke_wordsOfAll(t *testing.T) {
	for set, want := range map[string][]string{"": {"last", "only", ""}, "last": {"last", "only", ""}, "all": {"first, last", "only", "first"}} {
		r := newRig(t)
		s := r.adopt("a", "b")
		r.chat(message.Limits{Words: set}, "a", "b")
		for i, turn := range []message.Turn{{Words: "last", All: "first, last"}, {Words: "only"}, {All: "first"}} {
			turn.ID, turn.Peer, turn.Ended = r.id(), s[0].ID, r.now
			before := len(r.out)
			_, _ = r.step(Spoke{Turn: turn})
			if want[i] == "" {
				assert.Len(t, r.out, before)
				continue
			}
			require.Len(t, r.out, before+1)
			assert.Equal(t, "[a] (1):\n\n"+want[i], text(r.out[before]))
		}
	}
}

// A person's own prompt goes to the others if the chat wants it: before the answer, once, under the
// person's name, and not while the participant is muted.
func TestSpoke_prompt(t *testing.T) {
	r := newRig(t)
	r.s.person = "ada"
	s := r.adopt("a", "b", "c")
	turn := func(prompt, words string) []message.Delivery {
		before := len(r.out)
		_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Prompt: prompt, Words: words, Person: true, Ended: r.now}})
		return r.out[before:]
	}
	off := r.chat(message.Limits{}, "a", "b", "c")
	out := turn("look here", "I look")
	require.Len(t, out, 2)
	assert.Equal(t, "[a] (1):\n\nI look", text(out[0]))
	r.must(StopChat{Chat: string(off.ID)})

	on := r.chat(message.Limits{Person: true}, "a", "b", "c")
	require.True(t, on.Limits.Person)
	out = turn("look here", "I look")
	require.Len(t, out, 4)
	for i, want := range []string{"[ada] (0):\n\nlook here", "[ada] (0):\n\nlook here", "[a] (1):\n\nI look", "[a] (1):\n\nI look"} {
		assert.Equal(t, want, text(out[i]))
		assert.Equal(t, s[1+i%2].ID, out[i].Target, "not to the one that has it already")
	}
	said := out[0].Message
	assert.Equal(t, message.KindSay, said.Type)
	assert.Equal(t, message.OriginHuman, said.Origin)
	assert.Equal(t, message.TrustPerson, said.Trust)
	assert.Zero(t, said.Depth)
	assert.Equal(t, 1, r.s.chat(on.ID).taken, "it takes no turn of the chat")
	require.Len(t, turn("the service is down", ""), 2, "also of a turn without words")
	assert.Len(t, turn("   ", "I look"), 2)

	r.must(MuteMember{Chat: string(on.ID), Peer: "a"})
	assert.Empty(t, turn("in private", "I look"))
	r.must(MuteMember{Chat: string(on.ID), Peer: "a", Off: true})
	assert.Len(t, turn("again", "I look"), 4)
}

// A turn that is reported twice makes nothing twice: in the same run and in the next, with words
// and without.
func TestSpoke_twice(t *testing.T) {
	for name, turn := range map[string]message.Turn{
		"words":             {Words: "x"},
		"prompt and words":  {Words: "x", Prompt: "p"},
		"prompt":            {Prompt: "p"},
		"cut":               {Words: "x", Cut: message.Interrupted},
		"prompt and cut":    {Prompt: "p", Cut: message.Interrupted},
		"without any words": {},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b")
			r.chat(message.Limits{Person: true}, "a", "b")
			turn.ID, turn.Peer, turn.Ended = r.id(), s[0].ID, r.now
			_, _ = r.step(Spoke{Turn: turn})
			out, received, notices := len(r.out), len(r.book.Received), len(r.notices)
			again := turn
			again.Words, again.Person = "x", true
			deep := r.s.present(s[0].ID)
			deep.cause = 3
			_, _ = r.step(Spoke{Turn: again})
			assert.Equal(t, 3, deep.cause, "nor does it begin anew")
			assert.Len(t, r.out, out)
			assert.Len(t, r.book.Received, received)
			assert.Len(t, r.notices, notices)
			if received == 0 {
				return // the next run knows the turn only by the messages that it made
			}
			r.restart(0)
			spoke := Spoke{Turn: again}
			for _, m := range r.book.Received {
				spoke.Seen = spoke.Seen || m.ID == turn.ID
				spoke.Prompted = spoke.Prompted || m.ID == promptID(turn.ID)
			}
			require.True(t, spoke.Seen || spoke.Prompted)
			out = len(r.out)
			_, _ = r.step(spoke)
			assert.Len(t, r.out, out)
			assert.Len(t, r.book.Received, received)
			assert.Len(t, r.notices, notices)
		})
	}
}

// A person's prompt frees the next run too, whether the answer to it was heard or not.
func TestSpoke_personAfterRestart(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	chat := r.chat(message.Limits{}, "a", "b")
	one := r.say(s[0], "one")
	r.submit(one...)
	r.must(MuteMember{Chat: string(chat.ID), Peer: "b"})
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "in private", Person: true, Ended: r.now}})
	r.restart(0)
	r.must(MuteMember{Chat: string(chat.ID), Peer: "b", Off: true})
	heard := r.say(s[1], "two")
	require.Len(t, heard, 1)
	assert.Equal(t, 1, heard[0].Message.Depth)
}

func TestPromptID(t *testing.T) {
	made := map[message.ID]bool{}
	for _, id := range []message.ID{message.NewID(), message.NewID(), "x", "y", ""} {
		got := promptID(id)
		assert.Equal(t, got, promptID(id))
		parsed, err := message.ParseID(string(got))
		require.NoError(t, err, got)
		assert.Equal(t, parsed, got)
		assert.NotEqual(t, id, got)
		made[got] = true
	}
	assert.Len(t, made, 5)
	id := message.NewID()
	assert.Equal(t, promptID(id), promptID(message.ID(strings.ToUpper(string(id)))))
	assert.Equal(t, id[:14], promptID(id)[:14], "of the same time")
}

// to returns those of the deliveries that are for that session.
func to(s message.Peer, list []message.Delivery) (out []message.Delivery) {
	for _, d := range list {
		if d.Target == s.ID {
			out = append(out, d)
		}
	}
	return out
}
