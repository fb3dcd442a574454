package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// standInKey makes prefix + I do what TPM does for a plugin that is not there yet: clone it and run it.
const standInKey = `bind I run-shell "git clone -q --single-branch https://git::@github.com/$(sed -n \"s/^set -g @plugin '\\(.*\\)'$/\\1/p\" ~/.tmux.conf) ~/.tmux/plugins/tmux-intercom; sh ~/load; echo Done, press ESC"`

// readmeText is the text of README.
func readmeText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	return string(text)
}

// A person without Go gets along with README alone: its line in tmux.conf, prefix + I, the keys of its table, a first chat, the
// screen, and the uninstall, with a release served on loopback. If TPM is available, it does the installation.
func TestU12_U26_theFirstHourByREADME(t *testing.T) {
	if out, err := exec.Command("unshare", "-m", "sh", "-c", withoutGo, "sh", "true").CombinedOutput(); err != nil {
		t.Skipf("nobody can hide Go here, which takes mounts of its own: run the test as root, and in a container with --cap-add SYS_ADMIN: %v: %s", err, out)
	}
	t.Parallel()
	readme := readmeText(t)
	line := regexp.MustCompile(`(?m)^set -g @plugin '(.*)/tmux-intercom'$`).FindStringSubmatch(readme)
	require.NotNil(t, line, "README has the line for tmux.conf")
	for _, key := range []string{"`prefix + I`", "`prefix + U`", "| `prefix + @` |", "| `prefix + B` |", "| `prefix + J` |", "`#{@intercom-status}`", "`intercom uninstall`", "docs/pictures/chat.svg"} {
		assert.Contains(t, readme, key)
	}
	lua := regexp.MustCompile("(?s)```lua\n(.*?)```").FindStringSubmatch(readme)
	require.NotNil(t, lua)
	assert.GreaterOrEqual(t, strings.Count(lua[1], "\nintercom."), 5, "examples in Lua, which TestL2 runs")

	s := takeSnapshot(t)
	require.NoError(t, os.Symlink("acme", filepath.Join(s.dir, line[1])))
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		program, sum := theProgram()
		served := serveReleases(t, program)
		u := newUser(t, v, s)
		work := filepath.Join(u.home, "work")
		u.must("git", "clone", "-q", filepath.Join(u.dir, "acme", "tmux-intercom"), work)
		writeRelease(t, work, served.URL, sourcesOf(t, work), sum)
		u.must("git", "-C", work, "commit", "-q", "-am", "sums")
		u.must("git", "-C", work, "push", "-q", "origin", "HEAD:refs/heads/"+v.Name)
		u.must("git", "--git-dir="+filepath.Join(u.dir, "acme", "tmux-intercom"), "symbolic-ref", "HEAD", "refs/heads/"+v.Name)
		conf := []string{line[0], "set -g status-right '#{@intercom-status} '", standInKey, "run 'sh ~/load'"}
		require.NoError(t, os.WriteFile(filepath.Join(u.home, "load"), []byte(standIn+"\n"), 0o600))
		tpm := os.Getenv("TPM_SRC")
		if tpm != "" {
			u.must("git", "clone", "-q", tpm, filepath.Join(u.home, ".tmux", "plugins", "tpm"))
			conf = []string{line[0], conf[1], "run '~/.tmux/plugins/tpm/tpm'"}
		}
		u.configure(conf...)
		u.must("unshare", "-m", "sh", "-c", withoutGo, "sh", "tmux", "new-session", "-d", "-s", "main", "-x", "120", "-y", "30", "exec cat")
		terminal := u.attach()

		begun := time.Now()
		u.press(terminal, "C-b", "I")
		u.await("")
		if tpm != "" {
			u.outer.WaitForText(terminal, "Done, press")
		}
		t.Logf("tmux %s: a program and its sidecar %v after prefix + I", v.Name, time.Since(begun).Round(time.Millisecond))
		assert.EqualValues(t, 1, served.asked.Load(), "downloads")
		if strings.Contains(u.outer.Run("capture-pane", "-p", "-t", terminal), "Done, press") {
			u.leave(terminal)
		}
		u.settle()
		var panes []string
		for _, name := range []string{"claude", "codex"} {
			path := filepath.Join(u.home, name)
			tmuxtest.Program(t, path, "#!/bin/sh\nstty raw -echo\nprintf '\\033[?2004hready'\ncat >/dev/null\n")
			where := []string{"new-window"}
			if len(panes) > 0 {
				where = []string{"split-window", "-d", "-t", panes[0]}
			}
			panes = append(panes, u.tmux(append(where, "-P", "-F", "#{pane_id}", path)...))
			tmuxtest.WaitFor(t, name, func() bool { return strings.Contains(u.tmux("capture-pane", "-p", "-t", panes[len(panes)-1]), "ready") })
		}
		if v.AtLeast(3, 8) { // as README says
			u.picks(terminal, "c")
			u.outer.WaitForText(terminal, "what is sent")
			u.press(terminal, "1")
		} else {
			u.press(terminal, "C-b", "@")
		}
		u.outer.WaitForText(terminal, "claude (1) ↔ codex (2): on")
		took := time.Since(begun)
		t.Logf("tmux %s: a first chat %v after prefix + I", v.Name, took.Round(time.Millisecond))
		assert.LessOrEqual(t, took, time.Minute, "to a first chat")
		tmuxtest.WaitFor(t, "the status line", func() bool {
			rows := strings.Split(strings.TrimRight(u.outer.Run("capture-pane", "-p", "-t", terminal), "\n"), "\n")
			return strings.Contains(rows[len(rows)-1], "1 chat")
		})

		u.press(terminal, "C-b", "J")
		u.outer.WaitForText(terminal, "nobody waits for you")
		u.picks(terminal, "l")
		u.outer.WaitForText(terminal, "chats 1")
		u.press(terminal, "q")
		tmuxtest.WaitFor(t, "the end of the popup", func() bool { // the program ends before tmux removes the popup
			shown := u.outer.Run("capture-pane", "-p", "-t", terminal)
			return !strings.Contains(shown, "q closes") && !strings.Contains(shown, "┌")
		})
		tmuxtest.WaitFor(t, "the keys to be the person's again", func() bool { // tmux drops keys typed right after the closing one
			tables := strings.Fields(u.tmux("list-clients", "-F", "#{client_key_table}")) // the sidecar may be a client, too
			return !slices.ContainsFunc(tables, func(table string) bool { return table != "root" })
		})

		// And the removal: first the line, as README says.
		u.configure(conf[1:]...)
		require.NoError(t, os.WriteFile(filepath.Join(u.home, ".profile"), []byte("PATH=\"$HOME/.local/bin:"+filepath.Join(filepath.Dir(u.home), "bin")+":$PATH\"\n"), 0o600))
		u.press(terminal, "C-b", "c")
		shell := func() string { return u.outer.Run("capture-pane", "-p", "-t", terminal) }
		tmuxtest.WaitFor(t, "a shell", func() bool { return strings.HasPrefix(shell(), "#") || strings.HasPrefix(shell(), "$") })
		u.outer.Run("send-keys", "-t", terminal, "-l", "intercom uninstall; echo exit $?")
		u.press(terminal, "Enter")
		u.outer.WaitForText(terminal, "would end. Uninstall? [y/N]")
		u.press(terminal, "y")
		u.outer.WaitForText(terminal, "exit 0")
		for _, left := range []string{"list-keys", "show-options -g", "show-options -s"} {
			for row := range strings.Lines(u.tmux(strings.Fields(left)...)) {
				assert.False(t, strings.Contains(row, "intercom") && !strings.Contains(row, "prefix       I ") && !strings.Contains(row, "status-right") && !strings.HasPrefix(row, "@plugin"), "%s: %s", left, row)
			}
		}
		tmuxtest.WaitFor(t, "the end of the sidecar", func() bool { return len(u.sidecars()) == 0 })
		u.tmux("kill-server")
	})
}
