package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// A pane in which nothing moves asks about its program at every other list of panes. One that dozes or is silent, where a key
// may show nothing, or of which the list says something new, asks at each.
func TestKnows(t *testing.T) {
	now := time.Unix(1000, 0)
	rest := tmux.Facts{PID: 7, CursorX: 3, CursorY: 5, Width: 80, Height: 24, Title: "one"}
	at := func() *entry { return &entry{Pane: &Pane{}, told: facts(rest), toldAt: now} }

	assert.True(t, at().knows(rest, now.Add(listEvery)))
	assert.False(t, at().knows(rest, now.Add(2*listEvery)), "the list after that")
	assert.False(t, at().knows(rest, now.Add(-time.Minute)), "the clock was set back")
	assert.False(t, (&entry{Pane: &Pane{}}).knows(rest, now), "the first list")

	moved, replaced := rest, rest
	moved.CursorX++
	replaced.PID++
	assert.False(t, at().knows(moved, now.Add(listEvery)))
	assert.False(t, at().knows(replaced, now.Add(listEvery)))

	dozing, silent, keyable := at(), at(), at()
	dozing.dozing.Store(true)
	silent.silent.Store(true)
	assert.False(t, dozing.knows(rest, now.Add(glanceEvery)))
	assert.False(t, silent.knows(rest, now.Add(glanceEvery)))
	keyable.keyable.Store(true)
	assert.False(t, keyable.knows(rest, now.Add(listEvery)))
}
