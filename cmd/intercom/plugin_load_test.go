package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// checkout is a stage with a copy of the plugin that has as few of its sources as it needs, and a compiler that is a script of
// the test.
type checkout struct {
	*stage
	gate string // a test's compiler may wait for this file
	runs string // the compiler writes a line here for each run
}

func newBuild(t *testing.T, v tmuxtest.Version, version, script string) *checkout {
	t.Helper()
	st := newStage(t, v)
	st.Run("set-option", "-gu", "@intercom-bin")
	b := &checkout{stage: st, gate: filepath.Join(st.home, "gate"), runs: filepath.Join(st.home, "runs")}
	root := filepath.Join(st.home, "a plugin") // with a blank in its path
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd"), 0o700))
	for _, name := range []string{"intercom.tmux", "go.mod", "tmux-plugin/load.sh", "tmux-plugin/program.sh", "tmux-plugin/fetch.sh", "tmux-plugin/release.txt", "tmux-plugin/notice.sh", "tmux-plugin/intercom-cli"} {
		data, err := os.ReadFile(filepath.Join(st.root, name))
		require.NoError(t, err)
		// No other compiler than that of the test can be found.
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

// ends runs test on the oldest and the newest tmux; in a long run on all of them.
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

		// The plugin runs twice at once, as with TPM, and builds once.
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
		assert.Regexp(t, "^"+filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", `source-\d+-`+thisMachine(t), "intercom")+"$", used)
		left, err := filepath.Glob(filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", "*"))
		require.NoError(t, err)
		assert.Len(t, left, 4, "the program, the log, and what runs it: %v", left)
		me.press("C-b", b.chatKey)
		me.sees("claude (1) ↔ codex (2): on")

		// Another revision is built anew.
		require.NoError(t, os.WriteFile(filepath.Join(b.root, "cmd", "new.go"), []byte("package main\n"), 0o600))
		b.load()
		assert.NotEqual(t, used, b.Run("show-options", "-gqv", usedOption))
	})
}

// If the plugin is uninstalled while it builds, it stays uninstalled when the build succeeds or fails.
func TestUninstall_whileThePluginBuilds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, end string }{
		{"it succeeds", buildsThis()},
		{"it fails", "exit 1\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
				gate := filepath.Join(t.TempDir(), "gate")
				b := newBuild(t, v, "go1.99.1", "while [ ! -e '"+gate+"' ]; do sleep 0.05; done\n"+c.end)
				loading := func() bool {
					return slices.ContainsFunc(b.processes(), func(p string) bool {
						return (strings.Contains(p, "tmux-plugin/") || strings.Contains(p, "plugin load")) && !strings.Contains(p, "notice.sh")
					})
				}
				b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
				tmuxtest.WaitFor(t, "the build", func() bool { _, err := os.Stat(b.runs); return err == nil })
				_, err := tmux.Clear(t.Context(), tmux.Options{Bin: v.Bin, Socket: b.Socket})
				require.NoError(t, err)
				require.True(t, loading())
				require.NoError(t, os.WriteFile(gate, nil, 0o600))
				tmuxtest.WaitFor(t, "the end of the loading", func() bool { return !loading() })
				b.Run("set-option", "-gqu", chatKeyOption) // the person's own option
				assert.NotContains(t, b.Run("show-options", "-g", ";", "show-options", "-s"), "@intercom-")
				sockets, err := filepath.Glob(filepath.Join(b.run, "intercom", "*"))
				require.NoError(t, err)
				assert.Empty(t, sockets, "of a sidecar")
			})
		})
	}
}

// buildsThis is the end of a compiler script that succeeds.
func buildsThis() string {
	return "for last; do [ \"$before\" != -o ] || out=$last; before=$last; done\ncp '" + thisProgram() + "' \"$out\"\n"
}

// Once the plugin is loaded again after an uninstall, commands start a sidecar, even while a program is still being built for the
// keys.
func TestUninstall_andLoadedAgain(t *testing.T) {
	t.Parallel()
	gate := filepath.Join(t.TempDir(), "gate")
	b := newBuild(t, tmuxtest.Versions(t)[0], "go1.99.1", "while [ ! -e '"+gate+"' ]; do sleep 0.05; done\n"+buildsThis())
	b.stage.runs("up")
	b.stage.runs("uninstall")
	assert.NotContains(t, b.Run("show-options", "-g"), rootOption)
	out, code := b.intercom("inbox", "list")
	require.Equal(t, 3, code, out)
	b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
	tmuxtest.WaitFor(t, "the build", func() bool { _, err := os.Stat(b.runs); return err == nil })
	out, code = b.intercom("inbox", "list")
	assert.Zero(t, code, out)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	tmuxtest.WaitFor(t, "the end of the loading", func() bool {
		return !slices.ContainsFunc(b.processes(), func(p string) bool { return strings.Contains(p, "tmux-plugin/") })
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
			var out string
			var code int
			tmuxtest.WaitFor(t, "a tmux that answers in time", func() bool {
				out, code = b.intercom("doctor")
				return !strings.Contains(out, "does not answer")
			})
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

// thisMachine is the suffix of programs in the plugin's store that run on this machine.
func thisMachine(t *testing.T) string {
	t.Helper()
	var name unix.Utsname
	require.NoError(t, unix.Uname(&name))
	return unix.ByteSliceToString(name.Sysname[:]) + "-" + unix.ByteSliceToString(name.Machine[:])
}

// asking is program.sh in a copy of the plugin, with a tmux that has those options, and those programs first in PATH.
func asking(t *testing.T, options map[string]string, programs map[string]string) (root, bin string, run func() (string, error)) {
	t.Helper()
	whole, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir := t.TempDir()
	root, bin = filepath.Join(dir, "root"), filepath.Join(dir, "bin")
	for _, one := range []string{filepath.Join(root, "tmux-plugin"), bin} {
		require.NoError(t, os.MkdirAll(one, 0o700))
	}
	for _, one := range []string{"go.mod", "tmux-plugin/program.sh", "tmux-plugin/notice.sh", "tmux-plugin/release.txt"} {
		tmuxtest.Program(t, filepath.Join(root, one), read(t, filepath.Join(whole, one)))
	}
	script := "#!/bin/sh\ncase $* in\nlist-clients*) exit 1 ;;\n"
	for name, value := range options {
		script += "*show-options*" + name + ") echo '" + value + "' ;;\n"
	}
	tmuxtest.Program(t, filepath.Join(bin, "tmux"), script+"esac\n")
	for name, script := range programs {
		tmuxtest.Program(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n")
	}
	return root, bin, func() (string, error) {
		cmd := exec.Command(filepath.Join(root, "tmux-plugin", "program.sh"), root)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir, "XDG_DATA_HOME=" + dir}
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
}

// sourceKey is the name in the plugin's store of what is built from the sources in root without git.
func sourceKey(t *testing.T, root string) string {
	t.Helper()
	sum, err := exec.Command("sh", "-c", `cd "$1" && eval "$(sed -n '/^sum() {$/,/^}$/p' tmux-plugin/program.sh)" && sum .`, "sh", root).Output()
	require.NoError(t, err)
	return "source-" + strings.TrimSpace(string(sum)) + "-" + thisMachine(t)
}

// builds is a compiler whose program can do what the plugin asks.
const builds = "case $1 in env) echo go9.9; exit ;; esac\nfor last; do [ \"$before\" != -o ] || out=$last; before=$last; done\nprintf '#!/bin/sh\\n' >\"$out\"\nchmod +x \"$out\"\n"

// A program in PATH serves the plugin if it has the same revision, however many digits of it git showed. A program of another
// revision is not used.
func TestPlugin_aProgramInPATH(t *testing.T) {
	t.Parallel()
	root, bin, run := asking(t, map[string]string{"@intercom-root": "set"}, map[string]string{"go": builds})
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd", "intercom"), 0o700))
	git := func(words ...string) string {
		cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.email=t@t", "-c", "user.name=t"}, words...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "one")
	head := git("rev-parse", "HEAD")
	git("tag", "v0.0.1")
	store := filepath.Join(filepath.Dir(root), "intercom", "bin", head[:12]+"-"+thisMachine(t), "intercom")
	for version, used := range map[string]bool{
		"v0.0.1": true, head[:7]: true, head[:9]: true, head: true, "v0.0.0-5-g" + head[:8]: true, "v0.0.0-20261124043800-" + head[:12]: true,
		head[:9] + "-dirty": false, "0000000": false, "v9.9.9": false, "devel": false, head[:5]: false,
	} {
		tmuxtest.Program(t, filepath.Join(bin, "intercom"), "#!/bin/sh\n[ \"$1\" != version ] || echo 'intercom "+version+" (go9.9, linux/amd64)'\n")
		require.NoError(t, os.RemoveAll(filepath.Dir(store)))
		out, err := run()
		require.NoError(t, err, version)
		if used {
			assert.Equal(t, filepath.Join(bin, "intercom"), out, version)
		} else {
			assert.Equal(t, store, out, version)
		}
	}
	// A change in the checkout makes it another revision.
	require.NoError(t, os.WriteFile(filepath.Join(root, "cmd", "intercom", "new.go"), []byte("package main\n"), 0o600))
	tmuxtest.Program(t, filepath.Join(bin, "intercom"), "#!/bin/sh\necho 'intercom "+head[:7]+" (go9.9, linux/amd64)'\n")
	out, err := run()
	require.NoError(t, err)
	assert.Contains(t, out, "/intercom/bin/"+head[:12]+"-")
}

func TestPlugin_aProgramInPATHOfAnotherRevisionIsNamed(t *testing.T) {
	t.Parallel()
	ends(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		b := newBuild(t, v, "go1.99.1", "for last; do [ \"$before\" != -o ] || out=$last; before=$last; done\ncp '"+thisProgram()+"' \"$out\"\n")
		mine := filepath.Join(b.bin, "intercom")
		tmuxtest.Program(t, mine, "#!/bin/sh\necho 'intercom 0000000 (go1.99, linux/amd64)'\n")
		me := b.sit("base")
		me.resize(400, 30)
		me.press("C-l")
		b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
		tmuxtest.WaitFor(t, "a program", func() bool { return b.Run("show-options", "-gqv", usedOption) != "" })
		assert.NotEqual(t, mine, b.Run("show-options", "-gqv", usedOption))
		tmuxtest.WaitFor(t, "what it says", func() bool {
			return strings.Contains(b.Run("show-messages"), "building in the background, about a minute the first time; "+mine+" is another revision, 0000000, which @intercom-bin would have used")
		})
	})
}

// When a builder was killed, the keys and the doctor say so at once: they look for its process instead of waiting some time.
func TestPlugin_aBuilderThatWasKilled(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		gate := filepath.Join(t.TempDir(), "gate")
		b := newBuild(t, v, "go1.99.1", "while [ ! -e '"+gate+"' ]; do sleep 0.05; done\nfor last; do [ \"$before\" != -o ] || out=$last; before=$last; done\ncp '"+thisProgram()+"' \"$out\"\n")
		t.Cleanup(func() { _ = os.WriteFile(gate, nil, 0o600) })
		me := b.sit("base")
		b.Run("run-shell", "'"+b.root+"/intercom.tmux'")
		tmuxtest.WaitFor(t, "the build", func() bool { _, err := os.Stat(b.runs); return err == nil })
		me.press("C-b", "B", "m")
		me.sees("intercom: still building, about a minute the first time")
		var pid int
		_, err := fmt.Sscanf(b.Run("show-options", "-gqv", builderOption), "%d-", &pid)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
		tmuxtest.WaitFor(t, "its end", func() bool { return syscall.Kill(pid, 0) != nil })
		me.press("C-b", "B", "m")
		me.sees("intercom: the build or download of the program was interrupted; run: tmux run-shell " + b.root)
		out, code := b.intercom("doctor")
		assert.Equal(t, 1, code)
		assert.Contains(t, out, "its build or download was interrupted")

		require.NoError(t, os.WriteFile(gate, nil, 0o600))
		b.load()
		assert.Empty(t, b.Run("show-options", "-gqv", builderOption))
		assert.Empty(t, b.Run("show-options", "-gqv", troubleOption))
	})
}

// A lock counts only while its holder's process lives: a number that now belongs to another process does not count.
func TestPlugin_theLockIsThatOfAProcess(t *testing.T) {
	t.Parallel()
	began, err := process.Start(os.Getpid())
	require.NoError(t, err)
	for name, c := range map[string]struct {
		holder string
		waits  bool
	}{
		"a process of that number that began later": {fmt.Sprint(os.Getpid(), "-1"), false},
		"no process of that number":                 {"999999999-1", false},
		"one that is there":                         {fmt.Sprint(os.Getpid(), "-", began), true},
		"one that could not tell when it began":     {fmt.Sprint(os.Getpid(), "-"), true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			waited := filepath.Join(dir, "waited")
			root, _, run := asking(t, map[string]string{"@intercom-root": "set"}, map[string]string{
				"go": builds, "sleep": `echo x >>"` + waited + `"; [ "$(wc -l <"` + waited + `")" -lt 20 ] || rm -f "$HOME"/intercom/bin/*.lock`,
			})
			require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd", "intercom"), 0o700))
			store := filepath.Join(filepath.Dir(root), "intercom", "bin")
			require.NoError(t, os.MkdirAll(store, 0o700))
			key := sourceKey(t, root)
			require.NoError(t, os.Symlink(c.holder, filepath.Join(store, key+".lock")))
			out, err := run()
			require.NoError(t, err, out)
			assert.Equal(t, filepath.Join(store, key, "intercom"), out)
			assert.Equal(t, c.waits, exists(waited))
			left, err := filepath.Glob(filepath.Join(store, "*.lock*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// @intercom-bin may name a program in PATH; the keys call it by its path.
func TestPlugin_aProgramByItsName(t *testing.T) {
	t.Parallel()
	for given, found := range map[string]bool{"mine": true, "nosuch": false, "./root/mine": false, "exit": false} {
		root, bin, run := asking(t, map[string]string{"@intercom-bin": given}, map[string]string{"mine": `[ "$*" = "plugin check" ]`})
		tmuxtest.Program(t, filepath.Join(root, "mine"), "#!/bin/sh\n")
		out, err := run()
		if !found {
			assert.EqualError(t, err, "exit status 1", "%s: %s", given, out)
			assert.Empty(t, out, given)
			continue
		}
		require.NoError(t, err, given)
		assert.Equal(t, filepath.Join(bin, given), out)
	}
}

// In a home that two systems share, the program of one is not used on the other.
func TestPlugin_aHomeOfTwoSystems(t *testing.T) {
	t.Parallel()
	root, bin, run := asking(t, map[string]string{"@intercom-root": "set"}, map[string]string{
		"go":    builds,
		"uname": `case $1 in -s) echo Linux ;; *) cat "${0%/*}/machine" ;; esac`,
	})
	require.NoError(t, os.MkdirAll(filepath.Join(root, "cmd", "intercom"), 0o700))
	of := func(machine string) string {
		require.NoError(t, os.WriteFile(filepath.Join(bin, "machine"), []byte(machine+"\n"), 0o600))
		out, err := run()
		require.NoError(t, err, out)
		assert.Regexp(t, `/intercom/bin/source-\d+-Linux-`+machine+`/intercom$`, out)
		return out
	}
	one, other := of("x86_64"), of("aarch64")
	assert.NotEqual(t, one, other)
	assert.Equal(t, one, of("x86_64"), "it is there")
}

// If the plugin's store cannot be written, for whatever reason, the person is told, and the plugin does not wait.
func TestPlugin_aStoreThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	whole, err := filepath.Abs("../..")
	require.NoError(t, err)
	for name, c := range map[string]struct{ lock, ln, mkdir, sleep, mv string }{
		"nothing can be made there":     {ln: "exit 1", mkdir: `[ "$1" = -p ] && exec /bin/mkdir "$@"; exit 1`, sleep: "kill $PPID"},
		"what was left cannot be moved": {lock: "999999999-1", ln: `exec /bin/ln "$@"`, mkdir: `exec /bin/mkdir "$@"`, mv: `[ ! -e "$0.ran" ] || kill $PPID; : >"$0.ran"; exit 1`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			root, bin := filepath.Join(dir, "root"), filepath.Join(dir, "bin")
			calls, store := filepath.Join(dir, "calls"), filepath.Join(dir, "intercom", "bin")
			for _, one := range []string{filepath.Join(root, "tmux-plugin"), bin, store} {
				require.NoError(t, os.MkdirAll(one, 0o700))
			}
			for _, one := range []string{"go.mod", "tmux-plugin/program.sh", "tmux-plugin/notice.sh", "tmux-plugin/release.txt"} {
				tmuxtest.Program(t, filepath.Join(root, one), read(t, filepath.Join(whole, one)))
			}
			// The real notice would run on in the background, and the real Go would write files of its own: either might outlive
			// the test's directory.
			tmuxtest.Program(t, filepath.Join(bin, "tmux"), "#!/bin/sh\ncase $* in list-clients*) exit 1 ;; esac\nprintf '%s\\n' \"$*\" >>"+calls+"\n")
			tmuxtest.Program(t, filepath.Join(bin, "go"), "#!/bin/sh\necho go9.9\n")
			for program, script := range map[string]string{"ln": c.ln, "mkdir": c.mkdir, "sleep": c.sleep, "mv": c.mv} {
				tmuxtest.Program(t, filepath.Join(bin, program), "#!/bin/sh\n"+script+"\n")
			}
			if c.lock != "" {
				require.NoError(t, os.Symlink(c.lock, filepath.Join(store, sourceKey(t, root)+".lock")))
			}
			cmd := exec.Command(filepath.Join(root, "tmux-plugin/program.sh"), root)
			cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + dir, "XDG_DATA_HOME=" + dir}
			out, err := cmd.CombinedOutput()
			assert.EqualError(t, err, "exit status 1", "%s", out)
			assert.Contains(t, read(t, calls), "set-option -g @intercom-trouble cannot write "+store+"; make it writable, then run: tmux run-shell "+root)
		})
	}
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
		assert.Equal(t, 1, strings.Count(string(told), "display-message -C -d"), "one notice")
	}
}

// If tmux has no messages that let the panes go on, a script's notice is shown only briefly.
func TestNotice_isShortWherePanesStandStill(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	const shown = "display-message -C -d 8000 -c me -- it works\n"
	for refused, want := range map[string]string{"none": shown, "display-message?-C*": shown + "display-message -d 2000 -c me -- it works\n"} {
		bin := t.TempDir()
		calls := filepath.Join(bin, "calls")
		tmuxtest.Program(t, filepath.Join(bin, "tmux"), "#!/bin/sh\nprintf '%s\\n' \"$*\" >>"+calls+"\ncase $* in\n"+refused+") exit 1 ;;\nesac\n")
		cmd := exec.Command(filepath.Join(root, "tmux-plugin/notice.sh"), "it works", "me", "8")
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin"}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		told, err := os.ReadFile(calls)
		require.NoError(t, err)
		assert.Equal(t, want, string(told))
	}
}
