package sidecar_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// allowed are the modules that may be required directly, and their purposes. If you add one, say here why the standard
// library is not enough.
var allowed = map[string]string{
	"charm.land/bubbletea/v2":                "the screen, its keys and its redrawing",
	"github.com/ajstarks/svgo":               "tests: pictures for the documentation",
	"github.com/charmbracelet/ultraviolet":   "tests: what a terminal showed, cell by cell",
	"github.com/charmbracelet/x/ansi":        "escape sequences and widths of text",
	"github.com/creack/pty":                  "control mode, and tests that need a terminal",
	"github.com/fsnotify/fsnotify":           "writes to a pane's terminal, as they happen",
	"github.com/google/jsonschema-go":        "schemas of tools out of Go types",
	"github.com/modelcontextprotocol/go-sdk": "MCP, in all its revisions",
	"github.com/google/uuid":                 "ids that sort by time",
	"github.com/nats-io/nats-server/v2":      "intercom-hub, and tests: the server between computers",
	"github.com/nats-io/nats.go":             "other computers: what waits for them, once and in order",
	"github.com/nats-io/nkeys":               "who a computer is",
	"github.com/pelletier/go-toml/v2":        "where things stand in the configuration of Codex",
	"github.com/rogpeppe/go-internal":        "scripts as tests",
	"github.com/spf13/cobra":                 "commands whose flags may follow their arguments",
	"github.com/spf13/pflag":                 "the flags of cobra's commands, for did-you-mean",
	"github.com/stretchr/testify":            "tests",
	"github.com/tailscale/hujson":            "settings of others edited with every blank and comment left, which encoding/json drops",
	"github.com/thejerf/suture/v4":           "supervision: what panics begins anew",
	"github.com/yuin/gopher-lua":             "policies",
	"go.uber.org/goleak":                     "tests: goroutines that outlive their owner",
	"go.yaml.in/yaml/v3":                     "the file in which a repository says what becomes of its messages",
	"golang.org/x/text":                      "the same text in two compositions",
	"golang.org/x/time":                      "other computers: how much one of them may ask for in a second",
	"golang.org/x/sys":                       "terminals and processes, beyond package syscall",
	"modernc.org/sqlite":                     "the journal",
	"pgregory.net/rapid":                     "tests of properties",
}

func TestModule_requirements(t *testing.T) {
	mod := readMod(t, "../go.mod")
	assert.NotEmpty(t, mod.direct)
	for path := range mod.direct {
		assert.Contains(t, allowed, path, "go.mod requires a module that no line of the table in this test allows")
	}
	for path, why := range allowed {
		assert.Contains(t, mod.direct, path, "the table allows it (%s), and go.mod does not require it directly", why)
	}
	assert.NotContains(t, mod.verbs, "toolchain", "the Go of whoever builds it is used, and no other is downloaded")
	assert.NotContains(t, mod.verbs, "replace", "go install …@latest refuses a module that replaces others")
	assert.NotContains(t, mod.verbs, "exclude", "go install …@latest refuses a module that excludes others")
	assert.NotContains(t, mod.verbs, "tool", "tools are in .ci/tools.mod, so that nobody who imports the module gets them")
}

// modernc.org/sqlite is machine-made C that works only with the version of its C library that its own go.mod names.
// Upgrading everything breaks that silently.
func TestModule_libcIsTheDriversOwn(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.GoMod}}", "modernc.org/sqlite").Output()
	require.NoError(t, err)
	driver := readMod(t, strings.TrimSpace(string(out)))
	ours := readMod(t, "../go.mod")
	require.NotEmpty(t, driver.direct["modernc.org/libc"])
	assert.Equal(t, driver.direct["modernc.org/libc"], ours.indirect["modernc.org/libc"])
}

// Helpers of the tests.

// mod is the content of a go.mod: versions by module path, and the verbs that it uses.
type mod struct {
	direct, indirect map[string]string
	verbs            map[string]bool
}

func readMod(t *testing.T, file string) mod {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	m := mod{direct: map[string]string{}, indirect: map[string]string{}, verbs: map[string]bool{}}
	block := ""
	for line := range strings.Lines(string(text)) {
		code, comment, _ := strings.Cut(line, "//")
		words := strings.Fields(code)
		switch {
		case len(words) == 0:
			continue
		case words[0] == ")":
			block = ""
			continue
		case block != "":
			words = append([]string{block}, words...)
		case words[len(words)-1] == "(":
			block = words[0]
			m.verbs[block] = true
			continue
		}
		m.verbs[words[0]] = true
		if words[0] != "require" {
			continue
		}
		require.Len(t, words, 3, "%s: %q", file, line)
		if strings.TrimSpace(comment) == "indirect" {
			m.indirect[words[1]] = words[2]
		} else {
			m.direct[words[1]] = words[2]
		}
	}
	return m
}
