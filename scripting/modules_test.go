package scripting

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// with returns files with modules, by their names.
func with(f policy.Files, modules map[string]string) policy.Files {
	for name, text := range modules {
		f.Modules = append(f.Modules, policy.Source{Name: "policies/lib/" + name + ".lua", Text: text})
	}
	return f
}

// Policies share functions and values, and nothing else: what one policy keeps in a module is visible neither to
// another policy nor to the next message.
func TestModules(t *testing.T) {
	f := with(files(`
local words = require "words"
assert(words == require "words")
intercom.on("decide", function(msg) if words.harsh:test(msg.body) then return words.no("harsh") end end)`, `
local words = require "words"
intercom.on("decide", function(msg) return intercom.deliver { reason = "seen " .. words.count() .. words.greeting } end)`,
	), map[string]string{"words": `local words = { harsh = intercom.re [[(?i)\bstupid\b]], greeting = require("greeting") }
local n = 0
function words.count() n = n + 1; return n end
function words.no(why)
  print("no")
  return intercom.bounce { reason = why }
end
return words`, "greeting": `return " hello"`})
	r := newRigOf(t, Options{}, f)
	for range 2 {
		assert.Equal(t, "seen 1 hello", r.decided(said("x")).Outcomes[0].Reason)
	}
	v := r.decided(said("how stupid"))
	assert.Equal(t, []any{message.VerbBounce, "policies/lib/words.lua:6"}, []any{v.Outcomes[0].Verb, v.Outcomes[0].By})
	assert.Equal(t, policy.LogLine{Script: "policies/lib/words.lua", Line: 5, Text: "no"}, v.Log[0])
	r.set.worker.kill()
	assert.Equal(t, "seen 1 hello", r.evaluated(said("x")).Outcomes[0].Reason, "a later worker has them too")

	other := with(files(f.Sources[0].Text, f.Sources[1].Text), map[string]string{"words": "return {}", "greeting": "return 1"})
	assert.NotEqual(t, f.Generation(), other.Generation())
}

func TestModules_wrong(t *testing.T) {
	modules := map[string]string{
		"fine": "return {}", "itself": `return { require "itself" }`, "hook": `intercom.on("guard", function() end)`, "loop": "while true do end",
		"caught": `assert(not pcall(require, "itself")) assert(not pcall(require, "itself")) return {}`,
	}
	for text, why := range map[string]string{
		`require "fien"`:   `policies/10.lua:1: no module "fien" in policies/lib; did you mean "fine"?`,
		`require "itself"`: `module "itself" requires itself`,
		`require "hook"`:   "policies/lib/hook.lua:1: intercom.on belongs to a policy",
		`require "loop"`:   "2,000,000 instructions",
		`require "../10"`:  `no module "../10"`,
		`requier "fine"`:   `undefined global "requier"; did you mean "require"?`,
		`intercom.on("guard", function() require "fine" end)`:                          "",
		`require "caught" pcall(require, "hook") intercom.on("guard", function() end)`: "",
	} {
		set, err := New(Options{}).Compile(t.Context(), with(files(text), modules))
		if why == "" {
			require.NoError(t, err)
			set.Close()
			continue
		}
		assert.ErrorContains(t, err, why)
	}
	r := newRigOf(t, Options{}, with(files(`intercom.on("guard", function() require "fine" end)`), modules))
	assert.Contains(t, r.evaluated(said("x")).Failures[0].Text, "require must be at the top")

	_, err := New(Options{}).Compile(t.Context(), with(files(``), map[string]string{"broken": "local x =\nreturn y"}))
	assert.ErrorContains(t, err, "policies/lib/broken.lua:2: ", "whoever requires it")
	_, err = New(Options{}).Compile(t.Context(), with(files(``), map[string]string{"fine": "x = 1", "a/fine": "return 1"}))
	assert.ErrorContains(t, err, `module "fine" exists twice`)

	f := with(files(`intercom.on("decide", function() return intercom.deliver() end)`), modules)
	f.Sources = append(f.Sources, policy.Source{Name: "/p/policy.lua", Project: "/p", Text: `require "fine"`, GuardsOnly: true})
	r = newRigOf(t, Options{}, f)
	require.Len(t, r.set.Problems, 1)
	assert.Contains(t, r.set.Problems[0].Text, "a project's policy has no modules")
}

// Modules are read beside the policies, and beside a policy that is named or tested. Lines of modules do not count as
// lines of the policy.
func TestModules_read(t *testing.T) {
	t.Parallel()
	config := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(config, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	write("policies/lib/words.lua", "local words = {}\n\n\n\nfunction words.no() return intercom.ask() end\nreturn words")
	write("policies/lib/.words.lua", "x")
	policyAt := write("policies/10.lua", `local words = require "words"`+"\nintercom.on('decide', function(m)\n  if m.body == 'x' then return words.no() end\n  return\nend)\nreturn")
	write("policies/10_test.lua", `cases("x", "decide", { { fixture { body = "x" }, "ask" } })`)
	f, err := Read(config)
	require.NoError(t, err)
	require.Len(t, f.Sources, 1)
	require.Len(t, f.Modules, 1)
	assert.Equal(t, "policies/lib/words.lua", f.Modules[0].Name)
	for _, path := range []string{policyAt, filepath.Join(config, "init.lua")} {
		modules, err := ReadModules(path)
		require.NoError(t, err)
		assert.Len(t, modules, 1)
	}
	all, err := ReadTests(config)
	require.NoError(t, err)
	require.Len(t, all, 1)
	tested, err := New(Options{}).Test(t.Context(), all[0], nil)
	require.NoError(t, err)
	assert.True(t, tested.Passed(), "%+v", tested)
	assert.Equal(t, []int{4}, tested.Coverage.Unrun)
}
