package pane

import (
	"context"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const (
	// lastPoll is the time between two questions while the last turn is not known yet.
	lastPoll = 25 * time.Millisecond
	// lastFor is how long it is asked at most: an agent's record may be a little behind, and it
	// takes a while to be sure that a turn without a mark at its end is over.
	lastFor = agent.SureAfter + 500*time.Millisecond
)

// last is what a pane knows of the last turn of its agent.
type last struct {
	turn  message.Turn // without words: nothing is known
	ready bool         // nothing later is expected
}

// Last returns the last turn that the session's agent ended by itself, as its own account tells, even
// one from before its adoption. A turn without words means that nothing is known: of a line program,
// of an agent whose account cannot be read, or of one that has said nothing yet. By then, the relay
// has been told of what a line program wrote before the call.
func (ps *Panes) Last(ctx context.Context, session message.ID) (message.Turn, error) {
	deadline := ps.Now.now().Add(lastFor)
	for {
		l, ok, err := answerOf(ctx, ps, session, func(_ context.Context, p *Pane) (last, error) { return p.lastTurn(), nil })
		if err != nil || !ok {
			return message.Turn{}, err
		}
		if l.ready || ps.Now.now().After(deadline) {
			return l.turn, nil
		}
		select {
		case <-ctx.Done():
			return message.Turn{}, ctx.Err()
		case <-time.After(lastPoll):
		}
	}
}

// lastTurn returns the last turn that this pane's agent has told.
func (p *Pane) lastTurn() last {
	a := p.account
	if a == nil {
		return last{ready: p.firstEdge.IsZero()}
	}
	t, ok := a.machine.LastWhole()
	if !ok {
		return last{}
	}
	turn := message.Turn{Peer: p.session.ID, Words: t.Words, Source: "transcript", Truncated: t.Truncated, Ended: t.Ended}
	if all := t.All(); all != t.Words {
		turn.All = all
	}
	_, ending := a.machine.Due()
	return last{turn: turn, ready: a.told && !ending}
}
