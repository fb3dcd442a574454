package daemon_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// If an agent reads our Enter and does nothing, the sidecar presses Enter once more; the agent takes it, and the text
// goes once. There is no third Enter, and no second one if a person has typed around our text.
func TestV2_EnterThatDidNothingIsPressedOnceMore(t *testing.T) {
	t.Parallel()
	aCoder(t, func(t *testing.T, r *rig, a *agent) {
		r.told(r.post(a, "first"), "submitted") // Codex makes its transcript at the first prompt
		mixed := r.coder(a.session.Profile, "Mia", silent...)
		mixed.adopt("")
		r.told(r.post(mixed, "good morning"), "submitted")
		mixed.do(":swallow 1")
		mixes := r.post(mixed, "good night")
		r.waitFor("Enter", func() bool { return mixed.enters() == 2 })
		mixed.do(":before mine and ")
		mixed.types(" and mine")

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
		r.told(mixes, "uncertain: text was not seen to leave the composer")
		assert.Equal(t, 2, mixed.enters())
		assert.Len(t, mixed.received(), 1)
	}, silent...)
}

// The sidecar does not press Enter again if a person has typed beside our text, even if their words are gone, if the
// agent has not read the first Enter, or if the agent does not tell what it takes.
func TestV2_EnterIsNotPressedAgainInDoubt(t *testing.T) {
	t.Parallel()
	inTheTable(t, "pane/core_test.go: TestCore_besideItAfterEnter", "pane/core_test.go: bytes wait in the terminal", "pane/core_test.go: it does not tell what it takes")
	aCoderGap(t, func(t *testing.T, r *rig, g *gaps, a *agent) {
		r.told(r.post(a, "first"), "submitted")

		a.do(":swallow 1")
		mixed := r.post(a, "hello")
		r.waitFor("Enter", func() bool { return a.enters() == 2 })
		a.types(" and mine")
		r.WaitForText(a.pane, "and mine")
		r.looked(func() bool { return a.enters() == 2 }) // a look must see the words, or they do not count
		a.types("", manyTimes("BSpace", len(" and mine"))...)
		r.told(mixed, "uncertain: text was not seen to leave the composer")
		assert.Equal(t, 2, a.enters(), "beside a person's words")

		a.types("", "C-u")
		g.forget()
		g.plan(a.pane, "enter", func() {
			if err := persona.Control(a.control, ":deaf"); err != nil {
				t.Error(err)
			}
		})
		unread := r.post(a, "later")
		require.Eventually(t, func() bool { // the agent has a minute to read it
			return r.last(unread) == "uncertain: text was not seen to leave the composer"
		}, 2*time.Minute, 100*time.Millisecond)
		a.do(":hear")
		r.waitFor("the Enter that waited", func() bool { return len(a.received()) == 2 })
		assert.Equal(t, 3, a.enters(), "not read")
	}, silent...)
	t.Run("untold", func(t *testing.T) {
		t.Parallel()
		r := newRig(t)
		a := r.coder("codex", "Ada", append(slices.Clone(silent), "--transcript", "off", "--swallow-enter", "1")...)
		a.adopt("")
		r.told(r.post(a, "hello"), "uncertain: text was not seen to leave the composer")
		assert.Equal(t, 1, a.enters())
		assert.Empty(t, a.received())
	})
}

// manyTimes repeats a key n times.
func manyTimes(key string, n int) (keys []string) {
	for range n {
		keys = append(keys, key)
	}
	return keys
}
