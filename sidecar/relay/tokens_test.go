package relay

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A chat pauses at the turn that reaches its limit, says what was used, and at a yes goes on for as
// many tokens again. What was said meanwhile is delivered then.
func TestB8_ChatPausesAtItsTokens(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{Tokens: 100}, "a", "b")
	turn := func(by int, words string, used *message.Tokens) {
		_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[by].ID, Words: words, Tokens: used, Ended: r.now}})
	}
	turn(0, "one", &message.Tokens{Fresh: 30, Cached: 900, Output: 20})
	turn(1, "two", &message.Tokens{Fresh: 29, Output: 20})
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State, "99 of 100; what was cached does not count")
	sent := len(r.out)
	turn(0, "three", &message.Tokens{Output: 1})
	got := r.shows(c.ID)
	assert.Equal(t, message.ChatPaused, got.State)
	assert.True(t, got.Braked)
	assert.Equal(t, "tokens limit reached: 100 of 100 used, 100 (fresh 59, output 41; from a cache 900 more) in all", got.Why)
	require.Len(t, r.notices, 1)
	assert.Equal(t, "a ↔ b paused after 100 tokens, 100 in all", r.notices[0])
	assert.Len(t, r.out, sent, "what the turn said waits")

	_, err := r.ask(ResumeChat{Chat: string(c.ID)})
	assert.ErrorContains(t, err, "tokens limit reached")
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	assert.Equal(t, "three", r.out[len(r.out)-1].Message.Body)
	turn(1, "four", &message.Tokens{Fresh: 99})
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	turn(0, "five", &message.Tokens{Fresh: 1})
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	assert.Equal(t, 200, r.shows(c.ID).Spent.Counted())
}

// If an agent records nothing, that is said, and nothing is guessed; without a limit nothing
// pauses.
func TestB8_WhatIsUnknownIsSaid(t *testing.T) {
	r := newRig(t)
	s := r.adoptAs("claude", "a", "b")
	c := r.chat(message.Limits{}, "a", "b")
	assert.Equal(t, "0", r.shows(c.ID).Spent.Words(0))
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Words: "words", Ended: r.now}})
	assert.Equal(t, "unknown", r.shows(c.ID).Spent.Words(1))
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[1].ID, Words: "words", Tokens: &message.Tokens{Fresh: 1e9}, Ended: r.now}})
	assert.Equal(t, "1000000000 (fresh 1000000000, output 0; from a cache 0 more); unknown of 1 turns", r.shows(c.ID).Spent.Words(2))
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
}
