package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// buildPatience is how long a real build of this program may take with an empty build cache.
const buildPatience = 10 * time.Minute

// snapshot is a repository with the work tree, including uncommitted changes, as its only commit. The work tree's own index is
// not changed. A program built from it is built once.
type snapshot struct {
	dir    string // holds the repository as "acme/tmux-intercom"
	commit string
	data   string // XDG_DATA_HOME
	bin    string // the program that the plugin should use
}

func takeSnapshot(t *testing.T) (s snapshot) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	if out, err := exec.Command("git", "rev-parse", "--show-toplevel").CombinedOutput(); err != nil {
		t.Skipf("this is no git work tree: %s", out)
	}
	var err error
	s.dir, err = os.MkdirTemp("/tmp", "icgit")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(s.dir) })
	s.data = filepath.Join(s.dir, "data")
	out, err := exec.Command("sh", "-ec", `
		git init -q --bare -b main "$1/acme/tmux-intercom"
		objects=$(git rev-parse --path-format=absolute --git-path objects) index=$(git rev-parse --path-format=absolute --git-path index)
		cd "$(git rev-parse --show-toplevel)"
		export GIT_INDEX_FILE="$1/index" GIT_OBJECT_DIRECTORY="$1/acme/tmux-intercom/objects" GIT_ALTERNATE_OBJECT_DIRECTORIES="$objects"
		export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
		cp "$index" "$GIT_INDEX_FILE" # which knows what has not changed
		git add -A .
		commit=$(git commit-tree "$(git write-tree)" -m snapshot)
		echo "$objects" >"$1/acme/tmux-intercom/objects/info/alternates"
		git --git-dir="$1/acme/tmux-intercom" update-ref refs/heads/main "$commit"
		echo "$commit"`, "sh", s.dir).Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.NoError(t, err, "%s", failed.Stderr)
	}
	require.NoError(t, err)
	s.commit = strings.TrimSpace(string(out))
	s.bin = filepath.Join(s.data, "intercom", "bin", s.commit[:12]+"-"+thisMachine(t), "intercom")
	return s
}

// tpmUser is a user with a tmux, a Go with its module cache, a home, and no network.
type tpmUser struct {
	t       *testing.T
	version tmuxtest.Version
	snapshot
	home   string
	run    string
	socket string
	env    []string
	outer  *tmuxtest.Server
}

func newUser(t *testing.T, v tmuxtest.Version, s snapshot) *tpmUser {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	u := &tpmUser{t: t, version: v, snapshot: s, home: filepath.Join(dir, "home"), run: filepath.Join(dir, "run")}
	u.socket = filepath.Join(u.run, fmt.Sprintf("tmux-%d", os.Geteuid()), "default")
	bin := filepath.Join(dir, "bin")
	require.NoError(t, os.MkdirAll(filepath.Join(u.home, ".tmux", "plugins"), 0o700))
	require.NoError(t, os.MkdirAll(filepath.Dir(u.socket), 0o700))
	require.NoError(t, os.Mkdir(bin, 0o700))
	require.NoError(t, os.Symlink(v.Bin, filepath.Join(bin, "tmux"))) // TPM calls plain tmux
	goBin, err := exec.LookPath("go")
	require.NoError(t, err)
	paths, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE").Output()
	require.NoError(t, err)
	caches := strings.Fields(string(paths))
	u.env = []string{
		"HOME=" + u.home, "TMUX_TMPDIR=" + u.run, "XDG_RUNTIME_DIR=" + u.run, "XDG_DATA_HOME=" + u.data,
		"PATH=" + filepath.Join(u.home, ".local", "bin") + ":" + bin + ":" + filepath.Dir(goBin) + ":/usr/bin:/bin", "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOW_PROTOCOL=file", // proves that git fetches nothing from the network
		"GOPROXY=off", "GOTOOLCHAIN=local", "GOMODCACHE=" + caches[0], "GOCACHE=" + caches[1],
	}
	u.must("git", "config", "--global", "url.file://"+u.dir+"/.insteadOf", "https://git::@github.com/")
	u.must("git", "config", "--global", "safe.directory", "*")
	u.must("git", "config", "--global", "user.email", "t@t")
	u.must("git", "config", "--global", "user.name", "t")
	t.Cleanup(func() {
		if t.Failed() { // what a client was shown, and which keys were taken, is no longer on its screen
			for _, ask := range []string{"list-clients", "show-messages", "show-options -g"} {
				said, err := u.try("tmux", strings.Fields(ask)...)
				t.Logf("tmux %s: %v\n%s", ask, err, said)
			}
			logs, _ := filepath.Glob(filepath.Join(u.home, ".local", "state", "intercom", "*", "*.log"))
			for _, path := range logs {
				t.Logf("%s:\n%s", path, read(t, path))
			}
		}
		_, _ = u.try("tmux", "kill-server")
	})
	u.outer = tmuxtest.NewServer(t, v)
	return u
}

func (u *tpmUser) try(name string, args ...string) (string, error) {
	path := name
	if !strings.Contains(name, "/") {
		for _, pair := range u.env {
			if list, ok := strings.CutPrefix(pair, "PATH="); ok {
				for dir := range strings.SplitSeq(list, ":") {
					if _, err := os.Stat(filepath.Join(dir, name)); err == nil && path == name {
						path = filepath.Join(dir, name)
					}
				}
			}
		}
	}
	cmd := exec.Command(path, args...)
	cmd.Env = u.env
	cmd.Dir = u.home
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (u *tpmUser) must(name string, args ...string) string {
	u.t.Helper()
	out, err := u.try(name, args...)
	require.NoError(u.t, err, "%s %q: %s", name, args, out)
	return out
}

func (u *tpmUser) tmux(args ...string) string { u.t.Helper(); return u.must("tmux", args...) }

func (u *tpmUser) configure(lines ...string) {
	u.t.Helper()
	require.NoError(u.t, os.WriteFile(filepath.Join(u.home, ".tmux.conf"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// await waits until the plugin has a program other than before, and a sidecar.
func (u *tpmUser) await(before string) (program string) {
	u.t.Helper()
	for end := time.Now().Add(buildPatience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		program, _ = u.try("tmux", "show-options", "-gqv", usedOption)
		if program == "" || program == before {
			trouble, _ := u.try("tmux", "show-options", "-gqv", troubleOption)
			require.NotContains(u.t, trouble, "failed")
			continue
		}
		version, _ := u.try(program, "version")
		if u.status(program, strings.Fields(version)) {
			return program
		}
	}
	trouble, _ := u.try("tmux", "show-options", "-g")
	require.Fail(u.t, "the plugin never got its program and sidecar", "%s", trouble)
	return ""
}

// status reports whether the sidecar runs and has the version of that program.
func (u *tpmUser) status(program string, version []string) bool {
	out, err := u.try(program, "status", "--json", "--server="+u.socket)
	return err == nil && len(version) > 1 && strings.Contains(out, `"running":true`) && strings.Contains(out, `"version":"`+version[1]+`"`)
}

// sidecars are the processes that serve this user.
func (u *tpmUser) sidecars() (pids []int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err == nil && strings.Contains(string(line), "\x00sidecar\x00--server="+u.socket+"\x00") {
			var pid int
			_, _ = fmt.Sscan(filepath.Base(dir), &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

// sidecar is the only sidecar of this user.
func (u *tpmUser) sidecar() int {
	u.t.Helper()
	var pids []int
	// A process that is just being started looks like the one that starts it.
	tmuxtest.WaitFor(u.t, "one sidecar", func() bool { pids = u.sidecars(); return len(pids) == 1 })
	return pids[0]
}

// attach attaches a terminal for a person.
func (u *tpmUser) attach() string {
	u.t.Helper()
	words := []string{"new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "140", "-y", "34", "env", "-i"}
	pane := u.outer.Run(append(append(words, u.env...), u.version.Bin, "attach", "-t", "main")...)
	u.outer.WaitForText(pane, "[main]")
	return pane
}

// press presses keys one after the other, each as soon as the server has read the one before; see seat.press.
func (u *tpmUser) press(pane string, keys ...string) {
	u.t.Helper()
	for _, key := range keys {
		u.outer.Run("send-keys", "-t", pane, key)
		for range 2 {
			u.outer.Run("display-message", "-p", "")
			u.tmux("display-message", "-p", "")
		}
	}
}

// picks opens the menu and presses one of its keys.
func (u *tpmUser) picks(terminal, key string) {
	u.t.Helper()
	u.press(terminal, "C-b", "B")
	u.outer.WaitForText(terminal, "chat with")
	u.press(terminal, key)
}

// pauses stops everything by the menu. It looks for the answer in tmux's messages, because a waiting notice may replace it on the
// screen at once.
func (u *tpmUser) pauses(terminal string) {
	u.t.Helper()
	u.picks(terminal, "p")
	tmuxtest.WaitFor(u.t, "everything is stopped", func() bool { return strings.Contains(u.tmux("show-messages"), "message: everything is stopped") })
}

// installed checks everything that holds for an installed plugin, however it was installed.
func (u *tpmUser) installed(where string) (program, terminal string) {
	u.t.Helper()
	t := u.t
	assert.Equal(t, u.commit, u.must("git", "-C", where, "rev-parse", "HEAD"), "the revision")
	begun := time.Now()
	u.tmux("new-session", "-d", "-s", "main", "-x", "120", "-y", "30", "exec cat")
	t.Logf("tmux %s: configuration and plugins in %v", u.version.Name, time.Since(begun).Round(time.Millisecond))
	program = u.await("")
	assert.Equal(t, u.bin, program)
	assert.Contains(t, u.tmux("list-keys", "-N", "-T", "prefix"), "intercom: menu")
	pid := u.sidecar()
	own, err := syscall.Getpgid(pid)
	require.NoError(t, err)
	assert.Equal(t, pid, own, "a group of its own")
	for _, fd := range []string{"0", "1"} {
		to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, fd))
		require.NoError(t, err)
		assert.Equal(t, os.DevNull, to)
	}
	u.types(program)
	for range 3 {
		u.tmux("source-file", filepath.Join(u.home, ".tmux.conf"))
	}
	u.settle()
	assert.Equal(t, pid, u.sidecar(), "after three more loads")
	assert.Empty(t, u.must("git", "-C", where, "status", "--porcelain"), "nothing is written into the plugin's directory")

	terminal = u.attach()
	u.picks(terminal, "d")
	u.outer.WaitForText(terminal, "the plugin runs "+program)
	u.press(terminal, "q")
	st := &stage{run: u.run}
	tmuxtest.WaitFor(t, "the end of the popup", func() bool {
		popup := slices.ContainsFunc(st.processes(), func(p string) bool { return strings.Contains(p, " plugin ") })
		return !popup && !strings.Contains(u.outer.Run("capture-pane", "-p", "-t", terminal), "the plugin runs")
	})
	return program, terminal
}

// types types the command in a new login shell, in a window of its own, and checks that it is that program and finds the sidecar.
func (u *tpmUser) types(program string) {
	u.t.Helper()
	require.NoError(u.t, os.WriteFile(filepath.Join(u.home, ".profile"), []byte("PATH=\"$HOME/.local/bin:$PATH\"\n"), 0o600))
	told := filepath.Join(u.home, "told")
	_ = os.Remove(told)
	u.tmux("new-window", "-d", "sh -lc 'intercom version; intercom status' >"+told+" 2>&1; echo exit $? >>"+told)
	var text string
	tmuxtest.WaitFor(u.t, "what was typed", func() bool {
		data, _ := os.ReadFile(told)
		text = string(data)
		return strings.Contains(text, "exit ")
	})
	version := u.must(program, "version")
	assert.True(u.t, strings.HasPrefix(text, version+"\nsidecar "), "%s\nnot that of %s", text, version)
	assert.Contains(u.t, text, "exit 0")
	assert.NotContains(u.t, text, "replaces the sidecar")
}

// settle waits until no part of the plugin's loading runs any more.
func (u *tpmUser) settle() {
	u.t.Helper()
	st := &stage{run: u.run}
	tmuxtest.WaitFor(u.t, "the end of the loading", func() bool {
		for _, p := range st.processes() {
			// A notice waits until a client can show it.
			if (strings.Contains(p, "/tmux-plugin/") || strings.Contains(p, "plugin load")) && !strings.Contains(p, "notice.sh") {
				return false
			}
		}
		return true
	})
}

// leave closes TPM's output. tmux waits for more keys before it takes Escape as one.
func (u *tpmUser) leave(terminal string) {
	u.t.Helper()
	u.press(terminal, "Escape")
	tmuxtest.WaitFor(u.t, "the end of what TPM says", func() bool {
		return !strings.Contains(u.outer.Run("capture-pane", "-p", "-t", terminal), "Done, press")
	})
	u.settle()
}

func (u *tpmUser) gone() {
	u.t.Helper()
	u.settle()
	u.tmux("kill-server")
	tmuxtest.WaitFor(u.t, "the end of the sidecar with its server", func() bool { return len(u.sidecars()) == 0 })
}

// standIn is a minimal plugin manager: like TPM, it runs the .tmux files in the root of each plugin.
const standIn = `for f in ~/.tmux/plugins/*/*.tmux; do [ ! -x "$f" ] || "$f" >/dev/null 2>&1; done`

// A plain clone is enough to install the plugin. In a long run the plugin builds the program; otherwise it uses this one.
func TestU18_installedByAPlainClone(t *testing.T) {
	t.Parallel()
	s := takeSnapshot(t)
	own := ""
	if os.Getenv("INTERCOM_LONG") == "" {
		own = "set -g @intercom-bin " + thisProgram()
		s.bin = thisProgram()
	}
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		u := newUser(t, v, s)
		where := filepath.Join(u.home, ".tmux", "plugins", "tmux-intercom")
		u.must("git", "clone", "-q", "--single-branch", "https://git::@github.com/acme/tmux-intercom", where)
		u.configure(own, "run '"+standIn+"'")
		u.installed(where)
		u.gone()
	})
}

// TPM installs the plugin. In a long run the plugin builds the program and an update of it; otherwise it uses this one.
func TestU1_U18_installedByTPM(t *testing.T) {
	t.Parallel()
	source := os.Getenv("TPM_SRC")
	if source == "" {
		cache, err := os.UserCacheDir()
		require.NoError(t, err)
		source = filepath.Join(cache, "tmux-intercom", "tpm")
	}
	if _, err := os.Stat(source); err != nil {
		t.Skipf("TPM is not at hand: .ci/tpm fetches it to %s; or name a clone of it in $TPM_SRC", source)
	}
	all := tmuxtest.Turn(t, tmuxtest.Versions(t)...)
	long, own := os.Getenv("INTERCOM_LONG") != "", ""
	s := takeSnapshot(t)
	if !long {
		own, s.bin = "set -g @intercom-bin "+thisProgram(), thisProgram()
	}
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		u := newUser(t, v, s)
		plugins := filepath.Join(u.home, ".tmux", "plugins")
		tpm, where := filepath.Join(plugins, "tpm"), filepath.Join(plugins, "tmux-intercom")
		u.must("git", "clone", "-q", source, tpm)
		plugin, run := "set -g @plugin 'acme/tmux-intercom'", "run '~/.tmux/plugins/tpm/tpm'"
		u.configure(own, plugin, run)

		u.must(tpm + "/bin/install_plugins")
		assert.Contains(t, u.must(tpm+"/bin/install_plugins"), "Already installed")
		u.settle()
		program, terminal := u.installed(where)

		// By the keys of TPM: with the plugin installed, and with its directory removed.
		u.press(terminal, "C-b", "I")
		u.outer.WaitForText(terminal, "Done, press")
		u.leave(terminal)
		require.NoError(t, os.RemoveAll(where))
		u.press(terminal, "C-b", "I")
		tmuxtest.WaitFor(t, "the plugin by prefix + I", func() bool {
			_, err := os.Stat(filepath.Join(where, "intercom.tmux"))
			return err == nil
		})
		u.outer.WaitForText(terminal, "Done, press")
		u.leave(terminal)
		u.sidecar()
		u.pauses(terminal)

		if long && v == all[len(all)-1] { // the update is built
			work := filepath.Join(u.home, "work")
			u.must("git", "clone", "-q", filepath.Join(u.dir, "acme", "tmux-intercom"), work)
			u.must("git", "-C", work, "commit", "-q", "--allow-empty", "-m", "next")
			u.must("git", "-C", work, "push", "-q", "origin", "main")
			next := u.must("git", "-C", work, "rev-parse", "HEAD")
			u.must(tpm+"/bin/update_plugins", "all")
			assert.Equal(t, next, u.must("git", "-C", where, "rev-parse", "HEAD"))
			u.tmux("source-file", filepath.Join(u.home, ".tmux.conf"))
			assert.Equal(t, filepath.Join(u.data, "intercom", "bin", next[:12]+"-"+thisMachine(t), "intercom"), u.await(program))
			u.sidecar()
			u.settle()
			u.types(filepath.Join(u.data, "intercom", "bin", next[:12]+"-"+thisMachine(t), "intercom"))
		}
		u.gone()
		u.configure(run)
		u.must(tpm + "/bin/clean_plugins")
		assert.NoDirExists(t, where)
	})
}
