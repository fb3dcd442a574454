package link_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A tmux server ends, a sidecar without one goes on, and then a new server begins. Its sidecar gets the link,
// because it has the sessions that others may reach.
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

// N3: of two tmux servers, the first one's sidecar has the link and restarts. The second one's sidecar leaves
// it the link meanwhile: it knows none of the first one's sessions, and would refuse their mail. If the first
// does not come back, it takes the link at last.
func TestN3_WhoStartsAnewHasTheLinkAgain(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	dir := t.TempDir()
	sidecar := func(key string, waits time.Duration) (c *computer, looks func() int64) {
		var looked atomic.Int64
		return newComputer(t, "a", s.ClientURL(), link.All(link.RetryEvery(50*time.Millisecond), link.SpareAfter(waits), func(l *link.Link) {
			l.Dir, l.Lock, l.Key = filepath.Join(dir, "link"), filepath.Join(dir, "lock"), key
			config := l.Config
			l.Config = func() link.Config { looked.Add(1); return config() }
		})), looked.Load
	}
	linked := func(c *computer) bool { return c.link.State().Connected }
	first, _ := sidecar("first", time.Hour)
	waitFor(t, "the first is linked", func() bool { return linked(first) })
	inA := first.session("inA")
	second, looks := sidecar("second", time.Hour)
	waitFor(t, "the second is told", func() bool { return second.link.State().Why != "" })
	b := newComputer(t, "b", s.ClientURL(), nil)
	inB := b.session("inB")
	b.knows("a", inA)
	first.end()
	answer, err := b.send(inB.ID, inA.ID, "for you")
	require.NoError(t, err)
	before := looks()
	waitFor(t, "the second has looked for the link again", func() bool { return looks() > before+3 })
	first.start()
	waitFor(t, "what became of it", func() bool {
		return b.last(answer.Message).State == message.Submitted || b.last(answer.Message).State.Final()
	})
	assert.Equal(t, []any{message.Submitted, []string{"for you"}}, []any{b.last(answer.Message).State, first.bodies()})
	assert.False(t, linked(second))
	first.end()
	third, _ := sidecar("third", time.Millisecond)
	waitFor(t, "the third is linked", func() bool { return linked(third) })
}
