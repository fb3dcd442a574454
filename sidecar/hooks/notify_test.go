package hooks

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInstall_takesAllThatTOMLAllows(t *testing.T) {
	for _, text := range []string{
		"a=1 # c\n\"\" = 1", "a . \"b.c\" . d = 1", "1234 = 1\n-_ = 2",
		`a = "\b\t\n\f\r\e\x41\"\\\u00e9\U0001f600"`,
		"a = \"\"\"\n\"quotes\", \"\"two\"\", at the end \"\"\"\"\"",
		"a = \"\"\"x \\   \r\n   y\\\n\n\"\"\"",
		"a = '''\\ no escape, it's '' '''''",
		"a = +99\nb = 0\nc = -17\nd = 1_000\ne = 0xDEAD_beef\nf = 0o01234567\ng = 0b1101",
		"a = +1.0\nb = 6.626e-34\nc = 5e+22\nd = -0.0\ne = inf\nf = +nan\ng = 9_224.5_1",
		"a = 1979-05-27T07:32:00.999-07:00\nb = 1979-05-27 07:32:00\nc = 1979-05-27\nd = 07:32:00.5\ne = 07:32\nf = 1979-05-27t07:32z",
		"a = [ ]\nb = [ [1, 2], [\"a\", 'b'], # c\n # d\n { x = 1 }, ]",
		"a = {}\nb = { c.d = 1, 'e' = [ { f = 2 } ], }\nc = { # c\n x = 1,\n}",
		"[ a . b ]\nk = 1\n[a]\nk = 1\n[a.c]\nk = 1",
		"[[f]]\nn = 1\n[f.p]\nn = 1\n[[f]]\nn = 1\n[f.p]\nn = 1\n[[f.v]]\n[[f.v]]",
		"[\"a]\"] # ]\n\t# c\n\n", "a = true\r\nb = false\r\n",
	} {
		installed, err := Install("codex", []byte(text), program)
		require.NoError(t, err, text)
		requireCalled(t, []byte(text), installed)
		back, err := Uninstall("codex", installed, program)
		require.NoError(t, err, text)
		assert.Equal(t, text, string(back))
	}
}

// Any possible configuration, however it is written, with much in it that resembles our call.
func TestU10_anyCodexConfiguration(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := configuration(t)
		installed, err := Install("codex", []byte(doc), program)
		require.NoError(t, err, "%q", doc)
		requireCalled(t, []byte(doc), installed)
		again, err := Install("codex", installed, program)
		require.NoError(t, err)
		require.Equal(t, string(installed), string(again))
		back, err := Uninstall("codex", installed, program)
		require.NoError(t, err)
		require.Equal(t, doc, string(back))

		// Lines after ours and before it.
		both := func(text []byte) []byte {
			return append([]byte("first = 1 # notify = 1\n"), strings.TrimPrefix(string(text), "\ufeff")...)
		}
		back, err = Uninstall("codex", both(installed), program)
		require.NoError(t, err)
		require.Equal(t, string(both([]byte(doc))), string(back))
	})
}

// requireCalled requires that a configuration contains what it did before, and our call.
func requireCalled(t require.TestingT, before, installed []byte) {
	read := func(text []byte) map[string]any {
		all := map[string]any{}
		require.NoError(t, toml.Unmarshal([]byte(strings.TrimPrefix(string(text), "\ufeff")), &all), "%q", text)
		return all
	}
	want := maps.Clone(read(before))
	want["notify"] = []any{program, "hook", "codex", "notify"}
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(read(installed)), "%q", installed)
}

// configuration is TOML with blanks, comments and line breaks in all possible places.
func configuration(t *rapid.T) string {
	end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
	pick := func(what string, from ...string) string { return rapid.SampledFrom(from).Draw(t, what) }
	blanks := func() string { return pick("blanks", "", "", " ", "\t ") }
	breaks := func() string {
		return pick("breaks", "", "", " ", end, "  "+end+"\t", " # notify = ["+end, "#"+end+end+" # ]"+end)
	}
	keys := 0
	key := func() string {
		keys++
		name := fmt.Sprint(keys)
		all := []string{"k" + name, name, "notify-" + name, `"notify = ` + name + `"`, `'"#` + name + `'`, `"\u0065é` + name + `"`}
		made := pick("key", all...)
		if rapid.IntRange(0, 3).Draw(t, "dotted") == 0 {
			made += blanks() + "." + blanks() + pick("part", "notify", `"a.b"`, `'notify'`, "1")
		}
		return made
	}
	var value func(depth int) string
	pair := func(depth int) string { return key() + blanks() + "=" + blanks() + value(depth) }
	value = func(depth int) string {
		kinds := 2
		if depth > 0 {
			kinds = 4
		}
		switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
		case 0:
			return pick("word", "1", "-1_000", "0xdead_beef", "6.5e-3", "-inf", "true", "1979-05-27 07:32:00Z", "1979-05-27", "07:32:00.5")
		case 1:
			return pick("text", `""`, `"]#\"="`, `'\ "'`, `"notify = [\"x\"]"`,
				`"""`+end+`notify = ["in", "a", "string"]`+end+`""" `, `"""\`+end+`  "" "quotes"""""`, `'''`+end+`[notify]`+end+`# '''''`)
		}
		open, shut, item := "[", "]", func() string { return value(depth - 1) }
		if rapid.Bool().Draw(t, "inline table") {
			open, shut, item = "{", "}", func() string { return pair(depth - 1) }
		}
		text := open + breaks()
		for n := rapid.IntRange(0, 3).Draw(t, "items"); n > 0; n-- {
			text += item() + breaks()
			if n > 1 || rapid.Bool().Draw(t, "comma at the end") {
				text += "," + breaks()
			}
		}
		return text + shut
	}
	lines := func() (all []string) {
		for range rapid.IntRange(0, 4).Draw(t, "lines") {
			line := blanks()
			if rapid.IntRange(0, 2).Draw(t, "entry") > 0 {
				line += pair(2) + blanks()
			}
			all = append(all, line+pick("comment", "", "", "# c", `# notify = ["x"]`, "#:schema x"))
		}
		return all
	}
	all := lines()
	for n := range rapid.IntRange(0, 3).Draw(t, "tables") {
		name := pick("name", fmt.Sprintf("t%d", n), fmt.Sprintf(`"]%d" . notify`, n), fmt.Sprintf("t%d.'notify'", n))
		for range rapid.IntRange(0, 2).Draw(t, "of a list") {
			all = append(all, blanks()+"[["+blanks()+pick("list", "l", `"l[" . notify`)+fmt.Sprint(n)+blanks()+"]]"+blanks())
			all = append(all, lines()...)
			all = append(all, pick("key of a table", "", `notify = ["terminal-notifier"]`))
		}
		all = append(all, blanks()+"["+blanks()+name+blanks()+"]"+pick("comment", "", " # [notify]"))
		all = append(all, pick("key of a table", "", `notify = ["terminal-notifier"]`))
		all = append(all, lines()...)
	}
	doc := pick("before", "", "", "\ufeff", "#:schema y"+end) + strings.Join(all, end)
	if rapid.Bool().Draw(t, "last line ends") {
		doc += end
	}
	return doc
}
