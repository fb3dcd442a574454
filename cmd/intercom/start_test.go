package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestStart_oneSidecarHoweverManyAsk(t *testing.T) {
	w := startingWorld(t)
	const many = 6
	replies := make([]upReply, many)
	var asked sync.WaitGroup
	for i := range many {
		asked.Go(func() {
			r := w.run("up", "--json")
			if assert.Zero(t, r.code, r.err) {
				assert.NoError(t, json.Unmarshal([]byte(r.out), &replies[i]))
			}
		})
	}
	asked.Wait()
	for _, r := range replies {
		assert.Equal(t, replies[0].PID, r.PID)
		assert.NotZero(t, r.PID)
	}

	r := w.run("up", "--json")
	var again upReply
	oneValue(t, r.out, &again)
	assert.False(t, again.StartedNow)

	r = w.run("down", "--json")
	require.Zero(t, r.code, r.err)
	var down downReply
	oneValue(t, r.out, &down)
	assert.Equal(t, downReply{Stopped: true, PID: replies[0].PID}, down)
	assert.Equal(t, 3, w.run("status").code, "down has waited for its end")
	require.Zero(t, w.run("up").code, "and the next one starts at once")
}

func TestStart_sidecarInheritsNothing(t *testing.T) {
	w := startingWorld(t)
	w.env["TMUX"], w.env["TMUX_PANE"], w.env["API_KEY"] = "/t,1,0", "%1", "secret"
	// As a shell may do it: a descriptor that its children inherit.
	var pipe [2]int
	require.NoError(t, syscall.Pipe(pipe[:]))
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])

	r := w.run("up", "--json")
	require.Zero(t, r.code, r.err)
	var up upReply
	oneValue(t, r.out, &up)
	require.Len(t, up.Degraded, 5)
	names := strings.Fields(up.Degraded[0])
	assert.Contains(t, names, "HOME")
	for _, name := range []string{"TMUX", "TMUX_PANE", "API_KEY", "INTERCOM_SERVER"} {
		assert.NotContains(t, names, name)
	}
	assert.Equal(t, "fds", up.Degraded[1])
	assert.Equal(t, "stdio /dev/null /dev/null", up.Degraded[2])
	assert.Equal(t, "dir /", up.Degraded[3])
	assert.Equal(t, "own session true", up.Degraded[4])
	flags, err := unix.FcntlInt(uintptr(pipe[0]), unix.F_GETFD, 0)
	require.NoError(t, err)
	assert.NotZero(t, flags&unix.FD_CLOEXEC)
}

func TestStart_failureIsTold(t *testing.T) {
	w := startingWorld(t)
	w.env["INTERCOM_FAKE"] = "fail"
	for range 2 {
		r := w.run("send", "bob", "hi")
		assert.Equal(t, 3, r.code)
		assert.Empty(t, r.out)
		assert.Equal(t, "intercom: error: the sidecar could not be started: something is wrong\nintercom: hint: mend it\n", r.err)
	}
	kept, err := os.ReadFile(w.stateFile(w.env["INTERCOM_SERVER"]))
	require.NoError(t, err)
	assert.Equal(t, 2, strings.Count(string(kept), "something is wrong"))

	w.executable = "/nonexistent/intercom"
	r := w.run("up")
	assert.Equal(t, 3, r.code)
	assert.Contains(t, r.err, "no such file")

	require.NoError(t, os.Remove(w.stateFile(w.env["INTERCOM_SERVER"])))
	w.executable = "/bin/false"
	r = w.run("up")
	assert.Equal(t, 3, r.code)
	assert.Contains(t, r.err, "exit status 1")
}

// A slow start of our own sidecar is waited for as long as its process lives, longer than for another user's sidecar.
func TestStart_slowOneIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	dir := t.TempDir()
	begun, may := filepath.Join(dir, "begun"), filepath.Join(dir, "may")
	slow := filepath.Join(dir, "slow")
	tmuxtest.Program(t, slow, fmt.Sprintf("#!/bin/sh\n: >'%s'\nuntil [ -e '%s' ]; do sleep 0.1; done\nexec '%s' \"$@\"\n", begun, may, w.executable))
	w.executable, w.othersTime = slow, 200*time.Millisecond
	done := make(chan result, 1)
	go func() { done <- w.run("up") }()
	tmuxtest.WaitFor(t, "it has begun", func() bool { _, err := os.Stat(begun); return err == nil })
	select {
	case r := <-done:
		t.Fatalf("it was given up: %s", r.err)
	case <-time.After(2 * time.Second):
	}
	require.NoError(t, os.WriteFile(may, nil, 0o600))
	r := <-done
	assert.Zero(t, r.code, r.err)
	assert.Zero(t, w.run("status").code)
}

func TestStart_notByLooking(t *testing.T) {
	w := startingWorld(t)
	assert.Equal(t, 3, w.run("status").code)
	assert.Equal(t, 0, w.run("down").code)
	assert.Equal(t, 0, w.run("__complete", "release", "").code)
	assert.Equal(t, 2, w.run("send", "bob").code)
	assert.NoFileExists(t, w.stateFile(w.env["INTERCOM_SERVER"]))
}

// If a sidecar hangs, each command soon says so and names its process.
func TestStart_sidecarThatHangs(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	require.Zero(t, w.run("up").code)
	pid := w.pid(t)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	tmuxtest.WaitFor(t, "it stands still", func() bool { return stopped(pid) })
	var asked sync.WaitGroup
	for _, line := range []string{"status", "up", "chat list", "log", "send bob hi"} {
		asked.Go(func() {
			r := w.run(strings.Fields(line)...)
			assert.Equal(t, 4, r.code, line)
			assert.Empty(t, r.out, line)
			assert.Contains(t, r.err, fmt.Sprintf(
				"intercom: error: the sidecar of process %d does not answer\nintercom: hint: intercom doctor says why; kill -9 %d ends it", pid, pid), line)
		})
	}
	asked.Wait()
}

// `plan-wait` says that the sidecar does not answer, although its own time is over by then.
func TestPlanWait_sidecarThatHangs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.places(t)
	ln, err := api.Listen(p.Runtime, p.Key) // nobody accepts
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ln.Release()) })
	ended := make(chan result, 1)
	go func() { ended <- w.run("team", "plan-wait", "1a2b3c4d", "--timeout", "0.1") }()
	select {
	case r := <-ended:
		assert.Equal(t, 4, r.code, r.err)
		assert.Contains(t, r.err, fmt.Sprintf("intercom: error: the sidecar of process %d does not answer\n", os.Getpid()))
	case <-time.After(2 * time.Minute):
		t.Fatal("it waits on")
	}
}

// Requests in the backlog of a killed sidecar were never read, so the first command after its death starts the next sidecar and
// is served, whatever it asks.
func TestStart_firstCommandAfterAKill(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	for i, line := range []string{"adopt %1 --as line", "send bob hi", "chat list", "chat say plans hi", "log", "adopt %2 --as line"} {
		require.Zero(t, w.run("up").code)
		old := w.pid(t)
		// Stopped first, so that it reads no more of what comes.
		require.NoError(t, syscall.Kill(old, syscall.SIGSTOP))
		tmuxtest.WaitFor(t, "it stands still", func() bool { return stopped(old) })
		killed := make(chan error, 1)
		go func() {
			for range i * 2000 {
				runtime.Gosched() // so that the kill comes at any moment of the command
			}
			killed <- syscall.Kill(old, syscall.SIGKILL)
		}()
		r := w.run(strings.Fields(line)...)
		require.NoError(t, <-killed)
		assert.Zero(t, r.code, "%s: %s", line, r.err)
		assert.NotEqual(t, old, w.pid(t), line)
	}
}

func TestUp_replacesAnotherVersion(t *testing.T) {
	w := startingWorld(t)
	w.env["INTERCOM_FAKE_VERSION"] = "0.0.1"
	require.Zero(t, w.run("up").code)
	old := w.pid(t)
	delete(w.env, "INTERCOM_FAKE_VERSION")
	for _, line := range []string{"chat list", "status"} {
		r := w.run(strings.Fields(line)...)
		assert.Zero(t, r.code)
		assert.Contains(t, r.err, "intercom: note: the sidecar is version 0.0.1, ", line)
		assert.Contains(t, r.err, ": intercom up replaces the sidecar\n", line)
	}
	assert.Equal(t, old, w.pid(t), "no other command replaces it")

	r := w.run("up", "--json")
	require.Zero(t, r.code, r.err)
	assert.NotContains(t, r.err, "still running")
	assert.Contains(t, r.err, "intercom: warning: dir /\n", "what a sidecar says of itself that does not work")
	var up upReply
	oneValue(t, r.out, &up)
	assert.Equal(t, "0.0.1", up.Replaced)
	assert.True(t, up.StartedNow)
	assert.Equal(t, built().Version, up.Version)
	assert.NotEqual(t, old, up.PID)
	assert.Equal(t, up.PID, w.pid(t))

	r = w.run("up", "--json")
	var again upReply
	oneValue(t, r.out, &again)
	assert.Empty(t, again.Replaced)
	assert.Equal(t, up.PID, again.PID)
}

// A sidecar that agreed to end and takes its time is replaced too.
func TestUp_replacesOneThatTakesItsTime(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	w.env["INTERCOM_FAKE_VERSION"], w.env["INTERCOM_FAKE"] = "0.0.1", "late"
	require.Zero(t, w.run("up").code)
	old := w.pid(t)
	delete(w.env, "INTERCOM_FAKE_VERSION")
	delete(w.env, "INTERCOM_FAKE")
	r := w.run("up")
	assert.Zero(t, r.code, r.err)
	assert.Contains(t, r.out, "sidecar 0.0.1 replaced", r.err)
	assert.NotEqual(t, old, w.pid(t))
	require.Zero(t, w.run("down").code)
}

// When a sidecar is replaced, its successor serves what it served, so it starts no headless one.
func TestUp_replacingStartsNoHeadlessSidecar(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	w.wantsPort(t)
	w.env["INTERCOM_FAKE_VERSION"], w.env["INTERCOM_FAKE_SUCCEEDS"] = "0.0.1", w.executable
	require.Zero(t, w.run("up").code)
	old, p := w.pid(t), w.places(t)
	began, err := process.Start(old)
	require.NoError(t, err)
	delete(w.env, "INTERCOM_FAKE_VERSION")
	r := w.run("up")
	require.Contains(t, r.out, "sidecar 0.0.1 replaced")
	tmuxtest.WaitFor(t, "its end", func() bool { return !process.Lives(old, began) })
	headless, err := api.Places(w.getenv, "")
	require.NoError(t, err)
	assert.NoFileExists(t, filepath.Join(headless.State, serverFile))

	// Nor does it if another sidecar has taken its place already.
	(&app{env: env{Getenv: w.getenv, Executable: w.executable}}).succeed(p)
	assert.NoFileExists(t, filepath.Join(headless.State, serverFile))
	require.Zero(t, w.run("down").code)
	assert.FileExists(t, filepath.Join(headless.State, serverFile), "what ends for good has one started")
	tmuxtest.WaitFor(t, "one without tmux", func() bool { return api.Holder(headless.Lock) > 0 }) // otherwise nobody would end it
	require.Zero(t, w.run("down", "--all").code)
	tmuxtest.WaitFor(t, "its end", func() bool { return api.Holder(headless.Lock) == 0 })
}

// wantsPort records that the person wants a talk port served.
func (w *world) wantsPort(t *testing.T) {
	t.Helper()
	home, err := talkHome(w.getenv)
	require.NoError(t, err)
	number, err := strconv.Atoi(aFreePort(t))
	require.NoError(t, err)
	require.NoError(t, home.Port(number).Want(talk.Wish{Port: number}))
}

func TestUp_leavesWhatItMayNotOrCannotReplace(t *testing.T) {
	t.Parallel()
	w := startingWorld(t)
	w.env["INTERCOM_FAKE_VERSION"], w.env["INTERCOM_FAKE"] = "0.0.1", "stay"
	require.Zero(t, w.run("up").code)
	old := w.pid(t)
	t.Cleanup(func() { _ = syscall.Kill(old, syscall.SIGTERM) })
	delete(w.env, "INTERCOM_FAKE_VERSION")
	r := w.run("up", "--json")
	assert.Zero(t, r.code)
	assert.Contains(t, r.err, "intercom: warning: a sidecar of version 0.0.1 is still running: it did not end within "+replaceTimeout.String())
	var up upReply
	oneValue(t, r.out, &up)
	assert.Equal(t, old, up.PID)
	assert.Empty(t, up.Replaced)
	assert.NotEmpty(t, up.Warning)
	require.NoError(t, syscall.Kill(old, syscall.SIGTERM))
	tmuxtest.WaitFor(t, "its end", func() bool { return free(w.places(t).Lock) })

	agent := newWorld(t)
	agent.serve(t, &fakeBackend{status: api.Status{PID: 7, Version: "0.0.1"}})
	r = agent.run("up")
	assert.Zero(t, r.code)
	assert.Contains(t, r.err, "still running: only a person may")
	assert.Contains(t, r.out, "already running: pid 7")
}

func TestStart_noTmuxServer(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{"log", "chat list", "chat show plans", "chat stats plans", "up", "send bob hi"} {
		r := w.run(strings.Fields(line)...)
		assert.Equal(t, 3, r.code, line)
		assert.Empty(t, r.out)
		assert.Contains(t, r.err, "intercom: error: no tmux server runs at ", line)
		assert.Contains(t, r.err, "intercom: hint: start tmux first", line)
	}
	p := w.places(t)
	assert.NoDirExists(t, p.State, "nothing is made for a server that is not there")
	require.NoError(t, api.Private(p.State))
	assert.Contains(t, w.run("log").err, "kept in "+p.State)
	held, err := claim.Take(filepath.Join(p.State, "journal.lock"))
	require.NoError(t, err)
	assert.Contains(t, w.run("log").err, "intercom: hint: a sidecar serves it still: if a sandbox hides its socket here, run this outside")
	require.NoError(t, held.Release())

	require.NoError(t, os.WriteFile(p.Server, nil, 0o600))
	r := w.run("log")
	assert.Equal(t, 3, r.code)
	assert.Contains(t, r.err, "is not the socket of a tmux server")
}

// Helpers.

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, thread := range threads {
		text, err := os.ReadFile(thread)
		if err != nil || !strings.Contains(string(text), ") T ") {
			return false
		}
	}
	return len(threads) > 0
}

// startingWorld is a world in which commands start the fake sidecar.
func startingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	abandoned(t, w.env["INTERCOM_SERVER"]) // commands start no sidecar unless the server's socket exists
	exe, err := exec.LookPath("fakesidecar")
	require.NoError(t, err)
	w.executable = exe
	t.Cleanup(func() { w.run("down") })
	return w
}

// A forced end is over when that process has ended, even if another sidecar has its place by then.
func TestDown_forceEndsThatProcessAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve(t, &fakeBackend{}) // the next sidecar, in this process
	hung := exec.Command("sleep", "600")
	require.NoError(t, hung.Start())
	ended := make(chan error, 1)
	go func() { ended <- hung.Wait() }()
	start, err := process.Start(hung.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, (&app{env: env{Getenv: w.getenv}}).force(t.Context(), w.places(t), process.Process{PID: hung.Process.Pid, Start: start}))
	require.ErrorContains(t, <-ended, "terminated")
	assert.Equal(t, os.Getpid(), api.Holder(w.places(t).Lock))
}
