package pane

import (
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// pace keeps an idle pane cheap whatever its due times say. The clock calls for looks, and so
// does everything that comes from outside: a write, a message, a word of the agent. After the
// first few, looks that the clock alone called for, with nothing new from outside, come ever more
// seldom, down to one a second. So a due time that stays in the past, or that is set anew by the
// look that it called for, does not cause looks all the time.
type pace struct {
	vain int       // looks in a row that the clock alone called for
	last time.Time // when the last of them began
}

const (
	// vainLooks is how many looks without any news come as fast as they are asked for: the screen
	// has settled by then.
	vainLooks = 16
	// vainPause is the first pause between two looks after that; it doubles with each, up to vainMost.
	vainPause = 16 * time.Millisecond
	vainMost  = time.Second
)

// news says that something has come from outside.
func (c *pace) news() { c.vain = 0 }

// clocked says that the clock calls for a look now.
func (c *pace) clocked(now time.Time) { c.vain, c.last = c.vain+1, now }

// next returns when the clock may call for the next look.
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

// noticed notes that the program wrote something.
func (p *Pane) noticed(now time.Time) {
	p.lastEdge = now
	p.pace.news()
	if p.firstEdge.IsZero() {
		p.firstEdge = now
	}
}

// wait returns how long to sleep before the next look is due.
func (p *Pane) wait(now time.Time) time.Duration {
	due := now.Add(time.Hour)
	if !p.firstEdge.IsZero() {
		pause := coalesce
		if p.deep {
			pause = deepPause
		}
		due = earlier(p.lastEdge.Add(p.prof.Quiet), p.firstEdge.Add(pause))
	}
	if !p.nextPoll.IsZero() {
		due = earlier(due, p.nextPoll)
	}
	if p.account != nil {
		if at, ok := p.account.due(); ok {
			due = earlier(due, at)
		}
	}
	if next := p.pace.next(); next.After(due) && p.idles() {
		due = next
	}
	return max(0, due.Sub(now))
}

// idles reports whether nothing is under way in the pane and nothing waits for its moment.
func (p *Pane) idles() bool { return !p.core.busy() && !p.ending() }

// schedule sets when to look next if no trigger comes.
func (p *Pane) schedule(s sight) {
	now := p.clock.now()
	switch {
	case p.ended:
	case p.core.batch() != nil:
		first := firstPoll
		if p.account != nil {
			first = agentPoll
		}
		p.nextPoll = p.core.next(now, first)
		if now.Sub(p.lastEdge) < firstPoll { // the server may not have read yet what was written then
			p.nextPoll = earlier(p.nextPoll, now.Add(firstPoll))
		}
		if _, after := p.core.entered(); after && p.generic != nil && !s.reading.Composer.Live {
			p.nextPoll = now.Add(heldPoll) // the program works on it, for as long as that takes
		}
	case len(p.core.queue) > 0:
		p.nextPoll = now.Add(heldPoll)
		switch {
		case p.half.begun && !p.half.ahead: // the line must be known as it was when it is sent
			p.nextPoll = now.Add(slowPoll)
		case p.state == message.Working: // its next write will tell
			p.nextPoll = now.Add(p.openPause())
		case p.state == message.Idle && p.core.heldFor() == "":
			p.nextPoll = now.Add(p.prof.Quiet)
			if p.account != nil {
				p.nextPoll = now.Add(p.account.unsettled(now, p.prof.Quiet))
				if !p.account.started { // it may run all the time, and looks would take the processor from it
					p.nextPoll = now.Add(max(slowPoll, p.account.unsettled(now, p.prof.Quiet)))
				}
			}
		}
	case s.reading.State != message.Idle, p.core.lost.stood:
		p.nextPoll = now.Add(p.openPause())
	case p.account == nil && p.awaits(now):
		p.nextPoll = now.Add(p.prof.Quiet)
	case p.account != nil && (p.account.worked || len(p.answers) > 0 && !p.account.signals().read):
		p.nextPoll = now.Add(steadyPoll) // only the screen has its words
	case p.littered:
		p.nextPoll = now.Add(openPoll) // until nobody wants the files
	default:
		p.nextPoll = restUntil(now)
	}
	if at, due := p.ahead.due(); due && !p.ended && !p.dozing.Load() {
		p.nextPoll = earlier(p.nextPoll, at)
	}
}

// restUntil returns when a pane at rest is looked at next. Panes that are due within restStep of one another are looked
// at together: that takes one request to the server, which may be a process, instead of one for each pane.
func restUntil(now time.Time) time.Time {
	next := now.Add(restPoll)
	return next.Add(-time.Duration(next.UnixNano()) % restStep) // keeps the monotonic reading
}

// openPause returns the time between looks at an open turn, for what no trigger tells.
func (p *Pane) openPause() time.Duration {
	if p.dozing.Load() {
		return dozePoll
	}
	return openPoll
}
