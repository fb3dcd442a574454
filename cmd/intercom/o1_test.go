package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/labtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/profile"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// ofAnAgent are the packages in which each agent has a file of its own.
var ofAnAgent = []string{"sidecar/profile", "sidecar/screen", "sidecar/agent", "sidecar/labtest"}

// withAFifth is the flag that makes the go command add the files in testdata/fifth to those packages. The program that it builds
// knows one more agent, and is the same otherwise.
func withAFifth(t *testing.T) string {
	t.Helper()
	replace := map[string]string{}
	for _, dir := range ofAnAgent {
		ours, err := filepath.Abs(filepath.Join("..", "..", dir, "fifth.go"))
		require.NoError(t, err)
		replace[ours], err = filepath.Abs(filepath.Join("testdata", "fifth", filepath.Base(dir), "fifth.go"))
		require.NoError(t, err)
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "overlay.json")
	require.NoError(t, os.WriteFile(file, overlay, 0o600))
	return "-overlay=" + file
}

// A fifth agent needs only four files to be recognised, read and typed to, to have messages held at its dialogs, to be listed in
// help, and to have its settings changed and restored.
func TestO1_aNewAgentIsOneFileEach(t *testing.T) {
	ofSources(t) // building the program again keeps both processors busy for half a minute
	t.Parallel()
	program, err := programtest.Build("intercom-of-five", "cmd/intercom", "GOFLAGS="+withAFifth(t))
	require.NoError(t, err)
	fifth, err := programtest.Build("fifth", "cmd/intercom/testdata/fifth/program")
	require.NoError(t, err)
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.Run("set-option", "-g", "@intercom-bin", program)
	intercom := func(args ...string) (string, int) {
		t.Helper()
		cmd := exec.Command(program, append(args, "--server="+st.Socket)...)
		cmd.Env = st.environ()
		out, err := cmd.Output()
		if cmd.ProcessState == nil {
			require.NoError(t, err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	pane := st.NewPane("env", "HOME="+st.env["HOME"], fifth)
	shows := func(text string) func() bool {
		return func() bool { return strings.Contains(st.Run("capture-pane", "-p", "-t", pane), text) }
	}
	tmuxtest.WaitFor(t, "its composer", shows("the fifth waits"))

	out, code := intercom("adopt", pane)
	require.Zero(t, code, out)
	assert.Contains(t, out, "adopted "+pane+" as fifth (fifth, ")
	out, code = intercom("send", "fifth", "one\ntwo é", "--wait", "answered", "--json")
	require.Zero(t, code, out)
	var sent api.Sent
	require.NoError(t, json.Unmarshal([]byte(out), &sent), out)
	assert.Equal(t, message.Answered, sent.Receipt.State)
	assert.Contains(t, sent.Receipt.Words, "heard: ")
	assert.Contains(t, sent.Receipt.Words, "one\ntwo é", "from its transcript, line breaks and all")
	out, code = intercom("explain", pane, "--json")
	require.Zero(t, code, out)
	var e message.Explanation
	require.NoError(t, json.Unmarshal([]byte(out), &e), out)
	assert.Equal(t, "fifth", e.Agent)
	assert.Equal(t, "5.0.0", e.Verified)
	assert.True(t, e.MayType, out)
	assert.Contains(t, out, "talks", "where its words come from")

	// At its dialog nothing is typed; the message waits for a person's answer to it.
	st.Run("send-keys", "-t", pane, "C-d")
	tmuxtest.WaitFor(t, "its dialog", shows("yes or no"))
	out, code = intercom("send", "fifth", "three", "--json", "--wait", "submitted", "--timeout", "1s")
	assert.Equal(t, 5, code, out)
	assert.NotContains(t, st.Run("capture-pane", "-p", "-t", pane), "three")
	st.Run("send-keys", "-t", pane, "n")
	tmuxtest.WaitFor(t, "what was held", shows("three"))

	// Its settings can be changed and restored.
	for _, change := range [][]string{{"hooks", "install", "fifth"}, {"mcp", "install", "fifth", "--skill"}} {
		out, code = intercom(change...)
		require.Zero(t, code, out)
	}
	own := filepath.Join(st.env["HOME"], ".fifth")
	assert.Contains(t, read(t, filepath.Join(own, "hooks.json")), "hook fifth TurnOver")
	assert.Contains(t, read(t, filepath.Join(own, "servers.toml")), "[tools.intercom]")
	assert.DirExists(t, filepath.Join(own, "skills", "intercom"))
	for _, change := range [][]string{{"hooks", "uninstall", "fifth"}, {"mcp", "uninstall", "fifth", "--skill"}} {
		out, code = intercom(change...)
		require.Zero(t, code, out)
	}
	assert.NoFileExists(t, filepath.Join(own, "hooks.json"))
	assert.NoFileExists(t, filepath.Join(own, "servers.toml"))
	for _, c := range []struct{ command, says string }{
		{"adopt", "  --as fifth        The Fifth\n"},
		{"chat start", "The Fifth"},
		{"session start", "fifth"},
		{"hooks install", "a hook in hooks.json in $FIFTH_HOME."},
		{"mcp install", "servers.toml in $FIFTH_HOME, or ~/.fifth"},
	} {
		out, code = intercom(append(strings.Fields(c.command), "--help")...)
		require.Zero(t, code)
		assert.Contains(t, out, c.says, c.command)
	}
}

// The packages' own tests accept the fifth agent unchanged: each agent has all that every agent needs. Those of screen also need
// recordings, so only some of them run.
func TestO1_theTestsTakeAFifth(t *testing.T) {
	if os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("compiles the tests of eight packages again: make long")
	}
	t.Parallel()
	for _, c := range []struct{ run, packages string }{
		{".", "./sidecar/profile ./sidecar/agent ./sidecar/labtest ./sidecar/hooks ./sidecar/door ./sidecar/sanitise ./sidecar/pane"},
		{"TestDialects|TestJudge|TestOwn", "./sidecar/screen"},
		{"TestHelp|TestHooks|TestM5|TestU10|TestLayers", "./cmd/intercom"},
	} {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"test", withAFifth(t), "-run", c.run}, strings.Fields(c.packages)...)...)
		cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "INTERCOM_LONG=")
		out, err := cmd.CombinedOutput()
		assert.NoError(t, err, "%s", out)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", withAFifth(t), "./sidecar/labtest/versions")
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Contains(t, string(out), "fifth 5.0.0 the-fifth-agent\n", "what .ci/agents installs")
}

// No other code knows which agents there are: none has an agent's name as a string, and none uses a value that is named after an
// agent. Help may name agents in longer examples.
func TestO1_noOtherCodeNamesAnAgent(t *testing.T) {
	t.Parallel()
	var names []string
	for _, a := range profile.Agents() {
		names = append(names, append([]string{a.Name, a.Title}, a.Processes...)...)
	}
	require.Len(t, labtest.Kinds, len(profile.Agents()))
	root := filepath.Join("..", "..")
	files := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		dir, _ := filepath.Rel(root, path)
		switch {
		case err != nil:
			return err
		case d.IsDir():
			// persona stands in for agents in tests, and no program of ours links it.
			if d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "bin" || dir == "sidecar/persona" || slices.Contains(ofAnAgent, dir) {
				return filepath.SkipDir
			}
			return nil
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files++
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				assert.False(t, err == nil && n.Kind == token.STRING && slices.Contains(names, text), "%s names an agent: %s", set.Position(n.Pos()), n.Value)
			case *ast.SelectorExpr:
				if of, ok := n.X.(*ast.Ident); ok && (of.Name == "profile" || of.Name == "agent" || of.Name == "labtest") {
					_, known := profile.AgentByName(strings.ToLower(n.Sel.Name))
					assert.False(t, known, "%s: %s.%s", set.Position(n.Pos()), of.Name, n.Sel.Name)
				}
			}
			return true
		})
		return nil
	}))
	assert.Greater(t, files, 300, "they were found")
}

// In the four packages an agent is named only in its own file, or in one whose name begins with the agent's.
func TestO1_anAgentStandsInItsOwnFile(t *testing.T) {
	t.Parallel()
	for _, dir := range ofAnAgent {
		all, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, all)
		for _, a := range profile.Agents() {
			assert.FileExists(t, filepath.Join("..", "..", dir, a.Name+".go"))
		}
		for _, path := range all {
			name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".go"), "_") // opencode_database.go
			if _, own := profile.AgentByName(name); own || strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok {
					_, known := profile.AgentByName(strings.ToLower(id.Name))
					assert.False(t, known && ast.IsExported(id.Name), "%s: %s", set.Position(n.Pos()), id.Name)
				}
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					text, _ := strconv.Unquote(lit.Value)
					_, known := profile.AgentByName(text)
					assert.False(t, known, "%s: %s", set.Position(n.Pos()), lit.Value)
				}
				return true
			})
		}
	}
}
