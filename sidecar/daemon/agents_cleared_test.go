package daemon_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A person clears our text and writes in its place before any look finds it whole: the message is uncertain, and the
// pane is closed. When the person has cleared the composer, the next message is typed, and nothing of the first is
// sent.
func TestS5_TheirWordsInPlaceOfOurs(t *testing.T) {
	t.Parallel()
	for _, kind := range inTurn(t) {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			g := &gaps{}
			r := newRig(t, g.option())
			a := r.coder(kind, "Ada", silent...)
			a.adopt("")
			a.ready()
			g.plan(a.pane, "pasted", func() { a.types("", "C-u", "C-u", "C-u", "n", "o") })
			r.told(r.post(a, "one"), "uncertain: "+string(message.NotSeen))
			next := r.post(a, "two")
			r.told(next, draftHeld)
			r.waitFor("it is closed", func() bool { return r.sessionOf(a).Closed == message.OursInComposer })
			assert.True(t, slices.ContainsFunc(a.explain().Evidence, func(one message.Ground) bool { return strings.Contains(one.Says, "clear what stands here") }))
			a.types("", "C-u")
			r.told(next, "submitted")
			require.Equal(t, []string{"[tester] (0):\n\ntwo"}, a.received())
			r.waitFor("it is open", func() bool { return r.sessionOf(a).Closed == "" })
		})
	}
}

// The prompt of a line program hid our text, and shows it again. The sidecar lists the text as unsent; when the
// person clears it, the next message is typed.
func TestS5_OursShowsAgainAndIsCleared(t *testing.T) {
	t.Parallel()
	g := &gaps{}
	r := newRig(t, g.option())
	b := r.adopted("Ben", silent...)
	g.plan(b.pane, "enter", func() { r.Run("copy-mode", "-t", b.pane) })
	first := r.post(b, "hello")
	r.waitFor("held", func() bool { return strings.Contains(r.last(first), "mode") })
	b.do(`:raw \r\nunasked\r\nben>\x20`)
	r.Run("send-keys", "-X", "-t", b.pane, "cancel")
	r.told(first, "uncertain")
	next := r.post(b, "next")
	r.told(next, "held: "+string(message.OursInComposer))
	b.do(`:raw [tester] (0): hello`)
	r.waitFor("it is seen", func() bool { return len(b.explain().Unsent) > 0 && r.sessionOf(b).State == message.Draft })
	b.types("", "C-u")
	r.told(next, "submitted")
	assert.Equal(t, []string{"[tester] (0): next"}, b.received())
}
