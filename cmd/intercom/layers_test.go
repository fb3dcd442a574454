package main

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const module = "github.com/tmux-intercom/tmux-intercom/"

// layers says which of our packages each package may import. Imports go downwards only, and within a row only if it is said here.
var layers = map[string][]string{
	"sidecar/message": {},

	"sidecar/profile":   {"sidecar/message"},
	"sidecar/shown":     {},
	"sidecar/gate":      {},
	"sidecar/delta":     {"sidecar/message", "sidecar/shown"},
	"sidecar/screen":    {"sidecar/message", "sidecar/profile", "sidecar/shown"},
	"sidecar/sanitise":  {"sidecar/message"},
	"sidecar/plain":     {},
	"sidecar/registry":  {"sidecar/message", "sidecar/spelling"},
	"sidecar/spelling":  {},
	"sidecar/handshake": {"sidecar/message"},
	"sidecar/hooks":     {"sidecar/profile"},
	"sidecar/brakes":    {},
	"sidecar/waits":     {"sidecar/message"},
	"sidecar/render":    {"sidecar/message", "sidecar/registry"},
	"sidecar/route":     {"sidecar/message", "sidecar/registry", "sidecar/render"},

	"sidecar/relay": {"sidecar/message", "sidecar/plain", "sidecar/handshake", "sidecar/registry", "sidecar/render", "sidecar/route", "sidecar/brakes", "sidecar/secret", "sidecar/gate"},

	"sidecar/secret":              {"sidecar/sanitise"},
	"sidecar/aea":                 {"sidecar/secret"},
	"sidecar/foreign":             {},
	"sidecar/own":                 {"sidecar/foreign"},
	"sidecar/repository":          {"sidecar/aea", "sidecar/secret", "sidecar/message", "sidecar/plain", "sidecar/foreign", "sidecar/own", "sidecar/atomicfile", "sidecar/claim", "sidecar/process"},
	"sidecar/atomicfile":          {"sidecar/foreign"},
	"sidecar/claim":               {"sidecar/own"},
	"sidecar/talk":                {"sidecar/message", "sidecar/render", "sidecar/atomicfile", "sidecar/claim", "sidecar/foreign", "sidecar/own"},
	"sidecar/link":                {"sidecar/message", "sidecar/registry", "sidecar/secret", "sidecar/claim", "sidecar/own", "sidecar/atomicfile"},
	"sidecar/hub":                 {"sidecar/link", "sidecar/own", "sidecar/atomicfile", "sidecar/claim"},
	"sidecar/tunnel":              {"sidecar/process"},
	"sidecar/team":                {"sidecar/message", "sidecar/handshake", "sidecar/foreign", "sidecar/own", "sidecar/atomicfile"},
	"sidecar/manpage":             {},
	"sidecar/inherited":           {},
	"sidecar/tmux/command":        {},
	"sidecar/process":             {"sidecar/foreign"},
	"sidecar/tmux":                {"sidecar/tmux/command", "sidecar/tmux/native", "sidecar/foreign", "sidecar/process", "sidecar/gate"},
	"sidecar/tmux/native":         {"sidecar/gate"},
	"sidecar/tmux/tmuxtest":       {"sidecar/tmux/native"},                               // for tests: nothing that is linked imports it
	"sidecar/persona":             {"sidecar/own", "sidecar/profile", "sidecar/process"}, // for tests, like the following
	"sidecar/persona/program":     {"sidecar/persona"},
	"sidecar/persona/personatest": {"sidecar/programtest"},
	"sidecar/picturetest":         {}, // likewise
	"sidecar/programtest":         {},
	"sidecar/porttest":            {},                                                    // likewise
	"sidecar/clocktest":           {},                                                    // likewise, and for the program of the soak
	"sidecar/soaktest":            {},                                                    // likewise: it judges a run, and its own test makes one
	"sidecar/naivetest":           {},                                                    // for tests and benchmarks, as tmuxtest is
	"sidecar/filepeertest":        {"sidecar/message", "sidecar/foreign", "sidecar/own"}, // likewise
	"sidecar/journaltest":         {"sidecar/message", "sidecar/journal"},                // likewise
	"sidecar/powercuttest":        {},                                                    // likewise
	"sidecar/filepeertest/ops":    {"sidecar/api", "sidecar/message"},                    // likewise
	"sidecar/labtest":             {"sidecar/tmux/tmuxtest", "sidecar/profile"},
	"sidecar/labtest/versions":    {"sidecar/labtest"},
	"sidecar/door":                {"sidecar/profile", "sidecar/process", "sidecar/foreign", "sidecar/own", "sidecar/atomicfile", "sidecar/gate"},
	"sidecar/agent":               {"sidecar/message", "sidecar/profile", "sidecar/foreign", "sidecar/process"},
	"sidecar/journal":             {"sidecar/message", "sidecar/registry", "sidecar/foreign", "sidecar/own", "sidecar/atomicfile"},
	"sidecar/pane": {
		"sidecar/message", "sidecar/registry", "sidecar/profile", "sidecar/delta", "sidecar/render", "sidecar/screen", "sidecar/sanitise", "sidecar/process", "sidecar/tmux", "sidecar/agent",
		"sidecar/door", "sidecar/atomicfile", "sidecar/foreign", "sidecar/shown", "sidecar/gate",
	},

	"sidecar/policyset": {
		"sidecar/message", "sidecar/registry", "sidecar/render", "sidecar/relay", "sidecar/sanitise", "sidecar/atomicfile", "sidecar/aea", "sidecar/repository",
		"sidecar/foreign", "sidecar/own", "scripting", "scripting/policy",
	},

	"sidecar/api": {"sidecar/message", "sidecar/registry", "sidecar/own", "scripting/policy"},

	"sidecar/comeback": {"sidecar/message", "sidecar/registry", "sidecar/profile", "sidecar/journal", "sidecar/pane", "sidecar/tmux"},
	"sidecar/launch":   {"sidecar/message", "sidecar/registry", "sidecar/pane", "sidecar/process", "sidecar/tmux"},
	"sidecar/service": {
		"sidecar/message", "sidecar/registry", "sidecar/render", "sidecar/profile", "sidecar/screen", "sidecar/sanitise", "sidecar/secret", "sidecar/aea", "sidecar/relay", "sidecar/process", "sidecar/tmux", "sidecar/journal",
		"sidecar/pane", "sidecar/plain", "sidecar/agent", "sidecar/repository", "sidecar/talk", "sidecar/link", "sidecar/team", "sidecar/handshake", "sidecar/claim", "sidecar/waits", "sidecar/api", "sidecar/policyset", "sidecar/comeback", "sidecar/launch", "scripting", "scripting/policy",
	},

	"sidecar/mcp": {"sidecar/message", "sidecar/spelling", "sidecar/api"},
	"sidecar/ui":  {"sidecar/message", "sidecar/plain", "sidecar/render", "sidecar/api"},

	"sidecar/daemon": {
		"sidecar/message", "sidecar/relay", "sidecar/process", "sidecar/tmux", "sidecar/journal", "sidecar/pane", "sidecar/api", "sidecar/policyset", "sidecar/comeback", "sidecar/launch",
		"sidecar/service", "sidecar/talk", "sidecar/link", "sidecar/secret", "sidecar/own", "sidecar/claim", "sidecar/repository", "sidecar/door", "scripting/policy",
	},

	// The sidecar asks policies but never runs one: only the worker knows Lua.
	"scripting/policy": {"sidecar/message"},
	"scripting/wire":   {"scripting/policy"},
	"scripting/worker": {"scripting/policy", "scripting/wire", "sidecar/message", "sidecar/sanitise", "sidecar/spelling", "sidecar/inherited"},
	"scripting":        {"scripting/policy", "scripting/wire", "sidecar/message", "sidecar/foreign"},
	"scripting/trust":  {"sidecar/atomicfile", "sidecar/own"},
	"policies":         {"scripting/policy"},
	"docs/skill":       {},

	"cmd/intercom": {"policies", "docs/skill", "scripting", "scripting/policy", "scripting/trust", "scripting/worker", "sidecar/daemon", "sidecar/service", "sidecar/comeback", "sidecar/waits", "sidecar/api", "sidecar/process", "sidecar/tmux", "sidecar/message", "sidecar/registry", "sidecar/render", "sidecar/profile", "sidecar/hooks", "sidecar/mcp", "sidecar/ui", "sidecar/plain", "sidecar/atomicfile", "sidecar/foreign", "sidecar/own", "sidecar/inherited", "sidecar/brakes", "sidecar/aea", "sidecar/repository", "sidecar/talk", "sidecar/team", "sidecar/link", "sidecar/hub", "sidecar/tunnel", "sidecar/claim", "sidecar/spelling", "sidecar/manpage", "sidecar/clocktest"},
	// For computers without a NATS server. What both programs share is in sidecar/hub.
	"cmd/intercom-hub": {"sidecar/hub", "sidecar/link", "sidecar/registry", "sidecar/inherited", "sidecar/manpage"},

	"sidecar": {}, // holds only a comment
}

// onlyIn says who may import what is not ours: every module from outside, and those packages of the standard library that only
// some of our packages may use.
var onlyIn = map[string][]string{
	"charm.land/bubbletea/v2":                        {"sidecar/ui"},
	"github.com/charmbracelet/x/ansi":                {"sidecar/delta", "sidecar/screen", "sidecar/plain", "cmd/intercom"},
	"github.com/creack/pty":                          {"sidecar/tmux"},
	"github.com/fsnotify/fsnotify":                   {"sidecar/tmux", "sidecar/agent", "sidecar/policyset", "sidecar/repository", "cmd/intercom-hub"},
	"github.com/google/jsonschema-go/jsonschema":     {"sidecar/mcp"},
	"github.com/modelcontextprotocol/go-sdk/jsonrpc": {"sidecar/mcp"},
	"github.com/modelcontextprotocol/go-sdk/mcp":     {"sidecar/mcp"},
	"github.com/google/uuid":                         {"sidecar/message", "sidecar/handshake", "cmd/intercom"},
	"github.com/nats-io/nats.go":                     {"sidecar/link", "cmd/intercom-hub"},
	"github.com/nats-io/nats.go/jetstream":           {"sidecar/link", "cmd/intercom-hub"},
	"github.com/nats-io/nats-server/v2/server":       {"cmd/intercom-hub"},
	"github.com/nats-io/nkeys":                       {"sidecar/link", "cmd/intercom-hub"},
	"github.com/pelletier/go-toml/v2":                {"sidecar/hooks"},
	"github.com/pelletier/go-toml/v2/unstable":       {"sidecar/hooks"},
	"github.com/ajstarks/svgo":                       {"sidecar/picturetest"},
	"github.com/charmbracelet/ultraviolet":           {"sidecar/picturetest"},
	"github.com/spf13/cobra":                         {"cmd/intercom", "cmd/intercom-hub", "sidecar/manpage"},
	"github.com/spf13/pflag":                         {"cmd/intercom", "sidecar/manpage"},
	"github.com/tailscale/hujson":                    {"sidecar/hooks"},
	"github.com/yuin/gopher-lua":                     {"scripting/worker"},
	"github.com/yuin/gopher-lua/ast":                 {"scripting/worker"},
	"github.com/yuin/gopher-lua/parse":               {"scripting/worker"},
	"github.com/thejerf/suture/v4":                   {"sidecar/daemon", "sidecar/pane"},
	"go.yaml.in/yaml/v3":                             {"sidecar/aea"},
	"golang.org/x/time/rate":                         {"sidecar/link"},
	"golang.org/x/text/unicode/norm":                 {"sidecar/agent", "sidecar/screen", "sidecar/shown"},
	"golang.org/x/sys/unix":                          {"sidecar/atomicfile", "sidecar/repository", "sidecar/process", "sidecar/tmux", "sidecar/tmux/native", "sidecar/talk", "sidecar/team", "sidecar/persona", "sidecar/api", "sidecar/door", "sidecar/labtest", "sidecar/inherited", "sidecar/mcp", "scripting/worker", "cmd/intercom"},
	"modernc.org/sqlite":                             {"sidecar/journal", "sidecar/agent"},

	"database/sql":        {"sidecar/journal", "sidecar/agent"},
	"database/sql/driver": {"sidecar/journal"},
	"net":                 {"sidecar/api", "sidecar/door", "sidecar/tmux", "sidecar/tmux/native", "sidecar/tmux/tmuxtest", "sidecar/talk", "sidecar/hub", "sidecar/tunnel", "sidecar/persona", "sidecar/labtest", "sidecar/porttest", "cmd/intercom-hub", "sidecar/link"},
	"net/http":            {"sidecar/api", "sidecar/labtest"},
	"os/exec":             {"sidecar/process", "sidecar/tmux", "sidecar/tmux/tmuxtest", "sidecar/programtest", "sidecar/naivetest", "sidecar/labtest", "sidecar/powercuttest", "scripting", "cmd/intercom"},
	"testing":             {"sidecar/tmux/tmuxtest", "sidecar/labtest", "sidecar/persona/personatest", "sidecar/porttest", "sidecar/powercuttest"},
	// Both call methods by name, which keeps the linker from dropping methods that nobody calls.
	"text/template": {},
	"html/template": {},
}

// pure are the packages that know no files, no other programs and no time.
var pure = []string{
	"sidecar/message", "sidecar/profile", "sidecar/delta", "sidecar/screen", "sidecar/sanitise", "sidecar/plain", "sidecar/registry", "sidecar/route",
	"sidecar/hooks", "sidecar/brakes", "sidecar/waits", "sidecar/aea", "sidecar/handshake", "sidecar/spelling", "sidecar/shown", "sidecar/secret",
	"sidecar/render", "scripting/policy", "sidecar/tmux/command",
}

func TestLayers_importsGoDownwards(t *testing.T) {
	ofSources(t)
	seen := map[string]bool{}
	// Files that exist only on some systems or in some builds import too.
	for _, build := range [][]string{{"GOOS=linux"}, {"GOOS=darwin"}, {"GOOS=freebsd"}, {"GOFLAGS=-tags=teeth"}, {"GOFLAGS=-tags=soak"}} {
		for _, p := range listed(t, build, "-json=ImportPath,Imports", "./...") {
			name := strings.TrimPrefix(p.ImportPath, module)
			seen[name] = true
			allowed, known := layers[name]
			if !assert.True(t, known, "package %s stands in no layer: add it to the table in this file", name) {
				continue
			}
			for _, path := range p.Imports {
				if own, ok := strings.CutPrefix(path, module); ok {
					assert.Contains(t, allowed, own, "%s (%s): %s may not import it", name, build, name)
					continue
				}
				keepers, restricted := onlyIn[path]
				outside, _, _ := strings.Cut(path, "/")
				if restricted || strings.Contains(outside, ".") {
					assert.Contains(t, keepers, name, "%s (%s) imports %s, which is not its to use", name, build, path)
				}
				if slices.Contains(pure, name) {
					first, _, _ := strings.Cut(path, "/")
					assert.NotContains(t, []string{"os", "net", "log", "syscall"}, first, "%s is pure and imports %s", name, path)
				}
			}
		}
	}
	for name := range layers {
		assert.True(t, seen[name], "the table has package %s, which is not there", name)
	}
}

// From sync, pure code may use only a value that is computed once, and a pool of buffers.
func TestLayers_pureCodeReadsNoClockAndSharesNothing(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}
	for _, name := range pure {
		files, err := filepath.Glob(filepath.Join("..", "..", name, "*.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files, name)
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			ast.Inspect(parsed, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					of, ok := s.X.(*ast.Ident)
					if ok && of.Name == "sync" {
						assert.Contains(t, []string{"OnceValue", "OnceValues", "Pool"}, s.Sel.Name, "%s shares something by sync.%s", file, s.Sel.Name)
					}
					if ok && of.Name == "time" {
						assert.NotContains(t, clock, s.Sel.Name, "%s calls time.%s: time is passed in", file, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

func TestLayers_linked(t *testing.T) {
	ofSources(t)
	for _, p := range listed(t, nil, "-deps", "-json=ImportPath", "./cmd/intercom") {
		for _, unwanted := range []string{"github.com/nats-io/nats-server", "github.com/stretchr/testify", "testing", module + "sidecar/persona", module + "sidecar/filepeertest", module + "sidecar/journaltest", module + "sidecar/powercuttest", module + "sidecar/clocktest"} {
			assert.False(t, p.ImportPath == unwanted || strings.HasPrefix(p.ImportPath, unwanted+"/"), "intercom links %s", p.ImportPath)
		}
	}
}

// Helpers.

// goPackage is the part of go list's output that is used here.
type goPackage struct {
	ImportPath, Name, Dir, Doc string
	Imports                    []string
}

// listed runs go list at the top of the repository.
func listed(t *testing.T, environ []string, args ...string) []goPackage {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), environ...)
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, "%s", failed.Stderr)
	}
	require.NoError(t, err)
	var packages []goPackage
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := d.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		packages = append(packages, p)
	}
}
