package policyset

import (
	"context"
	"fmt"
	"sync"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// replayed are the messages with which a new set is tried.
const replayed = 200

// replay asks both sets about the last messages, with what scripts remember now. Nothing of
// it happens.
func (p *InUse) replay(ctx context.Context, old, fresh *scripting.Set) (policy.Trial, error) {
	questions, err := p.Recent(ctx, replayed)
	if err != nil {
		return policy.Trial{}, fmt.Errorf("trying it with the last messages: %w", err)
	}
	p.mu.Lock()
	rooms := p.rooms
	p.mu.Unlock()
	inputs := make([]policy.Input, len(questions))
	for i, q := range questions {
		inputs[i] = p.inputOf(ctx, q, rooms)
	}
	ask := func(set *scripting.Set) []policy.Verdict {
		verdicts := make([]policy.Verdict, 0, len(inputs))
		for _, in := range inputs {
			v, err := p.engine.Try(ctx, set, in)
			if err != nil && ctx.Err() != nil {
				break
			}
			verdicts = append(verdicts, v)
		}
		return verdicts
	}
	var was []policy.Verdict
	var both sync.WaitGroup
	both.Go(func() { was = ask(old) })
	is := ask(fresh)
	both.Wait()
	if err := ctx.Err(); err != nil {
		return policy.Trial{}, err
	}
	strangers := foreign(fresh)
	t := policy.Trial{Generation: fresh.Generation, Problems: fresh.Problems, Tried: len(inputs)}
	for i, in := range inputs {
		compare(&t, in, was[i], is[i], strangers)
	}
	return t, nil
}

// foreign are the scripts whose failures are no reason to refuse a set, or to leave it: those
// that somebody else wrote into a project. They count as failed guards.
func foreign(set *scripting.Set) map[string]bool {
	names := map[string]bool{}
	for _, s := range set.Sources() {
		names[s.Name] = s.GuardsOnly
	}
	return names
}

// compare takes in what both sets decide about one message.
func compare(t *policy.Trial, in policy.Input, was, is policy.Verdict, strangers map[string]bool) {
	for _, f := range is.Failures {
		if !strangers[f.Script] {
			t.Failures = append(t.Failures, fmt.Sprintf("%s (message %s)", failureText(f), in.Message.ID.Short()))
			break
		}
	}
	before := map[string]policy.Outcome{}
	for _, o := range was.Outcomes {
		before[named(o.To)] = o
	}
	for _, o := range is.Outcomes {
		old, known := before[named(o.To)]
		if !known {
			old.Verb = message.VerbDrop // it went elsewhere
		}
		if old.Verb == o.Verb {
			continue
		}
		c := policy.Change{Message: in.Message.ID, From: in.Message.From.Name, To: named(o.To), Type: in.Message.Type, Was: old.Verb, Is: o.Verb, By: o.By}
		t.Changed = append(t.Changed, c)
		if policy.Rank(o.Verb) < policy.Rank(old.Verb) {
			t.Loosened = append(t.Loosened, c)
		}
	}
}

func named(a message.Address) string {
	if a.Name != "" {
		return a.Name
	}
	return string(a.Session)
}
