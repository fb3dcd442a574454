package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// ends makes the agent of a session end.
func (r *rig) ends(s message.Peer, why message.Reason) {
	_, _ = r.step(Gone{Peer: s.ID, Reason: why})
}

// What was held for an agent that has gone goes to its successor, once, before all that is said
// from then on, and as a person's word.
func TestKept_handedOn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	kept := r.say(s[0], "for b")
	require.Len(t, kept, 1)
	require.Positive(t, kept[0].Message.Depth)
	r.ends(s[1], message.PaneReplaced)
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(kept[0].ID))
	over := r.shows(c.ID)
	assert.Equal(t, message.ChatOver, over.State)
	assert.Equal(t, "agent gone", over.Why)
	assert.False(t, over.Participants[1].Left, "whoever takes the chat up finds it there")

	next := r.adopt("b")[0]
	before := len(r.out)
	again := StartChat{Peers: []string{"a", "b"}, Again: c.ID, Say: "and now", Backlog: []Backlog{{Delivery: kept[0], To: "b"}}}
	d := r.must(again).Chats[0]
	out := r.out[before:]
	require.Len(t, out, 2)
	assert.Equal(t, "[a] (1):\n\nfor b", text(out[0]))
	assert.Equal(t, next.ID, out[0].Target)
	assert.Equal(t, d.ID, out[0].Chat)
	assert.Zero(t, out[0].Message.Depth)
	assert.NotEqual(t, kept[0].ID, out[0].ID)
	assert.Equal(t, "[person] (0):\n\nand now", text(out[1]))
	assert.Equal(t, []string{"queued", "held: agent gone", "failed: handed on to the agent that took its place"}, r.states(kept[0].ID))
	r.submit(out...)

	r.must(StopChat{Chat: string(d.ID)})
	before = len(r.out)
	again.Say = ""
	r.must(again) // of somebody who had asked at the same time
	assert.Empty(t, r.out[before:])
}

// After a restart right afterwards, only what was handed on goes on.
func TestKept_overARestart(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	kept := r.say(s[0], "for b")
	r.ends(s[1], message.AgentGone)
	r.restart(0)
	assert.Empty(t, r.out)
	next := r.adopt("b")[0]
	r.must(StartChat{Peers: []string{"a", "b"}, Again: c.ID, Backlog: []Backlog{{kept[0], "b"}}})
	require.Len(t, r.out, 1)
	handed := r.out[0].ID
	r.restart(0)
	require.Len(t, r.out, 1)
	assert.Equal(t, handed, r.out[0].ID)
	assert.Equal(t, next.ID, r.out[0].Target)
	r.submit(r.out...)
	r.restart(0)
	assert.Empty(t, r.out)
}

// A larger chat goes on and notes who has gone; a session that comes back gets what was kept, later
// if the chat is paused.
func TestKept_ofAChatThatGoesOn(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	c := r.chat(message.Limits{}, "a", "b", "c", "d")
	r.ends(s[1], message.AgentGone)
	went := r.shows(c.ID).Participants[1]
	assert.True(t, went.Left && went.Gone)
	r.must(RemoveMember{Chat: string(c.ID), Peer: "c"})
	assert.False(t, r.shows(c.ID).Participants[2].Gone)

	r = newRig(t)
	s = r.adopt("a", "b", "c")
	c = r.chat(message.Limits{}, "a", "b", "c")
	kept := r.say(s[0], "for both")
	r.ends(s[1], message.AgentGone)
	r.must(PauseChat{Chat: string(c.ID)})
	r.adopt("b")
	before := len(r.out)
	now := r.must(AddMember{Chat: string(c.ID), Peer: "b", Role: "critic", Muted: true, Backlog: []Backlog{{Delivery: kept[0], To: "b"}}}).Chats[0]
	assert.Equal(t, 4, now.Participants[3].Number)
	assert.False(t, now.Participants[3].MaySpeak)
	assert.Empty(t, r.out[before:])
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	var got []string
	for _, d := range r.out[before:] {
		if d.Target == now.Participants[3].Peer {
			got = append(got, text(d))
		}
	}
	assert.Equal(t, []string{"[a] (1):\n\nfor both"}, got)
}

// Only a person hands on, only what is kept, and only to a session in the chat; otherwise nothing
// of the request is done.
func TestKept_refused(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{}, "a", "b")
	kept := r.say(s[0], "for b")[0]
	r.ends(s[1], message.AgentGone)
	r.adopt("b", "other")
	typed, here := kept, kept
	typed.Typed, here.Target = true, s[0].ID
	for name, q := range map[string]StartChat{
		"to one outside":         {Backlog: []Backlog{{kept, "other"}}},
		"to nobody":              {Backlog: []Backlog{{kept, "nobody"}}},
		"may have been typed":    {Backlog: []Backlog{{typed, "b"}}},
		"for one who is present": {Backlog: []Backlog{{here, "b"}}},
		"by an agent":            {Backlog: []Backlog{{kept, "b"}}, By: By{Kind: Agent, Peer: s[0].ID}},
	} {
		q.Peers = []string{"a", "b"}
		before := len(r.out)
		_, err := r.ask(q)
		assert.Error(t, err, name)
		assert.Empty(t, r.out[before:], name)
		_, in := r.s.Snapshot().ChatOf(s[0].ID)
		assert.False(t, in, name)
	}
	assert.Equal(t, []string{"queued", "held: agent gone"}, r.states(kept.ID))
}

// A released session gets nothing more in the chat that ended with it, not even what was undecided
// then.
func TestKept_nothingForWhoWasReleased(t *testing.T) {
	for reason, want := range map[message.Reason][]string{
		message.ReleasedPane: {"failed: " + string(message.ReleasedPane)},
		message.AgentGone:    {"queued", "held: agent gone"},
	} {
		r := newRig(t)
		s := r.adopt("a", "b")
		r.chat(message.Limits{}, "a", "b")
		r.async = true
		r.say(s[0], "undecided")
		r.ends(s[1], reason)
		require.Len(t, r.pending, 1)
		_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
		var got [][]string
		for id := range r.made {
			got = append(got, r.states(id))
		}
		assert.Equal(t, [][]string{want}, got, reason)
	}
}

// A released session has left the chat: its place is not kept.
func TestKept_releasedHasLeft(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b", "c")
	_, _ = r.step(Released{Peer: s[1].ID})
	assert.True(t, r.shows(c.ID).Participants[1].Left)
	assert.False(t, r.shows(c.ID).Participants[1].Gone)
}
