package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona/personatest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("INTERCOM_TEST_MAIN") != "" || len(os.Args) == 2 && os.Args[1] == "policy-worker" || len(os.Args) > 2 && os.Args[1] == "session-exec" { // under another name
		main()
	}
	debug.SetGCPercent(400) // many worlds run at once: memory is plentiful, processors are not
	testscript.Main(m, map[string]func(){
		"fakesidecar":  fakeSidecar,
		"plaincall":    plainCall,
		"editslate":    editsLate,
		"outsider":     outsider,
		"oversocket":   overSocket,
		"teammate":     teammate,
		"watchstatus":  watchStatus,
		"commandlines": commandLines,
	})
}

// TestScript runs the scripts of testdata/script. Each has a home, a runtime directory and a place for tmux servers of its own.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		Setup:               setUp,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "waitpane": waitPane, "waitlog": waitLog, "killsidecar": killSidecar, "waitgone": waitGone, "waitgrep": waitGrep, "waitstatus": waitStatus,
		},
	})
}

// Helpers.

func setUp(e *testscript.Env) error {
	// Not below the work directory, because the path of a socket has to be short.
	run, err := os.MkdirTemp("/tmp", "ic")
	if err != nil {
		return err
	}
	e.Defer(func() { os.RemoveAll(run) })
	e.Defer(func() { endSidecars(e, run) })
	e.Defer(func() { _ = exec.Command("tmux", "-S", filepath.Join(run, "s"), "kill-server").Run() })
	home := filepath.Join(e.WorkDir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		return err
	}
	if _, err := builtProgram(); err != nil {
		return err
	}
	program, err := personatest.Path()
	if err != nil {
		return err
	}
	e.Setenv("PATH", e.Getenv("PATH")+string(filepath.ListSeparator)+filepath.Dir(program))
	peers, err := filepath.Abs(filepath.Join("..", "..", "testdata", "peers"))
	if err != nil {
		return err
	}
	for key, value := range map[string]string{
		"PEERS":              peers,
		"INTERCOM_TRANSPORT": transportOf(filepath.Base(e.WorkDir)),
		"HOME":               home, "XDG_RUNTIME_DIR": run, "TMUX_TMPDIR": run,
		"TMUX": "", "TMUX_PANE": "", "INTERCOM_SERVER": "", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "",
	} {
		e.Setenv(key, value)
	}
	return nil
}

// thisProgram is the program under test, built as for users. Beside it lie the other programs of the tests, which are this test
// binary under other names.
func thisProgram() string {
	path, err := builtProgram()
	if err != nil {
		panic(err)
	}
	return path
}

var builtProgram = sync.OnceValues(func() (string, error) {
	built, err := programtest.Build("intercom-tested", "cmd/intercom")
	if err != nil {
		return "", err
	}
	beside, err := exec.LookPath("plaincall")
	if err != nil {
		return "", err
	}
	// Another test run may rebuild it meanwhile, as a new file, so keep this one.
	path := filepath.Join(filepath.Dir(beside), "intercom")
	if os.Link(built, path) == nil {
		return path, nil
	}
	data, err := os.ReadFile(built)
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o755)
})

// waitPane waits until a line of a pane matches, in the script's tmux server at $TMUX_TMPDIR/s: waitpane PANE REGEXP.
func waitPane(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitpane PANE REGEXP")
	}
	waitOutput(ts, args[1], "tmux", "-S", filepath.Join(ts.Getenv("TMUX_TMPDIR"), "s"), "capture-pane", "-p", "-J", "-t", args[0])
}

// waitLog waits until a line of `intercom log` matches: waitlog REGEXP.
func waitLog(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: waitlog REGEXP")
	}
	waitOutput(ts, args[0], "intercom", "log")
}

// waitOutput runs a program repeatedly until a line of its output matches.
func waitOutput(ts *testscript.TestScript, expr, program string, args ...string) {
	re, err := regexp.Compile("(?m)" + expr)
	ts.Check(err)
	pause := 10 * time.Millisecond
	for end := time.Now().Add(tmuxtest.Patience); time.Now().Before(end); time.Sleep(pause) {
		pause = min(2*pause, 160*time.Millisecond) // each attempt costs a process
		err := ts.Exec(program, args...)
		if err == nil && re.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("%s %s never printed a line that matches %q; at last:\n%s", program, strings.Join(args, " "), expr, ts.ReadFile("stdout"))
}

// waitStatus waits until `team list` shows that status of a member: waitstatus NAME STATUS.
func waitStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: waitstatus NAME STATUS")
	}
	waitOutput(ts, `^  `+args[0]+` \(.*\): `+args[1]+`$`, "intercom", "team", "list")
}

// waitGrep waits until a file that matches a pattern has a line that matches: waitgrep PATTERN [REGEXP].
func waitGrep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: waitgrep PATTERN [REGEXP]")
	}
	re, err := regexp.Compile("(?m)" + strings.Join(args[1:], ""))
	ts.Check(err)
	var last []byte
	for end := time.Now().Add(tmuxtest.Patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		paths, err := filepath.Glob(ts.MkAbs(args[0]))
		ts.Check(err)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err == nil && re.Match(text) {
				return
			}
			last = text
		}
	}
	ts.Fatalf("no file %s has a line that matches %q; at last:\n%s", args[0], re, last)
}

// endSidecars ends the sidecars that a script has left: those that hold a lock in its runtime directory, and then any others.
func endSidecars(e *testscript.Env, run string) {
	locks, _ := filepath.Glob(filepath.Join(run, "intercom", "*.lock"))
	slices.Reverse(locks)
	locks = append(locks, filepath.Join(run, "intercom", "headless.lock")) // it may follow the sidecar of a tmux server
	told := func(err error) {
		if err != nil {
			e.T().Log(fmt.Sprintf("a sidecar did not end by itself: %v", err))
		}
	}
	for _, lock := range locks {
		told(endHolder(lock))
	}
	told(endRest(run))
}

// endHolder ends the sidecar that holds a lock, if there is one, and its guard, which would start it again. It does so too with
// one that waited for the place, if that has it when the first one has gone.
func endHolder(lock string) error {
	defer endGuard(lock)()
	ctx, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
	defer cancel()
	for who := resident(lock); who.PID != 0; who = resident(lock) {
		_ = syscall.Kill(who.PID, syscall.SIGTERM)
		if err := gone(ctx, who); err != nil {
			return fmt.Errorf("%w; what it was doing:\n%s", err, quit(who))
		}
	}
	return nil
}

// quit ends a process of this program that hangs, and returns what its goroutines were doing: the end of what it writes to its stderr.
func quit(who process.Process) string {
	told, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", who.PID))
	_ = syscall.Kill(who.PID, syscall.SIGQUIT)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = gone(ctx, who)
	_ = syscall.Kill(who.PID, syscall.SIGKILL)
	text, _ := os.ReadFile(told)
	return string(text[max(0, len(text)-64<<10):])
}

// endGuard ends the guard of the sidecar that holds a lock, if it has one. Until done is called, the sidecar gets no other.
func endGuard(lock string) (done func()) {
	ctx, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
	defer cancel()
	done, _ = unguard(ctx, api.Paths{Server: "x", Runtime: filepath.Dir(lock), Guard: strings.TrimSuffix(lock, ".lock") + ".guard"})
	return done
}

// killSidecar kills the script's only sidecar and waits for its end.
func killSidecar(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: killsidecar")
	}
	defer endGuard(onlyLock(ts))() // the guard would start the sidecar again
	look, cancel := context.WithCancel(context.Background())
	cancel()
	held, ok := errors.AsType[*api.HeldError](api.WaitReleased(look, onlyLock(ts)))
	if !ok || held.PID == 0 {
		ts.Fatalf("no sidecar runs")
	}
	ts.Check(syscall.Kill(held.PID, syscall.SIGKILL))
	waitGone(ts, false, nil)
}

// waitGone waits for the end of the script's only sidecar.
func waitGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: waitgone")
	}
	wait, cancel := context.WithTimeout(context.Background(), tmuxtest.Patience)
	defer cancel()
	ts.Check(api.WaitReleased(wait, onlyLock(ts)))
}

func onlyLock(ts *testscript.TestScript) string {
	locks, _ := filepath.Glob(filepath.Join(ts.Getenv("XDG_RUNTIME_DIR"), "intercom", "*.lock"))
	if len(locks) != 1 {
		ts.Fatalf("there are %d locks, not one", len(locks))
	}
	return locks[0]
}

// exits runs a program and checks its exit code: exits CODE PROGRAM ARGUMENTS…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENTS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s: %v", args[1], err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exited with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}
