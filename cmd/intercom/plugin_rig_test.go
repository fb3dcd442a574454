package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// stage is a person's tmux with the plugin, in a world of its own, and people at its
// terminals: each sits in a pane of another tmux server, so that what is typed there are
// true key presses and what is seen there is what a person sees.
type stage struct {
	*tmuxtest.Server                  // the person's
	outer            *tmuxtest.Server // has the terminals, once somebody sits down
	root             string           // of the plugin
	run              string           // the runtime directory
	home             string
	bin              string // first in PATH
	chatKey          string // that opens a chat
	first            int    // the server's process, before any restart
	env              map[string]string
	t                testing.TB
}

// seat is one of the terminals.
type seat struct {
	*stage
	pane   string // of the outer server
	client string // how the person's tmux calls it
}

// newStage starts a server without the plugin.
func newStage(t testing.TB, v tmuxtest.Version) *stage {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "ic") // short: there are sockets below it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	thisProgram()
	st := &stage{t: t, root: root, run: filepath.Join(dir, "run"), bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home"), chatKey: "@"}
	if v.AtLeast(3, 8) {
		st.chatKey = "V" // there tmux itself has @
	}
	for _, d := range []string{st.run, st.bin, st.home} {
		require.NoError(t, os.Mkdir(d, 0o700))
	}
	require.NoError(t, os.Symlink(v.Bin, filepath.Join(st.bin, "tmux")))
	st.env = map[string]string{
		"PATH": st.bin + ":/usr/bin:/bin", "XDG_RUNTIME_DIR": st.run, "XDG_STATE_HOME": filepath.Join(dir, "state"),
		"XDG_DATA_HOME": filepath.Join(dir, "data"), "XDG_CONFIG_HOME": filepath.Join(dir, "config"), "INTERCOM_SERVER": "",
		"TMUX": "", "TMUX_PANE": "", "TERM": "xterm-256color", "LANG": "C.UTF-8", "LC_ALL": "", "INTERCOM_TRANSPORT": transportOf(t.Name()),
	}
	t.Cleanup(st.awaitSidecars)
	st.Server = tmuxtest.NewServer(t, v)
	st.first = st.PID
	st.env["HOME"] = st.Dir
	st.profile(st.env["PATH"])
	// What makes its first journal are worlds and people with TPM.
	empty, err := journaltest.Empty()
	require.NoError(t, err)
	state := st.paths().State
	require.NoError(t, os.MkdirAll(state, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(state, journalFile), empty, 0o600))
	words := []string{
		"set-option", "-g", "@intercom-bin", thisProgram(), ";", "set-option", "-g", "window-size", "latest",
		// Keys that come to the server together, as they may on a busy machine, are keys all the same.
		";", "set-option", "-g", "assume-paste-time", "0",
	}
	for _, name := range slices.Sorted(maps.Keys(st.env)) {
		// What the server runs gets it; by the test's own environment stages could not be
		// several at once.
		if name != "TMUX" && name != "TMUX_PANE" {
			words = append(words, ";", "set-environment", "-g", name, st.env[name])
		}
	}
	st.Run(words...)
	if st.chatKey != "@" {
		st.Run("set-option", "-g", chatKeyOption, st.chatKey)
	}
	return st
}

// profile is what a login shell of the stage has as its PATH: without it that of the machine, where intercom may be installed.
func (st *stage) profile(path string) {
	st.t.Helper()
	require.NoError(st.t, os.WriteFile(filepath.Join(st.Dir, ".profile"), []byte("PATH=\""+path+"\"\n"), 0o600))
}

// transportOf is how the sidecar of a test speaks to tmux: every fourth as a person's does by itself, and
// all of them in a long run; the others without a process for each question, which costs a third of that.
func transportOf(name string) string {
	if crc32.ChecksumIEEE([]byte(name))%4 == 0 || os.Getenv("INTERCOM_LONG") != "" {
		return "auto"
	}
	return "native"
}

// environ is the environment of what the stage starts beside its server.
func (st *stage) environ() (pairs []string) {
	for name, value := range st.env {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}

// awaitSidecars waits at the end until those sidecars have ended whose servers have, and ends
// what else there may be: a build goes on without its server.
func (st *stage) awaitSidecars() {
	defer func() {
		for _, p := range st.processes() {
			var pid int
			if _, err := fmt.Sscan(p, &pid); err == nil {
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
	}()
	locks, _ := filepath.Glob(filepath.Join(st.run, "intercom", "*.lock"))
	guards, _ := filepath.Glob(filepath.Join(st.run, "intercom", "*.guard"))
	for _, lock := range append(locks, guards...) {
		ctx, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
		if err := api.WaitReleased(ctx, lock); err != nil {
			st.t.Errorf("a sidecar, or its guard, outlives its server: %v", err)
		}
		cancel()
	}
}

// load loads the plugin, as the configuration does, and waits until it is there.
func (st *stage) load() {
	st.t.Helper()
	st.Run("set-option", "-gqu", canOption, ";", "set-option", "-gqu", usedOption)
	st.Run("run-shell", "'"+st.root+"/intercom.tmux'")
	tmuxtest.WaitFor(st.t, "the plugin and its sidecar", func() bool {
		out, err := st.Try("show-options", "-gqv", usedOption, ";", "show-options", "-sqv", "@intercom-socket")
		return err == nil && strings.Count(out, "\n") == 1 && !strings.Contains(out, "\n\n")
	})
	tmuxtest.WaitFor(st.t, "the end of the loading", func() bool {
		return !slices.ContainsFunc(st.processes(), func(p string) bool { return strings.Contains(p, "tmux-plugin/") || strings.Contains(p, "plugin load") })
	})
}

// statusSays waits until the status is that.
// Who waits since the same moment may stand in either order.
func (st *stage) statusSays(want ...string) {
	st.t.Helper()
	says := ""
	defer func() {
		if !slices.Contains(want, says) {
			st.t.Logf("the status is %q", says)
		}
	}()
	tmuxtest.WaitFor(st.t, "the status "+strings.Join(want, ", or "), func() bool {
		says = st.Run("show-options", "-sqv", "@intercom-status")
		return slices.Contains(want, says)
	})
}

// sit attaches a person's terminal to a session of the server.
func (st *stage) sit(session string) *seat {
	st.t.Helper()
	if st.outer == nil {
		st.outer = tmuxtest.NewServer(st.t, st.Version)
	}
	pane := st.outer.Run("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "139", "-y", "30", "sh", "-c", `TMUX= exec "$1" -u -S "$2" attach -t "$3"`, "sh", st.Version.Bin, st.Socket, session)
	st.outer.WaitForText(pane, "["+session+"]")
	tty := st.outer.Fact(pane, "#{pane_tty}")
	var client string
	tmuxtest.WaitFor(st.t, "the client", func() bool {
		for line := range strings.Lines(st.Run("list-clients", "-F", "#{client_tty} #{client_name}")) {
			if at, name, _ := strings.Cut(strings.TrimSpace(line), " "); at == tty {
				client = name
			}
		}
		return client != ""
	})
	me := &seat{st, pane, client}
	st.t.Cleanup(func() {
		if st.t.Failed() {
			told, _ := st.Try("show-messages")
			st.t.Logf("the server has shown:\n%s", told)
		}
	})
	me.resize(140, 30)
	return me
}

// resize gives the terminal another size, and waits until the client has taken it. A client's process that
// is late takes no note of it: the server draws before that knows that it is attached. Then it is told once more,
// but no sooner than it must be: each time that it is told closes what menu is open by then.
func (s *seat) resize(columns, rows int) {
	s.t.Helper()
	s.outer.Run("resize-window", "-t", s.pane, "-x", fmt.Sprint(columns), "-y", fmt.Sprint(rows))
	patience := time.Second
	told := time.Now()
	tmuxtest.WaitFor(s.t, "the size of the client", func() bool {
		var pid, width, height int
		_, err := fmt.Sscan(s.Run("display-message", "-p", "-c", s.client, "#{client_pid} #{client_width} #{client_height}"), &pid, &width, &height)
		taken := width == columns && height == rows
		if err == nil && !taken && time.Since(told) > patience {
			_ = syscall.Kill(pid, syscall.SIGWINCH)
			told, patience = time.Now(), 4*patience
		}
		return taken
	})
}

// press presses keys one after the other, each as soon as the server has read the one before:
// those that it reads at once, it takes for a paste, and a key that it reads together with
// the one that opens a menu goes past that menu.
func (s *seat) press(keys ...string) {
	s.t.Helper()
	for _, key := range keys {
		s.outer.Run("send-keys", "-t", s.pane, key)
		for range 2 { // a server answers after it has read what came before
			s.outer.Run("display-message", "-p", "")
			s.Run("display-message", "-p", "")
		}
	}
}

// types presses the keys of a line, a word at a time.
func (s *seat) types(line string) {
	s.t.Helper()
	for i, word := range strings.Fields(line) {
		if i > 0 {
			s.press("Space")
		}
		s.press(word)
	}
}

// menu opens the menu and takes an entry of it.
func (s *seat) menu(key string) {
	s.t.Helper()
	s.press("C-b", "B")
	s.sees("stop the chat")
	s.press(key)
}

// screen is what the person sees.
func (s *seat) screen() string {
	s.t.Helper()
	return s.outer.Run("capture-pane", "-p", "-t", s.pane)
}

// sees waits until the person sees text.
func (s *seat) sees(text string) { s.t.Helper(); s.outer.WaitForText(s.pane, text) }

// saw waits until a message has been shown, also one that another took the place of at once, by what the server remembers.
func (s *seat) saw(text string) {
	s.t.Helper()
	tmuxtest.WaitFor(s.t, "the message "+text, func() bool { return strings.Contains(s.Run("show-messages"), "message: "+text) })
}

// seesNot waits until the person does not see text any more, and no popup is open: what is
// typed while one closes is lost in it.
func (s *seat) seesNot(text string) {
	s.t.Helper()
	tmuxtest.WaitFor(s.t, "the end of "+text, func() bool {
		popup := slices.ContainsFunc(s.processes(), func(p string) bool { return strings.Contains(p, " plugin ") })
		shown := s.screen()
		// The program in a popup ends before tmux takes the popup away, and its frame with it.
		return !popup && !strings.Contains(shown, text) && !strings.Contains(shown, "┌")
	})
}

// agent is a program that looks from outside like that agent, in a new window or, where
// beside says so, in the window of that pane. It writes down every byte that it reads.
func (st *stage) agent(name, beside string) *tmuxtest.Recorder {
	st.t.Helper()
	path := filepath.Join(st.home, name)
	script := "#!/bin/sh\nstty raw -echo\nprintf '\\033[?2004hready'\ncat >>\"$1\"\n"
	tmuxtest.Program(st.t, path, script)
	f, err := os.CreateTemp(st.home, "bytes")
	require.NoError(st.t, err)
	require.NoError(st.t, f.Close())
	words := []string{"new-window", "-d", "-P", "-F", "#{pane_id}", "-t", "base:"}
	if beside != "" {
		words = []string{"split-window", "-d", "-P", "-F", "#{pane_id}", "-t", beside}
	}
	pane := st.Run(append(words, path, f.Name())...)
	st.WaitForText(pane, "ready")
	return &tmuxtest.Recorder{Pane: pane, File: f.Name()}
}

// received is what the program of a recorder has read.
func received(t testing.TB, r *tmuxtest.Recorder) string {
	t.Helper()
	data, err := os.ReadFile(r.File)
	require.NoError(t, err)
	return string(data)
}

// two is a window of two agents, which is the current one of the session.
func (st *stage) two() (claude, codex *tmuxtest.Recorder) {
	st.t.Helper()
	claude = st.agent("claude", "")
	codex = st.agent("codex", claude.Pane)
	st.Run("select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
	return claude, codex
}

// intercom runs a command for this server, from outside of it.
func (st *stage) intercom(args ...string) (string, int) {
	st.t.Helper()
	cmd := exec.Command(thisProgram(), append(args, "--server="+st.Socket)...)
	cmd.Env = st.environ()
	out, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		require.NoError(st.t, err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// status asks the sidecar how it is, as the command does, in this process.
func (st *stage) status() api.Status {
	st.t.Helper()
	return askOf(st, api.ShowStatus)
}

// askOf has the sidecar answer what asks nothing in particular.
func askOf[R any](st *stage, op api.Op[api.None, R]) R {
	st.t.Helper()
	reply, err := api.Call(st.t.Context(), &api.Client{Socket: st.paths().Socket}, op, api.None{})
	require.NoError(st.t, err)
	return reply
}

// told is what the sidecar has in its log, which costs no process.
func (st *stage) told(q api.LogQuery) []message.Event {
	st.t.Helper()
	events, err := api.Call(st.t.Context(), &api.Client{Socket: st.paths().Socket}, api.Log, q)
	require.NoError(st.t, err)
	return events
}

// traces is all that can be seen of us in a server and beside it.
func (st *stage) traces() map[string]string {
	st.t.Helper()
	seen := map[string]string{}
	for _, what := range []string{
		"list-keys", "show-options -s", "show-options -g", "show-options -gw", "show-environment -g", "show-environment -gh", "show-hooks -g", "show-hooks -gw", "list-buffers",
	} {
		seen[what] = st.Run(strings.Fields(what)...)
	}
	for _, session := range strings.Fields(st.Run("list-sessions", "-F", "#{session_id}")) {
		seen["session "+session] = st.Run("show-options", "-t", session, ";", "show-environment", "-t", session, ";", "show-hooks", "-t", session)
	}
	for _, pane := range strings.Fields(st.Run("list-panes", "-a", "-F", "#{pane_id}")) {
		seen["pane "+pane] = st.Run("show-options", "-p", "-t", pane, ";", "show-options", "-w", "-t", pane)
	}
	sockets, err := filepath.Glob(filepath.Join(st.run, "intercom", "*.sock"))
	require.NoError(st.t, err)
	seen["sockets"] = strings.Join(sockets, "\n")
	seen["processes"] = strings.Join(st.processes(), "\n")
	return seen
}

// processes are those of this program that belong to the stage.
func (st *stage) processes() (all []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	// What is older than the server is none of it, unless numbers have begun anew since: a machine has many processes.
	newest := 0
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fields := strings.Fields(string(load))
		newest, _ = strconv.Atoi(fields[len(fields)-1])
	}
	for _, dir := range dirs {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil && pid < st.first && st.first <= newest {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
		words := strings.Split(strings.TrimRight(string(line), "\x00"), "\x00")
		ours := func(w string) bool { return strings.Contains(w, "/tmux-plugin/") }
		if filepath.Base(words[0]) != "intercom" && !slices.ContainsFunc(words, ours) {
			continue
		}
		env, err := os.ReadFile(filepath.Join(dir, "environ")) // costs most of this, and other processes have much of it
		if err == nil && strings.Contains(string(env), "XDG_RUNTIME_DIR="+st.run+"\x00") {
			all = append(all, fmt.Sprint(filepath.Base(dir), " ", strings.Join(words, " ")))
		}
	}
	return all
}
