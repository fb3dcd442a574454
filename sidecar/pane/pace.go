package pane

import "time"

// pace keeps an idle pane cheap whatever its due times say. The clock calls for looks, and so
// does everything that comes from outside: a write, a letter, a word of the agent. Looks that
// the clock alone called for, and that found nothing new, come ever more seldom after the
// first few, down to one a second: a due time that stays in the past, or that is set anew by
// the look that it called for, cannot have a pane looked at all the time.
type pace struct {
	vain int       // looks in a row that the clock alone called for
	last time.Time // when the last of them began
}

const (
	// vainLooks is how many looks without any news come as fast as they are asked for: what is
	// on the screen has settled by then.
	vainLooks = 16
	// vainPause is the shortest time between two after that, doubled with each up to vainMost.
	vainPause = 16 * time.Millisecond
	vainMost  = time.Second
)

// news says that something has come from outside.
func (c *pace) news() { c.vain = 0 }

// clocked says that the clock calls for a look now.
func (c *pace) clocked(now time.Time) { c.vain, c.last = c.vain+1, now }

// next is when the clock may call for the next one.
func (c *pace) next() time.Time {
	over := c.vain - vainLooks
	if over <= 0 {
		return time.Time{}
	}
	if over > 6 { // 16 ms doubled six times is about a second
		return c.last.Add(vainMost)
	}
	return c.last.Add(min(vainMost, vainPause<<(over-1)))
}
