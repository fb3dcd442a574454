package pane

import (
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// When the next look is due: after the quiet time, at the latest after the coalescing time,
// and never at once again and again.
func TestPane_wait(t *testing.T) {
	quiet := profile.Line().Quiet
	for _, c := range []struct {
		name string
		p    *Pane
		want time.Duration
	}{
		{"nothing written, a poll is due", &Pane{lookout: lookout{nextPoll: noon.Add(restPoll)}}, restPoll},
		{"just written", &Pane{lookout: lookout{firstEdge: noon, lastEdge: noon, nextPoll: noon.Add(restPoll)}}, quiet},
		{"written some time ago", &Pane{lookout: lookout{firstEdge: noon.Add(-time.Second), lastEdge: noon.Add(-time.Second)}}, 0},
		{"written again and again", &Pane{lookout: lookout{firstEdge: noon.Add(20*time.Millisecond - coalesce), lastEdge: noon}}, 20 * time.Millisecond},
		{"the same, far back", &Pane{lookout: lookout{firstEdge: noon.Add(20*time.Millisecond - deepPause), lastEdge: noon, deep: true}}, 20 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.p.prof = profile.Line()
			assert.Equal(t, c.want, c.p.wait(noon))
		})
	}
}

// A program whose quiet time is longer than the coalescing time is looked at every so often
// until it has been quiet, not all the time.
func TestPane_answered(t *testing.T) {
	p := &Pane{prof: profile.TUI(), lookout: lookout{firstEdge: noon, lastEdge: noon}}
	require.Greater(t, p.prof.Quiet, 3*coalesce)
	began := noon.Add(2 * coalesce)
	assert.False(t, p.answered(began))
	assert.Equal(t, coalesce, p.wait(began))
	began = noon.Add(p.prof.Quiet - coalesce/2)
	assert.False(t, p.answered(began))
	assert.Equal(t, coalesce/2, p.wait(began), "when it has been quiet")
	assert.True(t, p.answered(noon.Add(p.prof.Quiet)))
	assert.Greater(t, p.wait(noon.Add(p.prof.Quiet)), time.Minute)
}

// What the list of panes must tell of a dozing pane, so that the pane is looked at.
func TestPane_rouses(t *testing.T) {
	spinner := tmux.Facts{PID: 7, CursorX: 13, CursorY: 5, HistorySize: 40, Width: 80, Height: 24}
	with := func(change func(*tmux.Facts)) tmux.Facts { f := spinner; change(&f); return f }
	seen := with(func(f *tmux.Facts) {
		f.HistoryLimit, f.TTY, f.Title = 2000, "/dev/pts/7", "the list does not tell these"
	})
	for _, c := range []struct {
		name   string
		listed tmux.Facts
		pane   func(*Pane)
		want   bool
	}{
		{"the spinner alone", spinner, nil, false},
		{"a wider spinner", with(func(f *tmux.Facts) { f.CursorX = 14 }), nil, false},
		{"the cursor behind the prompt", with(func(f *tmux.Facts) { f.CursorX = 4 }), nil, true},
		{"the same, the prompt is an expression", with(func(f *tmux.Facts) { f.CursorX = 14 }), func(p *Pane) { p.session.PromptIsRE = true }, true},
		{"a line was printed", with(func(f *tmux.Facts) { f.CursorY = 6 }), nil, true},
		{"a line was printed at the bottom", with(func(f *tmux.Facts) { f.HistorySize = 41 }), nil, true},
		{"its history was cleared", with(func(f *tmux.Facts) { f.HistorySize = 0 }), nil, true},
		{"the cursor shows", with(func(f *tmux.Facts) { f.CursorVisible = true }), nil, true},
		{"a full-screen program", with(func(f *tmux.Facts) { f.Alternate = true }), nil, true},
		{"narrower", with(func(f *tmux.Facts) { f.Width = 40 }), nil, true},
		{"lower", with(func(f *tmux.Facts) { f.Height = 12 }), nil, true},
		{"it had moved by the last look", spinner, func(p *Pane) { p.moved = true }, true},
		{"a line was printed amid a flood", with(func(f *tmux.Facts) { f.HistorySize = 41 }), func(p *Pane) { p.deep = true }, false},
		{"the same, some time after the last look", with(func(f *tmux.Facts) { f.HistorySize = 41 }), func(p *Pane) { p.deep, p.looked = true, noon.Add(-deepPause) }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &Pane{session: message.Peer{PaneOf: message.PaneOf{Prompt: "ai> "}}, lookout: lookout{shown: tmux.Look{Facts: seen}, looked: noon}}
			var err error
			p.prompt, err = screen.Literal(p.session.Prompt)
			require.NoError(t, err)
			if c.pane != nil {
				c.pane(p)
			}
			assert.Equal(t, c.want, p.rouses(c.listed, noon))
		})
	}
}

// The column behind a prompt is counted in cells.
func TestPane_mayBeBack(t *testing.T) {
	for prompt, column := range map[string]int{"> ": 2, "$": 1, "λ ": 2, "你> ": 4} {
		p := &Pane{session: message.Peer{PaneOf: message.PaneOf{Prompt: prompt}}}
		var err error
		p.prompt, err = screen.Literal(prompt)
		require.NoError(t, err)
		for x := range 10 {
			assert.Equal(t, x == column, p.mayBeBack(x), "%q, column %d", prompt, x)
		}
	}
}

// A look that fails is not repeated at once, whatever was written before it.
func TestPane_unseen_isNotRepeatedAtOnce(t *testing.T) {
	p := &Pane{prof: profile.Line(), log: slog.New(slog.DiscardHandler)}
	p.noticed(time.Now().Add(-time.Second))
	p.unseen(t.Context(), errors.New("tmux is silent"))
	assert.InDelta(t, heldPoll, p.wait(time.Now()), float64(heldPoll/2))
}

// A change that no trigger told of counts as written when it was found, so that no turn ends
// amid such changes, or is dated back to the last trigger. A change that a trigger told of
// counts from that trigger on.
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

// If a history has lost lines to its limit, its top is not where everything began.
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
		assert.Equal(t, c.want, captureOf(look).Complete, "%d of %d", c.size, c.limit)
	}
}

// Words are never dated before the baseline that does not hold them: otherwise words that were
// said after a chat had begun would count as older than the chat.
func TestPane_wordsAreAsOldAsTheirTrigger(t *testing.T) {
	p := &Pane{lines: lines{based: noon}, lookout: lookout{lastEdge: noon.Add(-time.Second)}}
	assert.Equal(t, noon, p.wrote(), "its trigger is late")
	p.noticed(noon.Add(time.Second))
	assert.Equal(t, noon.Add(time.Second), p.wrote())
}

// A person's word is for one delivery, and for the screen that they have just seen.
func TestPane_wordStandsForAMoment(t *testing.T) {
	w := word{delivery: "one", given: noon}
	assert.True(t, w.counts("one", noon.Add(wordFor-time.Millisecond)))
	assert.False(t, w.counts("one", noon.Add(wordFor)))
	assert.False(t, w.counts("two", noon))
	assert.False(t, word{given: noon}.counts("", noon), "none was given")
}

// It does not count while an agent takes no pastes: each line of a text would be sent on its own.
func TestPane_wordWithoutPastes(t *testing.T) {
	p := &Pane{core: *coreOf("one"), prof: profile.Gemini().Profile, account: &account{}, clock: func() time.Time { return noon }}
	p.core.queue[0].held = message.UnknownScreen
	assert.NoError(t, p.vouch("one", false))
	p.shown.Facts.Unbracketed = true
	assert.ErrorIs(t, p.vouch("one", false), ErrOwnTerms)
}
