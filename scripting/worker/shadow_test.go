package worker

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

// A rule that can never decide is reported, with the rules that decide instead; other rules are not.
func TestL11_rulesThatNeverDecide(t *testing.T) {
	const ask, deliver = "intercom.ask()", "intercom.deliver()"
	rule := func(name, match, decision string) string {
		return `intercom.rule("` + name + `", ` + match + `, ` + decision + ")\n"
	}
	covered := `a.lua:2: rule "b" never decides: everything it matches is decided by a.lua:1 a`
	together := `rule "z" never decides: everything it matches is decided by these together: `
	for text, want := range map[string][]string{
		rule("a", `{}`, ask) + rule("b", `{ type = "x" }`, deliver):                                                     {covered},
		rule("a", `{ type = "x" }`, ask) + rule("b", `{ type = "x", from = "Ada" }`, deliver):                           {covered},
		rule("a", `{ type = { "x", "y" } }`, ask) + rule("b", `{ type = "y" }`, deliver):                                {covered},
		rule("a", `{ tag = { "s", "t" } }`, ask) + rule("b", `{ tag = "t", body = "x" }`, deliver):                      {covered},
		rule("a", `{ body = "x+" }`, ask) + rule("b", `{ body = "x+", to = "Ben" }`, deliver):                           {covered},
		rule("a", `{ priority = { "low", "medium", "high", "urgent" } }`, ask) + rule("b", `{ from = "Ada" }`, deliver): {covered},
		rule("a", `{ priority = { "low", "normal" } }`, ask) + rule("y", `{ priority = { "high", "urgent" } }`, ask) + rule("z", `{ type = "x" }`, deliver): {
			`a.lua:3: ` + together + `a.lua:1 a, a.lua:2 y`,
		},
		rule("a", `{ origin = "human" }`, ask) + rule("y", `{ priority = "urgent" }`, ask) + rule("z", `{ origin = "human", priority = "urgent" }`, ask): {
			`a.lua:3: rule "z" never decides: everything it matches is decided by a.lua:1 a`,
		},
		// These may decide.
		rule("a", `{ type = "x" }`, ask) + rule("b", `{}`, deliver):                                                                        nil,
		rule("a", `{ type = "x" }`, ask) + rule("b", `{ from = "Ada" }`, deliver):                                                          nil,
		rule("a", `{ tag = "s" }`, ask) + rule("b", `{ tag = { "s", "t" } }`, deliver):                                                     nil,
		rule("a", `{ body = "x" }`, ask) + rule("b", `{ body = "xy" }`, deliver):                                                           nil,
		rule("a", `{ priority = { "low", "normal", "high" } }`, ask) + rule("b", `{}`, deliver):                                            nil,
		rule("a", `{ type = "x" }`, ask) + rule("y", `{ type = "y" }`, ask) + rule("z", `{ type = { "x", "y", "z" } }`, deliver):           nil,
		`intercom.on("decide", function(msg) return intercom.ask() end)` + "\n" + rule("b", `{ type = "x" }`, deliver):                     nil,
		rule("a", `{ origin = { "human", "agent" } }`, ask) + rule("y", `{ priority = "urgent" }`, ask) + rule("z", `{ type = "x" }`, ask): nil,
	} {
		_, loaded := testSet(t, text)
		var got []string
		for _, p := range loaded.Problems {
			assert.True(t, p.Warning)
			got = append(got, p.String())
		}
		assert.Equal(t, want, got, text)
	}

	everything, narrow := `intercom.rule("a", {}, intercom.ask())`, `intercom.rule("b", { type = "x" }, intercom.deliver())`
	problems := func(sources ...policy.Source) []policy.Problem {
		_, loaded := load(wire.Load{Files: policy.Files{Sources: sources}}, policy.Memories{}, func(string) {})
		return loaded.Problems
	}
	assert.Len(t, problems(policy.Source{Name: "a.lua", Text: everything}, policy.Source{Name: "b.lua", Text: narrow}), 1)
	assert.Empty(t, problems(policy.Source{Name: "a.lua", Text: everything}, policy.Source{Name: "b.lua", Text: narrow, Shipped: true}), "that is what own rules are for")
	assert.Empty(t, problems(policy.Source{Name: "a.lua", Text: everything, Project: "/p"}, policy.Source{Name: "b.lua", Text: narrow}), "only asked of one project")
}
