package relay

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Two agents that thank each other: the chat pauses after a few messages, the person is told once,
// nothing is lost, and a person's word lets it go on and restarts the judgement.
func TestB3_H43_ThanksPauseTheChat(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	r.thanks(c, s)
	assert.Len(t, r.out, 4)
	got := r.shows(c.ID)
	assert.Equal(t, "nothing new is said: 5 messages said nothing new, and nobody did anything: thanks, praise or acknowledgements", got.Why)
	require.Len(t, r.notices, 1)
	assert.Equal(t, "a ↔ b paused: nothing new is said", r.notices[0])
	assert.Empty(t, r.say(s[1], "Thank you too!"), "what is said meanwhile waits")
	assert.Len(t, r.notices, 1, "told once")

	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	require.Len(t, r.out, 6, "what was held goes on, in its order")
	assert.Equal(t, []string{"queued", "held: nothing new is said", "queued"}, r.states(r.out[4].ID))
	assert.Equal(t, "Thank you too!", r.out[5].Message.Body)
	r.submit(r.out[4:]...)
	r.thanks(c, s)
	assert.Len(t, r.out, 10, "counted anew")
}

// A person's word, into the chat or into a pane, restarts the judgement.
func TestB3_PersonsWordBeginsAnew(t *testing.T) {
	for name, word := range map[string]func(r *rig, c message.Chat, s message.Peer){
		"chat say": func(r *rig, c message.Chat, _ message.Peer) { r.must(Say{Chat: string(c.ID), Body: "go on"}) },
		"by hand": func(r *rig, _ message.Chat, s message.Peer) {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Person: true, Ended: r.now}})
		},
	} {
		r := newRig(t)
		s := r.adoptAs("claude", "a", "b")
		c := r.chat(message.Limits{}, "a", "b")
		for i := range 12 {
			assert.Len(t, r.say(s[i%2], courtesies[i%len(courtesies)]), 1, name)
			if i%4 == 3 {
				word(r, c, s[0])
			}
		}
		assert.Equal(t, message.ChatOn, r.shows(c.ID).State, name)
	}
}

// A setting says which chats are judged; by default those with a line program are not.
func TestB3_whichChats(t *testing.T) {
	for _, one := range []struct {
		setting string
		second  string
		pauses  bool
	}{
		{"", "codex", true},
		{"", "line", false},
		{StallAgents, "line-paste", false},
		{StallAgents, "codex", true},
		{StallOn, "line", true},
		{StallOff, "codex", false},
	} {
		r := newRig(t)
		s := slices.Concat(r.adoptAs("claude", "a"), r.adoptAs(one.second, "b"))
		c := r.chat(message.Limits{Stall: one.setting}, "a", "b")
		for i := range 8 {
			r.say(s[i%2], courtesies[i%len(courtesies)])
		}
		assert.Equal(t, one.pauses, r.shows(c.ID).State == message.ChatPaused, "%+v", one)
	}
	r := newRig(t)
	r.adoptAs("claude", "a", "b")
	_, err := r.ask(StartChat{Peers: []string{"a", "b"}, Limits: message.Limits{Stall: "perhaps"}})
	assert.ErrorContains(t, err, `stall "perhaps"`)
}

// Work goes on, however short and polite.
func TestB3_workGoesOn(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{Depth: 1000, Rate: 1000}, "a", "b")
	for i := range 60 {
		require.Len(t, r.say(s[0], fmt.Sprintf("Done with file%d.go, thanks!", i)), 1)
		require.Len(t, r.say(s[1], "Great, thank you! Next."), 1)
	}
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
}

// Thanks around work are left alone: a turn that called a tool restarts the judgement.
func TestB3_WhoeverActsIsAtWork(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{Depth: 1000, Rate: 1000}, "a", "b")
	for i := range 24 {
		turn := message.Turn{ID: r.id(), Peer: s[i%2].ID, Words: courtesies[i%len(courtesies)], Acted: i%4 == 3, Ended: r.now}
		_, err := r.step(Spoke{Turn: turn})
		require.NoError(t, err)
	}
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
}

// Only what an agent says is judged, not what policies add for its reader, nor a subject.
func TestB3_wordsAreJudged(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	for i, words := range courtesies {
		require.Equal(t, message.ChatOn, r.shows(c.ID).State, words)
		r.say(s[i%2], words)
		subject, with := fmt.Sprintf("File%d.go", i), fmt.Sprintf("%s\n\nThen open file%d.go and mend line %d of it.", words, i, i*i)
		r.decide(message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Subject: &subject, Outcomes: []message.Outcome{
			{Target: s[1-i%2].ID, Decision: message.Decision{Verb: message.VerbDeliver}, Body: &with},
		}})
	}
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
}

// After a restart a chat that paused as empty is still paused, and what it held waits for a person.
func TestB3_restart(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	r.thanks(c, s)
	made, held := len(r.made), r.only(courtesies[4])
	r.restart(0)
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	assert.Empty(t, r.out)
	assert.Equal(t, []string{"queued", "held: nothing new is said"}, r.states(held.ID))
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	require.Equal(t, []message.ID{held.ID}, handedIDs(r.out))
	assert.Equal(t, courtesies[4], r.out[0].Message.Body)
	assert.Len(t, r.made, made)
}

// Helpers.

var courtesies = []string{
	"Thank you so much!", "You're very welcome!", "It was a pleasure to work with you.", "The pleasure was all mine!", "Until next time, take care!",
}

// thanks makes two agents thank each other until their chat pauses, at the fifth message.
func (r *rig) thanks(c message.Chat, s []message.Peer) {
	for i, words := range courtesies {
		require.Equal(r.t, message.ChatOn, r.shows(c.ID).State, words)
		out := r.say(s[i%2], words)
		require.Equal(r.t, i < 4, len(out) == 1, words)
		r.submit(out...)
	}
	require.Equal(r.t, message.ChatPaused, r.shows(c.ID).State)
}

// adoptAs takes in sessions of those names, of programs of that profile.
func (r *rig) adoptAs(profile string, names ...string) []message.Peer {
	var out []message.Peer
	for _, one := range r.adopt(names...) {
		one.Profile = profile
		a, err := r.step(Adopted{Token: 1, Peer: one})
		require.NoError(r.t, err)
		out = append(out, a.Peer)
	}
	return out
}
