package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// The screen does not show a key that a person has pressed and the program has not drawn, but the sidecar knows of
// it from the person's terminal. If it comes before our paste or between our paste and Enter, nothing more is typed
// until the key has been drawn and deleted.
func TestS5_S17_KeysThatAreNotDrawnYet(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, r *rig, g *gaps) {
		a := r.adopted("Ada", bracketed...)
		person := r.person(a.pane)
		r.Run("select-pane", "-t", a.pane)
		n := 0
		for _, moment := range []string{"paste", "enter", ""} {
			deaf := func() {
				if err := persona.Control(a.control, ":deaf"); err != nil {
					t.Error(err)
				}
				person.keys("x")
			}
			if moment == "" { // before anything is to be typed
				r.waitFor("at rest", func() bool { return a.explain().WouldType })
				deaf()
			} else {
				g.plan(a.pane, moment, deaf)
			}
			id := r.post(a, "hello")
			if moment == "" {
				r.told(id, "held: somebody types there")
			} else {
				r.waitFor("the key", func() bool { return g.came(a.pane, moment) })
			}
			r.looked(func() bool { return strings.Count(string(a.bytes()), "\r") == n })
			a.do(":hear")
			r.told(id, "held: draft in the composer")
			r.looked(func() bool { return strings.Count(string(a.bytes()), "\r") == n })
			person.keys("\x7f")
			r.told(id, "submitted")
			n++
			if got := a.received(); assert.Len(t, got, n, moment) {
				assert.Equal(t, "[tester] (0):\n\nhello", got[n-1], moment)
			}
			g.forget()
		}
		assert.Equal(t, 3, strings.Count(string(a.bytes()), "x"))
	})
}

// Keys that a program is too busy to read are not on the screen, no matter when they were pressed. If they do not
// come from a person's terminal, only the program's terminal shows that they are there. A message is held all the
// same.
func TestKeysThatNobodyHasRead(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, r *rig, _ *gaps) {
		a := r.adopted("Ada", bracketed...)
		r.waitFor("at rest", func() bool { return a.explain().WouldType })
		a.do(":deaf")
		r.Run("send-keys", "-t", a.pane, "-l", "x")
		id := r.post(a, "hello")
		r.told(id, "held: somebody types there")
		r.looked(func() bool { return len(a.bytes()) == 0 })
		a.do(":hear")
		r.told(id, "held: draft in the composer")
		r.Run("send-keys", "-t", a.pane, "BSpace")
		r.told(id, "submitted")
		assert.Equal(t, []string{"[tester] (0):\n\nhello"}, a.received())
	})
}
