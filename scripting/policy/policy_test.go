package policy

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func decisions() *rapid.Generator[Decision] {
	return rapid.Custom(func(t *rapid.T) Decision {
		d := Decision{
			Verb: rapid.SampledFrom(Verbs()).Draw(t, "verb"), After: time.Duration(rapid.IntRange(0, 5).Draw(t, "after")), Expires: time.Duration(rapid.IntRange(0, 4).Draw(t, "expires")),
		}
		if d.Expires > 0 {
			d.Otherwise = rapid.SampledFrom(append(Verbs(), "")).Draw(t, "otherwise")
		}
		return d
	})
}

// Of two decisions together nothing is laxer than either, now or at any time.
func TestTighten_neverRelaxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for range 20 { // few pairs hang together by their times
			first, second := decisions().Draw(t, "first"), decisions().Draw(t, "second")
			for _, both := range []Decision{Tighten(first, second), Tighten(second, first)} {
				assert.Equal(t, stricter(first.Verb, second.Verb), both.Verb)
				for after := range time.Duration(6) {
					assert.GreaterOrEqual(t, Rank(both.at(after)), Rank(first.at(after)), "%+v at %d", both, after)
					assert.GreaterOrEqual(t, Rank(both.at(after)), Rank(second.at(after)), "%+v at %d", both, after)
					assert.False(t, both.goes(after) && !(first.goes(after) && second.goes(after)), "%+v goes at %d", both, after)
					if Rank(both.at(after)) > Rank(message.VerbHold) {
						break // it is sent back, or in the trash: nothing follows
					}
				}
			}
		}
	})
}

func TestTighten(t *testing.T) {
	ask, hold, deliver := Decision{Verb: message.VerbAsk}, Decision{Verb: message.VerbHold}, Decision{Verb: message.VerbDeliver}
	ends := func(d Decision, after time.Duration, as message.Verb) Decision {
		d.Expires, d.Otherwise = after, as
		return d
	}
	for name, c := range map[string]struct{ first, second, want Decision }{
		"nothing ends":                       {ask, hold, hold},
		"one that ends, one that does not":   {ends(ask, 9, message.VerbDeliver), ask, ask},
		"a failed filter":                    {ends(hold, 9, message.VerbDeliver), hold, hold},
		"both end, in their order":           {ends(hold, 9, message.VerbDeliver), ends(ask, 5, message.VerbDeliver), ends(hold, 9, message.VerbDeliver)},
		"the laxer one still stands":         {ends(hold, 5, message.VerbDeliver), ends(ask, 9, message.VerbDeliver), ends(hold, 5, message.VerbAsk)},
		"the laxer one ends stricter":        {hold, ends(ask, 5, message.VerbBounce), ends(hold, 5, message.VerbBounce)},
		"what goes at once never ends":       {ends(deliver, 5, message.VerbDrop), ask, ask},
		"one that says not as what it ends":  {ends(ask, 5, ""), deliver, ends(ask, 5, message.VerbHold)},
		"both end, the later one stricter":   {ends(hold, 9, message.VerbDrop), ends(ask, 5, message.VerbBounce), ends(hold, 5, message.VerbDrop)},
		"what is to go later goes no sooner": {Decision{Verb: message.VerbDeliver, After: 8}, ends(hold, 1, message.VerbDeliver), ends(hold, 8, message.VerbDeliver)},
		"what is to go later is sent back":   {Decision{Verb: message.VerbDeliver, After: 8}, ends(hold, 1, message.VerbBounce), ends(hold, 1, message.VerbBounce)},
		"what is to go later waits for ever": {Decision{Verb: message.VerbDeliver, After: 8}, hold, hold},
		"the laxer one ends later, stricter": {ends(hold, 5, message.VerbDeliver), ends(ask, 9, message.VerbBounce), ends(hold, 5, message.VerbBounce)},
	} {
		assert.Equal(t, c.want, Tighten(c.first, c.second), name)
		assert.Equal(t, c.want, Tighten(c.second, c.first), name)
	}
	told := Decision{Verb: message.VerbDeliver, Prompt: "p", Tags: []string{"a"}, Notify: "popup"}
	assert.Equal(t, Decision{Verb: message.VerbAsk, Prompt: "p", Tags: []string{"a"}, Notify: "popup"}, Tighten(told, ask))
	assert.Equal(t, ask, Tighten(ask, told), "what a laxer one says counts for nothing")
	quiet := Decision{Verb: message.VerbHold, Notify: NoticeStatus}
	assert.Equal(t, NoticePopup, Tighten(told, quiet).Notify, "the louder one")
	assert.Equal(t, NoticeStatus, Tighten(ask, quiet).Notify)
	now, later := Decision{Verb: message.VerbDeliver}, Decision{Verb: message.VerbDeliver, After: time.Hour}
	idle := Decision{Verb: message.VerbDeliver, Idle: true}
	assert.Equal(t, idle, Tighten(now, idle))
	assert.Equal(t, Decision{Verb: message.VerbDeliver, Idle: true, After: time.Hour}, Tighten(later, idle), "both hold")
	assert.Equal(t, Decision{Verb: message.VerbAsk, Idle: true}, Tighten(ask, idle), "after a yes, too")
	assert.True(t, now.Laxer(idle))
	assert.False(t, idle.Laxer(now))
	assert.True(t, ends(hold, 1, message.VerbDeliver).Laxer(later))
	assert.False(t, ends(hold, time.Hour, message.VerbDeliver).Laxer(later))
	assert.False(t, later.Laxer(ends(hold, 1, message.VerbDeliver)))
	assert.True(t, later.Laxer(hold))
	assert.False(t, ask.Laxer(later), "a person is asked, now")
	assert.Equal(t, later, Tighten(now, later))
	assert.Equal(t, later, Tighten(later, now))
	assert.Equal(t, "a", Tighten(Decision{Verb: message.VerbAsk, By: "a"}, Decision{Verb: message.VerbAsk, By: "b"}).By)
}

// What is held because nobody could be asked is evaluated anew; what is asked had nothing that
// it could have missed.
func TestUndecided(t *testing.T) {
	in := Input{To: []message.Address{{Name: "Ben"}}}
	for _, c := range []struct {
		hooks      []Hook
		verb       message.Verb
		unfiltered bool
	}{
		{nil, message.VerbAsk, false},
		{[]Hook{Decide, Format}, message.VerbAsk, false},
		{[]Hook{Filter}, message.VerbHold, true},
		{[]Hook{Guard}, message.VerbHold, true},
		{Hooks, message.VerbHold, true},
	} {
		v := Undecided(in, "", c.hooks, Failure{Kind: NoWorker, Text: "x"})
		require.Len(t, v.Outcomes, 1)
		assert.Equal(t, c.verb, v.Outcomes[0].Verb, c.hooks)
		assert.Equal(t, c.unfiltered, v.Unfiltered, c.hooks)
	}
}

// What was remembered and kept as JSON goes on being remembered: values and counts apart.
func TestMemories_afterJSON(t *testing.T) {
	now := time.Unix(1, 0).UTC()
	value := Effect{Script: "s", Key: "v", Value: "x"}
	count := Effect{Script: "s", Key: "c", Count: true, Window: time.Hour, At: now}
	for _, order := range [][]Effect{{value, count}, {count, value}} {
		m := Memories{}
		for _, e := range order {
			m.Apply([]Effect{e})
			text, err := json.Marshal(m)
			require.NoError(t, err)
			m = Memories{}
			require.NoError(t, json.Unmarshal(text, &m))
		}
		assert.Equal(t, "x", m["s"].Values["v"])
		assert.Equal(t, 1, m["s"].Counted("c", now, time.Hour))
	}
}

// If the clock is set back, what was counted before does not count until the clock has caught up.
func TestMemory_clockSetBack(t *testing.T) {
	now := time.Unix(1e9, 0)
	m := Memories{}
	for i := range MaxCounts {
		m.Apply([]Effect{{Script: "s", Key: "c", Count: true, Window: time.Minute, At: now.Add(2*time.Hour + time.Duration(i)*time.Millisecond)}})
	}
	assert.Zero(t, m["s"].Counted("c", now, time.Minute))
	next := Effect{Script: "s", Key: "c", Count: true, Window: time.Minute, At: now}
	require.NoError(t, m["s"].Check(next, nil))
	m.Apply([]Effect{next})
	assert.Equal(t, 1, m["s"].Counted("c", now, time.Minute))
	assert.Len(t, m["s"].Counts["c"].At, 1, "the others are forgotten")
	assert.Equal(t, 1, m["s"].Counted("c", now.Add(-time.Second), time.Minute), "a small step changes nothing")
}
