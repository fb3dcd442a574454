package worker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The worker announces each function and each rule before it runs.
func TestEvaluation_announces(t *testing.T) {
	of, _ := testSet(t, `intercom.on("filter", function() end)`, `intercom.rule("long", { body = "(x+x+)+y" }, intercom.ask())`)
	e := newEvaluation(of, testInput(), nil)
	var said []string
	e.announce = func(script string, h policy.Hook) { said = append(said, script+" "+string(h)) }
	e.run()
	assert.Equal(t, []string{"a.lua filter", "b.lua decide"}, said)
}

// A registration that a file may not make is reported once, and no later machine keeps it.
func TestSet_ignoredIsKeptOnce(t *testing.T) {
	q := loadOf(`intercom.on("route", function() end) intercom.on("guard", function() end)`)
	q.Files.Sources[0].GuardsOnly = true
	of, loaded := load(q, policy.Memories{}, func(string) {})
	require.Len(t, loaded.Problems, 1)
	s := of.scripts[0]
	first := s.fresh(of)
	assert.Len(t, first.ignored, 1)
	assert.Len(t, s.fresh(of).ignored, 1)
}

// A script's change to a library is gone with its machine, and never in another one.
func TestL7_librariesAreOfOneMachine(t *testing.T) {
	const text = `local s, m = string, math
intercom.on("decide", function(msg)
  local before = tostring(s.mark) .. tostring(m.mark) .. ("x"):upper()
  s.mark, m.mark, s.upper = 1, 1, nil
  return intercom.ask { reason = before }
end)`
	of, loaded := testSet(t, text, `intercom.on("guard", function() return intercom.hold { reason = ("x"):upper() } end)`)
	require.Empty(t, loaded.Problems)
	for range 2 {
		v := newEvaluation(of, testInput(), nil).run()
		require.Empty(t, v.Failures)
		assert.Equal(t, "X", v.Outcomes[0].Reason)
	}
	of, _ = testSet(t, text)
	for range 2 {
		assert.Equal(t, "nilnilX", newEvaluation(of, testInput(), nil).run().Outcomes[0].Reason)
	}
}

// The guard of an agent's project is asked about a message that is routed to the agent, as about one that is addressed
// to it. The filter of the project would come too late.
func TestEvaluation_projectOfARoute(t *testing.T) {
	q := loadOf(`intercom.on("route", function() return { "Ben", "Sec" } end) intercom.on("decide", function() return intercom.deliver() end)`,
		`intercom.on("filter", function() return { body = "" } end) intercom.on("guard", function() return intercom.hold() end)`)
	q.Files.Sources[1].Project = "/p"
	of, loaded := load(q, policy.Memories{}, func(string) {})
	require.Empty(t, loaded.Problems)
	for project, want := range map[string]message.Verb{"/p": message.VerbHold, "/other": message.VerbDeliver, "": message.VerbDeliver} {
		in := testInput()
		in.Agents = []policy.Agent{{Address: message.Address{Name: "Sec"}, Project: project}}
		v := newEvaluation(of, in, nil).run()
		assert.Equal(t, []any{want, want}, []any{v.Outcomes[0].Verb, v.Outcomes[1].Verb}, project)
		assert.Nil(t, v.Body)
		assert.Empty(t, in.Projects)
	}
}

// A notice of another computer's sidecar is not this sidecar's: rules and functions see it as remote.
func TestEvaluation_aNoticeOfAnotherComputerIsRemote(t *testing.T) {
	for trust, want := range map[message.Trust]string{message.TrustRemote: "remote", message.TrustVerified: "system"} {
		in := testInput()
		in.Message.Type, in.Message.Origin, in.Message.Trust = message.KindNotice, message.OriginSystem, trust
		for _, origin := range []string{"remote", "system"} {
			of, loaded := testSet(t, `intercom.rule("far", { origin = "`+origin+`" }, intercom.hold())`)
			require.Empty(t, loaded.Problems)
			verb := newEvaluation(of, in, nil).run().Outcomes[0].Verb
			assert.Equal(t, origin == want, verb == message.VerbHold, "%s, rule on %s: %s", trust, origin, verb)
		}
		of, _ := testSet(t, `intercom.on("decide", function(msg) return intercom.ask { reason = msg.origin } end)`)
		assert.Equal(t, want, newEvaluation(of, in, nil).run().Outcomes[0].Reason, trust)
	}
}

// A sidecar's own message keeps its form: nobody said it, and no policy makes it look as if somebody had.
func TestEvaluation_formatIsNotAskedAboutNotices(t *testing.T) {
	of, loaded := testSet(t, `intercom.on("decide", function() return intercom.deliver() end)
intercom.on("format", function(msg) return ("[%s] (%d):\n\n%s"):format(msg.from, msg.from_number, msg.body) end)`)
	require.Empty(t, loaded.Problems)
	for origin, formatted := range map[message.Origin]bool{message.OriginAgent: true, message.OriginHuman: true, message.OriginSystem: false} {
		in := testInput()
		in.Message.Origin = origin
		v := newEvaluation(of, in, nil).run()
		require.Empty(t, v.Failures)
		assert.Equal(t, formatted, v.Outcomes[0].Formatted != nil, origin)
	}
}

// The time limit of a call grows with the text that it looks at.
func TestEvaluation_within(t *testing.T) {
	t.Parallel()
	for size, times := range map[int]float64{0: 1, message.MaxBody / 3: 2, message.MaxBody: 4, 2 * message.MaxBody: 4} {
		e := evaluation{in: policy.Input{Message: message.Envelope{Body: strings.Repeat("x", size)}}}
		assert.InDelta(t, times, e.within().Seconds()/hookTime.Seconds(), 0.01, size)
	}
}
