package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
)

// A person who ends the sidecar of a tmux server is told which ports and repositories are still served, by which sidecar, and how
// to end that too.
func TestDown_saysWhatGoesOn(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	in := k.in(k.tmuxServer("down"))
	port, dir := aFreePort(t), k.repositories("one")[0]
	in.runs("up")
	assert.NotContains(t, in.runs("down"), "served", "nothing was wanted yet")
	in.ok("listen", "start", "--port", port)
	in.runsIn(dir, "aea", "monitor", "start")
	told := in.runs("down")
	assert.Contains(t, told, "sidecar ended: pid ")
	assert.Contains(t, told, "talk port "+port+", repository "+dir+": served on by a sidecar without tmux; intercom down --all ends that as well")
	until(t, func() bool {
		headless := k.sidecarOf("")
		return headless > 0 && k.ok("listen", "status", "--port", port)["pid"] == float64(headless)
	})
	assert.Contains(t, in.runs("down"), "no sidecar ran\ntalk port "+port+", repository "+dir+": served by a sidecar without tmux")

	// The sidecar of another server may serve them, or none: JSON tells which.
	other := k.in(k.tmuxServer("other"))
	other.runs("up")
	var r downReply
	require.NoError(t, json.Unmarshal([]byte(k.runs("down", "--json")), &r))
	require.NotNil(t, r.Goes)
	assert.Equal(t, byOther, r.Goes.By)
	next := "talk port " + port + ", repository " + dir + ": not served until the next sidecar starts; to end it for good: "
	assert.Contains(t, k.runs("down", "--all"), "sidecar ended: pid ")
	told = k.runs("down", "--all")
	assert.Contains(t, told, "no sidecar ran\n"+next)
	assert.Equal(t, told, k.runs("down"))

	// The commands that were printed end everything.
	for line := range strings.SplitSeq(strings.TrimSpace(strings.TrimPrefix(told, "no sidecar ran\n"+next)), " && ") {
		k.runs(strings.Fields(strings.TrimPrefix(line, "intercom "))...)
	}
	assert.Equal(t, "no sidecar ran\n", k.runs("down", "--all"))
}

// `intercom down` names only what its own sidecar served: not what the demo's sidecar with a home of its own served, nor the
// ports of another sidecar in the same home.
func TestDown_saysNothingOfWhatAnotherServed(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	one, other := k.in(k.tmuxServer("one")), k.in(k.tmuxServer("other"))
	port, dir := aFreePort(t), k.repositories("repo")[0]
	one.runs("up")
	one.ok("listen", "start", "--port", port)
	one.runsIn(dir, "aea", "monitor", "start")

	var demo demoResult
	require.NoError(t, json.Unmarshal([]byte(k.runs("demo", "--keep", "--json")), &demo))
	out, err := k.command("sh", "-c", demo.End).CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "sidecar ended: pid ")
	assert.NotContains(t, string(out), "served")

	other.runs("up")
	told := other.runs("down")
	assert.Contains(t, told, "sidecar ended: pid ")
	assert.NotContains(t, told, "served")
	assert.Contains(t, one.runs("down"), "talk port "+port+", repository "+dir+": served on by a sidecar without tmux")
	until(t, func() bool { return k.ok("listen", "status", "--port", port)["status"] == "running" }) // by now it can be ended
}

// Sidecars of several homes may share a runtime directory. A sidecar of another home serves nothing of this one's, and is not
// said to.
func TestDown_sidecarOfAnotherHome(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	stranger := *k
	stranger.env = maps.Clone(k.env)
	stranger.env["HOME"] = t.TempDir()
	in := k.in(k.tmuxServer("down"))
	other := stranger.in(stranger.tmuxServer("other"))
	port := aFreePort(t)
	other.runs("up")
	in.runs("up")
	in.ok("listen", "start", "--port", port)
	assert.Contains(t, in.runs("down"), "talk port "+port+": served on by a sidecar without tmux")
	until(t, func() bool { return k.ok("listen", "status", "--port", port)["status"] == "running" })

	// Nor does another home's headless sidecar.
	k.runs("down")
	stranger.runs("up")
	in.runs("up")
	until(t, func() bool { return k.ok("listen", "status", "--port", port)["status"] == "running" })
	assert.Contains(t, in.runs("down"), "talk port "+port+": not served until the next sidecar starts")
}

// The successor takes its place at any moment. down never takes it for the sidecar of another tmux server.
func TestDown_theSuccessorIsOfNoTmuxServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	headless, err := api.Places(w.getenv, "")
	require.NoError(t, err)
	require.NoError(t, api.Private(headless.Runtime))
	lock, err := os.OpenFile(headless.Lock, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer lock.Close()
	fd, enough := int(lock.Fd()), make(chan struct{})
	var comesAndGoes sync.WaitGroup
	defer comesAndGoes.Wait()
	defer close(enough)
	comesAndGoes.Go(func() {
		for {
			select {
			case <-enough:
				return
			default:
				_ = syscall.Flock(fd, syscall.LOCK_EX)
				_ = syscall.Flock(fd, syscall.LOCK_UN)
			}
		}
	})
	a := &app{env: env{Getenv: w.getenv}}
	for range 1000 {
		require.NotEqual(t, byOther, a.servedOn(t.Context(), p, &persisted{Ports: []int{9000}}, true).By)
	}
}

// Outside of tmux, status, up and down note on stderr which sidecar they are about if a tmux server runs, since its sidecar may
// have been meant. They do not if no server runs or one was named.
func TestStatus_saysWhoseSidecarIsMeant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.env["XDG_RUNTIME_DIR"]
	delete(w.env, "INTERCOM_SERVER")
	w.env["TMUX_TMPDIR"] = dir
	socket := filepath.Join(dir, fmt.Sprintf("tmux-%d", os.Getuid()), "default")
	told := "note: this is not a tmux pane, so this is about headless use; the tmux server that runs is --server " + socket + "\n"
	for _, line := range []string{"status", "down"} {
		assert.NotContains(t, w.run(line).err, "note:", line)
	}
	require.NoError(t, os.Mkdir(filepath.Dir(socket), 0o700))
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	for _, line := range []string{"status", "down"} {
		assert.Contains(t, w.run(line).err, told, line)
		assert.NotContains(t, w.run(line, "--json").err, "note:", line)
		assert.NotContains(t, w.run(line, "--server", filepath.Join(dir, "tmux")).err, "note:", line)
	}
	w.serve(t, &fakeBackend{})
	for _, line := range []string{"status", "up"} {
		r := w.run(line)
		assert.Zero(t, r.code, line)
		assert.Contains(t, r.err, told, line)
	}
}

// A tmux server that was killed leaves its socket's file; status says that no sidecar and no server runs.
func TestStatus_deadServerLeavesItsSocket(t *testing.T) {
	t.Parallel()
	k := newTalker(t)
	socket := k.tmuxServer("dead")
	pid, err := k.command("tmux", "-S", socket, "display-message", "-p", "#{pid}").Output()
	require.NoError(t, err)
	var number int
	require.NoError(t, json.Unmarshal(pid, &number))
	require.NoError(t, syscall.Kill(number, syscall.SIGKILL))
	_, err = os.Stat(socket)
	require.NoError(t, err)
	said := func() string {
		out, err := k.in(socket).command(thisProgram(), "status").Output()
		require.Error(t, err)
		return string(out)
	}
	until(t, func() bool { return said() == "no sidecar runs for "+socket+", and no tmux server does\n" })
}

// A sidecar has the environment of its tmux server, and the person who ends it that of a shell. Its guard is found all the same,
// even if the sidecar has just died.
func TestDown_guardOfAnotherEnvironment(t *testing.T) {
	for _, runs := range []bool{true, false} {
		w, shell := newWorld(t), newWorld(t)
		p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
		require.NoError(t, err)
		if runs {
			w.serve(t, &fakeBackend{})
		}
		standGuard(t, p)
		a := &app{env: env{Getenv: shell.getenv, Published: func(context.Context, string) (string, error) { return p.Socket, nil }}, server: p.Server, named: true}
		_, at, running, err := a.running(t.Context())
		require.NoError(t, err)
		assert.Equal(t, runs, running)
		done, err := unguard(t.Context(), at)
		require.NoError(t, err)
		done()
		_, held := api.GuardOf(p)
		assert.False(t, held, "the sidecar runs: %t", runs)
	}
}

// Between two deaths of a sidecar only its guard runs: `down --all` ends it.
func TestDown_allEndsAGuardThatWaits(t *testing.T) {
	w := newWorld(t)
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	standGuard(t, p)
	require.NoError(t, os.WriteFile(p.Lock, nil, 0o600))
	r := w.run("down", "--all")
	assert.Zero(t, r.code, r.err)
	_, held := api.GuardOf(p)
	assert.False(t, held)
}

// standGuard makes a process hold the lock of the guard of p until it is killed.
func standGuard(t *testing.T, p api.Paths) {
	t.Helper()
	require.NoError(t, api.Private(p.Runtime))
	lock, err := os.OpenFile(p.Guard, os.O_RDWR|os.O_CREATE, 0o600)
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX))
	cmd := exec.Command("sleep", "1000")
	cmd.ExtraFiles = []*os.File{lock}
	require.NoError(t, cmd.Start())
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { _ = cmd.Process.Kill(); <-ended })
	_, err = fmt.Fprintf(lock, "%d\nsleep\n\n", cmd.Process.Pid)
	require.NoError(t, err)
}
