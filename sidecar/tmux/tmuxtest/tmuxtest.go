// Package tmuxtest gives tests private tmux servers, of every version at hand. A Server belongs to
// one test and ends with it. The package touches no server that existed before. Helpers fail the
// test themselves.
package tmuxtest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/native"
)

// Patience is how long WaitFor waits. It is far longer than anything takes, even on a busy machine.
const Patience = 40 * time.Second

// Version is one tmux program.
type Version struct {
	Name string // as tmux -V writes it: 3.3a
	Bin  string
}

// AtLeast reports whether v is that release or a newer one.
func (v Version) AtLeast(major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(v.Name, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

var versions = sync.OnceValue(findVersions)

// Versions returns the versions of tmux at hand, the oldest first, each once: the system's, and
// those that .ci/tmuxes has fetched into $INTERCOM_TMUXES, or else
// ${XDG_CACHE_HOME:-~/.cache}/tmux-intercom/tmuxes. Without any it skips the test.
func Versions(t testing.TB) []Version {
	t.Helper()
	all := versions()
	if len(all) == 0 {
		t.Skip("no tmux here")
	}
	return slices.Clone(all)
}

func findVersions() []Version {
	dir := os.Getenv("INTERCOM_TMUXES")
	if dir == "" {
		cache := os.Getenv("XDG_CACHE_HOME")
		if cache == "" {
			home, _ := os.UserHomeDir()
			cache = filepath.Join(home, ".cache")
		}
		dir = filepath.Join(cache, "tmux-intercom", "tmuxes")
	}
	bins, _ := filepath.Glob(filepath.Join(dir, "*", "tmux"))
	if system, err := exec.LookPath("tmux"); err == nil {
		bins = slices.Insert(bins, 0, system)
	}
	var all []Version
	for _, bin := range bins {
		out, err := exec.Command(bin, "-V").Output()
		name, ok := strings.CutPrefix(strings.TrimSpace(string(out)), "tmux ")
		if err != nil || !ok || slices.ContainsFunc(all, func(v Version) bool { return v.Name == name }) {
			continue
		}
		all = append(all, Version{Name: name, Bin: bin})
	}
	slices.SortFunc(all, func(a, b Version) int { return byNumber(a.Name, b.Name) })
	return all
}

// byNumber compares versions: 3.2a comes before 3.10. A version without a number comes last.
func byNumber(a, b string) int {
	number := func(name string) (n int) {
		var major, minor int
		if got, _ := fmt.Sscanf(name, "%d.%d", &major, &minor); got != 2 {
			return math.MaxInt
		}
		return 1000*major + minor
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(a, b))
}

// EachVersion runs test once for each version, as a subtest named after it. Use it for behaviour
// that may differ between versions of tmux; use InTurn for everything else.
func EachVersion(t *testing.T, test func(t *testing.T, v Version)) {
	t.Helper()
	for _, v := range Versions(t) {
		t.Run(v.Name, func(t *testing.T) { test(t, v) })
	}
}

// InTurn runs test on one version, chosen by the test's name, so that all tests together cover all
// versions. If INTERCOM_LONG is set, it runs test on every version.
func InTurn(t *testing.T, test func(t *testing.T, v Version)) {
	t.Helper()
	if os.Getenv("INTERCOM_LONG") != "" {
		EachVersion(t, test)
		return
	}
	v := turn(t.Name(), Versions(t))
	t.Run(v.Name, func(t *testing.T) { test(t, v) })
}

// Turn returns one of several values, chosen by the test's name, or all of them if INTERCOM_LONG is
// set.
func Turn[T any](t testing.TB, all ...T) []T {
	if os.Getenv("INTERCOM_LONG") != "" {
		return all
	}
	return []T{turn(t.Name(), all)}
}

// turn returns the value for the test of that name.
func turn[T any](name string, all []T) T {
	return all[crc32.ChecksumIEEE([]byte(name))%uint32(len(all))]
}

// Server is a private tmux server with one session, "base", whose only pane runs cat. It
// has no configuration file, and a HOME and TMUX_TMPDIR of its own.
type Server struct {
	Version Version
	Socket  string
	PID     int
	Base    string // id of the first pane
	Dir     string // its HOME, empty at first

	ByProcess bool // always use a tmux process to ask the server: for tests that measure such processes

	t testing.TB
}

// NewServer starts a server. It is killed, by its pid, at the end of the test.
func NewServer(t testing.TB, v Version) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "ic") // t.TempDir is often too long for a socket's path
	if err != nil {
		t.Fatalf("directory: %v", err)
	}
	s := &Server{Version: v, Socket: filepath.Join(dir, "s"), Dir: dir, t: t}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	// Kill the server even if its start failed half way.
	t.Cleanup(s.kill)
	t.Cleanup(s.confess)
	s.start()
	return s
}

// confess logs, if the test has failed, which keys the server received and which messages it
// showed: its screens no longer show them.
func (s *Server) confess() {
	if !s.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.Version.Bin, "-S", s.Socket, "show-messages").Output()
	if err != nil {
		return // it has ended, or nobody was attached to it
	}
	told := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return strings.Contains(line, " command: ") })
	s.t.Logf("messages of the server %s:\n%s", s.Socket, strings.Join(told[max(0, len(told)-40):], "\n"))
}

// On returns the server for a subtest, which then fails on its own. The server ends with the test
// that it belongs to.
func (s *Server) On(t testing.TB) *Server {
	one := *s
	one.t = t
	return &one
}

// Restart starts another server in the place of one that has ended.
func (s *Server) Restart() {
	s.t.Helper()
	WaitFor(s.t, "the end of the old server", func() bool { return errors.Is(syscall.Kill(s.PID, 0), syscall.ESRCH) })
	s.start()
}

func (s *Server) start() {
	s.t.Helper()
	// Set the options by which the user's shell or terminal would show through.
	const who = "#{pid} #{pane_id}"
	out := s.output([]string{
		"-f", "/dev/null", "new-session", "-d", "-s", "base", "-x", "80", "-y", "24",
		"-P", "-F", who, "cat", "-", ";", // two words are started without a shell
		"set-option", "-g", "default-shell", "/bin/sh", ";", "set-option", "-g", "default-terminal", "screen",
	}, true)
	// Once, on a busy machine, 3.8 printed its pid and no pane: most likely because tmux allows a
	// format only 100 ms, from 3.7 on.
	WaitFor(s.t, "a server with a pane", func() bool {
		n, _ := fmt.Sscanf(out, "%d %s", &s.PID, &s.Base)
		if n < 2 {
			out = s.output([]string{"display-message", "-p", "-t", "base:", who}, true)
		}
		return n == 2
	})
}

// Run runs one tmux command, or several separated by ";", and returns the output without the last
// line break.
func (s *Server) Run(args ...string) string {
	s.t.Helper()
	return s.output(args, true)
}

// Try is Run for commands that may fail.
func (s *Server) Try(args ...string) (string, error) {
	s.t.Helper()
	if out, complaint, err, ok := s.ask(args); ok {
		return strings.TrimSuffix(out+complaint, "\n"), err
	}
	cmd := s.Command(args...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (s *Server) output(args []string, must bool) string {
	s.t.Helper()
	out, complaint, err, ok := s.ask(args)
	if !ok {
		var stderr bytes.Buffer
		cmd := s.Command(args...)
		cmd.Stderr = &stderr
		var printed []byte
		printed, err = cmd.Output()
		out, complaint = string(printed), stderr.String()
	}
	if err != nil && must {
		s.t.Fatalf("tmux %s %q: %v: %s", s.Version.Name, args, err, complaint)
	}
	return strings.TrimSuffix(out, "\n")
}

// ask runs the most frequent commands of tests without a process. ok is false if that did not work;
// then nothing was done, or only something that may be done twice.
func (s *Server) ask(args []string) (out, complaint string, err error, ok bool) {
	if len(args) == 0 || s.PID == 0 || s.ByProcess {
		return "", "", nil, false
	}
	again := slices.Contains(asked, args[0])
	if !again && !slices.Contains(told, args[0]) && !(args[0] == "new-window" && slices.Contains(args, "-c")) {
		return "", "", nil, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	reply, err := native.Server{Socket: s.Socket, PID: s.PID}.Run(ctx, args, nil)
	var status *native.ExitError
	switch refused := errors.Is(err, native.ErrPeer) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, os.ErrNotExist); {
	case err == nil || errors.As(err, &status):
		return string(reply.Stdout), string(reply.Stderr), err, true
	case again || refused:
		return "", "", nil, false
	}
	return "", err.Error(), err, true
}

// asked are the commands of ask that may run twice.
var asked = []string{"display-message", "capture-pane", "list-panes", "list-clients", "list-buffers", "list-windows", "show-options", "show-environment", "list-keys", "show-hooks", "list-sessions"}

// told are the commands of ask that must not run twice. They do not depend on the directory or the
// environment of the caller.
var told = []string{
	"send-keys", "set-option", "resize-window", "select-window", "select-pane", "bind-key", "unbind-key",
	"rename-session", "rename-window", "clear-history", "copy-mode", "set-buffer", "delete-buffer", "join-pane", "break-pane", "swap-pane",
	"respawn-pane", "resize-pane", "set-environment", "set-hook", "move-window", "swap-window",
}

// Command returns a process of this server's tmux, not yet started, with the environment of the
// server.
func (s *Server) Command(args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	s.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, s.Version.Bin, append([]string{"-u", "-S", s.Socket}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+s.Dir, "TMUX_TMPDIR="+s.Dir, "TMUX=", "TMUX_PANE=", "ENV=", "PS1=$ ",
		"SHELL=/bin/sh") // a small shell, which starts the first pane
	cmd.WaitDelay = Patience
	return cmd
}

// NewPane runs a program in a new window of the session "base" and returns the pane's id.
func (s *Server) NewPane(program string, args ...string) string {
	s.t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		s.t.Fatalf("directory: %v", err)
	}
	words := []string{"new-window", "-d", "-P", "-F", "#{pane_id}", "-c", dir, "-t", "base:"}
	if len(args) == 0 {
		return s.Run(append(words, "exec "+program)...)
	}
	return s.Run(append(append(words, program), args...)...)
}

// A Recorder is a pane whose program writes every byte that it reads to a file. It shows what a
// program in the pane really receives, not what tmux was asked to send.
type Recorder struct {
	Pane string
	File string
	t    testing.TB
}

// NewRecorder starts a recorder in a new window. Its terminal is raw and does not echo. If
// bracketed, the recorder switches bracketed paste on, as a TUI does.
func (s *Server) NewRecorder(bracketed bool) *Recorder {
	s.t.Helper()
	f, err := os.CreateTemp(s.Dir, "bytes")
	if err != nil {
		s.t.Fatalf("recorder: %v", err)
	}
	_ = f.Close()
	r := &Recorder{File: f.Name(), t: s.t}
	r.Pane = s.NewPane("sh", "-c", recorderScript(bracketed), "sh", r.File)
	s.WaitForText(r.Pane, "ready")
	return r
}

// recorderScript returns the recorder's program; the file is its first argument.
func recorderScript(bracketed bool) string {
	on := ""
	if bracketed {
		on = `\033[?2004h`
	}
	return `stty raw -echo; printf '` + on + `ready'; exec cat >> "$1"`
}

// Bytes returns the bytes that the pane has received so far.
func (r *Recorder) Bytes() []byte {
	r.t.Helper()
	data, err := os.ReadFile(r.File)
	if err != nil {
		r.t.Fatalf("recorder: %v", err)
	}
	return data
}

// WaitForBytes waits until the pane has received at least n bytes and returns all of them.
func (r *Recorder) WaitForBytes(n int) []byte {
	r.t.Helper()
	WaitFor(r.t, fmt.Sprintf("%d bytes in pane %s", n, r.Pane), func() bool { return len(r.Bytes()) >= n })
	return r.Bytes()
}

// Print writes to a pane's terminal, as its program would: text or escape sequences.
func (s *Server) Print(pane, output string) {
	s.t.Helper()
	tty, err := os.OpenFile(s.Fact(pane, "#{pane_tty}"), os.O_WRONLY|syscall.O_NOCTTY, 0)
	if err != nil {
		s.t.Fatalf("print in pane %s: %v", pane, err)
	}
	defer func() { _ = tty.Close() }()
	if _, err := tty.WriteString(output); err != nil {
		s.t.Fatalf("print in pane %s: %v", pane, err)
	}
}

// Fact expands a format for a pane.
func (s *Server) Fact(pane, format string) string {
	s.t.Helper()
	return s.Run("display-message", "-p", "-t", pane, format)
}

// blanks matches the blanks at the end of a line.
var blanks = regexp.MustCompile(`(?m) +$`)

// WaitForText waits until text stands on a pane's visible screen.
func (s *Server) WaitForText(pane, text string) {
	s.t.Helper()
	shown := ""
	s.t.Cleanup(func() {
		if s.t.Failed() && !strings.Contains(shown, text) {
			s.t.Logf("pane %s showed, instead of %q:\n%s", pane, text, shown)
		}
	})
	WaitFor(s.t, fmt.Sprintf("%q in pane %s", text, pane), func() bool {
		out, err := s.Try("capture-pane", "-p", "-J", "-t", pane)
		out = blanks.ReplaceAllString(out, "") // 3.2a pads joined lines
		if shown = out; err != nil {
			shown = err.Error()
		}
		return err == nil && strings.Contains(out, text)
	})
}

// WaitForFact waits until a format expands to want for a pane.
func (s *Server) WaitForFact(pane, format, want string) {
	s.t.Helper()
	WaitFor(s.t, fmt.Sprintf("%s = %q in pane %s", format, want, pane), func() bool {
		return s.Fact(pane, format) == want
	})
}

// Alive reports whether the server that NewServer started still runs and answers.
func (s *Server) Alive() bool {
	s.t.Helper()
	out, err := s.Try("-N", "display-message", "-p", "#{pid}")
	return err == nil && out == strconv.Itoa(s.PID)
}

// Kill ends the server by SIGKILL, as a crash would.
func (s *Server) Kill() {
	s.t.Helper()
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil {
		s.t.Fatalf("kill server: %v", err)
	}
}

// kill ends the processes that the test left: the programs of the panes first, since some of them
// do not mind losing their terminal, then the server.
func (s *Server) kill() {
	if s.PID == 0 {
		return
	}
	if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", s.PID)); err == nil && !bytes.HasPrefix(name, []byte("tmux")) {
		return // it has ended, and another process has its pid
	}
	_ = syscall.Kill(s.PID, syscall.SIGCONT)
	for _, pid := range s.programs() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err := syscall.Kill(s.PID, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		s.t.Errorf("kill server %d: %v", s.PID, err)
	}
}

// programs returns the processes that the server has started and not yet reaped: those of its
// panes, and what it runs beside them.
func (s *Server) programs() (pids []int) {
	// Without /proc, or if it does not tell, ask the server by a process.
	if children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", s.PID, s.PID)); err == nil {
		for _, field := range strings.Fields(string(children)) {
			if pid, err := strconv.Atoi(field); err == nil && pid > 1 {
				pids = append(pids, pid)
			}
		}
		return pids
	}
	out, err := s.Try("-N", "list-panes", "-a", "-F", "#{pid} #{pane_pid}")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(out) {
		var server, pid int
		if n, _ := fmt.Sscanf(line, "%d %d", &server, &pid); n == 2 && server == s.PID && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// WaitFor waits until cond holds, checking repeatedly, and fails the test with what if that takes
// longer than Patience.
func WaitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	WaitForEvery(t, 100*time.Millisecond, what, cond)
}

// WaitForEvery is WaitFor with another longest pause between two checks.
func WaitForEvery(t testing.TB, longest time.Duration, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(Patience)
	for pause := 2 * time.Millisecond; !cond(); pause = min(2*pause, longest) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", Patience, what)
		}
		time.Sleep(pause)
	}
}

// Queries are the questions with which tmux probes a terminal, and the answers of a simple
// terminal. If a terminal does not answer, tmux redraws it after some seconds.
var Queries = []struct{ Query, Answer string }{
	{"\x1b[c", "\x1b[?62;22c"},
	{"\x1b[>c", "\x1b[>1;10;0c"},
	{"\x1b[>q", "\x1bP>|plain(1)\x1b\\"},
}

// Resident returns the resident memory of a process in KiB.
func Resident(t testing.TB, pid int) int {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatalf("memory of process %d: %v", pid, err)
	}
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kib := 0
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		t.Fatalf("memory of process %d: %v", pid, err)
	}
	return kib
}
