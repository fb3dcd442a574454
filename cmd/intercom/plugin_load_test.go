package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// checkout is the plugin, with as little of its sources as it needs, and a
// compiler that does what the test says.
type checkout struct {
	*stage
	gate string // the compiler goes on when this file is there
	runs string // a line for each run
}

func newBuild(t *testing.T, v tmuxtest.Version, version, script string) *checkout {
	t.Helper()
	st := newStage(t, v)
	st.Run("set-option", "-gu", "@intercom-bin")
	b := &checkout{stage: st, gate: filepath.Join(st.home, "gate"), runs: filepath.Join(st.home, "runs")}
	root := filepath.Join(st.home, "a plugin") // with a blank
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd"), 0o700))
	for _, name := range []string{"intercom.tmux", "go.mod", "tmux-plugin/load.sh", "tmux-plugin/program.sh", "tmux-plugin/fetch.sh", "tmux-plugin/release.txt", "tmux-plugin/notice.sh", "tmux-plugin/intercom-cli"} {
		data, err := os.ReadFile(filepath.Join(st.root, name))
		require.NoError(t, err)
		// No other compiler than that of the test.
		text := strings.NewReplacer("for dir in /usr/local/go/bin ", "for dir in ", " /usr/local/bin ", " ", " /snap/bin ", " ").Replace(string(data))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700))
		tmuxtest.Program(t, filepath.Join(root, name), text)
	}
	st.root = root
	if version != "" {
		script = "#!/bin/sh\n[ \"$1\" = env ] && { echo " + version + "; exit; }\necho run >>'" + b.runs + "'\n" + script
		tmuxtest.Program(t, filepath.Join(st.bin, "go"), script)
	}
	return b
}

// ends are the oldest and the newest tmux at hand; in a long run all of them.
func ends(t *testing.T, test func(t *testing.T, v tmuxtest.Version)) {
	t.Helper()
	all := tmuxtest.Versions(t)
	if os.Getenv("INTERCOM_LONG") == "" {
		all = slices.Compact([]tmuxtest.Version{all[0], all[len(all)-1]})
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) { test(t, v) })
	}
}

func TestU2_theBuildIsTold(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		b := newBuild(t, v, "go1.99.1", "")
		copyIt := "while [ ! -e '" + b.gate + "' ]; do sleep 0.05; done\nfor last; do [ \"$before\" != -o ] || out=$last; before=$last; done\ncp '" + thisProgram() + "' \"$out\"\n"
		data, err := os.ReadFile(filepath.Join(b.bin, "go"))
		require.NoError(t, err)
		tmuxtest.Program(t, filepath.Join(b.bin, "go"), string(append(data, copyIt...)))
		b.two()
		me := b.sit("base")

		// Twice at once, as TPM does it: one build.
		b.Run("run-shell", "'"+b.root+"/intercom.tmux'", ";", "run-shell", "'"+b.root+"/intercom.tmux'")
		me.sees("intercom: building in the background, about a minute the first time")
		me.press("C-b", "B", "m")
		me.sees("intercom: still building, about a minute the first time; log: ")
		require.NoError(t, os.WriteFile(b.gate, nil, 0o600))
		me.sees("intercom: built and ready; prefix + @ chats, prefix + B is the menu")
		b.load()
		runs, err := os.ReadFile(b.runs)
		require.NoError(t, err)
		assert.Equal(t, "run\n", string(runs), "builds")
		used := b.Run("show-options", "-gqv", usedOption)
		assert.Regexp(t, "^"+filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", `source-\d+`, "intercom")+"$", used)
		left, err := filepath.Glob(filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", "*"))
		require.NoError(t, err)
		assert.Len(t, left, 4, "the program, the log, and what runs it: %v", left)
		me.press("C-b", b.chatKey)
		me.sees("claude (1) ↔ codex (2): on")

		// Another revision is built anew, and its sidecar takes the place of the old one.
		require.NoError(t, os.WriteFile(filepath.Join(b.root, "cmd", "new.go"), []byte("package main\n"), 0o600))
		b.load()
		assert.NotEqual(t, used, b.Run("show-options", "-gqv", usedOption))
	})
}

func TestU2_whyThereIsNoProgram(t *testing.T) {
	t.Parallel()
	all := tmuxtest.Versions(t)
	v := all[len(all)-1]
	for _, c := range []struct{ name, version, script, want, next string }{
		{"a build that fails", "go1.99", "echo 'cmd/x.go:1: #(touch TRAP) %H broken' >&2\nexit 1\n", "intercom: the build failed: cmd/x.go:1: #(touch TRAP) %H broken; fix that (log: ", "then run: tmux run-shell "},
		{"an old Go", "go1.20.3", "", "intercom: building needs Go 1.26.0 or newer, and this is Go 1.20.3; install it (", "then run: tmux run-shell "},
		{"no Go", "", "", "intercom: building needs Go 1.26.0 or newer, and no Go was found; install it (", "then run: tmux run-shell "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBuild(t, v, c.version, c.script)
			mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
			require.NoError(t, err)
			for line := range strings.Lines(string(mod)) {
				if wanted, ok := strings.CutPrefix(line, "go "); ok {
					c.want = strings.ReplaceAll(c.want, "1.26.0", strings.TrimSpace(wanted))
				}
			}
			me := b.sit("base")
			me.resize(400, 30)
			me.press("C-l")
			b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
			me.sees(c.want)
			me.sees(c.next)
			assert.NoFileExists(t, filepath.Join(b.root, "TRAP"))
			out, code := b.intercom("doctor")
			assert.Equal(t, 1, code)
			assert.Contains(t, out, "the plugin has no program of its own revision: ")
			assert.Contains(t, out, strings.TrimPrefix(c.want[:40], "intercom: "))
			me.press("C-b", "B", "p")
			me.sees("intercom: " + strings.TrimPrefix(c.want, "intercom: ")[:30])
		})
	}
	t.Run("@intercom-bin", func(t *testing.T) {
		t.Parallel()
		st := newStage(t, v)
		st.Run("set-option", "-g", "@intercom-bin", "/bin/false")
		me := st.sit("base")
		st.Run("run-shell", st.root+"/intercom.tmux")
		me.sees("intercom: @intercom-bin (/bin/false) is not a program this plugin can use")
	})
}

func TestU2_oldTmux(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for version, old := range map[string]bool{
		"1.8": true, "2.9a": true, "3.0": true, "3.1c": true, "next-3.1": true,
		"3.2": false, "3.2a": false, "3.10": false, "10.0": false, "next-3.8": false, "master": false, "openbsd-7.8": false,
	} {
		bin := t.TempDir()
		calls := filepath.Join(bin, "calls")
		script := "#!/bin/sh\nprintf '%s\\n' \"$*\" >>" + calls + "\ncase $* in\n'display-message -p #{version}') echo " + version +
			" ;;\nlist-clients*) echo me ;;\n*source-file*) exit 1 ;;\nesac\n"
		tmuxtest.Program(t, filepath.Join(bin, "tmux"), script)
		cmd := exec.Command(filepath.Join(root, "tmux-plugin/load.sh"), root)
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + bin}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		told, err := os.ReadFile(calls)
		require.NoError(t, err)
		if !old {
			assert.Contains(t, string(told), "source-file -", "tmux %s", version)
			continue
		}
		assert.NotContains(t, string(told), "source-file", "tmux %s", version)
		assert.Contains(t, string(told), "-c me -- intercom needs tmux 3.2a or newer, and this server is "+version+": no keys bound")
		assert.Equal(t, 1, strings.Count(string(told), "display-message -d"), "one notice")
	}
}
