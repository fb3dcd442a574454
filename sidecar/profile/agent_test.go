package profile

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAgents(t *testing.T) {
	whose := map[string]string{}
	for _, a := range Agents() {
		found, ok := AgentByName(a.Name)
		assert.True(t, ok)
		assert.Equal(t, a, found)
		assert.NotEmpty(t, a.Verified)
		for _, name := range a.Processes {
			assert.Equal(t, name, processName("/usr/bin/"+name))
			assert.Empty(t, whose[name], "the name of one agent alone")
			whose[name] = a.Name
			_, _, refused := Refuse(name)
			assert.False(t, refused)
		}
		assert.NotEmpty(t, a.Marks.Live)
		assert.NotEmpty(t, a.Composer.Glyph)
	}
	_, ok := AgentByName("Claude")
	assert.False(t, ok, "names are exact")
}

// What each agent does with an answer of its hook was measured with the real agents and is written down nowhere
// else. If Holds is set, a teammate whose plan is not approved is believed to be held.
func TestU10_WhoIsHeldByItsHooks(t *testing.T) {
	table := map[string]struct {
		holds bool
		why   string
	}{
		"claude":   {true, "its PreToolUse hook stands in settings.json and is used at once; a tool that it denies is not used"},
		"gemini":   {true, "its BeforeTool hook stands in settings.json; a tool that it denies is not used"},
		"opencode": {true, "its plugin is asked in tool.execute.before; a tool at which that throws is not used"},
		"codex":    {false, "notify is installed, which tells of ends of turns; a hook that is asked runs only once its person trusts it"},
	}
	for _, a := range Agents() {
		h := a.Settings.Hooks
		c, ok := table[a.Name]
		if !ok { // c holds nobody: what nobody has measured may not be claimed
			c.why = "nobody has written down here what was measured"
		}
		assert.Equal(t, c.holds, h.Holds, "%s: %s", a.Name, c.why)
		assert.Equal(t, c.holds, slices.Contains(h.Events, h.Gate.Event), "%s: whether what is installed asks its gate: %s", a.Name, c.why)
	}
}
