package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

const planner = `local limit = 3
intercom.rule("planner may hand off", { type = "handoff", from = "Planner" }, intercom.deliver { reason = "trusted planner" })
intercom.rule("others may not", { type = "handoff" }, intercom.ask { reason = "a handoff" })
intercom.on("guard", function(msg, ctx)
  if msg.depth > 8 then
    return intercom.hold { reason = "depth " .. msg.depth }
  end
  local n = ctx.count(msg.from, 60)
  ctx.set("last", msg.from)
  if n > limit then
    print("too many", n)
    return intercom.ask { reason = "too many" }
  end
end)
local keys = intercom.re [[sk-\w{4,}]]
intercom.on("filter", function(msg)
  if keys:test(msg.body) then return { body = (keys:replace(msg.body, "[redacted]")) } end
end)
intercom.on("route", function(msg, ctx)
  local r = ctx.agent("Reviewer")
  if r and r.state == "idle" and msg.type == "review" then return "Reviewer" end
end)
intercom.on("format", function(msg) return "<" .. msg.from .. "> " .. msg.body end)
`

func tested(t *testing.T, of, tests string) policy.Tested {
	t.Helper()
	set, loaded := testSet(t, of)
	require.Empty(t, loaded.Problems)
	return runTests(set, wire.Test{File: policy.Source{Name: "a_test.lua", Text: tests}}, func(int) {})
}

func TestTests_pass(t *testing.T) {
	r := tested(t, planner, `
local msg = fixture { type = "handoff", from = "Planner", body = "yours now" }
cases("who may hand off", "decide", {
  { msg, "deliver" },
  { msg { from = "Eve" }, { verb = "ask", reason = "a handoff" } },
  { msg { type = "turn" }, nothing },
})
cases("depth", "guard", { { msg { depth = 9 }, "hold" }, { msg { depth = 8 }, nothing } })
cases("in the end", "verdict", { { msg { depth = 9 }, "hold" }, { msg, "deliver" }, { msg { type = "turn" }, nothing } })
cases("secrets", "filter", { { msg { body = "my sk-abcdef" }, "my [redacted]" }, { msg, nothing } })
cases("format", "format", { { msg { from = "Ada" }, "<Ada> yours now" } })
cases("reviews", "route", {
  { msg { type = "review", agents = { { name = "Reviewer" } } }, "Reviewer" },
  { msg { type = "review", agents = { { name = "Reviewer", state = "working" } } }, nothing },
})
test("more than three a minute", function(t)
  for i = 1, 3 do t.expect("guard", msg, nothing) end
  t.expect("guard", msg, { verb = "ask" })
  assert(t.get("last") == "Planner")
  t.advance(61)
  t.expect("guard", msg, nothing)
  t.agent { name = "Reviewer", state = "idle" }
  t.expect("route", msg { type = "review" }, { "Reviewer" })
end)
`)
	assert.Empty(t, r.Problems)
	for _, c := range r.Cases {
		assert.Nil(t, c.Failed, "%s: %+v", c.Title, c.Failed)
	}
	require.Len(t, r.Cases, 14)
	assert.Equal(t, "who may hand off, row 2", r.Cases[1].Title)
	assert.Equal(t, 3, r.Cases[1].Line)
	assert.Equal(t, policy.Coverage{Lines: 18}, r.Coverage)
	assert.True(t, r.Passed())
}

func TestTests_fail(t *testing.T) {
	r := tested(t, planner, `
local msg = fixture { type = "handoff", from = "Planner", body = "yours now" }
cases("verb", "decide", {
  { msg, "ask" },
  { msg, { reason = "no" } },
  { msg { type = "turn" }, "deliver" },
  { msg, nothing },
  { msg, "delver" },
  { msg },
  { "x", "ask" },
  { msg { depht = 1 }, "ask" },
})
`)
	assert.False(t, r.Passed())
	require.Len(t, r.Problems, 1)
	assert.Equal(t, `a_test.lua:11: fixture has no field "depht"; did you mean "depth"?`, r.Problems[0].String())
	r = tested(t, planner, `
local msg = fixture { type = "handoff", from = "Planner", body = "yours now" }
cases("verb", "decide", {
  { msg, "ask" },
  { msg, { reason = "no" } },
  { msg { type = "turn" }, "deliver" },
  { msg, nothing },
  { msg, "delver" },
  { msg },
  { "x", "ask" },
})
test("swallowed", function(t)
  pcall(t.expect, "decide", msg, "ask")
end)
test("raises", function(t)
  t.expect("decide", msg, "deliver")
  error("it broke")
end)
test("nothing expected", function(t) end)
test("for ever", function(t) while true do end end)
cases("printed", "guard", { { msg { type = "turn" }, "ask" } })
`)
	require.Empty(t, r.Problems)
	want := []string{
		`want verb "ask", got "deliver"`,
		`want reason "no", got "trusted planner"`,
		`want verb "deliver", got nothing`,
		`want nothing, got verb "deliver", reason "trusted planner"`,
		`verb must be "ack", "ask", "bounce", "deliver", "drop" or "hold", not "delver"; did you mean "deliver"?`,
		`a row is { message, answer }; use nothing where no answer is expected`,
		`a message of a fixture expected, not a string: local msg = fixture { … }`,
		`want verb "ask", got "deliver"`,
		`a_test.lua:17: it broke`,
		`a_test.lua:19: nothing was expected: t.expect(hook, message, answer)`,
		`a_test.lua:20: more than 5,000,000 instructions`,
		`want verb "ask", got nothing`,
	}
	require.Len(t, r.Cases, len(want))
	for i, c := range r.Cases {
		require.NotNil(t, c.Failed, c.Title)
		assert.Equal(t, want[i], c.Failed.Text, c.Title)
	}
	assert.Equal(t, policy.Difference{
		Text: want[0], Message: `handoff from Planner to Ben, normal, origin agent: "yours now"`, Hook: "decide",
		Want: `verb "ask"`, Got: `verb "deliver", reason "trusted planner"`, By: "a.lua:2 planner may hand off", Reason: "trusted planner",
	}, *r.Cases[0].Failed)
	assert.Equal(t, policy.Coverage{Lines: 18, Unrun: []int{6, 11, 12}, Unheld: []string{"a.lua:3 others may not"}}, r.Coverage)
}

// A message of a test has everything that policies may read.
func TestTests_config(t *testing.T) {
	reads := `intercom.on("decide", function(msg, ctx)
  local aea = ctx.config.aea
  if not aea then return end
  local rule = aea["/src/shop"].rules[2]
  return intercom.ask { reason = rule.type .. " " .. rule.line .. " " .. tostring(rule.fallback) .. " " .. #aea["/src/shop"].rules }
end)`
	r := tested(t, reads, `
local msg = fixture { config = { aea = { ["/src/shop"] = { rules = { {}, { type = "issue", line = 4, fallback = true } } } } } }
cases("config", "decide", {
  { msg, { reason = "issue 4 true 2" } },
  { msg { body = "other" }, { reason = "issue 4 true 2" } },
  { msg { config = {} }, nothing },
  { fixture {}, nothing },
})`)
	assert.True(t, r.Passed(), "%+v", r)
	assert.Len(t, r.Cases, 4)
	for config, want := range map[string]string{
		`"x"`:                    "config must be a table, not a string",
		`{ "x" }`:                "config must be a table whose keys are strings",
		`{ a = { "x", k = 1 } }`: "config.a is neither a list nor a table whose keys are strings",
		`{ a = print }`:          "config.a must be a string, not a function",
		`{ a = 0/0 }`:            "config.a must be a finite number",
		`(function() local t = {} t.t = t return t end)()`: "nested more than 32 deep",
	} {
		r := tested(t, reads, "fixture { config = "+config+" }")
		require.Len(t, r.Problems, 1, config)
		assert.Contains(t, r.Problems[0].Text, want)
	}
}

// A policy that fails makes its test fail, as does one that no worker survives.
func TestTests_whatBreaks(t *testing.T) {
	r := tested(t, "intercom.on('guard', function(msg)\n  return msg.body .. nil\nend)", `cases("x", "guard", { { fixture {}, nothing } })`)
	require.Len(t, r.Cases, 1)
	require.NotNil(t, r.Cases[0].Failed)
	assert.Contains(t, r.Cases[0].Failed.Text, "a.lua:2: guard failed: ")

	set, _ := testSet(t, planner)
	r = runTests(set, wire.Test{
		File:  policy.Source{Name: "a_test.lua", Text: `cases("x", "guard", { { fixture {}, nothing }, { fixture {}, nothing } })`},
		Ended: map[int]string{1: "the worker died"},
	}, func(int) {})
	require.Len(t, r.Cases, 2)
	assert.Equal(t, "the worker died", r.Cases[0].Failed.Text)
	assert.Nil(t, r.Cases[1].Failed)

	for text, want := range map[string]string{
		``:                           "a_test.lua: no test found; write cases(title, hook, rows), or test(title, function(t) … end)",
		`fixtur {}`:                  `a_test.lua:1: undefined global "fixtur"; did you mean "fixture"?`,
		`intercom.on("x")`:           `a_test.lua:1: undefined global "intercom"`,
		`cases("x", "gaurd", {{1}})`: `a_test.lua:1: hook must be "decide", "filter", "format", "guard", "route" or "verdict", not "gaurd"; did you mean "guard"?`,
		`cases("x", "guard", {})`:    `a_test.lua:1: bad argument #3 to cases (a list of rows expected: { { message, answer }, … })`,
	} {
		r = tested(t, planner, text)
		require.Len(t, r.Problems, 1, text)
		assert.Equal(t, want, r.Problems[0].String())
	}
}
