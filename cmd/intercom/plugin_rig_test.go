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

// stage is a person's tmux server in an environment of its own, with people at its terminals. Each terminal is a pane of another
// tmux server, so keys sent to it are true key presses, and its content is what a person sees.
type stage struct {
	*tmuxtest.Server                  // the person's
	outer            *tmuxtest.Server // has the terminals, once somebody sits down
	root             string           // the plugin's directory
	run              string           // the runtime directory
	home             string
	bin              string // first in PATH
	chatKey          string // the key that opens a chat
	first            int    // the server's process id, before any restart
	env              map[string]string
	t                testing.TB
}

// seat is a person's terminal.
type seat struct {
	*stage
	pane   string // in the outer server
	client string // its name in the person's tmux
}

// newStage starts a server without loading the plugin.
func newStage(t testing.TB, v tmuxtest.Version) *stage {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	dir, err := os.MkdirTemp("/tmp", "ic") // short, since the paths of sockets are limited
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	thisProgram()
	st := &stage{t: t, root: root, run: filepath.Join(dir, "run"), bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home"), chatKey: "@"}
	if v.AtLeast(3, 8) {
		st.chatKey = "V" // tmux itself binds @ there
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
	// Start with an empty journal: other tests cover the first journal.
	empty, err := journaltest.Empty()
	require.NoError(t, err)
	state := st.paths().State
	require.NoError(t, os.MkdirAll(state, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(state, journalFile), empty, 0o600))
	words := []string{
		"set-option", "-g", "@intercom-bin", thisProgram(), ";", "set-option", "-g", "window-size", "latest",
		// Keys that reach the server together, as they may on a busy machine, must not count as a paste.
		";", "set-option", "-g", "assume-paste-time", "0",
	}
	for _, name := range slices.Sorted(maps.Keys(st.env)) {
		// Set on the server for what it runs. With the test's own environment no two stages could run at once.
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

// profile sets the PATH of a login shell on the stage. Otherwise the shell would have that of the machine, where intercom may be
// installed.
func (st *stage) profile(path string) {
	st.t.Helper()
	require.NoError(st.t, os.WriteFile(filepath.Join(st.Dir, ".profile"), []byte("PATH=\""+path+"\"\n"), 0o600))
}

// transportOf is the transport of a test's sidecar to tmux. Every fourth test, and in a long run every one, uses the default; the
// others use the native one, which needs no process for each question and costs a third.
func transportOf(name string) string {
	if crc32.ChecksumIEEE([]byte(name))%4 == 0 || os.Getenv("INTERCOM_LONG") != "" {
		return "auto"
	}
	return "native"
}

// environ is the environment of the programs that the stage starts outside of its server.
func (st *stage) environ() (pairs []string) {
	for name, value := range st.env {
		pairs = append(pairs, name+"="+value)
	}
	return pairs
}

// awaitSidecars waits at the end of the test until all sidecars and guards have ended with their servers, and then ends what is
// left, such as a build.
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

// load loads the plugin as the configuration does, and waits until it is ready.
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

// statusSays waits until the status is one of those. Waits that began at the same moment may come in either order.
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

// resize gives the terminal another size, and waits until the client has it. A client whose process is late misses the change,
// because the server may draw before the process knows that it is attached. Then it is told again, but rarely: each signal closes
// an open menu.
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

// press presses keys one after the other, each as soon as the server has read the one before. The server would take keys that it
// reads at once for a paste, and a key that it reads together with the one that opens a menu would miss the menu.
func (s *seat) press(keys ...string) {
	s.t.Helper()
	for _, key := range keys {
		s.outer.Run("send-keys", "-t", s.pane, key)
		for range 2 { // a server answers after it has read earlier input
			s.outer.Run("display-message", "-p", "")
			s.Run("display-message", "-p", "")
		}
	}
}

// types types a line, a word at a time.
func (s *seat) types(line string) {
	s.t.Helper()
	for i, word := range strings.Fields(line) {
		if i > 0 {
			s.press("Space")
		}
		s.press(word)
	}
}

// menu opens the menu and presses the key of an entry.
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

// saw waits until the server has shown a message, even if another replaced it at once.
func (s *seat) saw(text string) {
	s.t.Helper()
	tmuxtest.WaitFor(s.t, "the message "+text, func() bool { return strings.Contains(s.Run("show-messages"), "message: "+text) })
}

// seesNot waits until text is gone from the screen and no popup is open, since keys that arrive while a popup closes are lost.
func (s *seat) seesNot(text string) {
	s.t.Helper()
	tmuxtest.WaitFor(s.t, "the end of "+text, func() bool {
		popup := slices.ContainsFunc(s.processes(), func(p string) bool { return strings.Contains(p, " plugin ") })
		shown := s.screen()
		// The program in a popup ends before tmux removes the popup with its frame.
		return !popup && !strings.Contains(shown, text) && !strings.Contains(shown, "┌")
	})
}

// agent starts a program that looks like that agent from outside, in a new window, or in the window of the pane beside if given.
// It records every byte that it reads.
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

// received is what the recorder's program has read.
func received(t testing.TB, r *tmuxtest.Recorder) string {
	t.Helper()
	data, err := os.ReadFile(r.File)
	require.NoError(t, err)
	return string(data)
}

// two opens a window with two agents and selects it.
func (st *stage) two() (claude, codex *tmuxtest.Recorder) {
	st.t.Helper()
	claude = st.agent("claude", "")
	codex = st.agent("codex", claude.Pane)
	st.Run("select-window", "-t", claude.Pane, ";", "select-pane", "-t", claude.Pane)
	return claude, codex
}

// intercom runs a command for this server from outside of it.
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

// status asks the sidecar for its status without a process.
func (st *stage) status() api.Status {
	st.t.Helper()
	return askOf(st, api.ShowStatus)
}

// askOf calls an operation of the sidecar that takes no arguments.
func askOf[R any](st *stage, op api.Op[api.None, R]) R {
	st.t.Helper()
	reply, err := api.Call(st.t.Context(), &api.Client{Socket: st.paths().Socket}, op, api.None{})
	require.NoError(st.t, err)
	return reply
}

// told are events of the sidecar's log, asked for without a process.
func (st *stage) told(q api.LogQuery) []message.Event {
	st.t.Helper()
	events, err := api.Call(st.t.Context(), &api.Client{Socket: st.paths().Socket}, api.Log, q)
	require.NoError(st.t, err)
	return events
}

// traces is everything of ours that can be seen in the server and beside it.
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

// processes are the processes of this program and of the plugin that belong to the stage.
func (st *stage) processes() (all []string) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	// A process with a lower number than the server's is older and cannot belong to the stage, unless numbers have wrapped since.
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
		env, err := os.ReadFile(filepath.Join(dir, "environ")) // reading this is the slowest step
		if err == nil && strings.Contains(string(env), "XDG_RUNTIME_DIR="+st.run+"\x00") {
			all = append(all, fmt.Sprint(filepath.Base(dir), " ", strings.Join(words, " ")))
		}
	}
	return all
}
