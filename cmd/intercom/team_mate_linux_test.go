package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
	"github.com/tmux-intercom/tmux-intercom/sidecar/team"
)

// In a sandbox that hides its parents, a process might belong to any teammate. It has to say who it is to send, and to name the
// inbox that it reads. Outside of the sandbox, or if no teammate has a session, it need not.
func TestTeam_aSandboxThatHidesWhoseItIs(t *testing.T) {
	t.Parallel()
	hides := []string{"unshare", "-Urpf", "--mount-proc"}
	if out, err := exec.Command(hides[0], append(hides[1:], "true")...).CombinedOutput(); err != nil {
		t.Skipf("no namespace of processes can be made here, which takes unshare (util-linux) and user namespaces (sysctl user.max_user_namespaces above 0): %v, %s", err, out)
	}
	k := newTalker(t)
	d := team.Dir{Path: teamIn(t, filepath.Join(k.env["HOME"], "project"))}
	numbers, err := process.OurNumbers()
	require.NoError(t, err)
	zed := exec.Command("sleep", "600")
	require.NoError(t, zed.Start())
	t.Cleanup(func() { _, _ = zed.Process.Kill(), zed.Wait() })
	start, err := process.Start(zed.Process.Pid)
	require.NoError(t, err)
	require.NoError(t, d.SetPrograms([]team.Program{{Name: "zed", PID: zed.Process.Pid, Start: start, Boot: numbers.Boot, Space: numbers.Space}}))

	does := func(within []string, line string) (out, told string, code int) {
		words := slices.Concat(within, []string{thisProgram(), "team", "--dir", d.Path}, strings.Fields(line))
		cmd := k.command(words[0], words[1:]...)
		var complaints strings.Builder
		cmd.Stderr = &complaints
		text, err := cmd.Output()
		if _, exited := err.(*exec.ExitError); !exited {
			require.NoError(t, err)
		}
		return string(text), complaints.String(), cmd.ProcessState.ExitCode()
	}
	for line, hint := range map[string]string{"send zed hello": "--from NAME", "broadcast hello": "--from NAME", "inbox": "intercom team inbox NAME"} {
		out, told, code := does(hides, line)
		assert.Equal(t, 2, code, "%s: %s", line, told)
		assert.Empty(t, out, line)
		assert.Contains(t, told, "cannot tell whose session this is", line)
		assert.Contains(t, told, hint, line)
	}
	sent := func() (all []string) {
		text := read(t, filepath.Join(d.Path, team.Folder, "inbox", "zed.jsonl"))
		for line := range strings.Lines(text) {
			var m struct{ From, Content string }
			require.NoError(t, json.Unmarshal([]byte(line), &m))
			all = append(all, m.From+": "+m.Content)
		}
		return all
	}
	assert.Equal(t, []string{"lead: between us"}, sent())
	_, told, code := does(hides, "send zed named --from lead")
	assert.Zero(t, code, told)
	_, told, code = does(nil, "send zed outside")
	assert.Zero(t, code, told)
	require.NoError(t, os.Remove(filepath.Join(d.Path, team.Folder, "processes.json")))
	_, told, code = does(hides, "send zed alone")
	assert.Zero(t, code, told)
	assert.Equal(t, []string{"lead: between us", "lead: named", "lead: outside", "lead: alone"}, sent())
}
