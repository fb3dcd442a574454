package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

func TestU9_tmuxProgram(t *testing.T) {
	w := newWorld(t)
	f, _ := w.examined(t, "tmux_program")
	assert.Equal(t, fine, f.Level)
	assert.Contains(t, f.Text, "tmux ")

	bin := t.TempDir()
	t.Setenv("PATH", bin)
	f, r := w.examined(t, "tmux_program")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, "no tmux program")
	assert.NotEmpty(t, f.Hint)
	assert.Equal(t, 1, r.code)

	for version, want := range map[string]level{
		"1.8": problem, "2.9a": problem, "3.1c": problem, "next-3.1": problem,
		"3.2": fine, "3.2a": fine, "3.10": fine, "10.0": fine, "next-3.8": fine, "master": fine,
	} {
		tmuxtest.Program(t, filepath.Join(bin, "tmux"), "#!/bin/sh\necho tmux "+version+"\n")
		f, _ = w.examined(t, "tmux_program")
		assert.Equal(t, want, f.Level, "tmux %s", version)
		assert.Contains(t, f.Text, version)
		assert.Equal(t, strings.HasPrefix(version, "3.2"), strings.Contains(f.Text, "tested by hand"), version)
	}
}

func TestU9_tmuxServer(t *testing.T) {
	w := newWorld(t)
	f, r := w.examined(t, "tmux_server")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, "no tmux server runs at")
	assert.NotEmpty(t, f.Hint)
	assert.Equal(t, 1, r.code)

	w.env["INTERCOM_SERVER"] = ""
	f, _ = w.examined(t, "tmux_server")
	assert.Equal(t, note, f.Level)

	w, s := onTmux(t)
	f, r = w.examined(t, "tmux_server")
	assert.Equal(t, fine, f.Level)
	assert.Contains(t, f.Text, s.Version.Name)
	assert.Zero(t, r.code, r.out)

	// The tmux program was updated while the server goes on running.
	real, err := exec.LookPath("tmux")
	require.NoError(t, err)
	bin := t.TempDir()
	script := "#!/bin/sh\n[ \"$2\" = -V ] && echo tmux 9.9 && exit\nexec " + real + " \"$@\"\n"
	tmuxtest.Program(t, filepath.Join(bin, "tmux"), script)
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	f, _ = w.examined(t, "tmux_server")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "the program is 9.9")
}

func TestU9_tmuxHooks(t *testing.T) {
	t.Parallel()
	w, s := onTmux(t)
	s.Run("set-hook", "-g", "after-new-window", "display-message new") // this hook does not concern us
	s.Run("set-hook", "-t", s.Base, "after-load-buffer", "delete-buffer")
	f, r := w.examined(t, "tmux_hooks")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "after-load-buffer of session $")
	assert.Contains(t, f.Text, "delete-buffer")
	assert.Zero(t, r.code)
	_, mends, ok := strings.Cut(f.Hint, ": tmux ")
	require.True(t, ok)
	s.Run(strings.Fields(strings.ReplaceAll(mends, "'", ""))...)
	assert.NotContains(t, w.run("doctor", "--json").out, "tmux_hooks")

	s.Run("set-option", "-s", "command-alias[200]", "load-buffer=display-message stolen")
	f, _ = w.examined(t, "tmux_hooks")
	assert.Contains(t, f.Text, "command-alias[200]")
	s.Run("set-option", "-su", "command-alias[200]")
	assert.NotContains(t, w.run("doctor", "--json").out, "tmux_hooks")
}

func TestU9_transport(t *testing.T) {
	t.Parallel()
	w, s := onTmux(t)
	f, _ := w.examined(t, "transport")
	assert.Equal(t, fine, f.Level)
	assert.Contains(t, f.Text, "would be reached by process")
	assert.Contains(t, f.Text, "inotify")

	s.Run("set-option", "-g", daemon.TransportOption, "control")
	f, _ = w.examined(t, "transport")
	assert.Contains(t, f.Text, "would be reached by control (asked for")

	s.Run("set-option", "-g", daemon.TransportOption, "pigeon")
	f, r := w.examined(t, "transport")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, `"pigeon"`)
	assert.Equal(t, 1, r.code)

	w.env["INTERCOM_TRANSPORT"], w.env["INTERCOM_TRIGGER"] = "process", "polling"
	f, _ = w.examined(t, "transport")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "watched by polling")

	w.serve(t, &fakeBackend{status: api.Status{Transport: "process", Why: "fixed in 3.8", Trigger: "inotify"}})
	delete(w.env, "INTERCOM_TRANSPORT")
	s.Run("set-option", "-g", daemon.TransportOption, "native")
	f, _ = w.examined(t, "transport")
	assert.Equal(t, note, f.Level, "it has no effect before the next start")
	assert.Contains(t, f.Hint, "asks for native")
	s.Run("set-option", "-g", daemon.TransportOption, "auto")
	f, _ = w.examined(t, "transport")
	assert.Equal(t, fine, f.Level)
	assert.Equal(t, "tmux is reached by process (fixed in 3.8), panes are watched by inotify", f.Text)
}

func TestU9_controlClient(t *testing.T) {
	w, _ := onTmux(t)
	assert.Empty(t, w.allOf(t, "control_client"))
	w.serve(t, &fakeBackend{status: api.Status{Transport: "control", Trigger: "output"}})
	f, _ := w.examined(t, "control_client")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "session_attached")
	assert.Contains(t, f.Hint, daemon.TransportOption+" process")
}

func TestU9_utf8Locale(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		all, ctype, lang string
		want             level
	}{
		{"", "", "C.UTF-8", fine},
		{"", "", "de_DE.utf8", fine},
		{"", "en_GB.UTF-8", "C", fine},
		{"C", "en_GB.UTF-8", "en_GB.UTF-8", note},
		{"", "", "POSIX", note},
		{"", "", "", note},
	} {
		w.env["LC_ALL"], w.env["LC_CTYPE"], w.env["LANG"] = c.all, c.ctype, c.lang
		f, _ := w.examined(t, "utf8_locale")
		assert.Equal(t, c.want, f.Level, "%+v", c)
	}
}

func TestU9_utf8Clients(t *testing.T) {
	t.Parallel()
	w, s := onTmux(t)
	assert.Empty(t, w.allOf(t, "utf8_clients"))
	for _, c := range []struct {
		locale string
		want   level
	}{{"C", problem}, {"C.UTF-8", fine}} {
		client := exec.CommandContext(t.Context(), s.Version.Bin, "-S", s.Socket, "attach-session")
		client.Env = []string{"TERM=xterm", "LC_ALL=" + c.locale}
		terminal, err := pty.Start(client)
		require.NoError(t, err)
		tmuxtest.WaitFor(t, "client", func() bool { return s.Run("list-clients") != "" })
		f, _ := w.examined(t, "utf8_clients")
		assert.Equal(t, c.want, f.Level, "%s: %s", c.locale, f.Text)
		s.Run("detach-client", "-a")
		require.NoError(t, client.Process.Kill())
		_ = client.Wait()
		require.NoError(t, terminal.Close())
		tmuxtest.WaitFor(t, "detached client", func() bool { return s.Run("list-clients") == "" })
	}
}

func TestU9_socketPath(t *testing.T) {
	w := newWorld(t)
	f, _ := w.examined(t, "socket_path")
	assert.Equal(t, fine, f.Level)
	w.env["XDG_RUNTIME_DIR"] = "/tmp/" + strings.Repeat("x", 100)
	f, r := w.examined(t, "socket_path")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Hint, "XDG_RUNTIME_DIR")
	assert.Equal(t, 1, r.code)
}

func TestU9_directories(t *testing.T) {
	t.Parallel()
	for id, place := range map[string]func(api.Paths) string{
		"runtime_dir": func(p api.Paths) string { return p.Runtime },
		"state_dir":   func(p api.Paths) string { return p.State },
	} {
		t.Run(id, func(t *testing.T) {
			w, _ := onTmux(t)
			dir := place(w.places(t))
			f, _ := w.examined(t, id)
			assert.Equal(t, fine, f.Level)
			assert.NoDirExists(t, dir, "nothing is made by looking")

			require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o700))
			require.NoError(t, os.Mkdir(dir, 0o700))
			f, _ = w.examined(t, id)
			assert.Equal(t, fine, f.Level)

			require.NoError(t, os.Chmod(dir, 0o755))
			f, r := w.examined(t, id)
			assert.Equal(t, problem, f.Level)
			assert.True(t, f.Fixable)
			assert.Equal(t, 1, r.code)
			f, r = w.examined(t, id, "--fix")
			assert.True(t, f.Fixed, "%+v", f)
			assert.Zero(t, r.code, r.out)
			f, _ = w.examined(t, id)
			assert.Equal(t, fine, f.Level)

			// A symbolic link in its place is reported and left alone.
			other := t.TempDir()
			require.NoError(t, os.Chmod(other, 0o755))
			require.NoError(t, os.Remove(dir))
			require.NoError(t, os.Symlink(other, dir))
			f, r = w.examined(t, id, "--fix")
			assert.Equal(t, problem, f.Level)
			assert.False(t, f.Fixable)
			assert.Equal(t, 1, r.code)
			info, err := os.Stat(other)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o755), info.Mode().Perm())

			// If others may write to the parent, the mode of the directory protects nothing.
			require.NoError(t, os.Remove(dir))
			require.NoError(t, os.Mkdir(dir, 0o700))
			require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777))
			f, _ = w.examined(t, id, "--fix")
			assert.Equal(t, problem, f.Level)
			assert.Contains(t, f.Hint, "chmod go-w")
			assert.False(t, f.Fixed)
		})
	}
}

func TestDoctor_mendsTheParentThatIsOurs(t *testing.T) {
	t.Parallel()
	for name, ours := range map[string]bool{fmt.Sprintf("intercom-%d", os.Geteuid()): true, "others": false} {
		w, _ := onTmux(t)
		parent := filepath.Join(w.env["XDG_RUNTIME_DIR"], name)
		require.NoError(t, os.Mkdir(parent, 0o700))
		require.NoError(t, os.Chmod(parent, 0o777))
		w.env["XDG_RUNTIME_DIR"] = parent
		f, _ := w.examined(t, "runtime_dir")
		assert.Equal(t, problem, f.Level, name)
		assert.Equal(t, ours, f.Fixable, name)
		f, _ = w.examined(t, "runtime_dir", "--fix")
		assert.Equal(t, ours, f.Fixed, "%+v", f)
		info, err := os.Stat(parent)
		require.NoError(t, err)
		assert.Equal(t, map[bool]os.FileMode{true: 0o700, false: 0o777}[ours], info.Mode().Perm())
	}
}

func TestDoctor_degraded(t *testing.T) {
	w := newWorld(t)
	assert.Empty(t, w.allOf(t, "degraded"))
	w.serve(t, &fakeBackend{status: api.Status{Degraded: []string{"the journal was damaged"}}})
	f, r := w.examined(t, "degraded")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, "the journal was damaged")
	assert.Equal(t, 1, r.code)
	r = w.run("up")
	assert.Zero(t, r.code)
	assert.Equal(t, "intercom: warning: the journal was damaged\n", r.err)
}

func TestDoctor_journalThatNobodyHasOpen(t *testing.T) {
	w := newWorld(t)
	p := w.places(t)
	require.NoError(t, api.Private(p.State))
	assert.Empty(t, w.allOf(t, "journal"))
	path := filepath.Join(p.State, journalFile)
	broken := []byte(strings.Repeat("this is no database ", 500))
	require.NoError(t, os.WriteFile(path, broken, 0o600))
	f, r := w.examined(t, "journal", "--fix")
	assert.Equal(t, problem, f.Level)
	assert.False(t, f.Fixable)
	assert.Equal(t, 1, r.code)
	left, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, broken, left, "nothing was touched")
}

func TestU9_notWritable(t *testing.T) {
	w, _ := onTmux(t)
	w.env["XDG_STATE_HOME"] = "/proc/self"
	f, r := w.examined(t, "state_dir")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, "cannot be created")
	assert.Contains(t, f.Hint, "XDG_STATE_HOME")
	assert.Equal(t, 1, r.code)
}

func TestU9_networkHome(t *testing.T) {
	w := newWorld(t)
	if kind := fileSystem(w.env["HOME"]); kind != "" {
		t.Skipf("the tests' own files lie on %s", kind)
	}
	assert.Empty(t, w.allOf(t, "network_home"))
	// No network file system is at hand, so the judgement is tested with the kernel's names of their types.
	for _, kind := range remote {
		found := onFileSystem("/home/x", kind)
		require.Len(t, found, 1)
		assert.Equal(t, note, found[0].Level)
		assert.Contains(t, found[0].Text, kind)
	}
	assert.Contains(t, remote[0x6969]+remote[0xff534d42]+remote[0x65735546], "NFSCIFSFUSE")
}

func TestU9_staleSocket(t *testing.T) {
	w := newWorld(t)
	w.env["INTERCOM_SERVER"] = ""
	p := w.places(t)
	require.NoError(t, api.Private(p.Runtime))
	assert.Empty(t, w.allOf(t, "socket"))

	abandoned(t, p.Socket)
	require.NoError(t, os.WriteFile(p.Lock, []byte("999999\n"), 0o600))
	other := filepath.Join(p.Runtime, "default-12345678.sock")
	abandoned(t, other)
	found := w.allOf(t, "socket")
	require.Len(t, found, 2, "those of other servers too")
	assert.Equal(t, problem, found[0].Level)
	assert.True(t, found[0].Fixable)

	found = w.allOf(t, "socket", "--fix")
	require.Len(t, found, 2)
	assert.True(t, found[0].Fixed, "%+v", found[0])
	assert.NoFileExists(t, p.Socket)
	assert.NoFileExists(t, other)
	assert.FileExists(t, p.Lock, "a lock's file stays")
	assert.NoFileExists(t, strings.TrimSuffix(other, ".sock")+".lock", "and none is left that was not there")
	assert.Empty(t, w.allOf(t, "socket"))
}

func TestU9_socketOfALivingSidecarIsLeft(t *testing.T) {
	w := startingWorld(t)
	require.Zero(t, w.run("up").code)
	p := w.places(t)
	assert.Empty(t, w.allOf(t, "socket", "--fix"))
	assert.FileExists(t, p.Socket)
	require.NoError(t, os.Remove(p.Lock))
	found := w.allOf(t, "socket", "--fix")
	require.Len(t, found, 1)
	assert.Contains(t, found[0].Text, "without holding its lock")
	assert.FileExists(t, p.Socket)
	_ = syscall.Kill(w.pid(t), syscall.SIGTERM)
	tmuxtest.WaitFor(t, "its end", func() bool { return w.run("status").code == 3 })
}

func TestU9_publishedSocket(t *testing.T) {
	t.Parallel()
	w, s := onTmux(t)
	assert.Empty(t, w.allOf(t, "published"))
	s.Run("set-option", "-s", daemon.SocketOption, "/nowhere/at-all.sock")
	f, r := w.examined(t, "published")
	assert.Equal(t, problem, f.Level)
	assert.Equal(t, 1, r.code)
	f, r = w.examined(t, "published", "--fix")
	assert.True(t, f.Fixed, "%+v", f)
	assert.Zero(t, r.code)
	assert.Empty(t, strings.TrimSpace(s.Run("show-options", "-sqv", daemon.SocketOption)))

	// The socket's file is gone but its sidecar still runs: the sidecar repairs that itself, or ends.
	ln, err := api.Listen(w.places(t).Runtime, "elsewhere")
	require.NoError(t, err)
	lost := filepath.Join(w.places(t).Runtime, "elsewhere.sock")
	require.NoError(t, os.Remove(lost))
	s.Run("set-option", "-s", daemon.SocketOption, lost)
	f, _ = w.examined(t, "published", "--fix")
	assert.Equal(t, problem, f.Level)
	assert.False(t, f.Fixable)
	assert.Contains(t, f.Hint, "within 2 s")
	assert.Contains(t, s.Run("show-options", "-sqv", daemon.SocketOption), lost)
	require.NoError(t, ln.Release())
	f, _ = w.examined(t, "published", "--fix")
	assert.True(t, f.Fixed)

	s.Run("set-option", "-g", daemon.SocketOption, lost)
	assert.Empty(t, w.allOf(t, "published"), "what a user sets for all sessions names no sidecar")
	w.serve(t, &fakeBackend{status: api.Status{Server: s.Socket}})
	f, _ = w.examined(t, "published")
	assert.Equal(t, note, f.Level, "a sidecar runs and is not named")
	s.Run("set-option", "-s", daemon.SocketOption, w.places(t).Socket)
	f, _ = w.examined(t, "published", "--fix")
	assert.Equal(t, fine, f.Level)
	assert.NotEmpty(t, strings.TrimSpace(s.Run("show-options", "-sqv", daemon.SocketOption)))
}

func TestU9_orphan(t *testing.T) {
	t.Parallel()
	w, s := onTmux(t)
	exe, err := exec.LookPath("fakesidecar")
	require.NoError(t, err)
	w.executable = exe
	t.Cleanup(func() { w.run("down") })
	f, _ := w.examined(t, "sidecar")
	assert.Equal(t, fine, f.Level)
	require.Zero(t, w.run("up").code)
	pid := w.pid(t)
	f, _ = w.examined(t, "sidecar")
	assert.Equal(t, fine, f.Level)

	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	tmuxtest.WaitFor(t, "it stands still", func() bool { return stopped(pid) })
	found := w.allOf(t, "sidecar", "--fix")
	require.Len(t, found, 1)
	assert.Equal(t, problem, found[0].Level)
	assert.Contains(t, found[0].Text, "does not answer")
	assert.Contains(t, found[0].Hint, "kill ")
	assert.FileExists(t, w.places(t).Lock, "a lock that is held is never touched")
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))

	s.Kill()
	found = w.allOf(t, "sidecar")
	require.Len(t, found, 2)
	assert.Equal(t, problem, found[1].Level)
	assert.Contains(t, found[1].Text, "which is gone")
}

// The tmux of $PATH is too old to talk to the running server. The doctor says so, and does not say that the server is gone or
// that a sidecar should be killed.
func TestU9_olderProgram(t *testing.T) {
	t.Parallel()
	versions := tmuxtest.Versions(t)
	system, err := exec.LookPath("tmux")
	require.NoError(t, err)
	program, newest := versions[slices.IndexFunc(versions, func(v tmuxtest.Version) bool { return v.Bin == system })], versions[len(versions)-1]
	if program.AtLeast(3, 6) || !newest.AtLeast(3, 6) {
		t.Skipf("the system's tmux %s talks to %s: needs one below 3.6 in PATH and one from 3.6 on (.ci/tmuxes builds some)", program.Name, newest.Name)
	}
	s := tmuxtest.NewServer(t, newest)
	w := newWorld(t)
	w.env["INTERCOM_SERVER"] = s.Socket
	w.executable = thisProgram()
	w.env["PATH"] = os.Getenv("PATH")
	r := w.run("up")
	assert.Equal(t, 3, r.code)
	assert.Contains(t, r.err, "runs version "+newest.Name+", and tmux "+program.Name)
	assert.Contains(t, r.err, "first in $PATH")

	w.serve(t, &fakeBackend{status: api.Status{Server: s.Socket, PID: os.Getpid()}})
	f, all := w.examined(t, "tmux_server")
	assert.Equal(t, problem, f.Level)
	assert.Contains(t, f.Text, "cannot talk to it")
	assert.Contains(t, f.Hint, "first in $PATH")
	assert.NotContains(t, all.out, "gone")
	assert.NotContains(t, all.out, "kill")
	s.Kill()
	_, all = w.examined(t, "tmux_server")
	assert.Contains(t, all.out, "which is gone")
}

func TestU9_journalDamaged(t *testing.T) {
	w := newWorld(t)
	p := w.places(t)
	require.NoError(t, api.Private(p.State))
	assert.Empty(t, w.allOf(t, "journal_damaged"))
	aside := filepath.Join(p.State, "journal.db.damaged-20261121T120000Z")
	for _, part := range []string{"", "-wal", "-shm"} {
		require.NoError(t, os.WriteFile(aside+part, []byte("x"), 0o600))
	}
	found := w.allOf(t, "journal_damaged", "--fix")
	require.Len(t, found, 1, "one journal, however many files")
	assert.Equal(t, note, found[0].Level)
	assert.Contains(t, found[0].Text, aside)
	assert.FileExists(t, aside)
}

func TestU9_journalNewer(t *testing.T) {
	t.Parallel()
	w, _ := onTmux(t)
	w.executable = thisProgram()
	w.env["PATH"] = os.Getenv("PATH")
	t.Cleanup(func() { w.run("down") })
	r := w.run("up")
	require.Zero(t, r.code, r.err)
	require.Zero(t, w.run("down").code)
	assert.Empty(t, w.allOf(t, "journal_newer"))

	// SQLite keeps the number of the schema in the file's header.
	path := filepath.Join(w.places(t).State, "journal.db")
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	_, err = f.WriteAt(binary.BigEndian.AppendUint32(nil, 4711), 60)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	assert.Equal(t, 3, w.run("up").code)
	found, r := w.examined(t, "journal_newer")
	assert.Equal(t, problem, found.Level)
	assert.Contains(t, found.Text, "4711")
	assert.Equal(t, 1, r.code)
	assert.FileExists(t, path)
}

// The doctor warns that a logout removes the runtime directory only if logind keeps it and the user does not linger.
func TestDoctor_whatALogoutTakes(t *testing.T) {
	top, runtime := t.TempDir(), fmt.Sprintf("/run/user/%d/intercom", os.Geteuid())
	assert.False(t, takenAtLogout(runtime, "ada", top), "no logind")
	require.NoError(t, os.MkdirAll(filepath.Join(top, "run/systemd/users"), 0o755))
	assert.True(t, takenAtLogout(runtime, "ada", top))
	assert.False(t, takenAtLogout("/tmp/intercom-7/intercom", "ada", top))
	linger := filepath.Join(top, "var/lib/systemd/linger")
	require.NoError(t, os.MkdirAll(linger, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(linger, "ada"), nil, 0o644))
	assert.False(t, takenAtLogout(runtime, "ada", top))
}

func TestU9_leftovers(t *testing.T) {
	w, s := onTmux(t)
	mine := w.places(t)
	left := func(key, server string, files ...string) string {
		dir := filepath.Join(filepath.Dir(mine.State), key)
		require.NoError(t, api.Private(dir))
		require.NoError(t, noteServer(api.Paths{State: dir, Server: server}))
		for _, file := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), make([]byte, 3000), 0o600))
		}
		return dir
	}
	dead := filepath.Join(t.TempDir(), "dead")
	abandoned(t, dead)
	full := left("full-1", "/nowhere/full", "journal.db", "journal.db-wal", "sidecar.log")
	empty := left("empty-1", dead, "stderr.log", "sidecar.log.1")
	strange := left("strange-1", "/nowhere/strange", "notes.txt")
	alive := left("alive-1", s.Socket)
	require.NoError(t, api.Private(filepath.Join(filepath.Dir(mine.State), "unknown-1")))

	found := w.allOf(t, "leftovers")
	require.Len(t, found, 3)
	text := found[0].Text + found[1].Text + found[2].Text
	for _, dir := range []string{full, empty, strange} {
		assert.Contains(t, text, dir)
	}
	assert.NotContains(t, text, alive)
	assert.Contains(t, text, "KiB")

	w.allOf(t, "leftovers", "--fix")
	assert.NoDirExists(t, empty)
	for _, dir := range []string{full, strange, alive} {
		assert.DirExists(t, dir)
	}
	assert.FileExists(t, filepath.Join(full, "journal.db"))
}

func TestU9_logSize(t *testing.T) {
	w := newWorld(t)
	p := w.places(t)
	assert.Empty(t, w.allOf(t, "log"))
	require.NoError(t, api.Private(p.State))
	require.NoError(t, os.WriteFile(p.Log, []byte("x\n"), 0o600))
	f, _ := w.examined(t, "log")
	assert.Equal(t, fine, f.Level)
	require.NoError(t, os.Truncate(p.Log, muchLog+1))
	f, _ = w.examined(t, "log")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "64 MiB")
}

func TestDoctor_forPeople(t *testing.T) {
	w := newWorld(t)
	w.env["INTERCOM_SERVER"] = ""
	p := w.places(t)
	require.NoError(t, api.Private(p.Runtime))
	require.NoError(t, os.Chmod(p.Runtime, 0o750))
	r := w.run("doctor")
	assert.Equal(t, 1, r.code)
	assert.Empty(t, r.err)
	assert.Contains(t, r.out, "problem  the directory of sockets is not safe")
	assert.Contains(t, r.out, "→ intercom doctor --fix")
	assert.True(t, strings.HasPrefix(r.out, "problems: 1\n"), r.out)
	r = w.run("doctor", "--fix")
	assert.Zero(t, r.code)
	assert.Contains(t, r.out, "mended   the directory of sockets")
	assert.True(t, strings.HasPrefix(r.out, "nothing is wrong\n"), r.out)
	assert.NoFileExists(t, p.Lock, "it starts nothing")
}

// Helpers.

// onTmux is a world with a running tmux server of its own.
func onTmux(t *testing.T) (*world, *tmuxtest.Server) {
	t.Helper()
	system, err := exec.LookPath("tmux")
	require.NoError(t, err)
	versions := tmuxtest.Versions(t)
	// The doctor asks the tmux of $PATH, so the server has to be of that version.
	i := slices.IndexFunc(versions, func(v tmuxtest.Version) bool { return v.Bin == system })
	require.GreaterOrEqual(t, i, 0)
	s := tmuxtest.NewServer(t, versions[i])
	w := newWorld(t)
	w.env["INTERCOM_SERVER"] = s.Socket
	return w, s
}

func (w *world) places(t *testing.T) api.Paths {
	t.Helper()
	p, err := api.Places(w.getenv, w.env["INTERCOM_SERVER"])
	require.NoError(t, err)
	return p
}

// pid is the process id of the world's sidecar.
func (w *world) pid(t *testing.T) int {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	status, err := api.Call(ctx, &api.Client{Socket: w.places(t).Socket}, api.ShowStatus, api.None{})
	require.NoError(t, err)
	return status.PID
}

// allOf are the doctor's findings with that id.
func (w *world) allOf(t *testing.T, id string, flags ...string) []finding {
	t.Helper()
	r := w.run(append([]string{"doctor", "--json"}, flags...)...)
	var reply doctorReply
	oneValue(t, r.out, &reply)
	assert.Equal(t, reply.OK, r.code == 0)
	assert.Empty(t, r.err)
	var found []finding
	for _, f := range reply.Findings {
		assert.NotEmpty(t, f.Text)
		if f.ID == id {
			found = append(found, f)
		}
	}
	return found
}

// examined is the only finding with that id.
func (w *world) examined(t *testing.T, id string, flags ...string) (finding, result) {
	t.Helper()
	found := w.allOf(t, id, flags...)
	require.Len(t, found, 1)
	return found[0], w.run("doctor", "--json")
}

// abandoned makes a socket that nobody listens on.
func abandoned(t *testing.T, path string) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	require.NoError(t, err)
	ln.(*net.UnixListener).SetUnlinkOnClose(false)
	require.NoError(t, ln.Close())
}

// While a person has stopped everything, the doctor notes that and names the command that ends it.
func TestDoctor_saysThatAllIsStopped(t *testing.T) {
	assert.Empty(t, allStopped(t.Context(), &patient{status: &api.Status{}}))
	assert.Empty(t, allStopped(t.Context(), &patient{}))
	found := allStopped(t.Context(), &patient{status: &api.Status{Stopped: true}})
	require.Len(t, found, 1)
	assert.Equal(t, note, found[0].Level)
	assert.Equal(t, resumeAll, found[0].Hint)
}
