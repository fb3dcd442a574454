package relay

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// If the agent's own dialog lets a message expire or denies it, the agent that sent it is told, and
// a person.
func TestG3_WhatEndsInTheAgentsDialogIsTold(t *testing.T) {
	for _, c := range []struct {
		state  message.ReceiptState
		why    message.Reason
		person string // what a person is told about the message from its author to b
	}{
		{message.Expired, message.ExpiredThere, "to b expired: " + string(message.ExpiredThere)},
		{message.Failed, message.DeniedThere, ""},
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		d := r.sends(s[0], s[1], "do it")
		_, err := r.step(Reported{Receipt: message.Receipt{Delivery: d.ID, State: message.Typed, Door: "claude"}})
		require.NoError(t, err)
		require.NoError(t, r.report(d.ID, message.Held, message.HeldByAgent))
		r.now = r.now.Add(10 * time.Minute)
		told := r.noticed(func() { require.NoError(t, r.report(d.ID, c.state, c.why)) })
		assert.Equal(t, map[message.ID]string{s[0].ID: notGot(s[1], c.why)}, told)
		if c.person != "" {
			require.Len(t, r.notices, 1)
			assert.Equal(t, fmt.Sprintf("message %s from a %s", d.Message.ID.Short(), c.person), r.notices[0])
		} else {
			assert.Empty(t, r.notices)
		}
		assert.Empty(t, r.stops(s[1], ""), "it waits for the end of no turn")
	}
}

// If a message in a chat could not be delivered, a person is told in the chat, and the agent that
// said it is.
func TestUndelivered_inAChat(t *testing.T) {
	for name, c := range map[string]struct {
		before func(r *rig, chat string)
		told   bool
		person bool
	}{
		"a turn":              {func(*rig, string) {}, true, true},
		"its author is mute":  {func(r *rig, chat string) { r.must(MuteMember{Chat: chat, Peer: "a"}) }, false, true},
		"its author left":     {func(r *rig, chat string) { r.must(RemoveMember{Chat: chat, Peer: "a"}) }, false, true},
		"its author has gone": {func(r *rig, _ string) { r.ends(r.s.peers[0].Peer, message.AgentGone) }, false, true},
		"the chat is over":    {func(r *rig, chat string) { r.must(StopChat{Chat: chat}) }, false, false},
		"its receiver left":   {func(r *rig, chat string) { r.must(RemoveMember{Chat: chat, Peer: "b"}) }, false, false},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		chat := r.chat(message.Limits{}, "a", "b", "c")
		d := to(s[1], r.say(s[0], "x"))[0]
		require.NoError(t, r.report(d.ID, message.Typed, ""))
		c.before(r, string(chat.ID))
		before, want := len(r.notices), map[message.ID]string{}
		if c.told {
			want[s[0].ID] = notGot(s[1], message.LineTooLong)
		}
		assert.Equal(t, want, r.noticed(func() { require.NoError(t, r.report(d.ID, message.Failed, message.LineTooLong)) }), name)
		if c.person {
			require.Len(t, r.notices, before+1, name)
			assert.Equal(t, fmt.Sprintf("message %s from a did not reach b: line too long", d.Message.ID.Short()), r.notices[before])
		} else {
			assert.Len(t, r.notices, before, name)
		}
	}

	r := newRig(t) // an undelivered notice causes no other
	s := r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	require.NoError(t, r.report(r.say(s[0], "x")[0].ID, message.Failed, message.LineTooLong))
	told := r.out[len(r.out)-1]
	require.Equal(t, message.KindNotice, told.Message.Type)
	assert.Empty(t, r.noticed(func() { require.NoError(t, r.report(told.ID, message.Failed, message.LineTooLong)) }))
}

// A question that cannot be delivered ends at once: its author is told beside it.
func TestUndelivered_aQuestion(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.say(s[0], "what I found")
	q, asked := r.question("a", "b", "")
	assert.Equal(t, map[message.ID]string{s[0].ID: notGot(s[1], message.LineTooLong)},
		r.noticed(func() { require.NoError(t, r.report(asked[0].ID, message.Failed, message.LineTooLong)) }))
	assert.Equal(t, whyUnanswered, r.shows(q.ID).Why)
	r.submit(r.out[len(r.out)-1])
}

// What waits in a chat ends with it, and a person is told how much that was. Each agent whose words
// these are is told once: except the agent that ended the chat; and no agent is told if a person
// ended it, since nothing is to be typed then.
func TestUndelivered_withItsChat(t *testing.T) {
	for name, c := range map[string]struct {
		by   func(s []message.Peer) By
		told []int
	}{
		"by a person":    {func([]message.Peer) By { return By{Kind: Person} }, nil},
		"by one of them": {func(s []message.Peer) By { return By{Kind: Agent, Peer: s[0].ID} }, []int{1}},
		"by another":     {func(s []message.Peer) By { return By{Kind: Agent, Peer: s[2].ID} }, []int{0, 1}},
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		chat := r.chat(message.Limits{}, "a", "b", "c")
		r.submit(to(s[2], r.say(s[0], "one"))...)
		r.say(s[0], "two")
		r.say(s[1], "three")
		want, all := map[message.ID]string{}, []string{`"b" and "c" did not get 2 of your messages`, `"a" and "c" did not get your message`}
		for _, i := range c.told {
			want[s[i].ID] = fmt.Sprintf("AI[local:%s] | [notice] %s: chat ended", s[2].ID, all[i])
		}
		assert.Equal(t, want, r.noticed(func() { r.must(StopChat{By: c.by(s), Chat: string(chat.ID)}) }), name)
		assert.Regexp(t, `^chat a ↔ b ↔ c has ended: stopped by .*; not delivered: 3 that waited$`, r.notices[0], name)
	}

	r := newRig(t) // its reader leaves the chat, which ends with that
	s := r.adopt("a", "b")
	chat := r.chat(message.Limits{}, "a", "b")
	r.say(s[0], "x")
	assert.Equal(t, map[message.ID]string{s[0].ID: notGot(s[1], "b left")},
		r.noticed(func() { r.must(RemoveMember{By: By{Kind: Agent, Peer: s[1].ID}, Chat: string(chat.ID), Peer: "b"}) }))

	r = newRig(t) // its author has gone
	s = r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	r.say(s[0], "x")
	assert.Empty(t, r.noticed(func() { r.ends(s[0], message.AgentGone) }))
	assert.Equal(t, []string{"chat a ↔ b has ended: agent gone; not delivered: 1 that waited"}, r.notices)
}

// The author on another computer is told there, by the receipt that goes back, and once.
func TestUndelivered_fromAnotherComputer(t *testing.T) {
	r := newRig(t)
	far, b := r.far("far"), r.adopt("b")[0]
	_, err := r.hears(far, message.Envelope{Body: "do it", To: []message.Address{{Peer: b.ID}}})
	require.NoError(t, err)
	d := r.out[len(r.out)-1]
	require.Equal(t, b.ID, d.Target)
	r.now = r.now.Add(time.Hour)
	assert.Empty(t, r.noticed(func() { require.NoError(t, r.report(d.ID, message.Failed, message.LineTooLong)) }))

	a := r.adopt("a")[0]
	r.must(Send{By: By{Kind: Agent, Peer: a.ID}, To: string(far.ID), Message: message.Envelope{Body: "and there"}})
	d = r.out[len(r.out)-1]
	require.Equal(t, far.ID, d.Target)
	r.now = r.now.Add(time.Hour)
	assert.Equal(t, map[message.ID]string{a.ID: notGot(far, message.InComposer)},
		r.noticed(func() { require.NoError(t, r.report(d.ID, message.Expired, message.InComposer)) }))
}

func notGot(by message.Peer, why message.Reason) string {
	return fmt.Sprintf("AI[%s:%s] | [notice] %q did not get your message: %s", by.Computer, by.ID, by.Name, why)
}
