package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/repository"
)

// Commands that a person may copy to remove the rest are not wrapped in a narrow terminal.
func TestUninstall_commandsCanBeCopied(t *testing.T) {
	var out bytes.Buffer
	a := &app{env: env{Stdout: &out, Width: 80}}
	long := "rm -r /home/somebody/.local/state/intercom/a/rather/long/directory/of/journals"
	a.showUninstalled(uninstallReply{PID: 7, Left: []leftover{{What: "journals and logs of all tmux servers: what was said", Remove: long}}})
	assert.Contains(t, out.String(), "\n    "+long+"\n")
	assert.Contains(t, out.String(), "panes released: none")
}

// uninstall names what `make install` put beside the program, and nothing below another directory.
func TestUninstall_namesWhatMakeInstalled(t *testing.T) {
	prefix := t.TempDir()
	a := &app{env: env{Executable: filepath.Join(prefix, "bin", "intercom")}}
	_, ok := a.installed()
	assert.False(t, ok, "there is no manual page")
	man := filepath.Join(prefix, "share", "man", "man1")
	require.NoError(t, os.MkdirAll(man, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(man, "intercom.1"), nil, 0o644))
	found, ok := a.installed()
	assert.True(t, ok)
	assert.Equal(t, prefix, found)
	a.Executable = filepath.Join(prefix, "libexec", "intercom")
	_, ok = a.installed()
	assert.False(t, ok)
}

// If no sidecar runs that could recognise an agent, only a key at a terminal lets uninstall remove anything.
func TestUninstall_asksWhereNoSidecarRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.run("hooks", "install", "claude")
	require.Zero(t, r.code, r.err)
	for _, server := range []string{w.env["INTERCOM_SERVER"], ""} {
		cmd := exec.Command(thisProgram(), "uninstall", "--server="+server)
		cmd.Stdin = strings.NewReader("y")
		for name, value := range w.env {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no terminal
		out, _ := cmd.CombinedOutput()
		assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s", out)
		assert.Contains(t, string(out), "only a person at a terminal may do that")
	}
	assert.FileExists(t, filepath.Join(w.env["HOME"], ".claude", "settings.json"))
}

// An agent's settings that cannot be read do not keep the rest from being removed. They are reported as left and as an error,
// unless nothing of ours is in them.
func TestUninstall_settingsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	for _, line := range []string{"hooks install claude", "hooks install codex", "mcp install claude", "mcp install codex"} {
		r := w.run(strings.Fields(line)...)
		require.Zero(t, r.code, r.err)
	}
	a := &app{env: env{Getenv: w.getenv, Stdout: io.Discard, Stderr: io.Discard}}
	broken := func(file string, err error) string {
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, append(text, "{"...), 0o600))
		return file
	}
	calls, starts := broken(a.hooksFile("claude")), broken(a.serverFile("claude"))
	theirs, err := a.hooksFile("gemini")
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(theirs), 0o700))
	require.NoError(t, os.WriteFile(theirs, []byte(`{"a": 1`), 0o600))

	var r uninstallReply
	a.unhook(t.Context(), &r)
	a.untool(t.Context(), &r)
	codex, err := a.hooksFile("codex")
	require.NoError(t, err)
	assert.Contains(t, r.Hooks, codex)
	if text, err := os.ReadFile(codex); err == nil {
		assert.NotContains(t, string(text), "intercom", "both of ours are out of it")
	}
	var left, again []string
	for _, l := range r.Left {
		left, again = append(left, l.Path), append(again, l.Remove)
	}
	assert.Equal(t, []string{calls, starts}, left)
	assert.Equal(t, []string{"intercom hooks uninstall claude", "intercom mcp uninstall claude"}, again)
	told := api.AsError(r.unfinished())
	assert.Equal(t, api.CodeFailed, told.Code)
	assert.Contains(t, told.Text, "hooks of claude, where something is wrong: file ")
	assert.Equal(t, "fix that, then: intercom hooks uninstall claude && intercom mcp uninstall claude; everything else was removed", told.Hint)
	assert.NoError(t, (&uninstallReply{}).unfinished())
}

// Programs that keys of another tmux server run stay while that server has a sidecar, and are reported as left.
func TestUninstall_whatOthersRun(t *testing.T) {
	w := newWorld(t)
	a := &app{env: env{Getenv: w.getenv}}
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	c, err := a.typed(a.Getenv("PATH"))
	require.NoError(t, err)
	files := []string{c.link, c.script, filepath.Join(filepath.Dir(c.script), "used")}
	for _, file := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.Symlink(c.script, file))
	}
	other, err := api.Listen(p.Runtime, "another")
	require.NoError(t, err)
	r := uninstallReply{at: p}
	a.untype(&r)
	assert.Empty(t, r.Commands)
	var left []string
	for _, l := range r.Left {
		left = append(left, l.Path)
	}
	assert.Equal(t, files, left)
	require.NoError(t, os.MkdirAll(p.State, 0o700))
	repo := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(repo, ".aea"), 0o700))
	require.NoError(t, repository.EnabledIn(filepath.Dir(p.State)).Set(repository.Wish{Path: repo, Agent: "claude-repo", Since: time.Now()}))
	shared := []string{filepath.Dir(p.State), p.Runtime, filepath.Dir(filepath.Dir(c.script)), filepath.Join(repo, ".aea")}
	removes := func(others bool) (all []string) {
		for _, l := range a.leftovers(p, "", others) {
			if slices.Contains(shared, l.Path) {
				all = append(all, l.Remove)
			}
		}
		require.Len(t, all, len(shared))
		return all
	}
	for _, remove := range removes(true) {
		assert.Regexp(t, `^\(in use: rm -r .* after intercom uninstall where the last other tmux server is\)$`, remove, "it would be the other's")
	}
	for _, remove := range removes(false) {
		assert.Regexp(t, `^rm -r `, remove)
	}

	require.NoError(t, other.Release())
	r = uninstallReply{at: p}
	a.untype(&r)
	assert.Equal(t, files, r.Commands)
	assert.Empty(t, r.Left)
}
