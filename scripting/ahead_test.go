package scripting

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// moody is a script that remembers some messages, fails on others, and logs what it remembers.
const moody = `
intercom.on("decide", function(msg, ctx)
  local n = ctx.get("n") or 0
  if msg.body:find("remember") then ctx.set("n", n + 1) end
  if msg.body:find("fail") then error("as told") end
  if msg.body:find("silent") then return nil end
  return intercom.ask { reason = "remembered " .. n }
end)
intercom.on("filter", function(msg) if msg.body:find("shout") then return { body = msg.body:upper() } end end)`

// newRigOfPace is newRig with a clock of which each reading advances the time by that much: no worker is late, and no
// script slow, however busy the machine is.
func newRigOfPace(t *testing.T, step *atomic.Int64, texts ...string) *rig {
	t.Helper()
	var passed atomic.Int64
	start := time.Now().Add(time.Hour)
	r := newRigOf(t, Options{now: func() time.Time { return start.Add(time.Duration(passed.Add(step.Load()))) }}, files(texts...))
	r.own(func(s *Set) { s.slow = time.Hour })
	return r
}

// ahead asks about several messages at once.
func (r *rig) ahead(ins []policy.Input, within time.Duration) []policy.Verdict {
	r.Helper()
	return r.engine.EvaluateAhead(r.Context(), len(ins), func(i int) policy.Input { return ins[i] }, within)
}

// all asks about messages as a relay does: ahead as far as possible, then about one. It returns how many verdicts came
// ahead.
func (r *rig) all(ins []policy.Input, within time.Duration) (verdicts []policy.Verdict, ahead int) {
	r.Helper()
	for len(verdicts) < len(ins) {
		some := r.ahead(ins[len(verdicts):], within)
		ahead += len(some)
		if len(some) == 0 {
			v, _ := r.engine.Evaluate(r.Context(), ins[len(verdicts)])
			some = []policy.Verdict{v}
		}
		for _, v := range some {
			r.engine.Commit(v)
			v.Took = 0
			verdicts = append(verdicts, v)
		}
	}
	return verdicts, ahead
}

// plain returns messages of which no script remembers anything.
func plain(n int) []policy.Input {
	ins := make([]policy.Input, n)
	for i := range ins {
		ins[i] = said("plain")
	}
	return ins
}

// again makes the set ask ahead, whatever happened before.
func (r *rig) again() { r.own(func(s *Set) { s.alone, s.pause = 0, 0 }) }

// Scripts that are asked ahead decide as they do when each message waits for the verdict on the one before, whatever
// they remember and wherever they fail.
func TestEvaluateAhead_decidesTheSame(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	ahead, one := newRigOfPace(t, &still, moody), newRigOfPace(t, &still, moody)
	rapid.Check(t, func(t *rapid.T) {
		within := rapid.SampledFrom([]time.Duration{0, time.Minute}).Draw(t, "within")
		var ins []policy.Input
		for n := range rapid.IntRange(1, 30).Draw(t, "messages") {
			in := said(fmt.Sprint(n, " ", rapid.SampledFrom([]string{"plain", "plain", "plain", "shout", "silent", "fail", "remember", "remember and fail", strings.Repeat("long ", 2_000)}).Draw(t, "body")))
			in.Config = map[string]any{"n": rapid.IntRange(0, 1).Draw(t, "config")}
			ins = append(ins, in)
		}
		got, _ := ahead.all(ins, within)
		ahead.again()
		for i, in := range ins {
			v, err := one.engine.Evaluate(one.Context(), in)
			require.NoError(t, err)
			one.engine.Commit(v)
			v.Took = 0
			require.Equal(t, v, got[i], "%d", i)
		}
	})
}

// Messages of which scripts remember nothing are asked about without a pause.
func TestEvaluateAhead_isAsked(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	r := newRigOfPace(t, &still, moody)
	ins := plain(100)
	_, ahead := r.all(ins, time.Minute)
	assert.Equal(t, 100, ahead)
	some := r.ahead(ins, 0)
	assert.NotEmpty(t, some)
	assert.LessOrEqual(t, len(some), inPipe, "no more than were asked by then")
	ins[3] = said("remember")
	assert.Len(t, r.ahead(ins, time.Minute), 4, "what it is to remember is not known to those behind it")
}

// If scripts remember something of each message, hardly any message is asked about twice.
func TestEvaluateAhead_thatIsOfNoUse(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	r := newRigOfPace(t, &still, `intercom.on("guard", function(msg, ctx) if ctx.count("all", 60) > 1000 then return intercom.hold() end end)`)
	ins := make([]policy.Input, 200)
	for i := range ins {
		ins[i] = said(fmt.Sprint(i))
	}
	_, ahead := r.all(ins, time.Minute)
	assert.LessOrEqual(t, ahead, 8, "each time twice as many are asked about alone")
	assert.Len(t, r.engine.Memories()["policies/10.lua"].Counts["all"].At, 200, "each counts once")
}

// After a slow message the worker looks at none until its verdict has arrived: nobody waits for more than one slow
// message.
func TestEvaluateAhead_slowScripts(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	r := newRigOfPace(t, &still, moody)
	ins := plain(40)
	assert.Len(t, r.ahead(ins, time.Minute), 40)
	r.own(func(s *Set) { s.slow = 1 }) // on every computer they are slower
	assert.Len(t, r.ahead(ins, time.Hour), 1)
	verdicts, ahead := r.all(ins, time.Hour)
	assert.LessOrEqual(t, ahead, 10, "the next are asked about alone")
	for i, v := range verdicts {
		decided(t, ins[i], v)
	}
}

// The preparation for the next message counts as time of the message before: new states, for scripts that leave
// something in them.
func TestEvaluateAhead_slowToBegin(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	begins := `local n = 0 for i = 1, 60000 do n = i end intercom.on("guard", function() n = n + 1 end)`
	r := newRigOfPace(t, &still, begins, begins, begins)
	r.own(func(s *Set) { s.slow = 2 * time.Millisecond })
	ins := plain(40)
	assert.Len(t, r.ahead(ins, time.Hour), 1)
}

// The worker dies of the nth message: those before it keep their verdicts, and those after it, which the worker already
// had, are asked about anew.
func TestEvaluateAhead_theWorkerDies(t *testing.T) {
	t.Parallel()
	var still atomic.Int64
	r := newRigOfPace(t, &still, moody, `intercom.on("decide", function(msg) if msg.body:find("bloat") then local s = ("x"):rep(1e6) while true do s = s .. s end end end)`)
	for _, n := range []int{0, 1, 7, 19} {
		ins := make([]policy.Input, 20)
		for i := range ins {
			ins[i] = said(fmt.Sprint("silent ", i))
		}
		ins[n] = said("silent bloat")
		all, _ := r.all(ins, time.Minute)
		for i, v := range all {
			require.Equal(t, ins[i].Message.ID, v.Message)
			decided(t, ins[i], v)
			for _, f := range v.Failures {
				assert.True(t, i == n || i > n && f.Kind == policy.Quarantined && f.Script == "policies/20.lua", "%d, where %d is the one: %+v", i, n, f)
			}
		}
		assert.NotEmpty(t, all[n].Failures)
		r.own(func(s *Set) { forgive(s); s.quarantine = nil; clear(s.suspects) })
	}
}

// No wrong reply of a worker is taken for a verdict.
func TestEvaluateAhead_brokenWorkers(t *testing.T) {
	t.Parallel()
	for _, mode := range brokenModes {
		if mode == "silent" && os.Getenv("INTERCOM_LONG") == "" {
			continue
		}
		r := newRigOf(t, Options{Command: []string{program(t), "broken-worker", mode}}, files(obedient(1)))
		assert.Empty(t, r.ahead([]policy.Input{said("hello"), said("and"), said("again")}, time.Minute), mode)
		r.engine.Close()
	}
}
