package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// A person's key that the program has read or not, and not drawn yet: the screen says nothing
// of it, the person's terminal does. Pressed before our paste, or between it and Enter, it
// keeps ours away, until it is drawn and gone again.
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
