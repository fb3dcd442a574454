package daemon_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A pane in which a text got lost stays closed after a restart, and the sidecar still says why. The pane opens once
// the text has shown itself and a person has sent it.
func TestRestart_AClosedPaneStaysClosed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", silent...)
	a.do(":deaf")
	lost := r.send(a, "into the dark", api.WaitSubmitted, patience)
	require.Equal(t, "uncertain: text was not seen in the composer", told(lost))
	closed := func() message.Reason {
		sessions, err := r.client.Sessions(t.Context())
		require.NoError(t, err)
		require.Len(t, sessions, 1)
		return sessions[0].Closed
	}
	r.waitFor("it is closed", func() bool { return closed() == message.OursInComposer })
	require.NoError(t, r.end())
	r.start()
	assert.Equal(t, message.OursInComposer, closed())
	next := r.post(a, "and another")
	r.waitFor("held", func() bool { return r.last(next) == "held: our text stands in the composer" })
	a.do(":hear") // now it reads what waited in its terminal
	r.WaitForText(a.pane, "into the dark")
	r.Run("send-keys", "-t", a.pane, "Enter")
	a.hears("[tester] (0): into the dark")
	a.hears("[tester] (0): and another")
	r.waitFor("it is open", func() bool { return closed() == "" })
	assert.Len(t, a.received(), 2)
}

// If the tmux server does not answer for a while, the sidecar does not end. It types the message, once, when the
// server answers again.
func TestSlowServerIsWaitedFor(t *testing.T) {
	t.Parallel()
	log := &logged{}
	r := newRig(t, func(c *daemon.Config) { c.Log = slog.New(slog.NewTextHandler(log, nil)) })
	a := r.adopted("Ada", silent...)
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGSTOP))
	id := r.post(a, "patience")
	for _, part := range []string{"msg=look", "list panes"} { // each of them has given up on a command
		r.waitFor(part, func() bool { return log.has(part) })
	}
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGCONT))
	a.hears("[tester] (0): patience")
	r.waitFor("submitted", func() bool { return r.last(id) == "submitted" || r.last(id) == "submitted (answered)" })
	assert.Len(t, a.received(), 1)
}

// A rename needs no tmux, so it works while tmux does not answer.
func TestRename_whileTmuxHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.adopted("Ada", silent...)
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(r.PID, syscall.SIGCONT) }()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second) // less than a tmux command may take
	defer cancel()
	renamed, err := r.client.Rename(ctx, api.RenameRequest{Pane: "Ada", Name: "Eve"})
	require.NoError(t, err)
	assert.Equal(t, "Eve", renamed.Name)
}

// After a rename, the explanation of a pane has the new name.
func TestRename_explained(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.adopted("Ada", silent...)
	_, err := r.client.Rename(t.Context(), api.RenameRequest{Pane: "Ada", Name: "Eve"})
	require.NoError(t, err)
	e, err := r.client.Explain(t.Context(), api.ExplainRequest{Pane: a.pane})
	require.NoError(t, err)
	assert.Equal(t, "Eve", e.Session)
}

// While tmux hangs, status says so, and so does the error of a request that needs tmux. The sidecar itself is well,
// so nothing advises to kill it.
func TestStatus_whileTmuxHangs(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	status, err := r.client.Status(t.Context())
	require.NoError(t, err)
	assert.NotContains(t, status.Kinds, api.ProblemTmux)
	require.NoError(t, syscall.Kill(r.PID, syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(r.PID, syscall.SIGCONT) }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // less than a tmux command may take
	defer cancel()
	_, err = r.client.Peers(ctx)
	told, ok := errors.AsType[*api.Error](err)
	require.True(t, ok, "%v", err)
	assert.Equal(t, api.CodeTimeout, told.Code)
	assert.Equal(t, "tmux does not answer", told.Text)
	assert.NotContains(t, told.Hint, "kill")
	status, err = r.client.Status(t.Context())
	require.NoError(t, err)
	assert.Contains(t, status.Kinds, api.ProblemTmux)

	require.NoError(t, syscall.Kill(r.PID, syscall.SIGCONT))
	r.waitFor("it answers", func() bool {
		status, err = r.client.Status(t.Context())
		return err == nil && !slices.Contains(status.Kinds, api.ProblemTmux)
	})
}

// A sidecar whose journal is damaged sets it aside, starts with a new one and says so. It knows no sessions any
// more, so it types to nobody until a person adopts a pane again.
func TestD3_TheSidecarStartsWithADamagedJournal(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	r.start()
	a := r.adopted("Ada", silent...)
	require.Equal(t, message.Submitted, r.send(a, "before", api.WaitSubmitted, patience).State)
	require.NoError(t, r.end())
	path := filepath.Join(r.cfg.Paths.State, "journal.db")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := 100; i < len(data); i += 37 { // flips bits all over it
		data[i] ^= 0x55
	}
	require.NoError(t, os.WriteFile(path, data, 0o600))

	r.start()
	aside, err := filepath.Glob(path + ".damaged-*")
	require.NoError(t, err)
	require.NotEmpty(t, aside, "set aside, not deleted")
	kept, err := os.ReadFile(aside[0])
	require.NoError(t, err)
	assert.Equal(t, data, kept)
	status, err := r.client.Status(t.Context())
	require.NoError(t, err)
	assert.Contains(t, strings.Join(status.Degraded, "\n"), filepath.Base(aside[0]))
	assert.Empty(t, status.Sessions, "whom nobody remembers nobody types to")
	a.adopt("line")
	assert.Equal(t, message.Submitted, r.send(a, "after", api.WaitSubmitted, patience).State)
}

// logged keeps what is logged.
type logged struct {
	mu   sync.Mutex // guards text
	text strings.Builder
}

func (l *logged) Write(record []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(record)
}

func (l *logged) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), part)
}

func (l *logged) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Two sidecars in two environments have two locks. The second one finds the first by the option that it has
// published on the tmux server, and ends. A global option of that name, which a user may set, does not hide the
// first.
func TestSecondSidecarOfAnotherEnvironmentIsRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	elsewhere := t.TempDir()
	paths, err := api.Places(func(name string) string {
		return map[string]string{"HOME": elsewhere, "XDG_RUNTIME_DIR": elsewhere}[name]
	}, r.Socket)
	require.NoError(t, err)
	require.NotEqual(t, r.cfg.Paths.Lock, paths.Lock)
	cfg := r.cfg
	cfg.Paths = paths
	assert.ErrorIs(t, runUntilEnd(t, cfg), api.ErrHeld)
	r.Run("set-option", "-g", daemon.SocketOption, filepath.Join(elsewhere, "none.sock"))
	assert.ErrorIs(t, runUntilEnd(t, cfg), api.ErrHeld)
}

// A session that nobody named is called after the title of its pane if somebody set one, else after its program.
func TestAdopt_nameFromTitleElseProgram(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	titled, plain := r.line("Ada"), r.line("Ben")
	r.Run("select-pane", "-t", titled.pane, "-T", "Worker Task")
	session, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: titled.pane, As: "line"})
	require.NoError(t, err)
	assert.Equal(t, "Worker-Task", session.Name)
	assert.Equal(t, "Worker Task", session.Title)
	session, err = r.client.Adopt(t.Context(), api.AdoptRequest{Pane: plain.pane, As: "line"})
	require.NoError(t, err)
	assert.Equal(t, session.Foreground.Name, session.Name)
}

// The transport that a person sets as a tmux option applies to the next sidecar.
func TestRestart_TransportIsThePersons(t *testing.T) {
	t.Parallel()
	r := newRig(t, over(""))
	transport := func() string {
		t.Helper()
		status, err := r.client.Status(t.Context())
		require.NoError(t, err)
		return status.Transport
	}
	if transport() != "control" {
		t.Skip("this tmux has no control mode that is used: newer versions have")
	}
	for _, chosen := range []string{"process", "native"} {
		require.NoError(t, r.end())
		r.Run("set-option", "-g", "@intercom-transport", chosen)
		r.start()
		assert.Equal(t, chosen, transport())
	}
}
