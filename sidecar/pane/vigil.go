package pane

import (
	"context"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// vigil watches the rows above the composer of an unknown program. What has appeared there since
// they were last known, and what has happened since, decide whether it may be a question that our
// keys would answer (screen.FrameView.News).
//
//	adopted ──the rows of then──► known ◄──rest──┬── what came of it has settled
//	                                │            │
//	                                └── a text of ours is submitted, a person's, a dialog has
//	                                    gone, it has worked: new rows may come of it
//
// Rows that come while none of that has happened keep everything away until they are gone, until a
// person submits something there, or until a person says that they ask nothing (vouch).
type vigil struct {
	known         []string // rows, as screen.FrameView.Keys has them
	width, height int      // of the pane then; 0: not known
	since         screen.Since
	said          []string // texts of ours that were submitted since
	draft         string   // the last draft of a person that stood in the composer since
	drafted       time.Time

	doubted time.Time // since when a delivery has waited for a new row to go; zero: none does
	told    bool      // a person was told
}

// doubtedFor is how long a new row must keep a delivery away before a person is told.
const doubtedFor = 3 * time.Second

// class returns what has happened since the rows were known, as far as a look shows it, and the
// texts that were submitted. A draft that stands among new rows was submitted.
func (g *vigil) class(v screen.FrameView, f tmux.Facts) (since screen.Since, said []string) {
	switch {
	case g.width != 0 && (g.width != f.Width || g.height != f.Height):
		return screen.Redrawn, g.said
	case g.draft != "" && v.Shows(g.known, g.draft):
		return max(g.since, screen.Acted), append([]string{g.draft}, g.said...)
	}
	return g.since, g.said
}

// judge returns the reading of a view whose composer is live and empty, which a new row may make unknown.
func (g *vigil) judge(v screen.FrameView, f tmux.Facts) screen.Reading {
	r := v.Reading
	since, said := g.class(v, f)
	row, found := v.News(g.known, since, said...)
	if !found {
		return r
	}
	r.State, r.MayType, r.Why = message.Unknown, false, message.UnknownScreen
	r.Evidence = []message.Evidence{{Source: "screen", Says: fmt.Sprintf("above the composer has appeared what may be a question: %q", row), Weight: "approximate"}}
	return r
}

// covers finds a new row above a composer in which our text stands. Unless an earlier text is still
// being answered, or a dialog was open since, all new rows came by themselves.
func (g *vigil) covers(v screen.FrameView, f tmux.Facts, asked bool) (row string, found bool) {
	since, said := g.class(v, f)
	if since == screen.Acted && !asked {
		since = screen.Nothing
	}
	return v.News(g.known, since, said...)
}

// pasted takes in that a text of ours stands in the composer: a person may submit it.
func (g *vigil) pasted(v screen.FrameView, f tmux.Facts) {
	g.know(v, f)
	g.since = max(g.since, screen.Acted)
}

// entered takes in that a text of ours was submitted.
func (g *vigil) entered(text string) { g.since, g.said = screen.Submitted, append(g.said, text) }

// see takes in a look while nothing of ours is on its way: what the program was seen doing, and
// whether its rows have settled. answering says that the pane waits for a turn, which ends by itself.
func (g *vigil) see(r screen.Reading, v screen.FrameView, f tmux.Facts, quiet, answering bool, now time.Time) {
	switch {
	case r.State == message.Draft && r.Composer.Text != "":
		g.draft, g.drafted = r.Composer.Text, now
	case r.State == message.Working, r.State == message.Blocked, r.State == message.Unknown && !r.Composer.Live && quiet:
		g.since = max(g.since, screen.Acted)
	case r.MayType && quiet && !answering && !g.awaits(v, now):
		g.rest(v, f)
	}
}

// awaits reports whether a person's draft has left the composer, and its result has not shown yet.
func (g *vigil) awaits(v screen.FrameView, now time.Time) bool {
	if g.draft == "" || now.Sub(g.drafted) >= silentFor {
		return false
	}
	_, more := v.News(g.known, screen.Nothing, g.draft)
	return !more
}

// rest takes all rows above the composer as known.
func (g *vigil) rest(v screen.FrameView, f tmux.Facts) {
	g.know(v, f)
	g.since, g.said, g.draft = screen.Nothing, nil, ""
}

func (g *vigil) know(v screen.FrameView, f tmux.Facts) {
	g.known, g.width, g.height = v.Keys(), f.Width, f.Height
}

// doubts returns the row above an empty composer that keeps everything away, "" if there is none.
func (g *generic) doubts(look tmux.Look) string {
	v := g.view(look)
	if !v.Reading.MayType {
		return ""
	}
	since, said := g.vigil.class(v, look.Facts)
	row, _ := v.News(g.vigil.known, since, said...)
	return row
}

// suspect tells a person once that a delivery waits for a row to go, since it may be a question.
func (p *Pane) suspect(ctx context.Context, s sight, now time.Time) {
	if p.generic == nil {
		return
	}
	g, row := &p.generic.vigil, ""
	if len(p.core.queue) > 0 && p.core.batch() == nil && s.reading.State == message.Unknown {
		row = p.generic.doubts(s.look)
	}
	switch {
	case row == "":
		g.doubted = time.Time{}
		if s.reading.MayType {
			g.told = false
		}
		return
	case g.doubted.IsZero():
		g.doubted = now
	}
	if g.told || now.Sub(g.doubted) < doubtedFor {
		return
	}
	g.told = true
	p.notify(ctx, fmt.Sprintf("%s (%s) may be showing a question, and a message is waiting until it goes: %q; if it is not a question, run intercom inbox release %s",
		p.session.Name, p.session.Pane, row, p.core.queue[0].ID.Short()))
}
