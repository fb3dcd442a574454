package pane

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// When the next look is due: after the quiet time, at the latest after the coalescing time,
// less often while nothing but a spinner comes, and never at once again and again.
func TestPane_wait(t *testing.T) {
	quiet := profile.Line().Quiet
	for _, c := range []struct {
		name string
		p    *Pane
		want time.Duration
	}{
		{"nothing written, a poll is due", &Pane{nextPoll: noon.Add(restPoll)}, restPoll},
		{"just written", &Pane{firstEdge: noon, lastEdge: noon, nextPoll: noon.Add(restPoll)}, quiet},
		{"written some time ago", &Pane{firstEdge: noon.Add(-time.Second), lastEdge: noon.Add(-time.Second)}, 0},
		{"written again and again", &Pane{firstEdge: noon.Add(20*time.Millisecond - coalesce), lastEdge: noon}, 20 * time.Millisecond},
		{"the same, far back", &Pane{firstEdge: noon.Add(20*time.Millisecond - deepPause), lastEdge: noon, deep: true}, 20 * time.Millisecond},
		{"a program at work", &Pane{firstEdge: noon, lastEdge: noon, looked: noon, dull: dullAfter}, quiet},
		{"a spinner", &Pane{firstEdge: noon, lastEdge: noon, looked: noon, dull: dullAfter + 100}, dullPause},
		{"a spinner, looked at some time ago", &Pane{firstEdge: noon, lastEdge: noon, looked: noon.Add(-dullPause), dull: dullAfter + 100}, quiet},
		{"a spinner, and a poll is due", &Pane{firstEdge: noon, lastEdge: noon, looked: noon, dull: dullAfter + 100, nextPoll: noon}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.prof = profile.Line()
			assert.Equal(t, c.want, c.p.wait(noon))
		})
	}
}

// A look that fails is not repeated at once, whatever was written before it.
func TestPane_unseen_isNotRepeatedAtOnce(t *testing.T) {
	p := &Pane{prof: profile.Line(), log: slog.New(slog.DiscardHandler)}
	p.noticed(time.Now().Add(-time.Second))
	p.unseen(t.Context(), errors.New("tmux is silent"))
	assert.InDelta(t, heldPoll, p.wait(time.Now()), float64(heldPoll/2))
}

// A change that no trigger told of counts as written when it was found, so that neither a
// turn ends amid such changes nor its end is dated back to the last trigger. One that a
// trigger told of counts when it did.
func TestPane_compare(t *testing.T) {
	screen := func(rows ...string) tmux.Look { return tmux.Look{Rows: rows} }
	p := &Pane{}
	p.compare(screen("a"), noon)
	assert.Zero(t, p.lastEdge, "the first look has nothing to compare with")
	p.compare(screen("a"), noon.Add(1*time.Second))
	assert.Zero(t, p.lastEdge)
	p.compare(screen("a", "b"), noon.Add(2*time.Second))
	assert.Equal(t, noon.Add(2*time.Second), p.lastEdge, "nobody told")
	p.noticed(noon.Add(2500 * time.Millisecond))
	p.compare(screen("a", "b", "c"), noon.Add(3*time.Second))
	assert.Equal(t, noon.Add(2500*time.Millisecond), p.lastEdge, "told by a trigger")
	p.compare(tmux.Look{Rows: []string{"a", "b", "c"}, Facts: tmux.Facts{CursorX: 1}}, noon.Add(4*time.Second))
	assert.Equal(t, noon.Add(4*time.Second), p.lastEdge, "the cursor alone is a change")
}

// Where a history has lost lines to its limit, its top is not where everything began.
func TestWhole(t *testing.T) {
	for _, c := range []struct {
		complete    bool
		size, limit int
		want        bool
	}{
		{true, 0, 2000, true},
		{true, 1700, 2000, true},
		{true, 1800, 2000, false}, // as just after a tenth was dropped
		{true, 2000, 2000, false},
		{true, 0, 0, false},
		{false, 100, 2000, false},
	} {
		look := tmux.Look{Complete: c.complete, Facts: tmux.Facts{HistorySize: c.size, HistoryLimit: c.limit}}
		assert.Equal(t, c.want, whole(look), "%d of %d", c.size, c.limit)
	}
}
