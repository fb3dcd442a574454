package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/hub"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/porttest"
)

// asHub is set in the processes of this test binary that are to be the hub.
const asHub = "INTERCOM_HUB_OF_A_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asHub) != "" {
		main()
	}
	os.Exit(m.Run())
}

// A message to a computer that is away waits, whatever becomes of the hub. A computer that is added or revoked
// meanwhile does not disturb the others.
func TestN4_hub(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	laptop, raspi := h.add(t, "laptop"), h.add(t, "Raspi")
	dropped := make(chan error, 1)
	conn, js := h.dial(t, laptop, nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
		select {
		case dropped <- err:
		default:
		}
	}))
	send := func(text string) {
		t.Helper()
		_, err := js.Publish(t.Context(), "intercom.v1.to.raspi.laptop", []byte(text), jetstream.WithMsgID(text))
		require.NoError(t, err)
	}
	send("one")
	h.add(t, "third")
	h.run(t, 0, "revoke", "third")
	send("two")
	require.NoError(t, conn.Flush())
	assert.Empty(t, dropped, "laptop lost its connection when others were added and revoked")

	// It was acknowledged, so it is on disk.
	require.NoError(t, h.cmd.Process.Kill())
	_ = h.cmd.Wait()
	h.start(t)
	require.Eventually(t, conn.IsConnected, 20*time.Second, 10*time.Millisecond, "laptop comes back by itself")
	send("three")

	_, own := h.dial(t, raspi)
	mailbox, err := link.EnsureMailbox(t.Context(), own, "raspi")
	require.NoError(t, err)
	for _, want := range []string{"one", "two", "three"} {
		m, err := mailbox.First(t.Context(), "intercom.v1.to.raspi.laptop")
		require.NoError(t, err)
		require.NotNil(t, m)
		assert.Equal(t, want, string(m.Data))
		require.NoError(t, mailbox.Delete(t.Context(), m))
	}
}

// The messages for a revoked computer wait for the next one of its name, unless they are purged.
func TestN4_purge(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	_, js := h.dial(t, h.add(t, "laptop"))
	waiting := func() uint64 {
		_, own := h.dial(t, h.add(t, "raspi"))
		stream, err := own.Stream(t.Context(), link.StreamOf("raspi"))
		require.NoError(t, err)
		return stream.CachedInfo().State.Msgs
	}
	assert.Zero(t, waiting())
	_, err := js.Publish(t.Context(), "intercom.v1.to.raspi.laptop", []byte("x"))
	require.NoError(t, err)
	h.run(t, 0, "revoke", "raspi")
	assert.EqualValues(t, 1, waiting())
	h.run(t, 0, "revoke", "raspi", "--purge")
	assert.Zero(t, waiting())
	// A hub that does not run applies the change when it runs again.
	h.run(t, 0, "revoke", "raspi")
	h.add(t, "raspi")
	_, err = js.Publish(t.Context(), "intercom.v1.to.raspi.laptop", []byte("x"))
	require.NoError(t, err)
	h.stop(t)
	h.run(t, 0, "revoke", "raspi", "--purge")
	raspi := h.add(t, "raspi")
	h.start(t)
	_, own := h.dial(t, raspi)
	stream, err := own.Stream(t.Context(), link.StreamOf("raspi"))
	require.NoError(t, err)
	assert.Zero(t, stream.CachedInfo().State.Msgs)
}

// A revoked computer is cut off at once, and does not come back.
func TestN5_revoked(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	raspi := h.add(t, "raspi")
	closed := make(chan struct{})
	conn, _ := h.dial(t, raspi, nats.ClosedHandler(func(*nats.Conn) { close(closed) }), nats.ReconnectWait(time.Millisecond))
	h.run(t, 0, "revoke", "raspi")
	select {
	case <-closed: // refused twice, it gives up
	case <-time.After(20 * time.Second):
		require.Fail(t, "still connected", "%v", conn.Status())
	}
	_, err := h.connect(t, raspi)
	require.ErrorIs(t, err, nats.ErrAuthorization)
	assert.Contains(t, h.log.String(), "authentication error", "who is refused is said")
}

// Nobody gets in without a key of the hub's, without TLS, or by trusting another server.
func TestN5_access(t *testing.T) {
	t.Parallel()
	h, other := startHub(t), startHub(t)
	raspi, stranger := h.add(t, "raspi"), other.add(t, "raspi")
	_, err := h.connect(t, raspi)
	require.NoError(t, err)

	_, err = nats.Connect(h.url, nats.RootCAs(raspi))
	require.ErrorIs(t, err, nats.ErrAuthorization, "anonymous")
	key, err := nats.NkeyOptionFromSeed(stranger)
	require.NoError(t, err)
	_, err = nats.Connect(h.url, nats.RootCAs(raspi), key)
	require.ErrorIs(t, err, nats.ErrAuthorization, "the key of another hub's computer")
	_, err = h.connect(t, stranger)
	require.ErrorContains(t, err, "certificate signed by unknown authority", "the certificate of another hub")
	_, err = nats.Connect(strings.Replace(h.url, "tls://", "nats://", 1), key)
	require.ErrorContains(t, err, "certificate", "a server that has TLS is not spoken to without")
}

// The certificate is for all names and addresses of the machine. It is made again when those change, and before it
// expires.
func TestN5_certificate(t *testing.T) {
	t.Parallel()
	h := startHub(t, "--host", "desk.example.org")
	creds := h.add(t, "raspi")
	word, err := os.ReadFile(filepath.Join(h.dir, "server.pem"))
	require.NoError(t, err)
	_, err = nats.Connect(strings.Replace(h.url, "desk.example.org", "127.0.0.1", 1), nats.RootCAs(creds), mustKey(t, creds))
	require.NoError(t, err)
	h.stop(t)
	h.args[len(h.args)-1] = "elsewhere.example.org"
	h.start(t)
	again, err := os.ReadFile(filepath.Join(h.dir, "server.pem"))
	require.NoError(t, err)
	assert.NotEqual(t, string(word), string(again))
	_, err = h.connect(t, creds)
	require.NoError(t, err, "the credentials still hold")
}

func TestN5_refusedWithAHint(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	require.Zero(t, run(t.Context(), env{Args: []string{"add", "twice", "--dir", dir}, Stdout: io.Discard, Stderr: io.Discard, Getenv: func(string) string { return "" }}))
	for _, c := range []struct {
		line      string
		code      int
		err, hint string
	}{
		{"--listen 0.0.0.0:0 --plain", 2, "could be read and changed", "add --insecure"},
		{"--listen :0 --plain", 2, "could be read and changed", "add --insecure"},
		{"--listen [::]:0 --plain", 2, "could be read and changed", "add --insecure"},
		{"--listen 192.0.2.1:0 --plain", 2, "could be read and changed", "add --insecure"},
		{"--insecure", 2, "does nothing", "leave it out"},
		{"--listen 4222", 2, "not an address and a port", "0.0.0.0:4222"},
		{"--listen 127.0.0.1:many", 2, "not a port", "0.0.0.0:4222"},
		{"--host a/b", 2, "not the name of a host", "desk.example.org"},
		{"--listen 192.0.2.1:4222", 1, "cannot assign requested address", "--listen"},
		{"frob", 2, "unknown command", "--help"},
		{"add", 2, "accepts 1 arg", "intercom-hub add --help"},
		{"add a.b", 2, "has a dot", "raspi"},
		{"add local", 2, "reserved", "raspi"},
		{"add Twice", 1, `"twice" has access already`, "hint: intercom-hub revoke twice --dir \"" + dir + "\" first"},
		{"revoke nobody", 1, "no such computer", "intercom-hub list"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), env{Args: append(strings.Fields(c.line), "--dir", dir), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }})
		assert.Equal(t, c.code, code, "%s: %s", c.line, &errs)
		said, hint, _ := strings.Cut(errs.String(), "\n")
		assert.Contains(t, said, c.err, c.line)
		assert.True(t, strings.HasPrefix(said, "intercom-hub: error: "), "%s: %s", c.line, said)
		assert.Contains(t, hint, c.hint, c.line)
		assert.Empty(t, out.String(), c.line)
	}
	info, err := os.Stat(dir)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	// With both flags, it is the person's own decision.
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan int, 1)
	go func() {
		done <- run(ctx, env{Args: strings.Fields("--listen 0.0.0.0:0 --plain --insecure --dir " + dir), Stdout: w, Stderr: io.Discard, Getenv: os.Getenv})
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "ready: nats://")
	cancel()
	assert.Zero(t, <-done)
}

// The credentials are kept nowhere: they are printed although the hub is slow to take them, and that they could not be
// printed is an error.
func TestAdd_credentialsAreNotLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "hub")
	h, err := hub.Open(dir)
	require.NoError(t, err)
	add := func(name string, out io.Writer, more ...string) (code int, errs string) {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		var e bytes.Buffer
		args := append([]string{"add", name, "--dir", dir}, more...)
		code = run(ctx, env{Args: args, Stdout: out, Stderr: &e, Getenv: func(string) string { return "" }})
		return code, e.String()
	}
	for _, more := range [][]string{nil, {"--json"}} {
		name := fmt.Sprint("full-", len(more))
		code, errs := add(name, full{}, more...)
		assert.Equal(t, 1, code, more)
		assert.Contains(t, errs, "print the credentials of "+name+": no space left on device")
		assert.Contains(t, errs, "hint: intercom-hub revoke "+name+" --dir ")
	}
	require.NoError(t, h.Say(hub.Serving{Listen: "127.0.0.1:4222", Applied: "old"}))
	serves, err := h.Begin(t.Context())
	require.NoError(t, err)
	defer serves.Release()
	for _, more := range [][]string{nil, {"--json"}} {
		var out bytes.Buffer
		code, errs := add(fmt.Sprint("slow-", len(more)), &out, more...)
		assert.Equal(t, 1, code, more)
		assert.Contains(t, errs, "the hub has not applied the change yet")
		text := out.Bytes()
		if more != nil {
			var r added
			require.NoError(t, json.Unmarshal(text, &r))
			text = []byte(r.Credentials)
		}
		_, err = link.ParseCredentials(text)
		assert.NoError(t, err, "%v: %s", more, out.String())
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// Two hubs would write into the same files.
func TestN4_oneHubADirectory(t *testing.T) {
	t.Parallel()
	h := startHub(t)
	_, errs := h.run(t, 1, "--listen", "127.0.0.1:0")
	assert.Contains(t, errs, "already running")
}

// Helpers of the tests.

// running is a hub in a process of its own.
type running struct {
	dir, url string
	args     []string
	cmd      *exec.Cmd
	log      *logged
}

// logged is what a process writes, read while it does.
type logged struct{ path string }

func (l *logged) String() string {
	text, _ := os.ReadFile(l.path)
	return string(text)
}

func startHub(t *testing.T, args ...string) *running {
	t.Helper()
	// The same port each time, for clients that come back to it.
	at := fmt.Sprint("127.0.0.1:", porttest.Free(t))
	h := &running{dir: filepath.Join(t.TempDir(), "hub"), args: append([]string{"--listen", at}, args...), log: &logged{filepath.Join(t.TempDir(), "log")}}
	h.start(t)
	return h
}

func (h *running) start(t *testing.T) {
	t.Helper()
	log, err := os.OpenFile(h.log.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	require.NoError(t, err)
	defer log.Close()
	h.cmd = exec.Command(os.Args[0], append([]string{"--dir", h.dir, "--json"}, h.args...)...)
	h.cmd.Env = append(os.Environ(), asHub+"=1")
	h.cmd.Stderr = log
	out, err := h.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, h.cmd.Start())
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill()
		_ = h.cmd.Wait()
	})
	var ready struct{ URL string }
	require.NoError(t, json.NewDecoder(out).Decode(&ready), "%s", h.log)
	h.url = strings.Replace(ready.URL, "desk.example.org", "127.0.0.1", 1)
	h.url = strings.Replace(h.url, "elsewhere.example.org", "127.0.0.1", 1)
}

func (h *running) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, h.cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, h.cmd.Wait(), "%s", h.log)
}

// run is another process of the program, for the same directory.
func (h *running) run(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--dir", h.dir)...)
	cmd.Env = append(os.Environ(), asHub+"=1")
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		require.Equal(t, code, failed.ExitCode(), "%v: %s", args, &e)
	} else {
		require.NoError(t, err)
		require.Zero(t, code, "%v", args)
	}
	return o.String(), e.String()
}

// add returns the file with the credentials of a new computer.
func (h *running) add(t *testing.T, name string) (file string) {
	t.Helper()
	out, _ := h.run(t, 0, "add", name)
	file = filepath.Join(t.TempDir(), name+".creds")
	require.NoError(t, os.WriteFile(file, []byte(out), 0o600))
	return file
}

func mustKey(t *testing.T, creds string) nats.Option {
	t.Helper()
	key, err := nats.NkeyOptionFromSeed(creds)
	require.NoError(t, err)
	return key
}

// connect connects without our help, as anybody would who has such a file.
func (h *running) connect(t *testing.T, creds string, more ...nats.Option) (*nats.Conn, error) {
	t.Helper()
	token := strings.ToLower(strings.TrimSuffix(filepath.Base(creds), ".creds"))
	conn, err := nats.Connect(h.url, append([]nats.Option{mustKey(t, creds), nats.RootCAs(creds), nats.CustomInboxPrefix("_INBOX." + token)}, more...)...)
	if err == nil {
		t.Cleanup(conn.Close)
	}
	return conn, err
}

func (h *running) dial(t *testing.T, creds string, more ...nats.Option) (*nats.Conn, jetstream.JetStream) {
	t.Helper()
	conn, err := h.connect(t, creds, append([]nats.Option{nats.ReconnectWait(10 * time.Millisecond), nats.MaxReconnects(-1)}, more...)...)
	require.NoError(t, err)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	return conn, js
}
