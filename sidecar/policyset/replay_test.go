package policyset

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// What waits for a yes for ever, and then for a second before it goes by itself, is looser; so
// is what goes as it was said, where a filter changed it.
func TestL10_WhatIsLooser(t *testing.T) {
	verdict := func(d policy.Decision, body *string) policy.Verdict {
		return policy.Verdict{Body: body, Outcomes: []policy.Outcome{{To: message.Address{Name: "Ben"}, Decision: d}}}
	}
	masked := "the key is [redacted]"
	deliver, ask := policy.Decision{Verb: message.VerbDeliver}, policy.Decision{Verb: message.VerbAsk}
	soon := policy.Decision{Verb: message.VerbAsk, Expires: time.Second, Otherwise: message.VerbDeliver}
	later := policy.Decision{Verb: message.VerbDeliver, After: time.Minute}
	held := policy.Decision{Verb: message.VerbHold, Expires: time.Second, Otherwise: message.VerbDeliver}
	in := policy.Input{Message: message.Envelope{ID: "m", Body: "the key is hunter2"}}
	for name, c := range map[string]struct {
		was, is policy.Verdict
		verbs   string
	}{
		"ask to deliver": {verdict(ask, nil), verdict(deliver, nil), "ask, now deliver"},
		"by itself":      {verdict(ask, nil), verdict(soon, nil), "ask, and after 1s deliver"},
		"sooner":         {verdict(later, nil), verdict(deliver, nil), "deliver, sooner"},
		"held, sooner":   {verdict(later, nil), verdict(held, nil), "hold, and after 1s deliver"},
		"unmasked":       {verdict(deliver, &masked), verdict(deliver, nil), "deliver, unfiltered, where a filter had changed it"},
	} {
		var tried policy.Trial
		compare(&tried, in, c.was, c.is)
		if assert.Len(t, tried.Loosened, 1, name) {
			assert.Equal(t, c.verbs, tried.Loosened[0].Verbs(), name)
		}
		tried = policy.Trial{}
		compare(&tried, in, c.is, c.was)
		assert.Empty(t, tried.Loosened, "%s, the other way", name)
	}
	var tried policy.Trial
	compare(&tried, in, verdict(deliver, &in.Message.Body), verdict(deliver, nil))
	assert.Empty(t, tried.Changed, "the filter had returned what it got")
}

// A message at which the set in use fails as well, or that no worker got to, is no reason to
// refuse a new one.
func TestL10_WhatBothFailAt(t *testing.T) {
	in := policy.Input{Message: message.Envelope{ID: "m"}}
	failed := policy.Verdict{Failures: []policy.Failure{{Script: "policies/10.lua", Hook: policy.Filter, Kind: policy.Raised, Text: "cannot mask this"}}}
	foreign := map[string]bool{"/p/.intercom/policy.lua": true}
	for name, c := range map[string]struct {
		was, is policy.Verdict
		refused bool
	}{
		"both":          {failed, failed, false},
		"the new one":   {policy.Verdict{}, failed, true},
		"safe mode":     {policy.Verdict{}, policy.Verdict{Failures: []policy.Failure{{Kind: policy.NoWorker, Text: "safe mode"}}}, false},
		"a project's":   {policy.Verdict{}, policy.Verdict{Failures: []policy.Failure{{Script: "/p/.intercom/policy.lua", Hook: policy.Guard, Kind: policy.Raised}}}, false},
		"another's too": {policy.Verdict{Failures: []policy.Failure{{Script: "/p/.intercom/policy.lua", Hook: policy.Guard, Kind: policy.Raised}}}, failed, true},
	} {
		var tried policy.Trial
		failures(&tried, in, c.was, c.is, foreign)
		assert.Equal(t, c.refused, len(tried.Failures) == 1, name)
	}
}
