package link_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

// A tmux server ends, a sidecar without one goes on, then a new server begins: its sidecar gets the link, for it
// has the sessions that others may reach.
func TestLink_aSpareGivesTheLinkBack(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	dir := t.TempDir()
	one := func(spare bool) *computer {
		return newComputer(t, "a", s.ClientURL(), func(l *link.Link) {
			l.Dir, l.Lock, l.Spare = filepath.Join(dir, "link"), filepath.Join(dir, "lock"), spare
		})
	}
	linked := func(c *computer) bool { return c.link.State().Connected }
	spare := one(true)
	waitFor(t, "the spare is linked", func() bool { return linked(spare) })
	seats := one(false)
	waitFor(t, "the one with sessions is linked", func() bool { return linked(seats) })
	assert.False(t, linked(spare))
	seats.end()
	seats.start()
	waitFor(t, "it is linked again", func() bool { return linked(seats) })
	assert.False(t, linked(spare), "a moment's absence is no end")
	late := one(true)
	waitFor(t, "another spare is told", func() bool { return late.link.State().Why != "" })
	assert.False(t, linked(late))
}
