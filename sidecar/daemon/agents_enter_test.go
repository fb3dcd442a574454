package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// An agent that reads our Enter and does nothing is given another one, which it takes: the
// text goes once. One that takes none gets no third.
func TestV2_EnterThatDidNothingIsPressedOnceMore(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		r.told(r.post(a, "first"), "submitted") // Codex begins its transcript now
		a.do(":swallow 1")
		id := r.post(a, "hello")
		r.told(id, "submitted")
		assert.Equal(t, []string{"[tester] (0):\n\nfirst", hello}, a.received())
		assert.Equal(t, 3, a.enters())
		assert.Equal(t, 2, a.count(persona.EventPaste))
		assert.Contains(t, r.evidenceOf(id, message.Typed).Says, "Enter was read, and has done nothing")

		a.do(":stuck on")
		id = r.post(a, "never")
		r.told(id, "uncertain: text was not seen to leave the composer")
		assert.Equal(t, 5, a.enters())
		assert.Len(t, a.received(), 2)
	}, silent...)
}

// Enter is not pressed again where a person has typed beside our text, not even when their
// words are gone. (What else leaves a doubt is in the table of sidecar/pane: bytes that wait in
// the terminal, an agent that does not tell what it takes.)
func TestV2_EnterIsNotPressedAgainInDoubt(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		r.told(r.post(a, "first"), "submitted")

		a.do(":swallow 1")
		mixed := r.post(a, "hello")
		r.waitFor("Enter", func() bool { return a.enters() == 2 })
		a.types(" and mine")
		r.WaitForText(a.pane, "and mine")
		a.types("", manyTimes("BSpace", len(" and mine"))...)
		r.told(mixed, "uncertain: text was not seen to leave the composer")
		assert.Equal(t, 2, a.enters(), "beside a person's words")
	}, silent...)
}

// manyTimes is a key, so often.
func manyTimes(key string, n int) (keys []string) {
	for range n {
		keys = append(keys, key)
	}
	return keys
}
