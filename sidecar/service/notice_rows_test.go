package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// A text that does not fit into the message line of a terminal is shown row by row, until a newer notice
// replaces it.
func TestUnshown(t *testing.T) {
	t.Parallel()
	const text = "intercom: Ada's message to Ben awaits your approval: prefix + B, i (the chat is set to approve=a)"
	now := time.Unix(1, 0)
	left := unshown{}
	assert.Equal(t, text, left.begin("wide", text, 120, now))
	_, ok := left.next()
	assert.False(t, ok, "all of it was shown")

	assert.Equal(t, "intercom: Ada's message to Ben awaits your approval: prefix + B, i (the chat is", left.begin("usual", text, 80, now))
	assert.Equal(t, "intercom: Ada's message to Ben awaits your approval:", left.begin("narrow", text, 60, now.Add(time.Second)))
	assert.Empty(t, left.turn(now.Add(RowStays-1)))
	at, ok := left.next()
	assert.True(t, ok)
	assert.Equal(t, now.Add(RowStays), at)
	assert.Equal(t, map[string]string{"usual": "set to approve=a)"}, left.turn(at))

	at, _ = left.next()
	assert.Equal(t, now.Add(time.Second+RowStays), at)
	assert.Equal(t, map[string]string{"narrow": "prefix + B, i (the chat is set to approve=a)"}, left.turn(at))
	_, ok = left.next()
	assert.False(t, ok)

	left.begin("narrow", text, 60, now)
	assert.Equal(t, "intercom: policy error", left.begin("narrow", "intercom: policy error", 60, now))
	assert.Empty(t, left.turn(now.Add(time.Hour)), "a newer one took its place")
}
