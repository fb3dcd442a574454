package scripting

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestRead_order(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "a [strange] *place?")
	for _, name := range []string{"init.lua", "policies/50-b.lua", "policies/00-a.lua", "policies/.#x.lua", "policies/notes.txt"} {
		write(t, filepath.Join(config, name), "-- "+name)
	}
	f, err := Read(config)
	require.NoError(t, err)
	f = f.With(nil, []policy.Source{{Name: "shipped/90.lua"}})
	var names []string
	for _, s := range f.Sources {
		names = append(names, s.Name)
		assert.Equal(t, s.Name == "init.lua", s.Settings)
	}
	assert.Equal(t, []string{"init.lua", "policies/00-a.lua", "policies/50-b.lua", "shipped/90.lua"}, names)

	f, err = Read(filepath.Join(dir, "nothing here"))
	require.NoError(t, err)
	assert.Empty(t, f.Sources)

	write(t, filepath.Join(config, "policies/60-large.lua"), strings.Repeat(" ", policy.MaxSource+1))
	_, err = Read(config)
	assert.ErrorContains(t, err, "60-large.lua")
}

// The policy of a cloned repository may tighten what goes on in it, and nothing else, until a person trusts its file in
// its present form.
func TestL12_projectsOnlyTighten(t *testing.T) {
	t.Parallel()
	cloned := t.TempDir()
	text := `
intercom.on("filter", function() return { body = "bought" } end)
intercom.on("route", function() return "Cyd" end)
intercom.rule("everything", {}, intercom.deliver { reason = "says the repository" })
intercom.on("format", function() return "bought" end)
intercom.on("guard", function(msg, ctx)
  pcall(function() ctx.chat:floor("Ben") end)
  if msg.body == "rm -rf /" then return intercom.bounce { reason = "not here" } end
  return intercom.deliver()
end)`
	write(t, filepath.Join(cloned, ProjectFile), text)
	trusted := map[string]bool{}
	own := policy.Source{Name: "own.lua", Text: `intercom.on("decide", function() return intercom.ask() end)`}
	rigFor := func() *rig {
		f := policy.Files{}.With(ReadProjects([]string{cloned, t.TempDir()}, func(hash string) bool { return trusted[hash] }), []policy.Source{own})
		require.Len(t, f.Sources, 2)
		return newRigOf(t, Options{}, f)
	}
	there := func(body string) policy.Input {
		in := said(body)
		in.Projects = []string{cloned}
		return in
	}
	r := rigFor()
	assert.Len(t, r.set.Problems, 4, "what it may not do is told")
	v := r.decided(there("hello"))
	assert.Equal(t, message.VerbAsk, v.Outcomes[0].Verb)
	assert.Equal(t, "Ben", v.Outcomes[0].To.Name)
	assert.Nil(t, v.Body)
	assert.Nil(t, v.Outcomes[0].Formatted)
	assert.Nil(t, v.Floor)
	assert.Equal(t, message.VerbBounce, r.decided(there("rm -rf /")).Outcomes[0].Verb)
	assert.Equal(t, message.VerbAsk, r.decided(said("rm -rf /")).Outcomes[0].Verb, "it has no say elsewhere")

	trusted[r.set.files.Sources[0].Hash()] = true
	r = rigFor()
	assert.Empty(t, r.set.Problems)
	v = r.decided(there("hello"))
	assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
	assert.Equal(t, "Cyd", v.Outcomes[0].To.Name)

	// One letter more, and it is another file.
	write(t, filepath.Join(cloned, ProjectFile), text+" ")
	r = rigFor()
	assert.Equal(t, message.VerbAsk, r.decided(there("hello")).Outcomes[0].Verb)

	// A file that is broken, or no file, keeps what it might have stopped, and breaks nothing else.
	for _, broken := range []string{
		"while", "error('x')", "os.exit()", strings.Repeat("x", policy.MaxSource), strings.Repeat(" ", policy.MaxSource+1), "-- \xff",
		"for i = 1, 1e5 do local x = i + i end", // the person's own may take so long
		"for i = 1, 1e4 do intercom.on('route', print) end",
		"local s = 'x' while true do s = s .. s end",
	} {
		write(t, filepath.Join(cloned, ProjectFile), broken)
		r = rigFor()
		require.NotEmpty(t, r.set.Problems)
		assert.True(t, r.set.Problems[0].Warning)
		assert.Equal(t, message.VerbHold, r.evaluated(there("hello")).Outcomes[0].Verb)
		assert.Equal(t, message.VerbAsk, r.decided(said("hello")).Outcomes[0].Verb)
	}
	require.NoError(t, os.Remove(filepath.Join(cloned, ProjectFile)))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(cloned, ProjectFile)))
	r = rigFor()
	assert.Equal(t, message.VerbHold, r.evaluated(there("hello")).Outcomes[0].Verb)
}

// The set can be used with any number of projects, whatever their paths; what does not fit counts as broken.
func TestL12_projectsThatDoNotFit(t *testing.T) {
	dir, long := t.TempDir(), strings.Repeat("x", 100)
	config, shipped := t.TempDir(), []policy.Source{{Name: "shipped.lua", Text: `intercom.on("decide", function() return intercom.deliver() end)`}}
	var projects []string
	for _, name := range []string{"a:b", "a_b", "1/" + long + "/" + long, "2/" + long + "/" + long} {
		projects = append(projects, filepath.Join(dir, name), filepath.Join(dir, name))
	}
	for i := range policy.MaxFiles {
		projects = append(projects, filepath.Join(dir, strconv.Itoa(i)))
	}
	for _, project := range projects {
		write(t, filepath.Join(project, ProjectFile), `intercom.on("guard", function() end)`)
	}
	f := policy.Files{}.With(ReadProjects(projects, nil), shipped)
	require.NoError(t, f.Validate())
	require.Len(t, f.Sources, 4+policy.MaxFiles+1)
	r := newRigOf(t, Options{}, f)
	in := said("hello")
	in.Projects = projects[:8]
	assert.Equal(t, message.VerbDeliver, r.decided(in).Outcomes[0].Verb)
	in.Projects = projects[len(projects)-1:]
	v := r.evaluated(in)
	assert.Equal(t, message.VerbHold, v.Outcomes[0].Verb)
	assert.Contains(t, v.Outcomes[0].Reason, "more than 64 files")

	for i := range policy.MaxFiles {
		write(t, filepath.Join(config, "policies", strconv.Itoa(i)+".lua"), "")
	}
	f, err := Read(config)
	require.NoError(t, err)
	assert.ErrorContains(t, f.With(ReadProjects(projects, nil), shipped).Validate(), "65 files", "the person's own are an error")
}

// A duration has the same form wherever one is set, and an invalid one is refused with the same words.
func TestCompile_times(t *testing.T) {
	of := func(text string) policy.Files {
		return policy.Files{Sources: []policy.Source{{Name: "init.lua", Settings: true, Text: "intercom.configure { team = { timeout = " + text + " }, health = { after = " + text + " } }"}}}
	}
	for text, want := range map[string]time.Duration{`"10m"`: 10 * time.Minute, "90": 90 * time.Second, "1.5": 1500 * time.Millisecond, `"2h30m"`: 150 * time.Minute} {
		r := newRigOf(t, Options{}, of(text))
		assert.Equal(t, want, r.set.Settings.Team.Timeout, text)
		assert.Equal(t, map[string]string{"after": want.String()}, r.set.Settings.Health, text)
	}
	r := newRig(t)
	for _, text := range []string{`"soon"`, `"10"`, "0", "-1", `"-5m"`, "1e300", `"721h"`, "true", "{}"} {
		for setting, name := range map[string]string{"team = { timeout = ": "team.timeout", "health = { after = ": "health.after"} {
			_, err := r.engine.Compile(t.Context(), policy.Files{Sources: []policy.Source{{Name: "init.lua", Settings: true, Text: "intercom.configure { " + setting + text + " } }"}}})
			assert.EqualError(t, err, "init.lua:1: "+name+` must be a time like "10m" or a number of seconds, more than 0 and at most 720h0m0s`, text)
		}
	}
	for _, text := range []string{"false", `"off"`} {
		off := newRigOf(t, Options{}, policy.Files{Sources: []policy.Source{{Name: "init.lua", Settings: true, Text: "intercom.configure { health = { after = " + text + " } }"}}})
		assert.Equal(t, map[string]string{"after": "off"}, off.set.Settings.Health)
	}
}

func TestCompile_settings(t *testing.T) {
	f := policy.Files{Sources: []policy.Source{{Name: "init.lua", Settings: true, Text: `intercom.configure {
  computer = "workshop",
  attribution = "<{name}>",
  chats = { depth = 40, person = true, line_break = " / " },
  brakes = { rate = 30, away = "off" },
  profiles = { claude = { quiet = 0.5, chrome = { "●", "⎿" }, reads = "bracketed" } },
}`}}}
	r := newRigOf(t, Options{}, f)
	assert.Equal(t, policy.Settings{
		Computer: "workshop", Attribution: "<{name}>",
		Chats:    map[string]string{"depth": "40", "person": "on", "line_break": " / "},
		Brakes:   map[string]string{"rate": "30", "away": "off"},
		Profiles: map[string]map[string]any{"claude": {"quiet": 0.5, "chrome": []any{"●", "⎿"}, "reads": "bracketed"}},
	}, r.set.Settings)

	for text, want := range map[string]string{
		`intercom.configure { computr = "x" }`:                           `init.lua:1: configure has no field "computr"; did you mean "computer"?`,
		`intercom.configure { computer = 7 }`:                            `init.lua:1: computer must be a string, not a number`,
		`intercom.configure { chats = { depth = {} } }`:                  `init.lua:1: chats.depth must be a string, not a table`,
		"intercom.configure {}\nintercom.configure {}":                   `init.lua:2: intercom.configure was called before: one call takes all settings`,
		`intercom.configure { profiles = { claude = { quiet = 0/0 } } }`: `init.lua:1: profiles.claude.quiet must be a finite number`,
		`intercom.configure { chats = { depth = 1/0 } }`:                 `init.lua:1: chats.depth must be a finite number`,
		`intercom.on("decid", function() end)`:                           `init.lua:1: hook must be "decide", "filter", "format", "guard" or "route", not "decid"; did you mean "decide"?`,
		`intercom.rule("x", { origin = "robot" }, intercom.ask())`:       `init.lua:1: origin must be "agent", "human", "remote" or "system", not "robot"`,
		"local re =\n intercom.re '(x'":                                  "init.lua:2: missing closing ): `(x`",
		"x = = 1":                                                        `init.lua:1: syntax error near "="`,
		"\n\nif true then":                                               `init.lua:3: the file ends too early: syntax error`,
	} {
		f.Sources[0].Text = text
		_, err := r.engine.Compile(t.Context(), f)
		assert.EqualError(t, err, want)
	}
	f.Sources[0] = policy.Source{Name: "init.lua", Text: `intercom.configure {}`}
	_, err := r.engine.Compile(t.Context(), f)
	assert.EqualError(t, err, "init.lua:1: intercom.configure belongs to init.lua")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}
