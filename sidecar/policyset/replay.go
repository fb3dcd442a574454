package policyset

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// How many messages a new set is tried with, and for how long. A message from a session that is new here waits for the
// end of the trial.
const (
	replayed   = 200
	replayTime = time.Second
)

// replay asks both sets about the last messages, the newest first, with the current memories of the scripts. It has no
// effects.
func (p *Live) replay(ctx context.Context, old, fresh *scripting.Set) (policy.Trial, error) {
	questions, err := p.Recent(ctx, replayed)
	if err != nil {
		return policy.Trial{}, fmt.Errorf("trying it with the last messages: %w", err)
	}
	workplaces := p.workplaces()
	inputs := make([]policy.Input, len(questions))
	for i, q := range questions {
		inputs[len(inputs)-1-i] = p.inputOf(ctx, q, workplaces)
	}
	limited, cancel := context.WithTimeout(ctx, p.trial)
	defer cancel()
	ask := func(set *scripting.Set) (verdicts []policy.Verdict) {
		for _, in := range inputs {
			if limited.Err() != nil {
				break
			}
			v, err := p.engine.Try(limited, set, in)
			if limited.Err() != nil && err != nil && !failedIn(v, nil) {
				break // there was no time for this message
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
	t := compared(inputs, was, is, foreign(fresh))
	t.Generation, t.Problems = fresh.Generation, fresh.Problems
	return t, nil
}

// compared compares the verdicts of two sets on the same messages, the newest first. Either set may have had no time
// for the oldest messages: those do not count as tried, but failures of the new set in them do count.
func compared(inputs []policy.Input, was, is []policy.Verdict, strangers map[string]bool) (t policy.Trial) {
	if t.Tried = min(len(was), len(is)); t.Tried < len(inputs) {
		t.Of = len(inputs)
	}
	for i, v := range slices.Backward(is) {
		var before policy.Verdict
		if i < len(was) {
			before = was[i]
			compare(&t, inputs[i], before, v)
		}
		failures(&t, inputs[i], before, v, strangers)
	}
	return t
}

// foreign returns the scripts whose failures are no reason to refuse or leave a person's files: those of projects,
// whose failures count as failed guards, and the shipped ones, which are behind any set. So nobody can take the
// person's rules out of use by sending messages on which these scripts fail.
func foreign(set *scripting.Set) map[string]bool {
	names := map[string]bool{}
	for _, s := range set.Sources() {
		names[s.Name] = s.Project != "" || s.Shipped
	}
	return names
}

// failures adds a failure of the new set to the trial, if the old set did not fail on the message.
func failures(t *policy.Trial, in policy.Input, was, is policy.Verdict, strangers map[string]bool) {
	if failedIn(was, strangers) {
		return
	}
	for _, f := range is.Failures {
		if failedIn(policy.Verdict{Failures: []policy.Failure{f}}, strangers) {
			t.Failures = append(t.Failures, fmt.Sprintf("%s (message %s)", failureText(f), in.Message.ID.Short()))
			break
		}
	}
}

// compare adds to the trial the differences between two verdicts on one message.
func compare(t *policy.Trial, in policy.Input, was, is policy.Verdict) {
	changed := func(v policy.Verdict) bool { return v.Body != nil && *v.Body != in.Message.Body } // a filter may return the body unchanged
	before := map[string]policy.Outcome{}
	for _, o := range was.Outcomes {
		before[named(o.To)] = o
	}
	for _, o := range is.Outcomes {
		old, known := before[named(o.To)]
		if !known {
			old.Verb = message.VerbDrop // the old set sent it elsewhere
		}
		laxer := o.Laxer(old.Decision)
		c := policy.Change{Message: in.Message.ID, From: in.Message.From.Name, To: named(o.To), Type: in.Message.Type, Was: old.Verb, Is: o.Verb, By: o.By}
		end, ends := o.Ends()
		switch {
		case old.Verb != o.Verb && !(laxer && ends && policy.Rank(o.Verb) > policy.Rank(old.Verb)):
		case laxer && o.Verb == message.VerbDeliver:
			c.Why = "sooner"
		case laxer:
			c.Why = fmt.Sprintf("and after %s %s", o.Expires, end)
		case known && changed(was) && !changed(is) && policy.Rank(o.Verb) < policy.Rank(message.VerbBounce):
			laxer, c.Why = true, "unfiltered, where a filter had changed it"
		default:
			continue
		}
		t.Changed = append(t.Changed, c)
		if laxer {
			t.Loosened = append(t.Loosened, c)
		}
	}
}

func named(a message.Address) string {
	if a.Name != "" {
		return a.Name
	}
	return string(a.Peer)
}
