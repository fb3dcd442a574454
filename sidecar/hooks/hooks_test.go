package hooks

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
)

var update = flag.Bool("update", false, "write what is installed into the fixtures anew")

const program = "/usr/local/bin/intercom"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The fixtures are files as people have them. The expected result stands beside each.
func TestU10_fixturesComeBackByteForByte(t *testing.T) {
	for _, f := range fixtures(t) {
		installed, err := Install(f.agent, f.text, program)
		require.NoError(t, err, f.path)
		golden(t, f.path+".installed", installed)
		for _, event := range eventsOf(f.agent) {
			assert.Contains(t, string(installed), event, f.path)
		}
		assert.Contains(t, string(installed), program, f.path)

		again, err := Install(f.agent, installed, program)
		require.NoError(t, err, f.path)
		assert.Equal(t, string(installed), string(again), "%s: a second time changes nothing", f.path)

		back, err := Uninstall(f.agent, installed, program)
		require.NoError(t, err, f.path)
		require.NotNil(t, back, "%s: it was there", f.path)
		assert.Equal(t, string(f.text), string(back), f.path)

		same, err := Uninstall(f.agent, f.text, program)
		require.NoError(t, err, f.path)
		assert.Equal(t, string(f.text), string(same), "%s: nothing of ours is in it", f.path)
	}
}

func TestU10_fileThatWasNotThereGoes(t *testing.T) {
	for _, agent := range Agents() {
		installed, err := Install(agent, nil, program)
		require.NoError(t, err)
		if own := filepath.Join("testdata", agent); isDir(own) { // an agent on trial has no files here
			golden(t, filepath.Join(own, "new.installed"), installed)
		}
		again, err := Install(agent, installed, program)
		require.NoError(t, err)
		assert.Equal(t, string(installed), string(again))
		back, err := Uninstall(agent, installed, program)
		require.NoError(t, err)
		assert.Nil(t, back, "%s: %q", agent, back)
		none, err := Uninstall(agent, nil, program)
		require.NoError(t, err)
		assert.Nil(t, none)
	}
}

// claude is an agent with hooks in groups.
var claude = grouped{name: "claude", events: eventsOf("claude"), parse: strictJSON}

func eventsOf(agent string) []string {
	a, _ := profile.AgentByName(agent)
	return a.Settings.Hooks.Events
}

// A plugin of that name that is not ours is neither changed nor removed.
func TestU10_anotherPluginStays(t *testing.T) {
	const theirs = "export const Intercom = async () => ({})\n"
	_, err := Install("opencode", []byte(theirs), program)
	assert.ErrorIs(t, err, errNotOurs)
	back, err := Uninstall("opencode", []byte(theirs), program)
	require.NoError(t, err)
	assert.Equal(t, theirs, string(back))
}

// Somebody adds to a file and changes it between Install and Uninstall.
func TestU10_whatWasChangedSinceStays(t *testing.T) {
	for name, c := range map[string]struct {
		agent  string
		text   string            // "-": there is no file
		change map[string]string // in the installed text
		want   string
	}{
		"a key behind ours": {
			agent: "claude", text: "{\n  \"a\": 1\n}\n",
			change: map[string]string{"\n}\n": ",\n  \"b\": 2\n}\n"}, want: "{\n  \"a\": 1,\n  \"b\": 2\n}\n",
		},
		"a key in a file that we have made": {
			agent: "claude", text: "-",
			change: map[string]string{"{\n  \"hooks\"": "{\n  \"b\": 2,\n  \"hooks\""}, want: "{\n  \"b\": 2\n}\n",
		},
		"a key behind ours in a file that we have made": {
			agent: "claude", text: "-",
			change: map[string]string{"\n}\n": ",\n  \"b\": 2\n}\n"}, want: "{\n  \"b\": 2\n}\n",
		},
		"a hook of another event": {
			agent: "claude", text: `{}`,
			change: map[string]string{`"Stop":`: `"PostToolUse": [{"hooks": []}], "Stop":`}, want: `{"hooks": {"PostToolUse": [{"hooks": []}]}}`,
		},
		"a hook in our group": {
			agent: "claude", text: `{}`,
			change: map[string]string{
				`{"type": "command", "command": "/usr/local/bin/intercom hook claude Stop # there before, empty: settings"}`: `{"type": "command", "command": "/usr/local/bin/intercom hook claude Stop"}, {"type": "command", "command": "beep"}`,
			},
			want: `{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "beep"}]}]}}`,
		},
		"their hook of that event goes": {
			agent: "claude", text: "{\n  \"x\": 1,\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]}\n}\n",
			change: map[string]string{`{"hooks": [{"type": "command", "command": "beep"}]}, `: ""}, want: "{\n  \"x\": 1\n}\n",
		},
		"a list that was there before, empty, has more in it": {
			agent: "claude", text: `{"hooks": {"Stop": []}}`,
			change: map[string]string{`"Stop": [`: `"Stop": [{"hooks": []}, `}, want: `{"hooks": {"Stop": [{"hooks": []}]}}`,
		},
		"one of our hooks is gone already": {
			agent: "claude", text: `{"a": {}}`,
			change: map[string]string{`"Stop": [{"hooks": [{"type": "command", "command": "/usr/local/bin/intercom hook claude Stop"}]}], `: ``}, want: `{"a": {}}`,
		},
		"a setting of Codex": {
			agent: "codex", text: "-",
			change: map[string]string{"\n": "\nmodel = \"x\"\n"}, want: "model = \"x\"\n",
		},
		"Codex moves it": {
			agent: "codex", text: "model = \"x\"\n[tui]\n",
			change: map[string]string{
				"notify = [\"/usr/local/bin/intercom\", \"hook\", \"codex\", \"notify\"]\nmodel = \"x\"\n": "model = \"x\"\nnotify=[ '/usr/local/bin/intercom',\n 'hook', 'codex', 'notify'  ]   # a\n",
			},
			want: "model = \"x\"\n[tui]\n",
		},
	} {
		var text []byte
		if c.text != "-" {
			text = []byte(c.text)
		}
		installed, err := Install(c.agent, text, program)
		require.NoError(t, err, name)
		changed := string(installed)
		for from, to := range c.change {
			require.Contains(t, changed, from, name)
			changed = strings.Replace(changed, from, to, 1)
		}
		back, err := Uninstall(c.agent, []byte(changed), program)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, string(back), name)
	}
}

// Claude Code rewrites its settings when a person changes one of them.
func TestUninstall_settingsWrittenAnew(t *testing.T) {
	for _, text := range []string{"{}", `{"hooks": {}}`, `{"hooks":{"Stop":[]}}`, `{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`} {
		installed, err := Install("claude", []byte(text), program)
		require.NoError(t, err)
		var all map[string]any
		require.NoError(t, json.Unmarshal(installed, &all))
		anew, err := json.MarshalIndent(all, "", "  ")
		require.NoError(t, err)
		back, err := Uninstall("claude", anew, program)
		require.NoError(t, err)
		assert.JSONEq(t, text, string(back))
	}
}

func TestInstall_refusesWhatItCannotRead(t *testing.T) {
	for _, c := range []struct{ agent, text, want string }{
		{"claude", "{\n  \"a\": 1,\n}", "invalid JSON, line 3"},
		{"claude", "// a comment\n{}", "invalid JSON, line 1"},
		{"claude", "{} {}", "invalid JSON"},
		{"claude", "{\"a\": 1", "invalid JSON"},
		{"claude", "[]", "the settings are not a JSON object"},
		{"claude", `{"hooks": []}`, `"hooks" is not a JSON object`},
		{"claude", `{"hooks": null}`, `"hooks" is not a JSON object`},
		{"claude", `{"hooks": {"Stop": {}}}`, `"hooks": "Stop" is not a list`},
		{"claude", `{"hooks": {}, "hooks": {}}`, `"hooks" occurs twice`},
		{"claude", `{"hooks": {"Stop": [], "St\u006fp": []}}`, `"Stop" occurs twice`},
		{"codex", "model = \n", "invalid TOML, line 1"},
		{"codex", "a = 1\nmodel = \"x\nb = 1\n", "invalid TOML, line 2"},
		{"codex", "a = 1\na = 2\n", "invalid TOML, line 2: key a is already defined"},
		{"codex", "[t]\na = 1\n[t]\n", "invalid TOML, line 3: table t already exists"},
		{"codex", "a = 1 b = 2\n", "invalid TOML, line 1: expected newline but got U+0062 'b'"},
		{"codex", "a = [1, 2\n", "invalid TOML"},
		{"codex", "a = \"\\q\"\n", "invalid TOML"},
		{"codex", "a = 01\n", "invalid TOML"},
		{"codex", "a = nope\n", "invalid TOML"},
		{"codex", "<<<<<<< HEAD\n", "invalid TOML"},
		{"codex", "a = \"\xff\"\n", "invalid UTF-8"},
		{"codex", "a = 1\rb = 2\n", "invalid TOML"},
		{"codex", "[a\n", "invalid TOML"},
		{"codex", "= 1\n", "invalid TOML"},
		{"nobody", "", `agent "nobody"`},
	} {
		for name, do := range map[string]func(string, []byte, string) ([]byte, error){"install": Install, "uninstall": Uninstall} {
			got, err := do(c.agent, []byte(c.text), program)
			if assert.Error(t, err, "%s %q", name, c.text) {
				assert.Contains(t, err.Error(), c.want, "%s %q", name, c.text)
			}
			assert.Nil(t, got, "%s %q", name, c.text)
		}
	}
}

func TestInstall_anotherNotifyIsTaken(t *testing.T) {
	for _, text := range []string{
		"notify = [\"terminal-notifier\"]\n",
		"model = \"x\"\n\"notify\" = [\n  'wrapper', 'intercom', 'hook', 'codex', 'notify'\n]\n",
		"'notify' = []\n",
		"notify = \"intercom\"\n",
		"notify = [\"intercom\", \"hook\", \"codex\", \"notify\", 1]\n",
		"notify.x = 1\n",
		"\"not\\u0069fy\" = [\"x\"]\n",
		"[notify]\nx = 1\n",
		"a = 1\n\n  [ 'notify' . x ] # c\ny = 1\n",
		"[[notify]]\n",
	} {
		_, err := Install("codex", []byte(text), program)
		assert.ErrorIs(t, err, ErrTaken, text)
		same, err := Uninstall("codex", []byte(text), program)
		require.NoError(t, err, text)
		assert.Equal(t, text, string(same))
	}
}

// The program moves, after an update or to another package.
func TestInstall_anotherPathIsPutInItsPlace(t *testing.T) {
	for _, f := range fixtures(t) {
		for _, old := range []string{"/opt/intercom-1.0/bin/intercom", "intercom", "/home/o'brien/my bin/intercom", "/tmp/x/\"odd\" \\/intercom é"} {
			before, err := Install(f.agent, f.text, old)
			require.NoError(t, err, f.path)
			moved, err := Install(f.agent, before, program)
			require.NoError(t, err, f.path)
			straight, err := Install(f.agent, f.text, program)
			require.NoError(t, err, f.path)
			assert.Equal(t, string(straight), string(moved), "%s %q", f.path, old)
			back, err := Uninstall(f.agent, before, program)
			require.NoError(t, err, f.path)
			assert.Equal(t, string(f.text), string(back), "%s %q", f.path, old)
		}
		// A program with another name recognises only its own calls.
		odd, err := Install(f.agent, f.text, "/usr/bin/ic")
		require.NoError(t, err)
		back, err := Uninstall(f.agent, odd, "/usr/bin/ic")
		require.NoError(t, err)
		assert.Equal(t, string(f.text), string(back))
		same, err := Uninstall(f.agent, odd, program)
		require.NoError(t, err)
		assert.Equal(t, string(odd), string(same))
	}
}

// Somebody else's hooks that resemble ours.
func TestUninstall_leavesTheHooksOfOthers(t *testing.T) {
	for _, command := range []string{
		"hcom hook claude Stop", "intercom hook claude Start", "intercom hook codex Stop", "intercom hook claude Stop --more",
		"beep; intercom hook claude Stop", "X=1 intercom hook claude Stop", "my intercom hook claude Stop", "'intercom hook claude Stop", "",
	} {
		quotedCommand, err := json.Marshal(command)
		require.NoError(t, err)
		text := fmt.Sprintf(`{"hooks": {"Stop": [{"hooks": [{"command": %s}, 1, {}]}, {"hooks": 1}, []]}}`, quotedCommand)
		same, err := Uninstall("claude", []byte(text), program)
		require.NoError(t, err, command)
		assert.Equal(t, text, string(same), command)
	}
}

// Any possible settings, however they are written.
func TestU10_installAndUninstallAreNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := document(t, false)
		installed, err := Install("claude", []byte(doc), program)
		require.NoError(t, err, doc)
		requireAdded(t, doc, installed)
		for _, event := range eventsOf("claude") {
			require.Equal(t, 1, strings.Count(string(installed), program+" hook claude "+event), "%s", installed)
		}
		again, err := Install("claude", installed, program)
		require.NoError(t, err)
		require.Equal(t, string(installed), string(again))
		back, err := Uninstall("claude", installed, program)
		require.NoError(t, err)
		require.Equal(t, doc, string(back))

		// A key before all others, and one after them, in both.
		from := strings.IndexByte(doc, '{')
		if from < 0 || !strings.Contains(doc, ":") {
			return
		}
		both := func(text string) string {
			first := strings.IndexByte(text, '{')
			last := len(strings.TrimRight(strings.TrimRight(text, " \t\r\n")[:len(strings.TrimRight(text, " \t\r\n"))-1], " \t\r\n"))
			return text[:first+1] + `"first":1,` + text[first+1:last] + `,"last" : 2` + text[last:]
		}
		back, err = Uninstall("claude", []byte(both(string(installed))), program)
		require.NoError(t, err)
		require.Equal(t, both(doc), string(back))
	})
}

func FuzzInstall(f *testing.F) {
	for _, fixture := range fixtures(f) {
		f.Add(fixture.agent == "codex", fixture.text)
	}
	f.Fuzz(func(t *testing.T, codex bool, text []byte) {
		agent := "claude"
		if codex {
			agent = "codex"
		}
		if strings.Contains(string(text), "intercom") || strings.Contains(string(text), `\u`) {
			return // it may contain our own call
		}
		installed, err := Install(agent, text, program)
		if err != nil {
			return
		}
		if codex {
			requireCalled(t, text, installed)
		} else {
			requireAdded(t, string(text), installed)
		}
		again, err := Install(agent, installed, program)
		require.NoError(t, err, "%q", installed)
		require.Equal(t, string(installed), string(again))
		back, err := Uninstall(agent, installed, program)
		require.NoError(t, err, "%q", installed)
		require.NotNil(t, back)
		require.Equal(t, string(text), string(back), "%q", installed)
	})
}

// Helpers.

type fixture struct {
	agent, path string
	text        []byte
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	var all []fixture
	for agent, ext := range map[string]string{"claude": "json", "codex": "toml", "gemini": "json"} {
		files, err := filepath.Glob(filepath.Join("testdata", agent, "*."+ext))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all = append(all, fixture{agent, file, text})
		}
	}
	return all
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// golden compares text with the file of that name.
func golden(t *testing.T, file string, have []byte) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, have, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(have), file)
}

// requireAdded requires that settings contain what they did before, followed by our calls.
func requireAdded(t require.TestingT, before string, installed []byte) {
	read := func(text string) (all map[string]any, lists map[string]any) {
		if text = strings.Trim(strings.TrimPrefix(text, "\ufeff"), " \t\r\n"); text != "" {
			require.NoError(t, json.Unmarshal([]byte(text), &all), "%s", text)
		}
		lists, _ = all["hooks"].(map[string]any)
		delete(all, "hooks")
		return all, lists
	}
	was, wasLists := read(before)
	is, lists := read(string(installed))
	require.Equal(t, fmt.Sprint(was), fmt.Sprint(is), "%s", installed)
	for event, list := range wasLists {
		if !slices.Contains(eventsOf("claude"), event) {
			require.Equal(t, list, lists[event], "%s", installed)
		}
	}
	for _, event := range eventsOf("claude") {
		old, _ := wasLists[event].([]any)
		list, _ := lists[event].([]any)
		require.Len(t, list, len(old)+1, "%s", installed)
		require.Equal(t, fmt.Sprint(old), fmt.Sprint(list[:len(old)]), "%s", installed)
		require.Contains(t, fmt.Sprint(list[len(old)]), program+" hook claude "+event, "%s", installed)
	}
}

// document is an object with blanks, and perhaps comments, in all possible places.
func document(t *rapid.T, comments bool) string {
	all := []string{"", "", " ", "\n", "\n  ", "\r\n\t", "  \n\n "}
	if comments {
		all = append(all, "// c\n", " // \"x\": [1,  \r\n\t", "\n// {\n  ", " /* , */ ", "/* // \n } */")
	}
	blanks := rapid.SampledFrom(all)
	list := func(open, end string, items []string) string {
		var b strings.Builder
		b.WriteString(open + blanks.Draw(t, "blanks"))
		for i, item := range items {
			if i > 0 {
				b.WriteString("," + blanks.Draw(t, "blanks"))
			}
			b.WriteString(item + blanks.Draw(t, "blanks"))
		}
		if comments && len(items) > 0 && rapid.Bool().Draw(t, "comma that nothing follows") {
			b.WriteString("," + blanks.Draw(t, "blanks"))
		}
		return b.String() + end
	}
	key := func(name string) string {
		quotedName, _ := json.Marshal(name)
		return string(quotedName) + blanks.Draw(t, "blanks") + ":" + blanks.Draw(t, "blanks")
	}
	var value func(depth int) string
	value = func(depth int) string {
		kinds := 3
		if depth > 0 {
			kinds = 5
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			text, _ := json.Marshal(rapid.StringN(0, 6, -1).Draw(t, "text"))
			return string(text)
		case 1:
			return rapid.SampledFrom([]string{"0", "-1.5e+3", "true", "false", "null"}).Draw(t, "word")
		case 2:
			return rapid.SampledFrom([]string{`"{[\\\",:]}"`, `"é 日本 😀"`, `"// no comment"`}).Draw(t, "text")
		case 3:
			var items []string
			for range rapid.IntRange(0, 3).Draw(t, "items") {
				items = append(items, value(depth-1))
			}
			return list("[", "]", items)
		}
		var items []string
		for _, name := range rapid.SliceOfNDistinct(rapid.StringN(0, 4, -1), 0, 3, rapid.ID).Draw(t, "names") {
			items = append(items, key(name)+value(depth-1))
		}
		return list("{", "}", items)
	}
	group := func() string {
		var hooks []string
		for range rapid.IntRange(0, 2).Draw(t, "hooks of a group") {
			hooks = append(hooks, list("{", "}", []string{key("type") + `"command"`, key("command") + value(0)}))
		}
		members := []string{key("hooks") + list("[", "]", hooks)}
		if rapid.Bool().Draw(t, "matcher") {
			members = slices.Insert(members, 0, key("matcher")+value(0))
		}
		return list("{", "}", members)
	}
	var members []string
	for _, name := range rapid.SliceOfNDistinct(rapid.StringMatching(`[a-g]{1,3}|\{|"`), 0, 3, rapid.ID).Draw(t, "settings") {
		members = append(members, key(name)+value(3))
	}
	if rapid.Bool().Draw(t, "hooks") {
		var events []string
		for _, event := range rapid.SliceOfNDistinct(rapid.SampledFrom(append(eventsOf("claude"), "PostToolUse", "Odd")), 0, 4, rapid.ID).Draw(t, "events") {
			var groups []string
			for range rapid.IntRange(0, 2).Draw(t, "groups") {
				groups = append(groups, group())
			}
			events = append(events, key(event)+list("[", "]", groups))
		}
		at := rapid.IntRange(0, len(members)).Draw(t, "place")
		members = slices.Insert(members, at, key("hooks")+list("{", "}", events))
	}
	before := []string{"", "\ufeff", "\n"}
	if comments {
		before = []string{"", "\n", "// c\n"}
	}
	return rapid.SampledFrom(before).Draw(t, "before") + list("{", "}", members) + blanks.Draw(t, "blanks")
}
