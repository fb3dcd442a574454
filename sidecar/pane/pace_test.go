package pane

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

// looksWithin returns how many looks the clock alone calls for within a span, if each look takes a
// millisecond and leaves all due times as they are.
func looksWithin(p *Pane, span time.Duration) (n int) {
	for now := noon; now.Before(noon.Add(span)); n++ {
		now = now.Add(p.wait(now))
		p.pace.clocked(now)
		p.looked = now
		now = now.Add(time.Millisecond)
	}
	return n
}

// A due time that leads to nothing, or that each look sets anew for the moment after it, does not
// cause looks at an idle pane all the time, whatever has set it.
func TestQ14_ADueTimeThatLeadsToNothing(t *testing.T) {
	stuck := func() *account {
		return &account{spoken: []secondhand{{due: noon.Add(-time.Hour)}}, bound: &agent.Transcript{}, told: true, bindings: &bindings{}}
	}
	for name, p := range map[string]*Pane{
		"of its agent":       {account: stuck()},
		"of the next look":   {lookout: lookout{nextPoll: noon.Add(-time.Hour)}},
		"of an old trigger":  {lookout: lookout{firstEdge: noon.Add(-time.Hour), lastEdge: noon.Add(-time.Hour)}},
		"of several of them": {account: stuck(), lookout: lookout{nextPoll: noon.Add(-time.Hour), firstEdge: noon.Add(-time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			p.prof = profile.Line()
			first := looksWithin(p, 2*time.Second)
			assert.LessOrEqual(t, first, vainLooks+9, "until it has settled")
			p.pace.last = noon // the next span begins
			assert.LessOrEqual(t, looksWithin(p, time.Minute), 61, "one a second from then on")
		})
	}
}

// A pane where something waits for its moment, or has just come, is looked at as fast as ever.
func TestQ14_PaceHoldsUpNothing(t *testing.T) {
	p := &Pane{prof: profile.Line(), lookout: lookout{nextPoll: noon}, log: slog.New(slog.DiscardHandler)}
	looksWithin(p, time.Minute)
	at := p.looked.Add(time.Millisecond)
	assert.Greater(t, p.wait(at), vainMost/2)
	p.core.queue = []waiting{{}}
	assert.Zero(t, p.wait(at), "something is to be typed")
	p.core.queue = nil
	p.core.at = pasted{batch: &batch{}}
	assert.Zero(t, p.wait(at), "something is being typed")
	p.core.at = nil
	assert.Greater(t, p.wait(at), vainMost/2)
	p.noticed(at)
	p.nextPoll = at
	assert.Zero(t, p.wait(at), "something was written")
}

// A turn that only the screen has told is told by the transcript once that is read. No turn is
// left that waits for that and calls for looks.
func TestQ14_NoTurnWaitsForATranscriptThatIsRead(t *testing.T) {
	for name, take := range map[string]func(a *account){
		"it told that turn":    func(a *account) { a.heardBefore(message.Turn{Words: "words", Ended: noon}) },
		"it told another turn": func(a *account) { a.heardBefore(message.Turn{Words: "other words", Ended: noon.Add(time.Hour)}) },
		"it told none":         func(*account) {},
	} {
		t.Run(name, func(t *testing.T) {
			a := &account{told: true, bindings: &bindings{}}
			a.spoken = []secondhand{{turn: message.Turn{Words: "words", Source: "screen", Ended: noon}, due: noon.Add(transcriptGrace)}}
			p := &Pane{account: a, prof: profile.Line()}
			a.take(agent.Update{Bound: &agent.Transcript{Path: "rollout"}}, noon)
			take(a)
			p.overdue(t.Context(), noon.Add(transcriptGrace))
			_, due := a.due()
			assert.False(t, due)
		})
	}
}

// An agent that has settled, and that no look has found asleep yet, is not looked at all the time until one does.
func TestPace_anAgentThatStarts(t *testing.T) {
	for _, started := range []bool{false, true} {
		a := &account{clock: func() time.Time { return noon }, bindings: &bindings{}, status: agent.Status{State: agent.StatusIdle}, idle: noon.Add(-time.Hour), started: started}
		p := &Pane{account: a, core: *coreOf("one"), prof: profile.Claude().Profile, clock: a.clock, state: message.Idle}
		p.schedule(fine())
		assert.Equal(t, started, p.nextPoll.Sub(noon) < slowPoll)
	}
}
