package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// words returns the texts of deliveries by the name of their target.
func (r *rig) words(list []message.Delivery) (out []string) {
	for _, d := range list {
		to, _ := r.s.Snapshot().Peer(d.Target)
		out = append(out, to.Name+" < "+text(d))
	}
	return out
}

// question asks one, and returns its chat and its deliveries.
func (r *rig) question(from, to, say string) (message.Chat, []message.Delivery) {
	before := len(r.out)
	a := r.must(StartChat{Peers: []string{from, to}, IncludeLast: true, Say: say, OneWay: true, Turns: 1, Question: true})
	return a.Chats[0], r.out[before:]
}

// One question with the last answer above it, whoever is in a chat: its answer comes back to the
// asker, and neither the answer nor what is said about it goes into a chat, which goes on as it
// was.
func TestU24_C48_AQuestionBesideChats(t *testing.T) {
	for name, c := range map[string]struct {
		chats [][]string
		aside bool
	}{
		"nobody is in a chat":     {nil, false},
		"who asks is":             {[][]string{{"ada", "cyd"}}, true},
		"who is asked is":         {[][]string{{"ben", "cyd"}}, true},
		"both are, in two chats":  {[][]string{{"ada", "cyd"}, {"ben", "dan"}}, true},
		"both are in one":         {[][]string{{"ada", "ben"}}, true},
		"both are in one of more": {[][]string{{"ada", "ben", "cyd"}}, true},
	} {
		for _, again := range []bool{false, true} {
			r := newRig(t)
			s := r.adopt("ada", "ben", "cyd", "dan")
			ada, ben := s[0], s[1]
			r.say(ada, "what I found")
			for _, names := range c.chats {
				r.chat(message.Limits{}, names...)
			}
			before := r.s.Snapshot().Chats()
			q, asked := r.question("ada", "ben", "is it so?")
			assert.Equal(t, c.aside, q.Aside, name)
			assert.Equal(t, []string{"ben < [ada] (1):\n\nwhat I found", "ben < [person] (0):\n\nis it so?"}, r.words(asked), name)
			_, err := r.ask(StartChat{Peers: []string{"ada", "ben"}, IncludeLast: true, OneWay: true, Turns: 1, Question: true})
			require.ErrorIs(t, err, ErrActive, "it is asked already")
			for _, one := range before {
				in, _ := r.s.Snapshot().ChatOf(one.Participants[0].Peer)
				assert.Equal(t, one.ID, in.ID, "who is in a chat stays there")
			}
			r.submit(asked...)
			if again {
				r.restart(0)
			}
			back := r.say(ben, "so it is", asked[0].ID, asked[1].ID)
			assert.Equal(t, []string{"ada < [ben] (2):\n\nso it is"}, r.words(back), name)
			r.submit(back...)
			assert.Equal(t, message.ChatOver, r.shows(q.ID).State, name)
			assert.Equal(t, "ben answered", r.shows(q.ID).Why, name)
			assert.Empty(t, r.words(r.say(ada, "so I thought", back[0].ID)), "what it makes of that is its own: %s", name)
			for i, one := range before {
				assert.Equal(t, one, r.shows(one.ID), "untouched: %s", name)
				first, _ := r.s.Snapshot().Peer(one.Participants[0].Peer)
				assert.Len(t, r.say(first, "and on"), len(c.chats[i])-1, name)
			}
		}
	}
}

// A turn that answers its chat and a question beside it is heard in both, once each.
func TestU24_OneTurnForBoth(t *testing.T) {
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	r.say(s[0], "what I found")
	main := r.chat(message.Limits{}, "ben", "cyd")
	q, asked := r.question("ada", "ben", "")
	said := r.say(s[2], "look here")
	r.submit(append(asked, said...)...)
	id := r.id()
	turn := message.Turn{ID: id, Peer: s[1].ID, Words: "both", Answers: []message.ID{asked[0].ID, said[0].ID}, Ended: r.now}
	for _, twice := range []bool{false, true} {
		before := len(r.out)
		_, _ = r.step(Spoke{Turn: turn, Seen: twice})
		if twice {
			assert.Empty(t, r.out[before:])
			break
		}
		assert.ElementsMatch(t, []string{"cyd < [ben] (1):\n\nboth", "ada < [ben] (2):\n\nboth"}, r.words(r.out[before:]))
		r.submit(r.out[before:]...)
	}
	assert.Equal(t, message.ChatOver, r.shows(q.ID).State)
	assert.Equal(t, message.ChatOn, r.shows(main.ID).State)
}

// A turn that answers the question and, beside it, only a message to its session alone is not heard
// in the chat.
func TestQuestion_oneTurnWithAMessage(t *testing.T) {
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	r.say(s[0], "what I found")
	r.chat(message.Limits{}, "ben", "cyd")
	q, asked := r.question("ada", "ben", "")
	r.must(Send{To: "ben", Message: message.Envelope{Body: "by the way"}})
	single := r.out[len(r.out)-1]
	r.submit(append(asked, single)...)
	assert.Equal(t, []string{"ada < [ben] (2):\n\nprivate"}, r.words(r.say(s[1], "private", asked[0].ID, single.ID)))
	states := r.states(single.ID)
	assert.Equal(t, "answered", states[len(states)-1])
	assert.True(t, r.shows(q.ID).Aside)
}

// A question is no way around a chat's settings, and ends when either side ends.
func TestU24_WhatHoldsForAQuestion(t *testing.T) {
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	ada, ben := s[0], s[1]
	r.chat(message.Limits{Approve: "yes"}, "ada", "ben")
	r.say(ada, "what I found", "")
	by := By{Kind: Agent, Peer: ada.ID}
	a := r.must(StartChat{By: by, Peers: []string{"ada", "ben"}, Say: "psst", OneWay: true, Turns: 1, Question: true})
	require.True(t, a.Chats[0].Aside)
	assert.Empty(t, r.out, "it waits for a yes, as all that it says to that one")
	r.must(StopChat{Chat: string(a.Chats[0].ID)})

	_, err := r.ask(StartChat{Peers: []string{"ada", "cyd"}, IncludeLast: true, OneWay: true, Turns: 1})
	require.ErrorIs(t, err, ErrInChat, "what is no question is a chat")
	q, asked := r.question("ada", "cyd", "")
	_, err = r.ask(AddMember{Chat: string(q.ID), Peer: "ben"})
	require.ErrorIs(t, err, ErrRequest)
	r.must(Rename{Peer: "cyd", Name: "eve"})
	assert.Equal(t, "eve", r.shows(q.ID).Participants[1].Name)
	r.submit(asked...)
	before := len(r.out)
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[2].ID, Words: "half", Answers: []message.ID{asked[0].ID}, Cut: message.Interrupted, Ended: r.now}})
	require.Len(t, r.out[before:], 1, "who asked is told")
	assert.Equal(t, ada.ID, r.out[before].Target)
	r.submit(r.out[before:]...)
	assert.Equal(t, whyUnanswered, r.shows(q.ID).Why)

	r.say(ben, "mine")
	q, _ = r.question("ben", "ada", "")
	_, _ = r.step(Gone{Peer: ada.ID, Reason: message.AgentGone})
	assert.Equal(t, message.ChatOver, r.shows(q.ID).State)
}

// An agent's answer to a private question is no part of a chat that it has opened itself, however
// that question ended.
func TestU24_NotIntoTheChatThatOneHasOpened(t *testing.T) {
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	ada, ben := s[0], s[1]
	r.must(StartChat{By: By{Kind: Agent, Peer: ada.ID}, Peers: []string{"ada", "cyd"}})
	r.say(ada, "what I found")
	r.say(ben, "mine")
	q, asked := r.question("ada", "ben", "is it so?")
	r.submit(asked...)
	back := r.say(ben, "so it is", handedIDs(asked)...)
	r.submit(back...)
	require.Equal(t, message.ChatOver, r.shows(q.ID).State)
	assert.Empty(t, r.words(r.say(ada, "so I thought", handedIDs(back)...)), "what it makes of the answer")

	q, asked = r.question("ben", "ada", "and you?")
	r.submit(asked...)
	r.must(StopChat{Chat: string(q.ID)})
	assert.Empty(t, r.words(r.say(ada, "to ben alone", handedIDs(asked)...)), "what it makes of a question that was stopped")
	assert.Equal(t, []string{"cyd < [ada] (1):\n\nand on"}, r.words(r.say(ada, "and on")))
}

// A question beside a chat is over if nobody can tell whether it was taken, and can be asked anew;
// if it is proven later that it was taken, that and the answer are written down.
func TestU24_AnUncertainQuestion(t *testing.T) {
	r := newRig(t)
	s := r.adopt("ada", "ben", "cyd")
	r.say(s[0], "what I found")
	r.chat(message.Limits{}, "ben", "cyd")
	q, asked := r.question("ada", "ben", "")
	require.Len(t, asked, 1)
	require.NoError(t, r.report(asked[0].ID, message.Typed, ""))
	require.NoError(t, r.report(asked[0].ID, message.Uncertain, message.NotRecorded))
	assert.Equal(t, whyUnanswered, r.shows(q.ID).Why)
	_, again := r.question("ada", "ben", "")
	assert.Len(t, again, 1)

	late := message.Receipt{Delivery: asked[0].ID, Target: s[1].ID, State: message.Submitted}
	_, err := r.step(Reported{Token: 99, Receipt: late})
	require.NoError(t, err)
	assert.Empty(t, r.words(r.say(s[1], "so it is", asked[0].ID)), "it is no part of the chat")
	got := r.receipts[asked[0].ID]
	assert.Equal(t, message.Answered, got[len(got)-1].State)
	assert.Equal(t, "so it is", got[len(got)-1].Words)
}

// Nobody takes up a question whose agent has gone: what was not typed of it fails, as a single
// message does, and is not kept.
func TestS4_AQuestionFailsWithItsAgent(t *testing.T) {
	for name, end := range map[string]func(r *rig, ben message.Peer){
		"its agent ends":  func(r *rig, ben message.Peer) { r.ends(ben, message.AgentGone) },
		"its pane closes": func(r *rig, ben message.Peer) { r.ends(ben, message.PaneMissing) },
		"the server ends": func(r *rig, _ message.Peer) { r.restart(9) },
	} {
		for _, how := range []string{"in a pane", "beside a chat", "undecided"} {
			r := newRig(t)
			s := r.adopt("ada", "ben", "cyd", "dan")
			r.say(s[0], "what I found")
			if how == "beside a chat" {
				r.chat(message.Limits{}, "ben", "cyd")
			}
			r.async = how == "undecided"
			_, asked := r.question("ada", "ben", "is it so?")
			if r.async {
				end(r, s[1])
				for _, id := range r.pending {
					_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
				}
			} else {
				require.Len(t, asked, 2)
				require.NoError(t, r.report(asked[0].ID, message.Held, message.AgentWorking))
				end(r, s[1])
			}
			require.Len(t, r.made, 2)
			for id := range r.made {
				states := r.states(id)
				assert.Equal(t, "failed: agent gone", states[len(states)-1], "%s, %s", name, how)
			}
			assert.Equal(t, message.ChatOver, r.s.chats[len(r.s.chats)-1].State)
		}
	}
}
