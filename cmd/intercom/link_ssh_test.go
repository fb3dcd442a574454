package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/claim"
	"github.com/tmux-intercom/tmux-intercom/sidecar/programtest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// Two computers, each with its own network, HOME, tmux server and sidecar, are linked over ssh. What both send while the link is
// cut, in two ways, arrives once and in order. A revoked key is refused, which is reported, and local work goes on at both ends.
func TestN9_linkOverSSH(t *testing.T) {
	t.Parallel()
	w := newSSHWorld(t)
	n := newTwo(t, w)
	linked := w.link(t)
	linked.awaits(t, "linked with")

	here, err := os.ReadFile(filepath.Join(w.home("laptop"), ".config", "intercom", "init.lua"))
	require.NoError(t, err)
	assert.Contains(t, string(here), `name = "laptop", nats = "unix://`+w.socket()+`"`)
	there, err := os.ReadFile(filepath.Join(w.home("server"), ".config", "intercom", "init.lua"))
	require.NoError(t, err)
	assert.Contains(t, string(there), `nats = "tls://127.0.0.1:4222"`)

	n.allows(`"send", "answer"`, "")
	n.lineAs("line-paste", "laptop", "One", "--reply", "none", "--bracketed")
	n.lineAs("line-paste", "server", "Far", "--reply", "none", "--bracketed")
	far := n.name("server") + "/Far"
	n.meet("laptop", n.name("server"))
	n.meet("server", "laptop")
	const all, back = 1000, 100
	for i := range all {
		switch i {
		case all / 4: // cut the cable for a while
			w.ip(t, "-n", w.ns("laptop"), "link", "set", "dev", "cable", "down")
		case all / 2:
			w.ip(t, "-n", w.ns("laptop"), "link", "set", "dev", "cable", "up")
			n.gets("Far", "laptop", all/4+1)
		case 3 * all / 4: // kill the ssh connection
			w.cut(t)
		}
		n.sends("laptop", far, fmt.Sprintf("laptop %d.", i))
		if i%(all/back) == 0 {
			n.sends("server", "laptop/One", fmt.Sprintf("server %d.", i/(all/back)))
		}
	}
	n.gets("Far", "laptop", all)
	n.gets("One", "server", back)
	linked.awaits(t, "not linked with")

	out, err := w.in(t, "server", "intercom-hub", "revoke", "laptop").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Eventually(t, func() bool {
		_, err := w.connect(t, "laptop")
		return errors.Is(err, nats.ErrAuthorization)
	}, 10*time.Second, 10*time.Millisecond, "the key is refused")
	w.cut(t)
	linked.awaits(t, "gives laptop no access any more")
	_, err = w.connect(t, "server")
	require.NoError(t, err, "nobody else notices")
	tmuxtest.WaitFor(t, "laptop's sidecar says so", func() bool { c, _ := n.computer("laptop", "laptop"); return c.Why != "" })
	n.sends("laptop", far, "let me in")
	n.run("laptop", "intercom", "send", "One", "local work goes on", "--wait", "submitted")
	n.run("server", "intercom", "send", "Far", "here, too", "--wait", "submitted")
	assert.Contains(t, strings.Join(n.took("One"), "\n"), "local work goes on")
	heard := strings.Join(n.took("Far"), "\n")
	assert.Contains(t, heard, "here, too")
	assert.NotContains(t, heard, "let me in")
	assert.Equal(t, all, strings.Count(heard, "laptop "), "nothing came twice")
}

// Each failure is reported with what to do about it.
func TestN9_whyNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ssh := func(script string) string {
		path := filepath.Join(t.TempDir(), "ssh")
		tmuxtest.Program(t, path, "#!/bin/sh\n"+script+"\n")
		return path
	}
	for _, c := range []struct{ ssh, err, hint string }{
		{ssh("echo 'me@host: Permission denied (publickey).' >&2; exit 255"), "Permission denied", "ssh host true"},
		{ssh("echo 'bash: line 1: intercom: command not found' >&2; exit 127"), "command not found", "install intercom and intercom-hub there"},
		{ssh("echo welcome"), "answers \"welcome", "print nothing at login"},
		{ssh(`echo '{"error": "there is no intercom-hub here", "hint": "make install"}'`), "host: there is no intercom-hub here", "make install"},
		{"/nowhere/ssh", `no program "/nowhere/ssh"`, "OpenSSH"},
	} {
		var errs strings.Builder
		code := run(t.Context(), env{
			Args: []string{"link", "ssh", "host", "--ssh", c.ssh, "--name", "laptop"}, Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: &errs,
			Getenv: func(name string) string { return map[string]string{"HOME": dir}[name] },
		})
		assert.Equal(t, 1, code)
		said, hint, _ := strings.Cut(errs.String(), "\n")
		assert.Contains(t, said, c.err)
		assert.Contains(t, hint, c.hint)
	}
	_, err := os.Stat(filepath.Join(dir, ".config"))
	assert.ErrorIs(t, err, os.ErrNotExist, "nothing was written")
}

// The hint to link again names the path where the credentials really are.
func TestLinkSSH_namesTheCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["XDG_STATE_HOME"] = w.env["XDG_RUNTIME_DIR"] // short, for sockets
	ssh := filepath.Join(t.TempDir(), "ssh")
	tmuxtest.Program(t, ssh, "#!/bin/sh\necho '{\"computer\": \"server\", \"port\": 4222, \"access\": false}'\n")
	for config, shown := range map[string]string{
		filepath.Join(w.env["HOME"], ".config"): "~/.config",
		filepath.Join(w.env["HOME"], "set"):     "~/set",
		filepath.Join(w.env["XDG_RUNTIME_DIR"]): w.env["XDG_RUNTIME_DIR"],
	} {
		w.env["XDG_CONFIG_HOME"] = config
		creds := filepath.Join(config, "intercom", credsFile)
		require.NoError(t, os.MkdirAll(filepath.Dir(creds), 0o700))
		require.NoError(t, os.WriteFile(creds, []byte(sshRemark("host", "laptop")), 0o600))
		r := w.run("link", "ssh", "host", "--ssh", ssh, "--name", "laptop")
		assert.Equal(t, 1, r.code)
		assert.Contains(t, r.err, "intercom: error: host gives laptop no access any more\n")
		assert.Contains(t, r.err, "intercom: hint: to link again: rm "+shown+"/intercom/"+credsFile+", then intercom link ssh host\n")
	}
}

// A second link ssh would take the first one's socket away. It is refused, before it asks or changes anything.
func TestLinkSSH_runsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.env["XDG_STATE_HOME"] = w.env["XDG_RUNTIME_DIR"] // short, for sockets
	asked := filepath.Join(t.TempDir(), "asked")
	ssh := filepath.Join(t.TempDir(), "ssh")
	tmuxtest.Program(t, ssh, "#!/bin/sh\n>"+asked+"\nexit 255\n")
	state := filepath.Join(w.env["XDG_STATE_HOME"], "intercom")
	require.NoError(t, os.MkdirAll(state, 0o700))
	first, err := claim.Take(filepath.Join(state, "link.sock.lock"))
	require.NoError(t, err)
	r := w.run("link", "ssh", "host", "--ssh", ssh, "--name", "laptop")
	assert.Equal(t, 1, r.code)
	assert.Contains(t, r.err, "another intercom link ssh runs on this computer\n")
	assert.NoFileExists(t, asked)
	require.NoError(t, first.Release())
	r = w.run("link", "ssh", "host", "--ssh", ssh, "--name", "laptop")
	assert.NotContains(t, r.err, "another intercom link ssh")
	assert.FileExists(t, asked)
}

// Helpers of the tests.

// sshWorld is two computers, laptop and server, with a cable between them. sshd runs on server.
type sshWorld struct {
	dir, bin string
	sshd     *exec.Cmd
}

// needs skips a test if it cannot have networks of its own or a program is missing.
func needs(t *testing.T, programs ...string) {
	t.Helper()
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("two networks need Linux and root: sudo go test")
	}
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("no %s: install iproute2 and openssh-server", program)
		}
	}
}

// newNetworks makes the two computers, without sshd.
func newNetworks(t *testing.T) *sshWorld {
	t.Helper()
	needs(t, "ip")
	dir, err := os.MkdirTemp("", "ic") // short, for sockets
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	w := &sshWorld{dir: dir, bin: filepath.Join(dir, "bin")}
	for _, name := range []string{"laptop", "server"} {
		require.NoError(t, os.MkdirAll(w.home(name), 0o700))
		out, err := exec.CommandContext(t.Context(), "ip", "netns", "add", w.ns(name)).CombinedOutput()
		if err != nil {
			t.Skipf("no network of its own can be had: %s", out)
		}
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", w.ns(name)).Run() })
	}
	w.ip(t, "link", "add", "cable", "netns", w.ns("laptop"), "type", "veth", "peer", "name", "cable", "netns", w.ns("server"))
	for i, name := range []string{"laptop", "server"} {
		w.ip(t, "-n", w.ns(name), "addr", "add", fmt.Sprintf("192.0.2.%d/24", i+1), "dev", "cable")
		w.ip(t, "-n", w.ns(name), "link", "set", "dev", "lo", "up")
		w.ip(t, "-n", w.ns(name), "link", "set", "dev", "cable", "up")
	}
	require.NoError(t, os.Mkdir(w.bin, 0o755))
	require.NoError(t, os.Symlink(thisProgram(), filepath.Join(w.bin, "intercom")))
	hub, err := programtest.Build("intercom-hub-tested", "cmd/intercom-hub")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(hub, filepath.Join(w.bin, "intercom-hub")))
	t.Cleanup(func() { w.endAll("server"); w.endAll("laptop") })
	return w
}

func newSSHWorld(t *testing.T) *sshWorld {
	t.Helper()
	needs(t, "ip", "ssh", "ssh-keygen", "/usr/sbin/sshd")
	w := newNetworks(t)
	dir := w.dir

	for _, key := range []string{"host", "me"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.MkdirAll("/run/sshd", 0o755))
	config := filepath.Join(dir, "sshd_config")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `Port 22
HostKey %[1]s/host
AuthorizedKeysFile %[1]s/me.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
SetEnv HOME=%[2]s PATH=%[3]s:%[4]s
`, dir, w.home("server"), w.bin, os.Getenv("PATH")), 0o600))
	w.sshd = w.in(t, "server", "/usr/sbin/sshd", "-D", "-e", "-f", config)
	log, err := os.Create(filepath.Join(dir, "sshd.log"))
	require.NoError(t, err)
	defer log.Close()
	w.sshd.Stderr = log
	require.NoError(t, w.sshd.Start())
	t.Cleanup(func() {
		_ = w.sshd.Process.Kill()
		_ = w.sshd.Wait()
	})
	require.Eventually(t, func() bool {
		said, err := os.ReadFile(log.Name())
		return err == nil && strings.Contains(string(said), "Server listening")
	}, 30*time.Second, 10*time.Millisecond)
	return w
}

func (w *sshWorld) home(name string) string { return filepath.Join(w.dir, name) }
func (w *sshWorld) ns(name string) string   { return filepath.Base(w.dir) + "-" + name }
func (w *sshWorld) socket() string {
	return filepath.Join(w.home("laptop"), ".local", "state", "intercom", "link.sock")
}

func (w *sshWorld) ip(t *testing.T, args ...string) {
	out, err := exec.Command("ip", args...).CombinedOutput()
	assert.NoError(t, err, "%v: %s", args, out)
}

// in is a command on one of the two.
func (w *sshWorld) in(t *testing.T, name string, argv ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "ip", append([]string{"netns", "exec", w.ns(name), "env", "-i", "HOME=" + w.home(name), "PATH=" + w.bin + ":" + os.Getenv("PATH")}, argv...)...)
	return cmd
}

// endAll kills everything in the network of one of the two.
func (w *sshWorld) endAll(name string) {
	out, _ := exec.Command("ip", "netns", "pids", w.ns(name)).Output()
	for pid := range strings.FieldsSeq(string(out)) {
		if n, err := strconv.Atoi(pid); err == nil && n != os.Getpid() {
			_ = unix.Kill(n, unix.SIGKILL)
		}
	}
}

// cut kills the ssh connections on server, but not the daemon that accepts new ones.
func (w *sshWorld) cut(t *testing.T) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "pids", w.ns("server")).Output()
	require.NoError(t, err)
	for pid := range strings.FieldsSeq(string(out)) {
		n, _ := strconv.Atoi(pid)
		name, _ := os.ReadFile("/proc/" + pid + "/comm")
		if strings.HasPrefix(string(name), "sshd") && n != w.sshd.Process.Pid {
			_ = unix.Kill(n, unix.SIGKILL)
		}
	}
}

// sshLink is a running `intercom link ssh`.
type sshLink struct {
	lines chan string
	said  []string
}

func (l *sshLink) String() string { return strings.Join(l.said, "\n") }

func (w *sshWorld) link(t *testing.T) *sshLink {
	t.Helper()
	cmd := w.in(t, "laptop", "intercom", "link", "ssh", "root@192.0.2.2", "--name", "laptop", "-o", "IdentityFile="+w.dir+"/me", "-o", "IdentitiesOnly=yes",
		"-o", "UserKnownHostsFile="+w.dir+"/known", "-o", "StrictHostKeyChecking=no")
	r, wr := io.Pipe()
	cmd.Stdout, cmd.Stderr = wr, wr
	require.NoError(t, cmd.Start())
	l := &sshLink{lines: make(chan string, 1000)}
	go func() {
		for s := bufio.NewScanner(r); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(unix.SIGTERM)
		_ = cmd.Wait()
		wr.Close()
	})
	return l
}

// awaits waits until a line of the output contains what.
func (l *sshLink) awaits(t *testing.T, what string) {
	t.Helper()
	for {
		select {
		case line := <-l.lines:
			l.said = append(l.said, line)
			if strings.Contains(line, what) {
				return
			}
		case <-time.After(time.Minute):
			require.Fail(t, "not said", "%q; but: %s", what, l)
		}
	}
}

// netDialer dials from the network of one of the two.
type netDialer struct {
	w    *sshWorld
	name string
}

func (d netDialer) Dial(network, address string) (net.Conn, error) {
	if d.name == "laptop" {
		return net.DialTimeout("unix", d.w.socket(), 5*time.Second)
	}
	type dialled struct {
		conn net.Conn
		err  error
	}
	done := make(chan dialled)
	go func() {
		runtime.LockOSThread() // not unlocked if the thread cannot return to its own network
		conn, err := func() (net.Conn, error) {
			own, err := os.Open("/proc/thread-self/ns/net")
			if err != nil {
				return nil, err
			}
			defer own.Close()
			its, err := os.Open("/run/netns/" + d.w.ns(d.name))
			if err != nil {
				return nil, err
			}
			defer its.Close()
			if err := unix.Setns(int(its.Fd()), unix.CLONE_NEWNET); err != nil {
				return nil, err
			}
			// Only one address: for several, Go would dial from other threads.
			conn, err := net.DialTimeout(network, strings.Replace(address, "localhost", "127.0.0.1", 1), 5*time.Second)
			if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
			return conn, err
		}()
		done <- dialled{conn, err}
	}()
	r := <-done
	return r.conn, r.err
}

// connect connects with the credentials of one of the two.
func (w *sshWorld) connect(t *testing.T, name string) (*nats.Conn, error) {
	t.Helper()
	creds := filepath.Join(w.home(name), ".config", "intercom", "link.creds")
	key, err := nats.NkeyOptionFromSeed(creds)
	require.NoError(t, err)
	token := name
	if name == "server" {
		token = ownName()
	}
	conn, err := nats.Connect("nats://localhost:4222", key, nats.RootCAs(creds), nats.SetCustomDialer(netDialer{w, name}),
		nats.CustomInboxPrefix("_INBOX."+token), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err == nil {
		t.Cleanup(conn.Close)
	}
	return conn, err
}
