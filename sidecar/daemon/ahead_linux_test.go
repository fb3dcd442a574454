package daemon_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What a person types ahead of a line program is a draft, though the next prompt shows nothing of it: a message does not go behind
// it. One that is sent holds nothing.
func TestDraftThatWasTypedAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", "--cooked", "--reply", "none")
	p := r.person(a.pane)
	ahead := func() bool {
		return slices.ContainsFunc(a.explain().Evidence, func(g message.Ground) bool { return strings.Contains(g.Says, "while the program worked") })
	}
	typed := 0
	begins := func() {
		typed = 0
		a.do("%s", `:raw \r\n`)
		for last := (time.Time{}); !ahead(); { // one after another, since the first may come before the screen is known
			r.waitFor("a key", func() bool { return ahead() || time.Since(last) > 500*time.Millisecond })
			p.keys("x")
			typed, last = typed+1, time.Now()
		}
	}
	back := `:raw \r\nada>\x20`

	begins()
	held := r.post(a, "one")
	a.do("%s", back)
	r.waitFor("held", func() bool { return r.last(held) == "held: composer not provably empty" })
	require.Empty(t, a.received(), "nothing was sent, and nothing of ours was put behind it")
	p.keys("\r")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(held), "submitted") })
	require.Equal(t, []string{strings.Repeat("x", typed), "[tester] (0): one"}, a.received())

	begins()
	p.keys("\r") // its prompt comes back by that
	sent := r.post(a, "two")
	r.waitFor("delivered", func() bool { return strings.HasPrefix(r.last(sent), "submitted") })
	assert.Equal(t, []string{strings.Repeat("x", typed), "[tester] (0): two"}, a.received()[2:])
}
