package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

const ownSettings = "{\n  \"model\": \"opus\"\n}\n"

// A relative link inside a linked settings directory is resolved from the real directory.
func TestFollow_aLinkInALinkedDirectory(t *testing.T) {
	dir := t.TempDir()
	settings, dotfiles := filepath.Join(dir, "home", ".claude"), filepath.Join(dir, "work", "dotfiles", "claude")
	for _, one := range []string{filepath.Dir(settings), dotfiles} {
		require.NoError(t, os.MkdirAll(one, 0o700))
	}
	require.NoError(t, os.Symlink(dotfiles, settings))
	require.NoError(t, os.Symlink("../common.json", filepath.Join(dotfiles, "settings.json")))
	want := filepath.Join(dir, "work", "dotfiles", "common.json")
	for _, there := range []bool{false, true} {
		if there {
			require.NoError(t, os.WriteFile(want, nil, 0o600))
		}
		file, err := follow(filepath.Join(settings, "settings.json"))
		require.NoError(t, err)
		assert.Equal(t, want, file)
	}
}

func TestU10_hooksOfAnAgentComeAndGo(t *testing.T) {
	for agent, c := range map[string]struct{ variable, dir, name, own string }{
		"claude": {"CLAUDE_CONFIG_DIR", ".claude", "settings.json", ownSettings},
		"codex":  {"CODEX_HOME", ".codex", "config.toml", "# mine\nmodel = \"o4\""},
	} {
		w := newWorld(t)
		w.executable = filepath.Join(t.TempDir(), "my bin", "intercom")
		file := filepath.Join(w.env["HOME"], c.dir, c.name)

		// No settings file exists.
		r := w.run("hooks", "uninstall", agent)
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, "no hooks of ours")
		r = w.run("hooks", "install", agent, "--dry-run")
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, file+" would become:\n+ ")
		assert.NoDirExists(t, filepath.Dir(file))
		r = w.run("hooks", "install", agent)
		require.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, agent+" calls "+w.executable+" at ")
		assert.Contains(t, read(t, file), w.executable)
		assert.Equal(t, os.FileMode(0o600), modeOf(t, file))
		r = w.run("hooks", "install", agent)
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, "nothing to change")
		r = w.run("hooks", "uninstall", agent, "--dry-run")
		assert.Contains(t, r.out, "(no file)\n- ")
		assert.FileExists(t, file)
		r = w.run("hooks", "uninstall", agent)
		assert.Zero(t, r.code, r.err)
		assert.Contains(t, r.out, "removed, since nothing else was in it")
		assert.NoFileExists(t, file)

		// The settings file lies elsewhere, behind links, and has a mode of its own.
		place, real := t.TempDir(), filepath.Join(t.TempDir(), "dotfiles")
		require.NoError(t, os.Mkdir(real, 0o750))
		target := filepath.Join(real, "x."+c.name)
		require.NoError(t, os.WriteFile(target, []byte(c.own), 0o600))
		require.NoError(t, os.Chmod(target, 0o644))
		require.NoError(t, os.Symlink(target, filepath.Join(real, "link")))
		require.NoError(t, os.Symlink(filepath.Join("link"), filepath.Join(real, c.name)))
		require.NoError(t, os.Remove(place))
		require.NoError(t, os.Symlink(real, place))
		w.env[c.variable] = place
		r = w.run("hooks", "install", agent, "--json")
		require.Zero(t, r.code, r.err)
		var reply hooksReply
		oneValue(t, r.out, &reply)
		assert.True(t, reply.Changed)
		assert.Equal(t, []string{agent, w.executable}, []string{reply.Agent, reply.Program})
		assert.NotEmpty(t, reply.Events)
		assert.Contains(t, strings.Join(reply.Diff, "\n"), "+ ")
		assert.NotEqual(t, c.own, read(t, target))
		link, err := os.Readlink(filepath.Join(real, c.name))
		require.NoError(t, err)
		assert.Equal(t, "link", link)
		assert.Equal(t, os.FileMode(0o644), modeOf(t, target))
		r = w.run("hooks", "uninstall", agent)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, c.own, read(t, target))
		assert.Equal(t, os.FileMode(0o644), modeOf(t, target))

		// A link whose target does not exist.
		require.NoError(t, os.Remove(target))
		require.Zero(t, w.run("hooks", "install", agent).code)
		assert.FileExists(t, target)
		require.Zero(t, w.run("hooks", "uninstall", agent).code)
		assert.NoFileExists(t, target)
		assert.NoFileExists(t, file, "the other place was left alone")
		entries, err := os.ReadDir(real)
		require.NoError(t, err)
		assert.Len(t, entries, 2, "the two links, and nothing that was left over: %v", entries)
	}
}

func TestHooks_whatCannotBeChangedIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	claude, codex := filepath.Join(w.env["HOME"], ".claude", "settings.json"), filepath.Join(w.env["HOME"], ".codex", "config.toml")
	writeFile(t, claude, "{\n  // mine\n  \"a\": \x1b1\n}\n")
	writeFile(t, codex, "notify = [\"beep\", \"\x1b\"]\n")
	for _, name := range []string{"install", "uninstall"} {
		r := w.run("hooks", name, "claude")
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, "invalid JSON, line 2")
		assert.Contains(t, r.err, "intercom: hint: nothing was changed; fix the file first\n")
		harmless(t, name, r.out+r.err)
	}
	r := w.run("hooks", "install", "codex")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "invalid TOML", "an escape character is none of a string")
	writeFile(t, codex, "notify = [\"beep\"]\n")
	r = w.run("hooks", "install", "codex")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "notify is taken: it calls another program: notify = [\"beep\"]\n")
	assert.Contains(t, r.err, "intercom: hint: nothing was changed; Codex calls only one program, so let yours call this one with the same last argument: "+w.executable+" hook codex notify\n")
	assert.Equal(t, "notify = [\"beep\"]\n", read(t, codex))
	assert.Equal(t, "{\n  // mine\n  \"a\": \x1b1\n}\n", read(t, claude))

	require.NoError(t, os.WriteFile(codex, []byte("model = \"x\"\n"), 0o600))
	require.NoError(t, os.Chmod(codex, 0o444))
	r = w.run("hooks", "install", "codex")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "it is read-only\nintercom: hint: nothing was changed; chmod u+w")
	assert.Equal(t, "model = \"x\"\n", read(t, codex))
	require.NoError(t, os.Chmod(filepath.Dir(codex), 0o500))
	assert.Zero(t, w.run("hooks", "install", "codex", "--dry-run").code)
	require.NoError(t, os.Chmod(filepath.Dir(codex), 0o700))
	require.NoError(t, os.Remove(codex))
	require.NoError(t, os.Mkdir(codex, 0o700))
	r = w.run("hooks", "install", "codex")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "is a directory")

	for _, args := range [][]string{{"install"}, {"install", "vim"}, {"install", "claude", "codex"}, {"frobnicate"}, {"uninstall", ""}} {
		r := w.run(append([]string{"hooks"}, args...)...)
		assert.Equal(t, 2, r.code, args)
		assert.Empty(t, r.out, args)
	}
	w.env["HOME"] = ""
	r = w.run("hooks", "install", "claude")
	assert.Equal(t, 2, r.code)
	assert.Contains(t, r.err, "neither CLAUDE_CONFIG_DIR nor HOME")
}

// Claude Code may write its settings at any time.
func TestHooks_whatOthersWriteMeanwhileIsNotLost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "settings.json")
	writeFile(t, file, "1")
	seen := 0
	was, now, err := changeFile(file, false, func(text []byte) ([]byte, error) {
		if seen++; seen == 1 {
			writeFile(t, file, "2")
		}
		return append(text, "+"...), nil
	})
	require.NoError(t, err)
	assert.Equal(t, []string{"2", "2+"}, []string{string(was), string(now)})
	assert.Equal(t, "2+", read(t, file))

	_, _, err = changeFile(file, false, func(text []byte) ([]byte, error) {
		seen++
		writeFile(t, file, strings.Repeat("x", seen))
		return append(text, "+"...), nil
	})
	assert.ErrorContains(t, err, "another process")
	assert.Equal(t, strings.Repeat("x", seen), read(t, file))

	no := errors.New("no")
	_, _, err = changeFile(file, false, func([]byte) ([]byte, error) { return nil, no })
	assert.ErrorIs(t, err, no)
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, entries, 1, "nothing is left over: %v", entries)
}

func TestHooks_diff(t *testing.T) {
	for _, c := range []struct{ was, now, want string }{
		{"a\nb\n", "a\nb\n", ""},
		{"", "a\nb\n", "+ a\n+ b"},
		{"a\n", "", "- a"},
		{"1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n4\n5\n6\n7\n", "  2\n  3\n+ x\n  4\n  5"},
		{"1\n2\n3\n4\n", "1\nx\n3\ny\n4\n", "  1\n- 2\n+ x\n  3\n+ y\n  4"},
		{"a\r\nb", "a\r\nc", "  a\n- b\n+ c"},
	} {
		assert.Equal(t, c.want, strings.Join(diff(c.was, c.now), "\n"), "%q %q", c.was, c.now)
	}
}

// The intercom in $PATH is preferred if it is this program, because that path survives an update.
func TestHooks_programIsCalledByAPathThatStays(t *testing.T) {
	bin, store := t.TempDir(), t.TempDir()
	writeFile(t, filepath.Join(store, "1.0", "intercom"), "")
	require.NoError(t, os.Chmod(filepath.Join(store, "1.0", "intercom"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(store, "1.0", "intercom"), filepath.Join(bin, "intercom")))
	t.Setenv("PATH", bin)
	for self, want := range map[string]string{
		filepath.Join(store, "1.0", "intercom"): filepath.Join(bin, "intercom"),
		filepath.Join(store, "2.0", "intercom"): filepath.Join(store, "2.0", "intercom"),
		"/bin/sh":                               "/bin/sh",
	} {
		a := &app{env: env{Executable: self, Getenv: func(string) string { return "" }}}
		got, err := a.program()
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

// If HOME is a symbolic link, the launcher is preferred, too: the system names this program by its real path.
func TestHooks_programBehindALinkedHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	home, behind := filepath.Join(dir, "home"), filepath.Join(dir, "behind")
	require.NoError(t, os.Symlink(behind, home))
	const bin = ".local/share/intercom/bin"
	writeFile(t, filepath.Join(behind, bin, "aaaaaaaaaaaa", "intercom"), "")
	launcher := filepath.Join(home, bin, "intercom")
	writeFile(t, launcher, "")
	require.NoError(t, os.Chmod(launcher, 0o755))
	a := &app{env: env{
		Executable: filepath.Join(behind, bin, "aaaaaaaaaaaa", "intercom"),
		Getenv:     func(name string) string { return map[string]string{"HOME": home}[name] },
	}}
	got, err := a.program()
	require.NoError(t, err)
	assert.Equal(t, launcher, got)
}

func TestAdopt_asWhat(t *testing.T) {
	b := &fakeBackend{}
	w := newWorld(t)
	w.serve(t, b)
	for line, want := range map[string]api.AdoptRequest{
		"adopt %1":                                {Pane: "%1"},
		"adopt %1 --as claude --name ada":         {Pane: "%1", As: "claude", Name: "ada"},
		"adopt %1 --as codex":                     {Pane: "%1", As: "codex"},
		"adopt %1 --as line --prompt >":           {Pane: "%1", As: "line", Prompt: ">"},
		"adopt %1 --as line-paste --prompt [0-9]": {Pane: "%1", As: "line-paste", Prompt: "[0-9]"},
	} {
		r := w.run(strings.Fields(line)...)
		require.Zero(t, r.code, r.err)
		assert.Equal(t, want, b.took(), line)
	}
	for _, line := range []string{"adopt %1 --prompt x", "adopt %1 --as claude --prompt x"} {
		r := w.run(strings.Fields(line)...)
		assert.Equal(t, 2, r.code, line)
		assert.Contains(t, r.err, "--prompt is for programs that read lines\nintercom: hint: add --as line")
	}

	b.adopted = &message.Peer{PaneOf: message.PaneOf{Pane: "%1", Profile: "claude", Foreground: message.Process{PID: 7, Name: "claude"}}, Name: "claude-2"}
	assert.Equal(t, "adopted %1 as claude-2 (claude, claude (7))\n", w.run("adopt", "%1").out)
	b.adopted = &message.Peer{PaneOf: message.PaneOf{Pane: "%1", Profile: "line", Prompt: "> ", Foreground: message.Process{PID: 7, Name: "repl"}}, Name: "ada"}
	assert.Equal(t, "adopted %1 as ada (line, repl (7)), prompt \"> \"\n", w.run("adopt", "%1").out)
	b.adopted.PaneProc = b.adopted.Foreground
	assert.Empty(t, w.run("adopt", "%1").err, "it is alone in its pane")
	b.adopted.PaneProc = message.Process{PID: 5}
	assert.Contains(t, w.run("adopt", "%1").err, "note: input that it has not read when it ends goes to process 5 below it, and a shell would run it")
}

// Older versions of tmux do not tell whether a program takes a paste as one input, so adopting as line-paste gets a warning
// there.
func TestAdopt_pastesUntold(t *testing.T) {
	for version, untold := range map[string]bool{"3.2a": true, "3.6": true, "3.7c": false, "3.10": false, "next-3.7": false, "4.0": false} {
		for _, as := range []string{"line", "line-paste"} {
			w := newWorld(t)
			w.serve(t, &fakeBackend{adopted: &message.Peer{PaneOf: message.PaneOf{Pane: "%1", Profile: as}}, status: api.Status{Tmux: version}})
			r := w.run("adopt", "%1", "--as", as)
			require.Zero(t, r.code, r.err)
			assert.Equal(t, untold && as == "line-paste", strings.Contains(r.err, "this tmux does not tell whether the program takes a paste as one input"), "%s, %s", version, as)
		}
	}
}

// Helpers.

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(text)
}

func modeOf(t *testing.T, file string) os.FileMode {
	t.Helper()
	info, err := os.Stat(file)
	require.NoError(t, err)
	return info.Mode().Perm()
}

func writeFile(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}
