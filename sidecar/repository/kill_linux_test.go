package repository

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// houseVar tells a process of the test which house it is: its places, as JSON.
const houseVar = "INTERCOM_TEST_HOUSE"

// places has the places of a house.
type places struct{ Asker, Target, State, Journal, Asked string }

// The sidecar is killed at the n-th call of each system call that creates, changes or removes files, between
// the arrival of some messages and their markers. The next one goes on from there: each message is marked once,
// the agent is given it at most once, its author gets one answer or is told that there is none, and the log has
// one line for each.
func TestA58_killedAtEverySystemCall(t *testing.T) {
	if text := os.Getenv(houseVar); text != "" {
		beAHouse(t, text)
		return
	}
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which the sidecar is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	points := []int{1, 6, 14}
	if os.Getenv("INTERCOM_LONG") != "" {
		points = nil
		for n := range 100 {
			points = append(points, n+1)
		}
	}
	died, runs := 0, 0
	for _, call := range []string{"openat", "write,pwrite64", "fsync,fdatasync", "linkat,renameat,renameat2,unlinkat", "flock,fcntl"} {
		for _, n := range points {
			t.Run(fmt.Sprint(call, " ", n), func(t *testing.T) {
				runs++
				if killedHouse(t, strace, call, n) {
					died++
				}
			})
		}
	}
	t.Logf("%d runs, %d killed", runs, died)
	assert.Greater(t, died, 3*len(points), "most points are reached")
}

// killedHouse runs a house that is killed at one point, then another one on what it left, and reports whether
// the first was killed.
func killedHouse(t *testing.T, strace, call string, n int) bool {
	h := newHouse(t)
	at := places{h.asker.Path, h.target.Path, h.state, h.journal, filepath.Join(t.TempDir(), "asked")}
	var names, ids []string
	for _, kind := range []string{"question", "question", "update"} {
		m := letter(h.asker, h.target, kind)
		name, err := h.target.Put(m, fmt.Sprint(len(names)))
		require.NoError(t, err)
		names, ids = append(names, name), append(ids, m.ID)
	}
	text, err := json.Marshal(at)
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), strace, "-f", "-qq", "-o", "/dev/null", "-e", "trace="+call,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), os.Args[0], "-test.run=^TestA58_killedAtEverySystemCall$")
	child.Env = append(os.Environ(), houseVar+"="+string(text))
	killed := child.Run() != nil

	h.run()
	defer h.end()
	for _, name := range names {
		h.until(func() bool { return h.marked(name) && strings.Contains(h.log(), "Processed: .aea/"+name+" -> ") })
	}
	h.until(func() bool { return len(h.answers()) == 2 })
	h.settled()
	assert.Len(t, h.answers(), 2)
	asked, _ := os.ReadFile(at.Asked)
	given := strings.Fields(string(asked))
	for _, m := range h.heard {
		given = append(given, m.Meta[metaID])
	}
	for i, name := range names {
		assert.Equal(t, 1, strings.Count(h.log(), "Processed: .aea/"+name+" -> "), "%s\n%s", name, h.log())
		times := 0
		for _, id := range given {
			if id == ids[i] {
				times++
			}
		}
		if assert.LessOrEqual(t, times, 1, name); !killed && i < 2 {
			assert.Equal(t, 1, times, name)
		}
	}
	return killed
}

// beAHouse serves the repositories until everything is done or it is killed. What the agent is given is in a
// file before the agent says anything.
func beAHouse(t *testing.T, text string) {
	var at places
	require.NoError(t, json.Unmarshal([]byte(text), &at))
	asker, err := Open(at.Asker)
	require.NoError(t, err)
	target, err := Open(at.Target)
	require.NoError(t, err)
	h := &house{t: t, asker: asker, target: target, state: at.State, journal: at.Journal, by: "one", files: map[message.ID]bool{}, policy: table{}}
	h.onGiven = func(m message.Envelope) {
		f, err := os.OpenFile(at.Asked, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err == nil {
			_, _ = io.WriteString(f, m.Meta[metaID]+"\n")
			_ = f.Close()
		}
	}
	entries, err := target.List()
	require.NoError(t, err)
	h.run()
	defer h.end()
	for _, e := range entries {
		h.until(func() bool { return h.marked(e.Name) })
	}
	h.until(func() bool { return len(h.answers()) == 2 })
}
