package command

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// The model of an old server behaves like one: without this the tests below prove nothing.
func TestKills_isThatOfAnOldServer(t *testing.T) {
	for format, want := range map[string]bool{
		"#{session_activity}":                                     true,
		"a|#{==:#{pane_id}|#{session_activity},%7|12}":            true,
		"#{?session_id,#{session_activity},}":                     false,
		"#{?session_id,1,#{session_activity}}":                    true,
		"#{?pid,#{session_activity},}":                            true,
		"#{?#{==:#{pane_id},},#{session_activity},}":              false,
		"##{session_activity}":                                    false,
		"#{start_time} #{pane_title}":                             false,
		"#{&&:#{==:#{?session_id,#{session_activity},},},#{pid}}": false,
		"#{t:window_activity}":                                    true,
	} {
		assert.Equal(t, want, tmuxtest.Kills(format), format)
	}
}

func TestS23_EveryInstantStandsBehindACondition(t *testing.T) {
	var all []Field
	names := map[string]bool{}
	for f := range Field(len(fields)) {
		entry := fields[f]
		require.NotEmpty(t, entry.name, "field %d", f)
		require.False(t, names[entry.name], entry.name)
		names[entry.name] = true
		all = append(all, f)
		assert.Equal(t, slices.Contains(tmuxtest.Instants(), entry.name), entry.kind == instant, "the kind of %s", entry.name)
		if entry.kind == instant {
			assert.Contains(t, there, entry.of, entry.name)
			assert.True(t, tmuxtest.Kills("#{"+entry.name+"}"), "the model knows %s", entry.name)
		}
		assert.False(t, tmuxtest.Kills(f.Format().text), entry.name)
	}
	values := slices.Repeat([]string{"1"}, len(all))
	same, err := Equal(formats(all), values)
	require.NoError(t, err)
	for _, f := range []Format{Fields("|", all...), Row("ic-1", all), same, Both(same, ServerPID.Format())} {
		assert.False(t, tmuxtest.Kills(f.text), f.text)
		for _, entry := range fields {
			assert.Contains(t, f.text, "#{"+entry.name)
		}
	}
}

// No text that a person or program writes becomes a format by accident.
func TestFormat_textStaysText(t *testing.T) {
	for _, text := range []string{"#{session_activity}", "#(touch x)", "%H", "#[fg=red]", "}#{session_activity}", "##{session_activity}"} {
		for _, c := range []Command{Print(text), Message("c", text, 0), MessageHere(text, 0)} {
			word := c.words[len(c.words)-1]
			assert.False(t, tmuxtest.Kills(word), word)
			assert.NotContains(t, strings.ReplaceAll(word, "##", ""), "#", word)
			assert.NotContains(t, strings.ReplaceAll(word, "%%", ""), "%", word)
		}
		for _, f := range []Format{Option(text), Environment(text), Join(text, PaneID.Format(), PaneID.Format())} {
			assert.NotContains(t, strings.ReplaceAll(f.text, "#{", ""), "#", f.text)
			assert.False(t, tmuxtest.Kills(strings.ReplaceAll(f.text, "#{session_activity}", "")), f.text)
		}
		if strings.ContainsAny(text, "#{}") {
			_, err := Equal([]Format{PaneID.Format()}, []string{text})
			assert.Error(t, err, text)
		}
		start := Start{Session: text, Window: text, Dir: text, Program: []string{"cat"}}
		for _, c := range []Command{NewSession(start), NewWindow(start)} {
			for i, word := range c.words[:len(c.words)-2] {
				if slices.Contains([]string{"-s", "-n", "-c"}, word) {
					assert.NotContains(t, strings.ReplaceAll(c.words[i+1], "##", ""), "#", "%s %q", word, c.words[i+1])
				}
			}
		}
	}
}

// This package does not make the scripts of the plugin, nor the hints of the program. Still, every
// field that they name is in its table and crashes no server.
func TestS23_WhatIsWrittenElsewhereIsInTheTable(t *testing.T) {
	names := map[string]bool{}
	for _, entry := range fields {
		names[entry.name] = true
	}
	variable := regexp.MustCompile(`#\{\??([a-z][a-z_-]*)[,}]`)
	check := func(where, text string) {
		for _, m := range variable.FindAllStringSubmatch(text, -1) {
			assert.True(t, names[m[1]], "%s: #{%s}", where, m[1])
		}
		assert.False(t, tmuxtest.Kills(text), "%s: %s", where, text)
	}
	root := filepath.Join("..", "..", "..")
	scripts, err := filepath.Glob(filepath.Join(root, "tmux-plugin", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	for _, script := range append(scripts, filepath.Join(root, "intercom.tmux")) {
		text, err := os.ReadFile(script)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			check(script, line)
		}
	}
	tests := []string{"tmuxtest", "labtest", "naivetest", "command"}
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || slices.Contains(tests, d.Name())):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if s, ok := n.(*ast.BasicLit); ok && s.Kind == token.STRING {
				check(path, s.Value)
			}
			return true
		})
		return nil
	}))
}
