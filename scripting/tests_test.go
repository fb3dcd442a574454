package scripting

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

func TestReadTests(t *testing.T) {
	config := t.TempDir()
	for _, name := range []string{"init.lua", "policies/50-b.lua", "policies/50-b_test.lua", "policies/60-c.lua", "policies/.#x_test.lua"} {
		write(t, filepath.Join(config, name), "-- "+name)
	}
	f, err := Read(config)
	require.NoError(t, err)
	var names []string
	for _, s := range f.Sources {
		names = append(names, s.Name)
	}
	assert.Equal(t, []string{"init.lua", "policies/50-b.lua", "policies/60-c.lua"}, names, "tests are no policies")

	all, err := ReadTests(config)
	require.NoError(t, err)
	require.Len(t, all, 1)
	assert.Equal(t, "policies/50-b.lua", all[0].Policy.Name)
	assert.Equal(t, "policies/50-b_test.lua", all[0].Tests.Name)

	write(t, filepath.Join(config, "init_test.lua"), "--")
	all, err = ReadTests(config)
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "init.lua", all[0].Policy.Name)
	assert.True(t, all[0].Policy.Settings)

	write(t, filepath.Join(config, "policies/70-lonely_test.lua"), "--")
	all, err = ReadTests(config)
	assert.ErrorContains(t, err, "70-lonely.lua")
	assert.ErrorAs(t, err, new(LonelyError))
	assert.Len(t, all, 2, "the others are read")

	require.NoError(t, os.Remove(filepath.Join(config, "init.lua")))
	all, err = ReadTests(config)
	assert.Equal(t, LonelyError{"init_test.lua", "policies/70-lonely_test.lua"}, err)
	assert.Len(t, all, 1)
}

// Tests run where policies run. A test that no worker survives fails, and the others do not.
func TestEngine_testsThatHang(t *testing.T) {
	t.Parallel()
	e := New(Options{})
	b := Beside{
		Policy: policy.Source{Name: "p.lua", Text: `intercom.on("guard", function(msg)
  if msg.body == "hang" then ("a"):rep(30000):find((".-"):rep(40) .. "b") end
  if msg.body == "bomb" then local s = "x" while true do s = s .. s end end
  return intercom.ask { reason = "always" }
end)`},
		Tests: policy.Source{Name: "p_test.lua", Text: `
cases("bodies", "guard", {
  { fixture { body = "hello" }, "ask" },
  { fixture { body = "hang" }, "ask" },
  { fixture { body = "bomb" }, "ask" },
  { fixture { body = "hello" }, "ask" },
})`},
	}
	begun := time.Now()
	r, err := e.Test(t.Context(), b, nil)
	require.NoError(t, err)
	t.Log(time.Since(begun))
	require.Empty(t, r.Problems)
	require.Len(t, r.Cases, 4)
	assert.Nil(t, r.Cases[0].Failed)
	require.NotNil(t, r.Cases[1].Failed)
	assert.Regexp(t, "the policy worker did not answer in time, and was killed|too busy for the policy worker", r.Cases[1].Failed.Text)
	require.NotNil(t, r.Cases[2].Failed)
	// On a busy machine its time may be over before the memory is full.
	assert.Regexp(t, "the policy worker (ended|did not answer)|took too long|too busy for the policy worker", r.Cases[2].Failed.Text)
	assert.Nil(t, r.Cases[3].Failed)

	b.Policy.Text = "while"
	r, err = e.Test(t.Context(), b, nil)
	require.NoError(t, err)
	require.Len(t, r.Problems, 1)
	assert.Equal(t, "p.lua", r.Problems[0].File)
	assert.False(t, r.Passed())
}

// The verdict about a traced message contains the answers of all scripts.
func TestEngine_traced(t *testing.T) {
	r := newRig(t, `
intercom.on("filter", function(msg) return { body = "b", tags = { "x" } } end)
intercom.rule("later", { type = "turn" }, intercom.ask { reason = "a turn" })`, `
intercom.on("guard", function(msg) return intercom.deliver() end)
intercom.on("guard", function(msg) return intercom.hold { reason = "held" } end)
intercom.on("format", function(msg) return "text" end)`)
	in := said("hello")
	assert.Empty(t, r.decided(in).Answers)
	in.Traced = true
	v := r.decided(in)
	var got []string
	for _, a := range v.Answers {
		says := a.Says
		if a.Decision != nil {
			says = string(a.Decision.Verb) + " " + a.Decision.Reason
		}
		got = append(got, string(a.Hook)+" "+a.To+" "+a.By+": "+says)
	}
	assert.Equal(t, []string{
		"filter  policies/10.lua:2: body, tags", "decide Ben policies/10.lua:3 later: ask a turn",
		"guard Ben policies/20.lua:2: deliver ", "guard Ben policies/20.lua:3: hold held", "format Ben policies/20.lua:4: a text of 4 bytes",
	}, got)
}
