package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
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
	// As a shell does it: a descriptor that is open in whatever it starts.
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

func TestStart_notByLooking(t *testing.T) {
	w := startingWorld(t)
	assert.Equal(t, 3, w.run("status").code)
	assert.Equal(t, 0, w.run("down").code)
	assert.Equal(t, 0, w.run("__complete", "release", "").code)
	assert.Equal(t, 2, w.run("send", "bob").code)
	assert.NoFileExists(t, w.stateFile(w.env["INTERCOM_SERVER"]))
}

// Helpers.

// startingWorld is a world in which commands start the fake sidecar.
func startingWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	exe, err := exec.LookPath("fakesidecar")
	require.NoError(t, err)
	w.executable = exe
	t.Cleanup(func() { w.run("down") })
	return w
}
