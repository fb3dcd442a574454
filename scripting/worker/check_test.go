package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

func TestCheck(t *testing.T) {
	for text, want := range map[string][]string{
		`local x = mesage`:                 {`a.lua:1: undefined global "mesage"`},
		"\nprnt('x')":                      {`a.lua:2: undefined global "prnt"; did you mean "print"?`},
		`local total = 1 return totl`:      {`a.lua:1: undefined global "totl"; did you mean "total"?`},
		`os.execute('x')`:                  {`a.lua:1: undefined global "os"`},
		`x = 1`:                            {`a.lua:1: global "x" cannot be set: use local x`},
		`notices = { bell = true }`:        {`a.lua:1: global "notices" cannot be set: in init.lua, write intercom.configure { notices = ... }`},
		`function f() end`:                 {`a.lua:1: global "f" cannot be set: use local f`},
		`local s = string.uper('x')`:       {`a.lua:1: string has no function "uper"; did you mean "upper"?`},
		`intercom.no("x", function() end)`: {`a.lua:1: intercom has no field "no"; did you mean "on"?`},
		`intercom.on("decide", function(m) return intercom.hold { raeson = "x" } end)`:      {`a.lua:1: decision has no field "raeson"; did you mean "reason"?`},
		"intercom.on('guard', function(msg)\n  return msg.prority\nend)":                    {`a.lua:2: message has no field "prority"; did you mean "priority"?`},
		"intercom.on('guard', function(msg, ctx)\n  local c = ctx.chat\n  c:flor('x') end)": {`a.lua:3: chat has no field "flor"; did you mean "floor"?`},
		`intercom.on('guard', function(msg, ctx) ctx:count('x', 1) end)`:                    {`a.lua:1: count is called with a dot: ctx.count(…)`},
		`intercom.on('guard', function(msg, ctx) ctx.chat.floor('x') end)`:                  {`a.lua:1: floor is called with a colon: chat:floor(…)`},
		`intercom.on('guard', function(msg, ctx) return ctx.agent('x').stat end)`:           {`a.lua:1: agent has no field "stat"; did you mean "state"?`},
		`intercom.on("filter", function(msg) return { bdy = "x" } end)`:                     {`a.lua:1: patch has no field "bdy"; did you mean "body"?`},
		"local n = 0\nintercom.on('guard', function() n = n + 1 end)":                       {`a.lua:2: n is reset for every message; use ctx.set to remember a value`},
		`local re = intercom.re 'x' re:tst('x')`:                                            {`a.lua:1: re has no field "tst"; did you mean "test"?`},
		`local s = ("x"):find("%f[%a]x")`:                                                   {`a.lua:1: %f does not work here; intercom.re has \b`},
		// Nothing is wrong with these.
		`local msg = { any = 1 } return msg.any`:                                                                                                 nil,
		`intercom.on('guard', function(msg) msg = { any = 1 } return nil end)`:                                                                   nil,
		"intercom.on('guard', function(msg)\n  if msg.depth > 1 then msg = { any = 1 } end\n  return msg.any\nend)":                              nil,
		"intercom.on('guard', function(msg, ctx)\n  local c = ctx.chat\n  local f = function() return c.any end\n  c = { any = 1 }\n  f()\nend)": nil,
		`local function f(n) if n > 0 then return f(n - 1) end end f(3)`:                                                                         nil,
		`for i, v in ipairs { 1 } do local x = i + v end repeat local y = 1 until y`:                                                             nil,
		`local t = {} function t.f() end function t:g() return self end t.f()`:                                                                   nil,
		`local function f(...) return select("#", ...) end f()`:                                                                                  nil,
		`intercom.on("decide", function(msg, ctx) local t = { reason = "x" } return intercom.ask(t) end)`:                                        nil,
	} {
		_, loaded := testSet(t, text)
		var got []string
		for _, p := range loaded.Problems {
			got = append(got, p.String())
		}
		assert.Equal(t, want, got, text)
	}
}

// The machine itself finds the errors of the check, where the check cannot follow.
func TestL7_nothingReachesOut(t *testing.T) {
	s := testState(t, ``)
	for _, name := range []string{
		"os", "io", "package", "debug", "coroutine", "channel", "load", "loadstring", "loadfile", "dofile", "module", "getfenv", "setfenv",
		"rawget", "rawset", "rawequal", "collectgarbage", "newproxy", "_printregs", "_G", "_VERSION",
	} {
		fn, err := s.machine.LoadString("return " + name)
		require.NoError(t, err)
		_, failure := s.call(hookInstructions, hookTime, fn)
		require.NotNil(t, failure, name)
		assert.Contains(t, failure.Text, "undefined global", name)
	}
	assert.Equal(t, lua.LNil, s.machine.G.Global.RawGetString("string").(*lua.LTable).RawGetString("dump"))
	of, _ := testSet(t, `intercom.on("decide", function() require "os" end)`)
	assert.Len(t, newEvaluation(of, testInput(), nil).run().Failures, 1)
}

// An instruction is counted once. The interpreter does so now, but does not promise it.
func TestMeter_countsEachInstruction(t *testing.T) {
	of, _ := testSet(t, `intercom.on("decide", function() for i = 1, 1000 do end end)`)
	e := newEvaluation(of, testInput(), nil)
	v := e.run()
	require.Empty(t, v.Failures)
	empty, _ := testSet(t, `intercom.on("decide", function() for i = 1, 0 do end end)`)
	none := newEvaluation(empty, testInput(), nil).run()
	assert.Equal(t, 1000, v.Instructions-none.Instructions)
	assert.Less(t, none.Instructions, 10)
}

func TestMeter_limit(t *testing.T) {
	of, _ := testSet(t, "intercom.on('decide', function()\n  while true do end\nend)")
	v := newEvaluation(of, testInput(), nil).run()
	require.Len(t, v.Failures, 1)
	f := v.Failures[0]
	assert.Equal(t, policy.Instructions, f.Kind)
	assert.Equal(t, "more than 200,000 instructions", f.Text)
	assert.Equal(t, 2, f.Line)
}
