package agent

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// Each file that a background process has open for writing is a conversation of it, however many there are; that of
// a sub-agent stands for its parent's. A file that another process writes, or that is only read, is not.
func TestO5_H39_WhatABackgroundProcessWrites(t *testing.T) {
	t.Parallel()
	const (
		own   = "01a208b5-7c77-7e71-8232-7fed02967ed1"
		below = "01a208b5-d66e-7502-aca9-1ec476cb9551"
		read  = "01a208b8-9c28-7711-8087-6d2862e157c8"
		lost  = "01a208b8-afcf-74c2-b79d-a595d2120029"
		other = "01a208b9-0000-7000-8000-000000000001"
		also  = "01a208ba-0000-7000-8000-000000000001"
	)
	rollout := func(dir, name, thread, parent string) string {
		path := filepath.Join(dir, "rollout-2026-11-23T14-00-41-"+name+".jsonl")
		line := fmt.Sprintf(`{"type":"session_meta","payload":{"id":%q,"cwd":"/work","parent_thread_id":%q}}`, thread, parent)
		require.NoError(t, os.WriteFile(path, []byte(line+"\n"), 0o600))
		return path
	}
	rollouts := func() []string {
		dir := t.TempDir()
		return []string{
			rollout(dir, own, own, ""), rollout(dir, below, below, own), rollout(dir, lost, lost, read), rollout(dir, other, own, ""), rollout(dir, read, read, ""),
			rollout(dir, also, also, ""),
		}
	}
	begin := func(paths []string, name string, args ...string) int {
		cmd := exec.Command("/bin/sh", append([]string{"-c", `exec 3>>"$1" 4>>"$2" 5>>"$3" 6>>"$4" 8>>"$6" 7<"$5"; read -r x`}, args...)...)
		cmd.Args[0] = name
		cmd.Args = append(cmd.Args, paths...)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
		require.Eventually(t, func() bool { return process7(cmd.Process.Pid) }, time.Minute, 5*time.Millisecond)
		return cmd.Process.Pid
	}
	paths := rollouts()
	daemon, tui, stranger := begin(paths, "codex", "app-server"), begin(rollouts(), "codex", "resume"), begin(rollouts(), "sh", "app-server")

	for _, thread := range []string{own, below} {
		found, err := WrittenBy(daemon, thread)
		require.NoError(t, err)
		assert.Equal(t, Transcript{Path: paths[0], Thread: own, How: ByOpenFile}, found)
	}
	beside, err := WrittenBy(daemon, also)
	require.NoError(t, err)
	assert.Equal(t, Transcript{Path: paths[5], Thread: also, How: ByOpenFile}, beside, "the conversation of another pane")
	for name, c := range map[string]struct {
		pid    int
		thread string
	}{
		"one that is only read":                    {daemon, read},
		"a sub-agent of one that is only read":     {daemon, lost},
		"a file that says to be another's":         {daemon, other},
		"none":                                     {daemon, "01a208b9-0000-7000-8000-000000000002"},
		"no name":                                  {daemon, ""},
		"the end of a name":                        {daemon, "7fed02967ed1"},
		"a path":                                   {daemon, "../" + own},
		"an agent in a pane":                       {tui, own},
		"a process that is no agent":               {stranger, own},
		"a process that has ended, or never began": {1 << 30, own},
	} {
		_, err := WrittenBy(c.pid, c.thread)
		require.ErrorIs(t, err, ErrNoTranscript, name)
	}
	assert.True(t, Background(daemon, "codex"))
	assert.False(t, Background(tui, "codex"))
	assert.False(t, Background(stranger, "sh"))

	// A process that opens another one's file proves nothing by it.
	second := begin(paths, "codex", "app-server")
	for _, pid := range []int{second, daemon} {
		for _, thread := range []string{own, below} {
			_, err := WrittenBy(pid, thread)
			require.ErrorIs(t, err, ErrNoTranscript, "two write it")
		}
	}
}

// A child that has not executed its own program yet has its parent's files open.
func TestBackground_aChildIsNoSecondWriter(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rollout")
	cmd := exec.Command("/bin/sh", "-c", `exec 3>>"$0"; (read -r x; :); :`, path)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	var writers []int
	require.Eventually(t, func() bool {
		all, err := process.All()
		writers = slices.DeleteFunc(all, func(pid int) bool {
			return len(process.Writes(pid, func(open string) bool { return open == path })) == 0
		})
		return err == nil && len(writers) == 2
	}, time.Minute, 5*time.Millisecond)
	parent, err := process.Identify(cmd.Process.Pid)
	require.NoError(t, err)
	assert.True(t, alone(parent, path))
	child, err := process.Identify(slices.DeleteFunc(writers, func(pid int) bool { return pid == parent.PID })[0])
	require.NoError(t, err)
	assert.False(t, alone(child, path), "a child does not stand for its parent")
}

// process7 reports whether a process has opened its last file.
func process7(pid int) bool {
	_, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/7", pid))
	return err == nil
}
