package team

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A program of a team is killed at the n-th call of each system call with which it touches the team's files:
// what it was told is sent is there once and whole, what is there was sent, what was drained by a program that
// knew so is not there again, and the next program goes on.
func TestD1_P30_killedAtEverySystemCall(t *testing.T) {
	if dir := os.Getenv("INTERCOM_TEST_KILLED"); dir != "" {
		writeUntilTheCut(Dir{dir})
		return
	}
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no strace here, with which a program is killed at a system call: install the package strace")
	}
	if err := exec.CommandContext(t.Context(), strace, "-qq", "-o", "/dev/null", "true").Run(); err != nil {
		t.Skipf("strace may not trace here: allow it ptrace (kernel.yama.ptrace_scope below 3, in a container --cap-add SYS_PTRACE): %v", err)
	}
	most, step := 10, 4
	if os.Getenv("INTERCOM_LONG") != "" {
		most, step = 40, 1
	}
	died, runs := 0, 0
	for _, call := range []string{"openat", "flock", "newfstatat,fstat", "pread64,read", "write", "fsync", "linkat,renameat,renameat2,unlinkat", "mkdirat"} {
		of := 0
		for n := 1; n <= most; n += step {
			t.Run(fmt.Sprint(call, " ", n), func(t *testing.T) {
				runs++
				if killedTeam(t, strace, call, n) {
					of++
				}
			})
		}
		died += of
		t.Logf("%-38s %3d times killed", call, of)
	}
	t.Logf("%d runs, %d killed", runs, died)
	assert.Greater(t, died, 8, "hardly any run was killed: this proves nothing")
}

// killedTeam runs a program of a team that is killed at one point, and reports whether it was.
func killedTeam(t *testing.T, strace, call string, n int) bool {
	d := Dir{t.TempDir()}
	require.NoError(t, os.MkdirAll(d.at(inboxes), 0o755)) // strace needs the path to exist
	var paths []string
	for _, one := range []string{d.at(), d.at(configName), d.at(inboxes), d.inbox("alice")} {
		paths = append(paths, "-P", one)
	}
	args := append([]string{"-f", "-qq", "-o", "/dev/null"}, paths...)
	args = append(args, "-e", "trace="+call, "-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), os.Args[0], "-test.run=^TestD1_P30_killedAtEverySystemCall$")
	cmd := exec.CommandContext(t.Context(), strace, args...)
	cmd.Env = append(os.Environ(), "INTERCOM_TEST_KILLED="+d.Path)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		require.True(t, ok && failed.ExitCode() < 0, "%v: %s", err, &out)
	}
	said := out.String()
	if !strings.Contains(said, "enlisted\n") { // the next program does it
		require.NoError(t, d.Make())
		if enlisted := d.Enlist("alice", "dev"); enlisted != nil {
			assert.ErrorContains(t, enlisted, "alice", "it was, and not told")
		}
	}
	require.NoError(t, d.Send("alice", Message{Type: "message", From: "lead", Content: "next", At: noon}))
	all, wrong, drainErr := d.drained("alice")
	require.NoError(t, drainErr)
	assert.Zero(t, wrong, "a line is there in part")
	for n := range 4 {
		there := strings.Count(contents(all), fmt.Sprintf("<%d>", n))
		assert.LessOrEqual(t, there, 1, "message %d", n)
		drained := n < 2 && strings.Contains(said, "draining\n")
		if strings.Contains(said, fmt.Sprintf("sent %d\n", n)) && !drained {
			assert.Equal(t, 1, there, "told that message %d is sent", n)
		}
		if n < 2 && strings.Contains(said, "drained\n") {
			assert.Zero(t, there, "message %d was drained", n)
		}
	}
	for _, m := range all {
		assert.True(t, m.Content == "next" || len(m.Content) == 703, "whole: %.20q", m.Content)
	}
	assert.Equal(t, "next", all[len(all)-1].Content)
	return err != nil
}
