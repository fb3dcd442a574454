package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// elsewhere are the systems besides Linux on which the program builds. DragonFly BSD has no build of the database that keeps the
// journal.
var elsewhere = []string{"darwin/arm64", "darwin/amd64", "freebsd/amd64", "openbsd/amd64", "netbsd/amd64"}

// The first of them is built; of the others, one of each kind is type-checked. A long run builds all of them.
func TestU16_buildsElsewhere(t *testing.T) {
	ofSources(t)
	for i, platform := range elsewhere {
		if platform == "darwin/amd64" || platform == "openbsd/amd64" {
			if os.Getenv("INTERCOM_LONG") == "" {
				continue
			}
		}
		t.Run(platform, func(t *testing.T) {
			system, processor, _ := strings.Cut(platform, "/")
			env := append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=-mod=readonly")
			if i > 0 && os.Getenv("INTERCOM_LONG") == "" {
				checkTypes(t, env, processor)
				return
			}
			cmd := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "intercom"), ".")
			cmd.Env = env
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}

// Without inotify the panes are polled. Everything that is said still arrives, once and in order, and the doctor mentions
// polling.
func TestU16_pollingGoesTheWholeWay(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		st := newStage(t, v)
		st.env["INTERCOM_TRIGGER"] = "polling"
		ada := st.NewPane(personatest.Program(t), "line", "--prompt", "ada> ", "--reply", "none", "--commands")
		ben := st.NewPane(personatest.Program(t), "line", "--prompt", "ben> ", "--reply", "none")
		for pane, name := range map[string]string{ada: "ada", ben: "ben"} {
			st.WaitForText(pane, name+">")
			out, code := st.intercom("adopt", pane, "--as", "line", "--name", name)
			require.Zero(t, code, out)
		}
		assert.Equal(t, "polling", st.status().Trigger)
		out, _ := st.intercom("doctor")
		assert.Regexp(t, `(?m)polling`, out)

		out, code := st.intercom("chat", "start", "ada", "ben", "--name", "plans")
		require.Zero(t, code, out)
		for _, word := range []string{"one", "two", "three"} {
			st.Run("send-keys", "-t", ada, ":say "+word, "Enter")
			st.WaitForText(ben, "(1): "+word)
		}
		out, code = st.intercom("send", "ben", "from elsewhere", "--wait", "submitted", "--timeout", "30s")
		require.Zero(t, code, out)
		st.WaitForText(ben, "from elsewhere")
		said := st.Run("capture-pane", "-p", "-J", "-t", ben)
		for _, word := range []string{"(1): one", "(1): two", "(1): three", "from elsewhere"} {
			assert.Equal(t, 1, strings.Count(said, word), said)
		}
		assert.Less(t, strings.Index(said, "(1): one"), strings.Index(said, "(1): three"))
	})
}

func TestU16_doctorSaysWhatIsDegraded(t *testing.T) {
	assert.Empty(t, degradedOn("linux"))
	for system, says := range map[string][]string{
		"darwin": {"no inotify", "taken for a person's"}, "freebsd": {"no inotify", "taken for a person's"},
		"openbsd": {"no inotify", "who connects to a socket"}, "netbsd": {"no inotify", "who connects to a socket"},
	} {
		f := degradedOn(system)
		require.Len(t, f, 1)
		assert.Equal(t, note, f[0].Level)
		for _, text := range append(says, "on "+system+" less is promised") {
			assert.Contains(t, f[0].Text, text)
		}
		assert.NotEmpty(t, f[0].Hint)
	}
}

// Helpers.

// ofSources marks a test that lists or builds the sources: only `make lint` and `make long` run it.
func ofSources(t *testing.T) {
	t.Helper()
	if os.Getenv("INTERCOM_SOURCES") == "" && os.Getenv("INTERCOM_LONG") == "" {
		t.Skip("make lint runs it (INTERCOM_SOURCES=1 does here)")
	}
}

// checkTypes type-checks our packages for another system, against all that they import there. Building those imports for each
// system would take minutes.
func checkTypes(t *testing.T, env []string, processor string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap", "./...")
	cmd.Dir, cmd.Env = "../..", env
	out, err := cmd.Output()
	require.NoError(t, err)
	checked, fset := imports{"unsafe": types.Unsafe}, token.NewFileSet()
	ours := 0
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else {
			require.NoError(t, err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		own := strings.HasPrefix(p.ImportPath+"/", module)
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && !own {
					f.Body = nil // other modules' bodies are many megabytes
				}
			}
			files = append(files, file)
		}
		c := types.Config{IgnoreFuncBodies: !own, FakeImportC: true, Sizes: types.SizesFor("gc", processor), Error: func(err error) {
			if own {
				t.Error(err)
			}
		}}
		known := maps.Clone(checked)
		for written, path := range p.ImportMap {
			known[written] = checked[path]
		}
		c.Importer = known
		checked[p.ImportPath], _ = c.Check(p.ImportPath, fset, files, nil)
		if own {
			ours++
		}
	}
	assert.Greater(t, ours, 15)
}

// imports are packages by their paths.
type imports map[string]*types.Package

func (i imports) Import(path string) (*types.Package, error) {
	if p := i[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed before: " + path)
}
