package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// typing runs a line in a new login shell of the person, with a usual profile.
func (st *stage) typing(line string, env ...string) (string, error) {
	st.t.Helper()
	st.profile("$HOME/.local/bin:" + st.env["PATH"])
	cmd := exec.Command("/bin/sh", "-lc", line)
	cmd.Env = append(append([]string{"HOME=" + st.Dir}, st.environ()...), env...)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// The plugin makes its program a command in a directory of the person's PATH. In tmux that command runs the program that the
// server uses, elsewhere the one that was used last. Another program of that name in its place is left alone.
func TestU18_aCommandToType(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	link := filepath.Join(st.Dir, ".local", "bin", "intercom")
	inTmux := "TMUX=" + st.Socket + ",1,0"
	st.Run("set-environment", "-g", "HOME", st.Dir, ";", "set-environment", "-g", "PATH", st.env["PATH"])
	st.load()
	_, err := os.Lstat(link)
	require.Error(t, err, "it is not in PATH")
	out, _ := st.intercom("doctor")
	assert.Contains(t, out, "intercom is not a command here: the plugin's program is not in PATH; the shells in panes may have another PATH, and were not asked")
	me := st.sit("base")
	me.menu("d")
	me.sees("f fixes")
	me.sees("and is not in a new pane")
	me.press("f")
	me.sees("doctor --fix")
	tmuxtest.WaitFor(t, "the link", func() bool { _, err := os.Lstat(link); return err == nil })
	// The person's shell profile decides, not the PATH of tmux.
	st.profile("$HOME/.local/bin:" + st.env["PATH"])
	me.press("f")
	me.sees("intercom, typed in a new pane, is the plugin's program")
	me.press("q")
	me.seesNot("f fixes")

	// The doctor says whose PATH it looked at, unless it is that of the shell in which it was typed.
	in := "PATH=" + filepath.Dir(link) + ":" + st.env["PATH"]
	for _, c := range []struct {
		env   []string
		asked bool
	}{{[]string{in}, false}, {[]string{in, inTmux, "TMUX_PANE=%0"}, true}} {
		cmd := exec.Command(thisProgram(), "doctor")
		cmd.Env = append(append(st.environ(), "INTERCOM_SERVER="+st.Socket), c.env...)
		text, _ := cmd.Output()
		assert.Contains(t, string(text), "intercom, typed here, is the plugin's program, by "+link)
		assert.Equal(t, !c.asked, strings.Contains(string(text), "were not asked: command -v intercom there tells"), c.env)
	}

	version, err := st.typing("intercom version")
	require.NoError(t, err, version)
	said, err := st.typing("intercom status", inTmux)
	require.NoError(t, err, said)
	assert.Contains(t, said, "sidecar ")

	// Another server, or the next revision, runs another program.
	next := filepath.Join(st.home, "next")
	tmuxtest.Program(t, next, "#!/bin/sh\necho \"next $*\"\n")
	st.Run("set-option", "-g", usedOption, next)
	said, err = st.typing("intercom status", inTmux)
	require.NoError(t, err, said)
	assert.Equal(t, "next status", said)
	said, err = st.typing("intercom version")
	require.NoError(t, err, said)
	assert.Equal(t, version, said, "outside of tmux it is what was loaded last")

	// If @intercom-bin names the command itself, the person is told, and there is no loop.
	st.Run("set-option", "-g", usedOption, link)
	said, err = st.typing("intercom version", inTmux)
	require.NoError(t, err, said)
	assert.Equal(t, version, said)
	require.NoError(t, os.Remove(filepath.Join(st.env["XDG_DATA_HOME"], "intercom", "bin", "used")))
	said, err = st.typing("intercom version", inTmux)
	require.Error(t, err)
	assert.Contains(t, said, "intercom: not built yet; run: tmux run-shell ")
	st.Run("set-option", "-g", "@intercom-bin", link)
	st.Run("run-shell", st.root+"/intercom.tmux")
	me.sees("is not a program this plugin can use")
	st.Run("set-option", "-g", "@intercom-bin", thisProgram())
	st.load()

	out, code := st.intercom("uninstall")
	require.Zero(t, code, out)
	assert.Contains(t, out, "removed: "+link)
	_, err = os.Lstat(link)
	assert.Error(t, err)

	// A program of the person's own in its place is left alone.
	tmuxtest.Program(t, link, "#!/bin/sh\necho mine\n")
	st.Run("set-environment", "-g", "PATH", filepath.Dir(link)+":"+st.env["PATH"], ";", "set-option", "-g", "@intercom-bin", thisProgram())
	st.load()
	out, _ = st.intercom("doctor", "--fix")
	assert.NotContains(t, out, "intercom is not a command")
	said, err = st.typing("intercom status", inTmux)
	require.NoError(t, err)
	assert.Equal(t, "mine", said)
	out, code = st.intercom("uninstall")
	require.Zero(t, code, out)
	assert.FileExists(t, link)
	require.NoError(t, os.Remove(link))
	st.Run("set-option", "-g", "@intercom-bin", thisProgram())
	st.load()
	to, err := os.Readlink(link)
	require.NoError(t, err, "it is in PATH, and free")
	assert.Equal(t, filepath.Join(st.env["XDG_DATA_HOME"], "intercom", "bin", "intercom"), to)
}

// If the directory of the plugin is removed while tmux runs, its keys go on working. If the program is gone too, they say why
// they do not.
func TestU18_keysOfAPluginThatWasRemoved(t *testing.T) {
	t.Parallel()
	tmuxtest.InTurn(t, func(t *testing.T, v tmuxtest.Version) {
		t.Parallel()
		b := newBuild(t, v, "", "")
		b.Run("set-option", "-g", "@intercom-bin", thisProgram())
		b.two()
		b.load()
		me := b.sit("base")
		require.NoError(t, os.RemoveAll(b.root))
		me.press("C-b", b.chatKey)
		me.sees("claude (1) ↔ codex (2): on")
		me.menu("d")
		me.sees("the plugin is gone from " + b.root[:10])
		me.press("q")
		me.seesNot("the plugin is gone")
		// The keys work even after the sidecar has forgotten, two seconds later, that a menu was opened: a menu may stay open for
		// long. tmux tells only the second of a key, so wait until the next menu key cannot be mistaken for the last choice.
		chose := time.Now()
		tmuxtest.WaitFor(t, "another second", func() bool { return time.Since(chose) > 1100*time.Millisecond })
		me.press("C-b", "B")
		me.sees("stop the chat")
		opened := time.Now()
		tmuxtest.WaitFor(t, "that time to pass", func() bool { return time.Since(opened) > 4*time.Second })
		me.press("x")
		me.sees("claude (1) ↔ codex (2): ended")

		b.Run("set-option", "-g", usedOption, "/nowhere/intercom")
		require.NoError(t, os.Remove(filepath.Join(b.env["XDG_DATA_HOME"], "intercom", "bin", "used")))
		me.menu("p")
		me.sees("intercom: the plugin is gone from ")
		me.menu("d")
		me.sees("Press Enter, q or Escape.")
		me.press("Enter")
		me.seesNot("Press Enter, q or Escape.")
	})
}

// Messages to a person at the keys name keys as they are bound, and commands if no key is bound.
func TestU18_messagesNameKeys(t *testing.T) {
	t.Parallel()
	st := newStage(t, tmuxtest.Versions(t)[0])
	st.Run("set-option", "-g", menuKeyOption, "M-b")
	st.load()
	a := &app{env: env{Getenv: func(name string) string { return st.env[name] }}, server: st.Socket, named: true}
	assert.Equal(t, "prefix + M-b, d looks for what is wrong; prefix + M-b, d, f mends it", a.byKeys(t.Context(), "intercom doctor looks for what is wrong; intercom doctor --fix mends it"))
	assert.Equal(t, "a program that reads lines is adopted by prefix + M-b, c, then l (--as line)", a.byKeys(t.Context(), "a program that reads lines is adopted by `intercom adopt %3 --as line`"))
	me := st.sit("base")
	me.press("C-b", "M-b", "d")
	me.sees("→ prefix + M-b, d, f")
	me.press("q")
	assert.Equal(t, "a's message to b awaits your approval: prefix + M-b, i (why)", a.byKeys(t.Context(), "a's message to b awaits your approval: intercom inbox approve 4d0c8ed2 (why)"))
	st.Run("set-option", "-g", menuKeyOption, "")
	st.load()
	assert.Equal(t, "intercom doctor looks", a.byKeys(t.Context(), "intercom doctor looks"))
}

// A directory in PATH counts with a slash after it, too.
func TestTyped_aSlashAfterTheDirectory(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	a := &app{env: env{Getenv: func(name string) string { return map[string]string{"HOME": home}[name] }}}
	for path, on := range map[string]bool{home + "/.local/bin": true, home + "/.local/bin/": true, home + "/.local/": false} {
		c, err := a.typed("/nowhere:" + path)
		require.NoError(t, err)
		assert.Equal(t, on, c.onPath, path)
	}
}

// The advice fits the person's shell.
func TestToPath(t *testing.T) {
	t.Parallel()
	for shell, file := range map[string]string{"/bin/bash": "~/.profile", "/usr/bin/zsh": "~/.zprofile", "/usr/bin/fish": "fish_add_path ~/.local/bin", "": "~/.profile"} {
		assert.Contains(t, toPath(shell), file, shell)
	}
}
