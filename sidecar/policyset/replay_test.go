package policyset

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A decision that asks for a second and then delivers is looser than one that asks for ever. So is one that delivers
// the original text where a filter had changed it.
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

// A message on which the set in use fails too, or which no worker got to, is no reason to refuse a new set.
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

// The oldest of the last messages counts as much as the newest: if the new set fails on it, the set is refused, and if
// it is laxer, the message is named. If there was no time to try it, the person is told so.
func TestL10_TheOldest(t *testing.T) {
	const careful = `intercom.rule("keys", { body = "key" }, intercom.ask {})`
	for name, c := range map[string]struct {
		saved       string
		trial       time.Duration
		refused     string
		shown, warn string
	}{
		"it fails at it":      {`intercom.on("guard", function(m) if m.body == "the key" then error("no") end end)`, time.Minute, "it failed on 1 of the last 200 messages", "no (message oldest)", ""},
		"it is laxer there":   {letsGo, time.Minute, "", "it lets more of the last 200 messages through: oldest (ask, now deliver)", ""},
		"there is no time":    {letsGo, -1, "", "the new set is in use; there was time to try it with the last 0 of 200 messages only", "the last 0 of 200"},
		"nothing has changed": {careful + " -- anew", time.Minute, "", "", ""},
	} {
		r := newRig(t)
		r.save("init.lua", careful)
		var shown []string
		r.o.Shown = func(text string) { shown = append(shown, text) }
		r.o.Recent = func(_ context.Context, most int) (all []relay.Question, _ error) {
			for i := range most {
				q := question("hello")
				if q.Message.ID = message.NewID(); i == 0 {
					q = question("the key")
					q.Message.ID = "oldest"
				}
				all = append(all, q)
			}
			return all, nil
		}
		r.begin()
		r.trial = c.trial
		r.save("init.lua", c.saved)
		r.changed(t.Context())
		if c.refused == "" {
			assert.Empty(t, r.Problem(), name)
		} else {
			assert.Contains(t, r.Problem(), c.refused, name)
		}
		if c.shown == "" {
			assert.Empty(t, shown, name)
		} else if assert.Len(t, shown, 1, name) {
			assert.Contains(t, shown[0], c.shown, name)
		}
		var warned []string
		for _, w := range r.Status().Warnings {
			warned = append(warned, w.String())
		}
		if c.warn == "" {
			assert.Empty(t, warned, name)
		} else if assert.Len(t, warned, 1, name) {
			assert.Contains(t, warned[0], c.warn, name)
		}
	}
}

// A message for which the old set had no time is not compared, and counts as not tried. If the new set fails on it, the
// new set is refused.
func TestL10_TheOneBeforeIsSlower(t *testing.T) {
	failed := policy.Verdict{Failures: []policy.Failure{{Script: "init.lua", Hook: policy.Guard, Kind: policy.Raised}}}
	deliver := policy.Verdict{Outcomes: []policy.Outcome{{To: message.Address{Name: "Ben"}, Decision: policy.Decision{Verb: message.VerbDeliver}}}}
	inputs := []policy.Input{{Message: message.Envelope{ID: "new"}}, {Message: message.Envelope{ID: "older"}}, {Message: message.Envelope{ID: "oldest"}}}
	tried := compared(inputs, []policy.Verdict{deliver}, []policy.Verdict{deliver, deliver, failed}, nil)
	assert.Equal(t, 1, tried.Tried)
	assert.Equal(t, 3, tried.Of)
	assert.Empty(t, tried.Changed)
	assert.Len(t, tried.Failures, 1)
	tried = compared(inputs, []policy.Verdict{deliver, deliver, deliver}, []policy.Verdict{deliver, deliver, deliver}, nil)
	assert.Equal(t, 3, tried.Tried)
	assert.Empty(t, tried.Short())
}
