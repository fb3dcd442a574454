package relay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

func TestMembers_start(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.must(StartChat{
		Peers: []string{"a", "b", "c"}, Roles: []string{"asks", "", "answers"}, Muted: []bool{false, true}, Turns: 5, Again: "before",
	}).Chats[0]
	assert.Equal(t, []message.Participant{
		{Peer: s[0].ID, Name: "a", Number: 1, Role: "asks", MaySpeak: true},
		{Peer: s[1].ID, Name: "b", Number: 2},
		{Peer: s[2].ID, Name: "c", Number: 3, Role: "answers", MaySpeak: true},
	}, c.Participants)
	assert.Equal(t, 5, c.Turns)
	assert.Equal(t, message.ID("before"), c.Again)
	assert.Empty(t, r.say(s[1], "muted"))
	assert.Len(t, r.say(s[0], "heard by all"), 2)
	assert.Equal(t, 1, r.s.chats[0].taken, "what was not relayed took no turn")
	assert.Len(t, r.book.Received, 1, "and is no message")

	r.adopt("d", "e")
	for _, q := range []StartChat{
		{Roles: []string{"1", "2", "3"}},
		{Muted: []bool{true, true, true}},
		{Roles: []string{"a\x1b[2Jb"}},
		{Roles: []string{"\xff"}},
		{Roles: []string{strings.Repeat("x", message.MaxRole+1)}},
		{Limits: message.Limits{Expire: -1}},
		{Limits: message.Limits{Away: -time.Second}},
	} {
		q.Peers = []string{"d", "e"}
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrRequest, "%+v", q)
	}
	d, _ := r.s.Snapshot().Find("d")
	for _, q := range []StartChat{{Roles: []string{"boss"}}, {Muted: []bool{false, true}}, {Again: "x"}} {
		q.Peers, q.By = []string{"d", "e"}, By{Kind: Agent, Peer: d.ID}
		_, err := r.ask(q)
		assert.ErrorIs(t, err, ErrPersonOnly, "%+v", q)
	}
}

func TestMembers_add(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d", "e")
	c := r.chat(message.Limits{}, "a", "b")
	ref := string(c.ID)
	r.say(s[0], "before")
	r.now = r.now.Add(time.Second)
	before := r.now.Add(-time.Millisecond)
	got := r.must(AddMember{Chat: ref, Peer: "c", Role: "late"}).Chats[0]
	assert.Equal(t, message.Participant{Peer: s[2].ID, Name: "c", Number: 3, Role: "late", MaySpeak: true}, got.Participants[2])
	assert.Equal(t, got, r.book.Chats[0], "written down")
	assert.Contains(t, r.notices[len(r.notices)-1], "c was added to chat")
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[2].ID, Words: "old", Ended: before}})
	assert.Len(t, r.book.Received, 1, "what it said before is none of the chat")
	assert.Len(t, r.say(s[0], "now"), 2)
	out := r.say(s[2], "hello")
	require.Len(t, out, 2)
	assert.Equal(t, "[c] (3):", out[0].Head)
	for _, d := range r.out {
		assert.False(t, d.Target == s[2].ID && d.Message.Body == "before", "it hears what is said from then on")
	}

	commits := len(r.commits)
	r.must(StartChat{Peers: []string{"d", "e"}, Name: "other"})
	for _, one := range []struct {
		q  AddMember
		is error
	}{
		{AddMember{Chat: ref, Peer: "c"}, ErrInChat},
		{AddMember{Chat: ref, Peer: "d"}, ErrInChat},
		{AddMember{Chat: ref, Peer: "d", By: By{Kind: Agent, Peer: s[3].ID}}, ErrPersonOnly},
		{AddMember{Chat: ref, Peer: "nobody"}, registry.ErrUnknown},
		{AddMember{Chat: "none", Peer: "d"}, registry.ErrUnknown},
	} {
		_, err := r.ask(one.q)
		assert.ErrorIs(t, err, one.is, "%+v", one.q)
	}
	r.must(StopChat{Chat: "other"})
	_, err := r.ask(AddMember{Chat: ref, Peer: "d", Role: "\n"})
	assert.ErrorIs(t, err, ErrRequest)
	_, err = r.ask(AddMember{Chat: "other", Peer: "d"})
	assert.ErrorIs(t, err, ErrEnded)
	assert.Len(t, r.commits, commits+2, "nothing was changed")
	r.must(PauseChat{Chat: "all"})
	_, err = r.ask(AddMember{Chat: ref, Peer: "d"})
	assert.ErrorIs(t, err, ErrStopped)
	r.must(ResumeChat{Chat: "all", Sure: true})

	// Numbers are never used again, not even by the peer that had them.
	r.must(RemoveMember{Chat: ref, Peer: "c"})
	assert.Equal(t, 4, r.must(AddMember{Chat: ref, Peer: "d"}).Chats[0].Participants[3].Number)
	got = r.must(AddMember{Chat: ref, Peer: "c"}).Chats[0]
	assert.Equal(t, 5, got.Participants[4].Number)
	assert.True(t, got.Participants[2].Left)
	assert.Equal(t, "[c] (5):", r.say(s[2], "again")[0].Head)
	r.must(MuteMember{Chat: ref, Peer: "c"})
	assert.Empty(t, r.say(s[2], "hush"))
	r.restart(0)
	assert.Empty(t, r.say(s[2], "hush"), "still")
	r.must(MuteMember{Chat: ref, Peer: "c", Off: true})
	assert.Len(t, r.say(s[2], "again"), 3)
}

func TestMembers_remove(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	c := r.chat(message.Limits{}, "a", "b", "c")
	ref := string(c.ID)
	waits, typed, entered, held := r.say(s[0], "waits")[0], r.say(s[0], "typed")[0], r.say(s[0], "entered")[0], r.say(s[0], "held")[0]
	for _, d := range []message.Delivery{typed, entered, entered, held} {
		require.NoError(t, r.report(d.ID, message.Typed, ""))
	}
	r.must(Send{To: "b", Message: message.Envelope{Body: "single"}})
	single := r.out[len(r.out)-1]
	r.must(PauseChat{Chat: ref})
	r.must(ResumeChat{Chat: ref, Sure: true})
	require.NoError(t, r.report(held.ID, message.Held, message.TmuxRefused))
	before := len(r.out)

	_, err := r.ask(RemoveMember{Chat: ref, Peer: "b", By: By{Kind: Agent, Peer: s[0].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly)
	got := r.must(RemoveMember{Chat: ref, Peer: "b"}).Chats[0]
	assert.Equal(t, message.ChatOn, got.State)
	assert.True(t, got.Participants[1].Left)
	assert.Equal(t, []string{"b was removed from chat a ↔ c by person"}, r.notices)
	assert.Equal(t, []message.ID{waits.ID, typed.ID, entered.ID, held.ID}, r.cancel[len(r.cancel)-1].IDs)
	end := func(d message.Delivery) string { states := r.states(d.ID); return states[len(states)-1] }
	assert.Equal(t, "failed: chat ended", end(waits))
	assert.Equal(t, "failed: chat ended", end(held))
	assert.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrEnded, "no Enter")
	require.NoError(t, r.report(entered.ID, message.Submitted, ""), "Enter came before")
	assert.Equal(t, "queued", end(single), "a single message is none of the chat")
	for _, q := range []Request{PauseChat{Chat: ref}, ResumeChat{Chat: ref}} {
		r.must(q)
	}
	for _, d := range r.out[before:] {
		assert.NotEqual(t, s[1].ID, d.Target, "nothing of the chat is handed to it again")
	}
	assert.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrEnded)
	require.NoError(t, r.report(typed.ID, message.Uncertain, message.ChatEnded))
	assert.Empty(t, r.say(s[1], "after"))
	assert.Len(t, r.say(s[0], "to the other"), 1)
	_, err = r.ask(RemoveMember{Chat: ref, Peer: "b"})
	assert.ErrorIs(t, err, ErrRequest)
	_, err = r.ask(MuteMember{Chat: ref, Peer: "b"})
	assert.ErrorIs(t, err, ErrRequest)

	got = r.must(RemoveMember{Chat: ref, Peer: "c"}).Chats[0]
	assert.Equal(t, message.ChatOver, got.State)
	assert.Equal(t, "c was removed", got.Why)
	r.chat(message.Limits{}, "b", "c")
}

func TestMembers_removeWhilePausedOrUndecided(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	ref := string(r.chat(message.Limits{}, "a", "b", "c").ID)
	typed := r.say(s[0], "typed")[0]
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	r.must(PauseChat{Chat: ref})
	_, err := r.ask(RemoveMember{Chat: ref, Peer: "b", By: By{Kind: Agent, Peer: s[1].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly, "an agent does not get away from a pause")
	r.must(RemoveMember{Chat: ref, Peer: "b"})
	require.ErrorIs(t, r.report(typed.ID, message.Typed, ""), ErrEnded)
	require.NoError(t, r.report(typed.ID, message.Uncertain, message.ChatEnded), "its sink tells what became of it")
	r.must(ResumeChat{Chat: ref, Sure: true})

	r.async = true
	_, _ = r.ask(Say{Chat: ref, To: []string{"c"}, Body: "for c alone"})
	r.say(s[2], "last words")
	got := r.must(RemoveMember{Chat: ref, Peer: "c", By: By{Kind: Agent, Peer: s[2].ID}}).Chats[0]
	assert.Equal(t, "c left", got.Why)
	before := len(r.out)
	for _, id := range r.pending {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	require.Len(t, r.out, before+1, "the chat is over")
	assert.Equal(t, notGot(s[2], "c left"), text(r.out[before]), "and whose words it has not got is told")
}

// A delivery for a peer that is no longer in the chat does not reach it.
func TestMembers_removedBeforeTheVerdict(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	ref := string(r.chat(message.Limits{}, "a", "b", "c").ID)
	r.async = true
	_, _ = r.ask(Say{Chat: ref, To: []string{"c"}, Body: "for c alone"})
	r.say(s[2], "last words")
	r.must(RemoveMember{Chat: ref, Peer: "c", By: By{Kind: Agent, Peer: s[2].ID}})
	for _, id := range r.pending {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	require.Len(t, r.out, 2, "what it said while it was there is heard")
	for _, d := range r.out {
		assert.Equal(t, "last words", d.Message.Body)
	}
	for id, d := range r.made {
		if d.Target == s[2].ID {
			assert.Equal(t, []string{"queued", "failed: chat ended"}, r.states(id))
		}
	}
}

func TestMembers_mute(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	ref := string(r.chat(message.Limits{}, "a", "b").ID)
	_, err := r.ask(MuteMember{Chat: ref, Peer: "a", By: By{Kind: Agent, Peer: s[0].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly)
	got := r.must(MuteMember{Chat: ref, Peer: "a"}).Chats[0]
	assert.False(t, got.Participants[0].MaySpeak)
	assert.Equal(t, got, r.book.Chats[0])
	commits := len(r.commits)
	r.must(MuteMember{Chat: ref, Peer: "a"})
	assert.Len(t, r.commits, commits, "it is muted already")
	assert.Empty(t, r.say(s[0], "x"))
	heard := r.say(s[1], "y")
	require.Len(t, heard, 1, "it hears the others")
	r.submit(heard...)
	r.say(s[0], "answer", heard[0].ID)
	assert.Equal(t, message.Answered, r.book.Last[heard[0].ID].State, "its answer is known, if not relayed")
	r.must(MuteMember{Chat: ref, Peer: "a", Off: true})
	assert.Len(t, r.say(s[0], "z"), 1)
}

// A chat hears what was said from just before the baselines of its sessions were taken: what the
// baselines do not contain, and was said before the relay learned of the chat, is not lost.
func TestMembers_heardSinceTheirBaseline(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	baseline := r.now
	r.now = r.now.Add(time.Second)
	between := r.now.Add(-time.Millisecond)
	c := r.must(StartChat{Peers: []string{"a", "b"}, Since: baseline}).Chats[0]
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "old", Ended: baseline.Add(-time.Millisecond)}})
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "new", Ended: between}})
	r.must(AddMember{Chat: string(c.ID), Peer: "c", Since: baseline})
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[2].ID, Words: "newer", Ended: between}})
	var heard []string
	for _, m := range r.book.Received {
		heard = append(heard, m.Body)
	}
	assert.Equal(t, []string{"new", "newer"}, heard)
}

// Whichever way a chat ends because somebody leaves, those that were in it until then stay listed
// for whoever takes it up again. Those that had left before have left.
func TestMembers_whoEndsAChatIsInIt(t *testing.T) {
	for name, leaves := range map[string]func(r *rig, c message.Chat, s message.Peer){
		"removed": func(r *rig, c message.Chat, s message.Peer) { r.must(RemoveMember{Chat: string(c.ID), Peer: s.Name}) },
		"left": func(r *rig, c message.Chat, s message.Peer) {
			r.must(RemoveMember{By: agent(s), Chat: string(c.ID), Peer: s.Name})
		},
		"released": func(r *rig, _ message.Chat, s message.Peer) { _, _ = r.step(Released{Peer: s.ID}) },
		"gone":     func(r *rig, _ message.Chat, s message.Peer) { r.ends(s, message.AgentGone) },
	} {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		c := r.chat(message.Limits{}, "a", "b", "c")
		r.must(RemoveMember{Chat: string(c.ID), Peer: "c"})
		leaves(r, c, s[1])
		got := r.shows(c.ID)
		assert.Equal(t, message.ChatOver, got.State, name)
		var left []bool
		for _, p := range got.Participants {
			left = append(left, p.Left)
		}
		assert.Equal(t, []bool{false, false, true}, left, name)
		assert.Contains(t, r.notices[len(r.notices)-1], "chat a ↔ b has ended", name)
	}
}
