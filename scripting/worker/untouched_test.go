package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A machine serves the next message too if its script left it as it was, and never otherwise: a script never sees in
// one message what it kept of another.
func TestL14_Q8_MachinesThatNobodyTouched(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		same bool // the machine is used again
	}{
		"reads a table":       {`local t = { a = { 1, 2 } } intercom.on("guard", function(msg) local x = t.a[1] end)`, true},
		"tables of its own":   {`intercom.on("guard", function(msg) local t = {} t[1], t.x = msg.body, 1 table.insert(t, 2) end)`, true},
		"a closure":           {`intercom.on("guard", function(msg) local n = 0 local function f() n = n + 1 end f() end)`, true},
		"decides":             {`intercom.on("guard", function(msg) return intercom.hold { reason = "x" } end)`, true},
		"catches an error":    {`intercom.on("guard", function(msg) pcall(function() error("x") end) end)`, true},
		"remembers":           {`intercom.on("guard", function(msg, ctx) ctx.set("k", 1) end)`, true},
		"a counter":           {`local n = 0 intercom.on("guard", function(msg) n = n + 1 if n > 1 then return intercom.hold() end end)`, false},
		"of another function": {`local n = 0 local function add() n = n + 1 return n end intercom.on("guard", function(msg) if add() > 1 then return intercom.hold() end end)`, false},
		"a field":             {`local t = {} intercom.on("guard", function(msg) if t.x then return intercom.hold() end t.x = true end)`, false},
		"a field, deep":       {`local t = { a = { b = {} } } intercom.on("guard", function(msg) if t.a.b.x then return intercom.hold() end t.a.b.x = 1 end)`, false},
		"another value":       {`local t = { x = 1 } intercom.on("guard", function(msg) if t.x > 1 then return intercom.hold() end t.x = 2 end)`, false},
		"a list":              {`local t = {} intercom.on("guard", function(msg) if #t > 0 then return intercom.hold() end table.insert(t, 1) end)`, false},
		"an order": {`local t = {} intercom.on("guard", function(msg)
			t.b = 1 t.a = 1
			if next(t) ~= "b" then return intercom.hold() end
			t.a = nil t.b = nil t.a = 1 t.a = nil end)`, false},
		"what has gone already":    {`local t = { a = 1 } t.a = nil intercom.on("guard", function(msg) if t.a then return intercom.hold() end t.a = 1 end)`, false},
		"a metatable":              {`local t = {} intercom.on("guard", function(msg) if t.x then return intercom.hold() end setmetatable(t, { __index = { x = 1 } }) end)`, false},
		"the metatable of strings": {`intercom.on("guard", function(msg) if ("").x then return intercom.hold() end getmetatable("").x = 1 end)`, false},
		"a library":                {`local l = string intercom.on("guard", function(msg) if l["x" .. 1] then return intercom.hold() end l["x" .. 1] = 1 end)`, false},
		"a message":                {`local old intercom.on("guard", function(msg) if old then return intercom.hold() end old = msg end)`, false},
		"not a number":             {`local n = 0/0 intercom.on("guard", function(msg) local x = n end)`, false},
		"too much":                 {`local t = {} for i = 1, 5000 do t[i] = i end intercom.on("guard", function(msg) local x = t[1] end)`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of, loaded := testSet(t, c.text)
			for _, p := range loaded.Problems {
				require.True(t, p.Warning, p.Text)
			}
			first := of.scripts[0].spare
			var verdicts []string
			for range 3 {
				e := newEvaluation(of, testInput(), nil)
				v := e.run()
				require.Empty(t, v.Failures)
				verdicts = append(verdicts, string(v.Outcomes[0].Verb))
				of.served = e.states
				of.prepare()
			}
			assert.Equal(t, []string{verdicts[0], verdicts[0], verdicts[0]}, verdicts, "each as if it were the first")
			assert.Equal(t, c.same, of.scripts[0].spare == first)
		})
	}
}

// A machine in which something failed is not used again, whatever was left in it.
func TestL14_Q8_MachinesThatFailed(t *testing.T) {
	t.Parallel()
	of, _ := testSet(t, `intercom.on("guard", function(msg) error("x") end)`)
	first := of.scripts[0].spare
	e := newEvaluation(of, testInput(), nil)
	require.NotEmpty(t, e.run().Failures)
	of.served = e.states
	of.prepare()
	assert.NotSame(t, first, of.scripts[0].spare)
}
