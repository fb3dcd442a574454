package policies_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/policies"
	"github.com/tmux-intercom/tmux-intercom/scripting"
	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// The tests beside the examples pass, and run every line of them.
func TestExamples_theirOwnTests(t *testing.T) {
	for _, s := range policies.Examples() {
		name := strings.TrimSuffix(s.Name, ".lua")
		b, err := scripting.ReadBeside(filepath.Join("examples", name+"_test.lua"), name+"_test.lua")
		require.NoError(t, err)
		assert.Equal(t, s.Text, b.Policy.Text)
		passes(t, b)
	}
}

// Every block of Lua in the guide is a policy, or the tests of the policy above it, and the tests pass.
func TestGuide_everyBlockRuns(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "policies.md"))
	require.NoError(t, err)
	named := regexp.MustCompile("(?ms)^```lua\n-- ([a-z0-9/_-]+)\\.lua\n(.*?)^```$")
	blocks := named.FindAllStringSubmatch(string(text), -1)
	require.Len(t, blocks, strings.Count(string(text), "```lua"), "a block does not begin with the name of its file")
	tested := 0
	var modules []policy.Source
	for i, block := range blocks {
		source := policy.Source{Name: block[1] + ".lua", Text: block[2], Settings: block[1] == "init"}
		if strings.HasPrefix(source.Name, "policies/lib/") {
			modules = append(modules, source)
			continue
		}
		if scripting.IsTests(source.Name) {
			require.Positive(t, i)
			assert.Equal(t, blocks[i-1][1]+"_test", block[1], "tests stand below their policy")
			continue
		}
		if i+1 < len(blocks) && scripting.IsTests(blocks[i+1][1]+".lua") {
			if source.Settings {
				configures(t, source)
			}
			passes(t, scripting.Beside{Policy: source, Modules: modules, Tests: policy.Source{Name: blocks[i+1][1] + ".lua", Text: blocks[i+1][2]}})
			tested++
			continue
		}
		require.True(t, source.Settings, "%s has no tests", source.Name)
		assert.Equal(t, "{name} ({number}) says:", configures(t, source).Attribution)
	}
	assert.GreaterOrEqual(t, tested, 8)
}

// The table in the guide is the one that the policies produce.
func TestGuide_matrix(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "policies.md"))
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "<!-- matrix -->\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	r := newRig(t, nil)
	want := "| | low | normal | high | urgent |\n|---|---|---|---|---|"
	for _, kind := range []string{"question", "update", "issue", "handoff", "request", "response"} {
		want += "\n| " + kind
		for _, priority := range []string{"low", "normal", "high", "urgent"} {
			o := r.decided(filed(kind, priority, false)).Outcomes[0]
			want += " | " + strings.TrimSuffix(fmt.Sprintf("%s, %s", o.Verb, o.Notify), ", ")
		}
		want += " |"
	}
	assert.Equal(t, want, table)
}

// Helpers.

// configures returns the settings of an init.lua, all of which must exist.
func configures(t *testing.T, source policy.Source) policy.Settings {
	t.Helper()
	set, err := scripting.New(scripting.Options{}).Compile(t.Context(), policy.Files{Sources: []policy.Source{source}})
	require.NoError(t, err)
	defer set.Close()
	assert.Empty(t, set.Problems)
	for _, settings := range []map[string]string{set.Settings.Chats, set.Settings.Brakes} {
		_, err := api.ParseSettings(settings)
		assert.NoError(t, err)
	}
	return set.Settings
}

// passes runs the tests of a policy.
func passes(t *testing.T, b scripting.Beside) {
	t.Helper()
	r, err := scripting.New(scripting.Options{}).Test(t.Context(), b, nil)
	require.NoError(t, err, b.Policy.Name)
	assert.Empty(t, r.Problems, b.Policy.Name)
	assert.NotEmpty(t, r.Cases)
	for _, c := range r.Cases {
		if c.Failed != nil {
			assert.Fail(t, b.Tests.Name, "%s: %s\n%+v", c.Title, c.Failed.Text, *c.Failed)
		}
	}
	assert.Empty(t, r.Coverage.Unrun, "%s: lines that no test runs", b.Policy.Name)
	assert.Empty(t, r.Coverage.Unheld, "%s: rules that no test needs", b.Policy.Name)
}
