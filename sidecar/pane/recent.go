package pane

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/agent"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Said is one thing that stands in an agent's transcript: what it said, or a prompt that it took.
type Said struct {
	At   time.Time
	Own  bool // its own words
	Text string
}

// kept is an agent with its transcript, as far as that is known.
type kept struct {
	who   agent.Agent
	bound *agent.Transcript
}

// recentWithin is how long a transcript may take to be read.
const recentWithin = 3 * time.Second

// ErrNoAccount says that a session's program keeps no transcript, or none that is known.
var ErrNoAccount = errors.New("it keeps no transcript that is known")

// Recent returns what stands in the transcript of a session's agent, the oldest first. Its pane is
// neither looked at nor touched.
func (ps *Panes) Recent(ctx context.Context, session message.ID) ([]Said, error) {
	of, _, err := answerOf(ctx, ps, session, func(_ context.Context, p *Pane) (kept, error) { return p.keeps(), nil })
	if err != nil {
		return nil, err
	}
	if of.bound == nil {
		return nil, ErrNoAccount
	}
	type read struct {
		events []agent.Event
		err    error
	}
	done := make(chan read, 1)
	go func() { // its file system may not answer
		events, err := of.who.Recent(*of.bound)
		done <- read{events, err}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, recentWithin, errNoAnswer)
	defer cancel()
	var got read
	select {
	case got = <-done:
	case <-ctx.Done():
		got.err = context.Cause(ctx)
	}
	if got.err != nil {
		return nil, fmt.Errorf("transcript %q: %w", of.bound.Path, got.err)
	}
	var all []Said
	for _, e := range got.events {
		switch e.Kind {
		case agent.Spoke:
			all = append(all, Said{e.At, true, e.Text})
		case agent.Prompted:
			all = append(all, Said{e.At, false, e.Text})
		}
	}
	return all, nil
}

// keeps returns the agent of the pane, and the transcript that it is bound to.
func (p *Pane) keeps() kept {
	if p.account == nil || p.account.bound == nil {
		return kept{}
	}
	bound := *p.account.bound
	return kept{p.account.who, &bound}
}
