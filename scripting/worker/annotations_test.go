package worker

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
)

// annotated returns the fields and functions of each class that the annotations name.
func annotated(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	variables := map[string]string{}
	class := ""
	for _, line := range regexp.MustCompile(`(?m)^.*$`).FindAllString(Annotations(), -1) {
		if m := regexp.MustCompile(`^---@class \(exact\) (\S+)$`).FindStringSubmatch(line); m != nil {
			class = m[1]
			found[class] = []string{}
		}
		if m := regexp.MustCompile(`^---@field (\w+)\??( \S+)`).FindStringSubmatch(line); m != nil {
			found[class] = append(found[class], m[1])
		}
		if m := regexp.MustCompile(`^(?:local )?(\w+) = \{\}$`).FindStringSubmatch(line); m != nil {
			variables[m[1]] = class
		}
		if m := regexp.MustCompile(`^function (\w+)[.:](\w+)\(`).FindStringSubmatch(line); m != nil {
			require.Contains(t, variables, m[1])
			found[variables[m[1]]] = append(found[variables[m[1]]], m[2])
		}
	}
	return found
}

// The annotations and a machine have the same names.
func TestL13_annotationsAreWhatIsThere(t *testing.T) {
	said := annotated(t)
	s := testState(t, `local re = intercom.re "x" intercom.on("decide", function(msg, ctx) return re end)`)
	e := newEvaluation(s.set, testInput(), nil)
	s.now = e
	e.to, e.recipients = &e.in.To[0], e.in.To
	e.in.Chat = &policy.Chat{Participants: []string{"Ada"}}
	s.agents = []policy.Agent{{}}
	objects := map[string]*lua.LUserData{}
	for _, c := range []*class{intercom, messages, contexts, chats, agents, expressions} {
		objects[c.name] = s.object(c, 0)
	}
	for name, of := range objects {
		require.NotEmpty(t, said[name], name)
		for _, member := range said[name] {
			assert.NotPanics(t, func() { s.machine.GetField(of, member) }, "%s.%s is annotated and is not there", name, member)
		}
	}
	for _, c := range classes {
		assert.ElementsMatch(t, c.names(), said[c.name], "%s is not annotated as it is", c.name)
		for _, m := range c.members {
			assert.True(t, (m.get != nil || m.call != nil) != c.table, "%s.%s", c.name, m.name)
		}
	}
	// All that a machine has as a global is Lua's own, or annotated.
	for name := range libraries() {
		assert.True(t, name == intercom.name || slices.Contains(append(base, "print", "require", "string", "table", "math"), name), "%s is a global and is not annotated", name)
	}
	assert.Contains(t, Annotations(), "function require(name) end\n")
	for _, h := range policy.Hooks {
		assert.Contains(t, Annotations(), `fun(hook: "`+string(h)+`"`)
	}
}

// Each field that a table of ours may have is read: none is accepted and ignored.
func TestL13_annotatedFieldsAreRead(t *testing.T) {
	values := map[string]string{
		"notify": `"popup"`, "otherwise": `"ask"`, "after": "1", "idle": "true", "expires": "1", "tags": `{"x"}`, "priority": `"high"`, "origin": `"agent"`,
		"trust": `"remote"`, "chats": `{ depth = 1 }`, "brakes": `{ rate = 1 }`, "profiles": `{ claude = { quiet = 1 } }`, "answer": `{ "claude", "-p" }`, "team": `{ require_plan = true, timeout = 300 }`, "meta": `{}`,
		"deliver": `{ bare_slash = { "/next-work" } }`,
		"health":  `{ after = "5m" }`, "notices": `{ bell = true, command = { "notify-send", "-a", "intercom" } }`, "computers": `{ raspi = { may = { "send" } } }`, "sessions": `{ allow = { "codex" }, roots = { "/src" }, most = 2 }`,
	}
	for table, use := range map[*class]string{
		options: "intercom.on('decide', function() return intercom.ask { %s } end)", matches: "intercom.rule('x', { %s }, intercom.ask())",
		patches: "intercom.on('filter', function() return { %s } end)", settingsClass: "intercom.configure { %s }",
	} {
		for _, m := range table.members {
			value := values[m.name]
			if value == "" {
				value = `"x"`
			}
			q := loadOf(fmt.Sprintf(use, m.name+" = "+value))
			q.Files.Sources[0].Settings = true
			of, answer := load(q, policy.Memories{}, func(string) {})
			assert.Empty(t, answer.Problems, m.name)
			assert.Empty(t, newEvaluation(of, testInput(), nil).run().Failures, m.name)
		}
	}
}
