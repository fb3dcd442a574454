package scripting

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// obedient is a file whose hooks fail, answer or are silent as the message says.
func obedient(n int) string {
	return strings.ReplaceAll(`
local function act(hook, msg, answer)
  local what = msg.meta["N:" .. hook]
  if what == "error" then error("as told") end
  if what == "object" then error({}) end
  if what == "nil" then local x; x.y = 1 end
  if what == "loop" then while true do end end
  if what == "recursion" then local function f() return 1 + f() end f() end
  if what == "caught" then pcall(function() while true do end end) return answer end
  if what == "nonsense" then return function() end end
  if what == "number" then return 42 end
  if what == "message" then return msg end
  if what == "binary" then return "\255\254" end
  if what == "answer" then return answer end
end
intercom.on("filter", function(msg, ctx) ctx.count("f", 60) return act("filter", msg, { body = "N " .. msg.body }) end)
intercom.on("route", function(msg) return act("route", msg, { "Cyd", "Ada" }) end)
intercom.on("decide", function(msg, ctx) ctx.set("n", "N") return act("decide", msg, intercom.deliver()) end)
intercom.on("guard", function(msg) return act("guard", msg, intercom.ask()) end)
intercom.on("format", function(msg) return act("format", msg, "N: " .. msg.body) end)
`, "N", fmt.Sprint(n))
}

var (
	failures = []string{"error", "object", "nil", "loop", "recursion", "caught", "nonsense", "number", "message", "binary"}
	scripts  = 3
)

// Whatever fails at any hook, each recipient's message is delivered, acknowledged, asked, held, bounced or dropped, and
// an unfiltered message goes nowhere.
func TestL8_noFailureLosesAMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, obedient(1), obedient(2), obedient(3))
	rapid.Check(t, func(t *rapid.T) {
		in := said("hello")
		in.Message.Meta = map[string]string{}
		for len(in.To) < rapid.IntRange(1, 3).Draw(t, "recipients") {
			in.To = append(in.To, message.Address{Name: fmt.Sprint("peer ", len(in.To))})
		}
		for n := 1; n <= scripts; n++ {
			for _, h := range policy.Hooks {
				what := rapid.SampledFrom(append([]string{"", "", "", "answer", "answer", "answer"}, failures...)).Draw(t, fmt.Sprint(n, h))
				in.Message.Meta[fmt.Sprintf("%d:%s", n, h)] = what
			}
		}
		v, err := r.engine.Evaluate(r.Context(), in)
		decided(t, in, v)
		if err != nil { // on a busy machine the message's time may be over before all scripts were asked
			assert.True(t, v.Unfiltered)
			for _, o := range v.Outcomes {
				assert.GreaterOrEqual(t, policy.Rank(o.Verb), policy.Rank(message.VerbHold))
			}
			return
		}
		failed := func(h policy.Hook) bool {
			return slices.ContainsFunc(v.Failures, func(f policy.Failure) bool { return f.Hook == h })
		}
		for n := 1; n <= scripts; n++ {
			// These are always asked, so that their failures always show.
			for _, h := range []policy.Hook{policy.Filter, policy.Guard} {
				if slices.Contains(failures, in.Message.Meta[fmt.Sprintf("%d:%s", n, h)]) {
					assert.True(t, failed(h), "%d %s", n, h)
				}
			}
		}
		assert.Equal(t, failed(policy.Filter), v.Unfiltered)
		// Each filter that answered had its say about the text, whatever the others did.
		body := "hello"
		for n := 1; n <= scripts; n++ {
			if in.Message.Meta[fmt.Sprint(n, ":", policy.Filter)] == "answer" {
				body = fmt.Sprint(n, " ", body)
			}
		}
		if body == "hello" {
			assert.Nil(t, v.Body)
		} else {
			assert.Equal(t, body, value(v.Body))
		}
		for _, o := range v.Outcomes {
			for _, h := range []policy.Hook{policy.Filter, policy.Route, policy.Guard} {
				if failed(h) {
					assert.GreaterOrEqual(t, policy.Rank(o.Verb), policy.Rank(message.VerbHold), "%s failed", h)
				}
			}
			if o.Verb == message.VerbDeliver {
				assert.False(t, v.Unfiltered)
			}
		}
		for _, e := range v.Effects {
			assert.NotEqual(t, "error", in.Message.Meta[e.Script[9:10]+":"+map[bool]string{true: "filter", false: "decide"}[e.Count]])
		}
	})
}

// Whatever a worker answers instead of a verdict, the message is held and counts as unfiltered.
func TestL8_noWorkerLosesAMessage(t *testing.T) {
	t.Parallel()
	for _, mode := range brokenModes {
		if mode == "silent" && os.Getenv("INTERCOM_LONG") == "" {
			continue
		}
		r := newRigOf(t, Options{Command: []string{program(t), "broken-worker", mode}}, files(obedient(1)))
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		require.Error(t, err, mode)
		decided(t, said("hello"), v)
		assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb, mode)
		assert.True(t, v.Unfiltered, mode)
		require.NotEmpty(t, v.Failures, mode)
		t.Log(mode, "→", v.Failures[0].Text)
		r.engine.Close()
	}
	r := newRigOf(t, Options{Command: []string{program(t), "broken-worker", "none of them"}}, files(obedient(1)))
	assert.Equal(t, message.VerbDeliver, r.decided(said("hello")).Outcomes[0].Verb)
}

// A new worker that has lost a filter is not asked, because what it lets through was not filtered.
func TestL8_aLaterWorkerAsksTheSameScripts(t *testing.T) {
	broken := func(mode string) []string { return []string{program(t), "broken-worker", mode} }
	r := newRig(t, obedient(1))
	r.set.worker.kill()
	r.set.command = broken("less")
	why := ""
	for late := time.Now().Add(patience); why == "" && time.Now().Before(late); r.own(forgive) { // a slow start says nothing yet
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		require.ErrorIs(t, err, ErrLater)
		decided(t, said("hello"), v)
		assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
		assert.True(t, v.Unfiltered)
		why = v.Failures[len(v.Failures)-1].Script
	}
	assert.Equal(t, "policies/10.lua", why)
	r.own(func(s *Set) { s.command = []string{program(t), "policy-worker"} })
	r.started()
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)

	_, err := New(Options{Command: broken("names")}).Compile(t.Context(), files(obedient(1)))
	assert.ErrorContains(t, err, "other files")

	// A project's file that is not what it was counts as broken, and breaks nothing else.
	f := files(`intercom.on("decide", function() return intercom.deliver() end)`)
	f.Sources = append(f.Sources, policy.Source{Name: "project.lua", GuardsOnly: true, Project: "/p", Text: `intercom.on("guard", function() end)`})
	r = newRigOf(t, Options{}, f)
	r.set.Scripts[1].Hooks[policy.Guard] = []int{1, 2}
	r.set.worker.kill()
	assert.Equal(t, message.VerbDeliver, r.evaluatedAtLast(said("hello")).Outcomes[0].Verb)
	in := said("hello")
	in.Projects = []string{"/p"}
	assert.Equal(t, message.VerbHold, r.evaluated(in).Outcomes[0].Verb)
}

// A message that is too large for any worker is held, and does not count as the death of a worker.
func TestL8_whatCannotBeAskedIsNobodysFault(t *testing.T) {
	r := newRig(t, `intercom.on("filter", function() end)`)
	worker := r.set.worker
	v, err := r.engine.Evaluate(t.Context(), said(strings.Repeat("x", wire.MaxBlobs+1)))
	require.ErrorContains(t, err, "too large")
	assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
	require.Len(t, v.Failures, 1)
	assert.Equal(t, policy.NoWorker, v.Failures[0].Kind)
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)
	assert.Same(t, worker, r.set.worker)
	assert.Empty(t, r.set.deaths)
}

// A script is not quarantined for a failure that it did not cause: the time had passed before it ran, or the failure
// was long ago.
func TestL8_innocentsAreNotQuarantined(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := newRigOf(t, Options{Command: []string{program(t), "broken-worker", "spins"}, now: func() time.Time { return now }}, files(obedient(1)))
	now = time.Now() // the clock stands still here, so no script seems to have run for long
	v, err := r.engine.Evaluate(t.Context(), said("hello"))
	require.Error(t, err)
	require.NotEmpty(t, v.Failures)
	assert.Contains(t, []policy.Kind{policy.Killed, policy.NoWorker}, v.Failures[0].Kind, "on a busy machine it had no time to spin")
	assert.Empty(t, r.set.suspects)

	r = newRig(t, obedient(1))
	r.set.suspects["policies/10.lua"] = 1
	r.decided(said("hello"))
	assert.Empty(t, r.set.suspects)
}

// A worker that is killed for time while the machine stalls is no sign of broken policies, however often it happens: no
// script is blamed, and safe mode does not begin. Its messages are decided once the machine continues.
func TestL8_aMachineAtAStandstill(t *testing.T) {
	t.Parallel()
	r := newRig(t, obedient(1))
	for range tooMany + 1 {
		r.started()
		r.own(func(s *Set) { require.NoError(t, s.worker.cmd.Process.Signal(syscall.SIGSTOP)) })
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		decided(t, said("hello"), v)
		if err != nil { // otherwise another worker was asked in time
			require.ErrorIs(t, err, ErrLater)
			assert.Equal(t, policy.NoWorker, v.Failures[0].Kind)
		}
	}
	r.own(func(s *Set) {
		assert.Empty(t, s.deaths)
		assert.Empty(t, s.suspects)
		assert.Zero(t, s.safe)
	})
	assert.Equal(t, message.VerbAsk, r.evaluatedAtLast(said("hello")).Outcomes[0].Verb)
}

// The time limit of a message grows with its length and the number of its recipients.
func TestL8_timeForLongMessages(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		body, to   int
		all, first time.Duration
	}{
		{0, 0, time.Second, 600 * time.Millisecond},
		{message.MaxBody / 3, 1, 2 * time.Second, 1200 * time.Millisecond},
		{message.MaxBody / 3, 2, 3 * time.Second, 1800 * time.Millisecond},
		{message.MaxBody, 1, 4 * time.Second, 2400 * time.Millisecond},
		{message.MaxBody, 20, 4 * time.Second, 2400 * time.Millisecond},
	} {
		in := policy.Input{Message: message.Envelope{Body: strings.Repeat("x", c.body)}, To: make([]message.Address, c.to)}
		all, first := timeFor(in)
		assert.InDelta(t, c.all, all, float64(time.Millisecond), "%d bytes for %d", c.body, c.to)
		assert.InDelta(t, c.first, first, float64(time.Millisecond), "%d bytes for %d", c.body, c.to)
	}
	// A clock that is behind by the time for a short message leaves none of it, and some of that for a long one.
	asked := func(body string, late time.Duration) (policy.Verdict, error) {
		var behind atomic.Int64
		now := func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }
		r := newRigOf(t, Options{Command: []string{program(t), "broken-worker", "no"}, now: now}, files(obedient(1)))
		behind.Store(int64(late))
		return r.engine.Evaluate(t.Context(), said(body))
	}
	_, err := asked("x", 0)
	require.NoError(t, err)
	_, err = asked("x", messageTime)
	require.Error(t, err)
	v, err := asked(strings.Repeat("x", message.MaxBody), messageTime)
	require.NoError(t, err)
	assert.Empty(t, v.Failures)
	assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
}

// A worker that dies repeatedly is not started for a minute, then tried once.
func TestL8_safeMode(t *testing.T) {
	var ahead atomic.Int64 // how far the clock is ahead of this computer's
	now := func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	self, err := os.Executable()
	require.NoError(t, err)
	starts := filepath.Join(t.TempDir(), "starts")
	command := []string{"sh", "-c", `echo >> "$0"; exec "$@"`, starts, self, "broken-worker", "exit"}
	r := newRigOf(t, Options{Command: command, now: now}, files(obedient(1)))
	started := func() int {
		text, err := os.ReadFile(starts)
		require.NoError(t, err)
		return len(text)
	}
	asked := func() {
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		require.Error(t, err)
		decided(t, said("hello"), v)
	}
	for late := time.Now().Add(patience); r.engine.Status().Safe.IsZero() && time.Now().Before(late); {
		asked()
	}
	// Each worker that was started has died. The last message may have cost two more.
	dead := started()
	assert.GreaterOrEqual(t, dead, tooMany)
	assert.LessOrEqual(t, dead, tooMany+2)
	assert.WithinRange(t, r.engine.Status().Safe, now().Add(deathsWithin/2), now().Add(deathsWithin))
	for range 3 {
		asked()
	}
	assert.Equal(t, dead, started(), "none is started")

	ahead.Add(int64(deathsWithin + time.Second))
	assert.Zero(t, r.engine.Status().Safe)
	r.own(func(s *Set) { s.command = []string{program(t), "policy-worker"} }) // repaired
	r.started()
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)
}

// A script that no worker survives is quarantined, and each of its hooks counts as failed. Its text grows in few steps: where
// memory is slow to come, many small ones take longer than a hook may take.
func TestL8_quarantine(t *testing.T) {
	t.Parallel()
	r := newRig(t, `intercom.on("decide", function(msg) if msg.body == "bloat" then local s = ("x"):rep(1e6) while true do s = s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s .. s end end end)`,
		`intercom.on("decide", function() return intercom.deliver() end)`)
	assert.Equal(t, message.VerbDeliver, r.decided(said("hello")).Outcomes[0].Verb)
	v, _ := r.engine.Evaluate(t.Context(), said("bloat"))
	decided(t, said("bloat"), v)
	assert.Equal(t, message.VerbAsk, v.Outcomes[0].Verb)
	// A slow machine needs more deaths than safe mode permits, so all but one are forgiven: after a death a worker names what it
	// runs.
	for tries := 0; len(r.engine.Status().Quarantined) == 0 && tries < 30; tries++ {
		r.own(func(s *Set) { forgive(s); s.deaths = []time.Time{s.now()} })
		v, _ = r.engine.Evaluate(t.Context(), said("bloat"))
		assert.Equal(t, message.VerbAsk, v.Outcomes[0].Verb)
	}
	r.own(forgive)
	assert.Equal(t, []string{"policies/10.lua"}, r.engine.Status().Quarantined)
	v = r.evaluated(said("hello"))
	require.NotEmpty(t, v.Failures)
	assert.Equal(t, policy.Quarantined, v.Failures[0].Kind)
}

// A message waits for a starting worker no longer than for an answer. It is then held, with ErrLater. The worker starts
// all the same.
func TestL7_noWorkerInTime(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	begins := filepath.Join(t.TempDir(), "begins")
	require.NoError(t, syscall.Mkfifo(begins, 0o600))
	r := newRig(t, obedient(1))
	r.own(func(s *Set) {
		s.worker.kill()
		s.worker = nil
		s.command = []string{"sh", "-c", `read _ <"$1"; exec "$2" policy-worker`, "sh", begins, self}
	})
	for range 2 { // each returns before the worker can begin
		v, err := r.engine.Evaluate(t.Context(), said("hello"))
		require.ErrorIs(t, err, ErrLater)
		decided(t, said("hello"), v)
		assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
		assert.True(t, v.Unfiltered)
		assert.Equal(t, policy.NoWorker, v.Failures[0].Kind)
	}
	require.NoError(t, os.WriteFile(begins, []byte("\n"), 0o600))
	r.own(func(s *Set) { assert.NotNil(t, s.worker, "nobody had to come for it: %+v", s.unstarted) })
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)

	// A worker that has ended is replaced before the next message comes.
	r.own(func(s *Set) { s.command = []string{program(t), "broken-worker", "exit"} })
	r.own(func(s *Set) { s.worker.kill() })
	r.started() // on a busy machine that takes longer than a message waits
	_, err = r.engine.Evaluate(t.Context(), said("hello"))
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrLater, "it was asked about")
	r.own(func(s *Set) { assert.NotNil(t, s.worker) })

	// A set that is closed waits for no worker.
	r.own(func(s *Set) {
		s.worker.kill()
		s.worker, s.deaths = nil, nil
		s.command = []string{"sh", "-c", `read _ <"$1"`, "sh", begins}
	})
	_, err = r.engine.Evaluate(t.Context(), said("hello"))
	require.ErrorIs(t, err, ErrLater)
	begun := time.Now()
	r.engine.Close()
	assert.Less(t, time.Since(begun), setTime/2)
}

// Helpers.

// forgive makes no death count.
func forgive(s *Set) { s.deaths, s.safe = nil, time.Time{} }

// decided checks that a verdict decides about each recipient of a message.
func decided(t require.TestingT, in policy.Input, v policy.Verdict) {
	to := len(in.To)
	if v.Route != nil {
		to = len(v.Route)
	}
	require.Len(t, v.Outcomes, to)
	require.Positive(t, to)
	for _, o := range v.Outcomes {
		require.GreaterOrEqual(t, policy.Rank(o.Verb), 0, "%q", o.Verb)
	}
}

// brokenModes are what a worker can do instead of answering.
var brokenModes = []string{"exit", "garbage", "half", "silent", "another", "nothing", "few", "verb", "text", "huge", "error", "loaded", "unfiltered", "later", "stranger", "effect of another", "effect at another time", "effect without an end", "effect that is a list"}

// hang never returns: its caller must be killed. It sleeps, because the Go runtime ends a process in which every
// goroutine is blocked.
func hang() { time.Sleep(time.Hour) }

// brokenWorker loads a set and then misbehaves.
func brokenWorker(mode string) {
	in := bufio.NewReader(os.Stdin)
	q, _, err := wire.ReadRequest(in)
	if err != nil {
		return
	}
	if mode == "names" {
		_ = wire.Write(os.Stdout, &wire.Reply{Loaded: &wire.Loaded{Scripts: []policy.Script{{Name: "another.lua"}}}}, nil)
	}
	loaded := claimed(q.Load.Files)
	if mode == "less" {
		delete(loaded.Scripts[0].Hooks, policy.Filter)
	}
	_ = wire.Write(os.Stdout, &wire.Reply{Loaded: &loaded}, nil)
	generation := q.Load.Generation
	if q, _, err = wire.ReadRequest(in); err != nil {
		return
	}
	to := q.Evaluate.Input.To
	v := policy.Verdict{Message: q.Evaluate.Input.Message.ID, Generation: generation, Outcomes: []policy.Outcome{{To: to[0], Decision: policy.Decision{Verb: message.VerbDeliver}}}}
	texts := &wire.Texts{Formatted: make([]*int, 1)}
	switch mode {
	case "exit":
		os.Exit(3)
	case "garbage":
		fmt.Print("fatal: this is no frame at all")
		return
	case "half":
		_, _ = os.Stdout.Write([]byte{0, 0, 0, 9, 0, 0, 0, 0, '{'})
		return
	case "silent":
		hang()
	case "another":
		v.Message = "another"
	case "nothing":
		_ = wire.Write(os.Stdout, &wire.Reply{}, nil)
		return
	case "few":
		v.Outcomes, texts.Formatted = nil, nil
	case "verb":
		v.Outcomes[0].Verb = "shout"
	case "text":
		at := 7
		texts.Formatted[0] = &at
	case "spins": // once it has said that a script is to be run
		_ = wire.Write(os.Stdout, &wire.Reply{Running: &wire.Running{Script: "policies/10.lua", Hook: policy.Filter}}, nil)
		for { // so that it has to be killed
			_ = time.Now()
		}
	case "unfiltered":
		v.Unfiltered = true
	case "later":
		v.Unfiltered = true
		v.Outcomes[0].Decision = policy.Decision{Verb: message.VerbHold, Expires: 1, Otherwise: message.VerbDeliver}
	case "stranger":
		v.Route, v.Outcomes[0].To = []string{"Ben"}, message.Address{Name: "Ben", Peer: "s7"}
	case "effect of another":
		v.Effects = []policy.Effect{{Script: "policies/20.lua", Key: "k", Value: "v", At: q.Evaluate.Input.Now}}
	case "effect at another time":
		v.Effects = []policy.Effect{{Script: "policies/10.lua", Key: "k", Count: true, Window: time.Hour, At: q.Evaluate.Input.Now.Add(time.Hour)}}
	case "effect without an end":
		v.Effects = []policy.Effect{{Script: "policies/10.lua", Key: "k", Count: true, Window: policy.MaxWindow + 1, At: q.Evaluate.Input.Now}}
	case "effect that is a list":
		v.Effects = []policy.Effect{{Script: "policies/10.lua", Key: "k", Value: []any{"v"}, At: q.Evaluate.Input.Now}}
	case "huge":
		_, _ = os.Stdout.Write([]byte{255, 255, 255, 255, 255, 255, 255, 255})
	case "error":
		_ = wire.Write(os.Stdout, &wire.Reply{Error: "no"}, nil)
		return
	case "loaded":
		_ = wire.Write(os.Stdout, &wire.Reply{Loaded: &loaded}, nil)
		return
	}
	_ = wire.Write(os.Stdout, &wire.Reply{Verdict: &v, Texts: texts}, nil)
	_, _, _ = wire.ReadRequest(in)
}

// claimed returns what a worker reports for files that call hooks at the beginning of a line.
func claimed(f policy.Files) wire.Loaded {
	var loaded wire.Loaded
	for _, source := range f.Sources {
		hooks := map[policy.Hook][]int{}
		for i, line := range strings.Split(source.Text, "\n") {
			if hook, ok := strings.CutPrefix(line, `intercom.on("`); ok {
				hook, _, _ = strings.Cut(hook, `"`)
				hooks[policy.Hook(hook)] = append(hooks[policy.Hook(hook)], i+1)
			}
		}
		loaded.Scripts = append(loaded.Scripts, policy.Script{Name: source.Name, Hooks: hooks})
	}
	return loaded
}

// A busy computer may take longer to start the worker than a file may take to load: no file is blamed, and the person's
// policies apply from the first message on.
func TestCompile_slowToStart(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	slow := Options{Command: []string{"sh", "-c", fmt.Sprintf(`sleep %f; exec "$0" policy-worker`, loadTime.Seconds()+0.2), self}}
	r := newRigOf(t, slow, files(`intercom.on("decide", function() return intercom.ask() end)`))
	assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)
}
