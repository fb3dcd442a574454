package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/screen"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
)

// A pane whose program only turns a spinner is left to doze. It has two states:
//
//	awake ──more than dullAfter looks in a row found the program at work──► dozing
//	  ▲                                                                       │
//	  └───────────── a look finds the prompt, or something under way ─────────┘
//
// Awake, its terminal is watched, and what is written there calls for looks. Dozing, it is
// not, and no trigger counts: a few times a second one list of all panes, without their
// screens, tells whether a look is worth while. It is if anything but a spinner seems to
// have been at work, if the prompt may be back, and after a while in any case. Nothing is
// typed or said in a pane that dozes: for either its prompt must have been seen, and that
// wakes it.
const (
	dullAfter = 5                // looks in a row that found the program at work, until it dozes
	dozePoll  = 10 * time.Second // between looks at a pane that dozes, whatever the list says
)

// doze lets the pane doze or wakes it, depending on the last looks, and reports whether it has just
// been woken: then another look follows, for what was written before it was watched.
func (p *Pane) doze() (woken bool) {
	// Where control clients tell the triggers, each of these would detach a client or attach it
	// again, which is too much to do so often.
	free := p.client.Trigger() != "output"
	switch dozing := p.dozing.Load(); {
	case !dozing && p.dull > dullAfter:
		if free {
			p.client.Forget(p.session.Pane)
		}
		p.dozing.Store(true)
	case dozing && p.dull == 0:
		if free {
			if err := p.client.Watch(p.session.Pane, p.session.TTY); err != nil {
				p.log.Warn("watch again", "pane", p.session.Pane, "err", err) // the list goes on telling
				return false
			}
		}
		p.dozing.Store(false)
		p.noticed(p.clock.now())
		return true
	}
	if p.dozing.Load() {
		p.firstEdge = time.Time{}
	}
	return false
}

// rouses reports whether what the list of panes says of this dozing pane calls for a look at it.
func (p *Pane) rouses(listed tmux.Facts, now time.Time) bool {
	if p.deep && now.Sub(p.looked) < deepPause {
		return false
	}
	// If it had moved by the last look, that may have come in the middle of what it wrote.
	return p.moved || moved(p.shown.Facts, listed) || p.mayBeBack(listed.CursorX)
}

// moved reports whether more has happened to a pane than a spinner does, which goes to and fro in its
// row: any other output scrolls, or moves the cursor to another row.
func moved(before, now tmux.Facts) bool {
	now.CursorX = before.CursorX
	return facts(now) != facts(before)
}

// facts returns those facts that the list of panes tells, too.
func facts(f tmux.Facts) tmux.Facts {
	return tmux.Facts{
		Dead: f.Dead, InMode: f.InMode, Alternate: f.Alternate, CursorVisible: f.CursorVisible, PID: f.PID,
		CursorX: f.CursorX, CursorY: f.CursorY, HistorySize: f.HistorySize, Width: f.Width, Height: f.Height,
	}
}

// mayBeBack reports whether the cursor stands in a column where the prompt, with nothing behind it,
// would put it. For a prompt that is a regular expression nobody can tell, so it is true.
func (p *Pane) mayBeBack(column int) bool {
	if p.account != nil {
		return false // its transcript tells
	}
	if p.generic != nil {
		return column == p.generic.frame.Column()
	}
	if p.session.PromptIsRE {
		return true
	}
	row := []string{p.session.Prompt}
	return screen.Read(screen.Screen{Rows: row, Lines: row, CursorX: column, CursorVisible: true}, p.prompt).MayType
}
