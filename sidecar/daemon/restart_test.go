package daemon_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// A sidecar that was ended and started again knows its sessions, lists its chats as ended,
// and types nothing of its own accord; what is sent then arrives.
func TestRestart_sessionsStayChatsEndNothingIsTyped(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b, c := r.adopted("Ada"), r.adopted("Ben"), r.adopted("Cyd")
	chat := r.chat([]*agent{a, b}, "rate=1000")
	r.say(chat, "hello")
	r.waitFor("they talk", func() bool { return len(a.received()) > 2 })
	require.NoError(t, r.end())
	heard := len(a.bytes()) + len(b.bytes())
	c.do(":exit")
	r.waitFor("Cyd has gone", func() bool { return c.count(persona.EventEnd) > 0 })

	r.start()
	ended, err := r.client.Chats(t.Context(), true)
	require.NoError(t, err)
	require.Len(t, ended, 1)
	assert.Equal(t, "sidecar restarted", ended[0].Why)
	sessions, err := r.client.Sessions(t.Context())
	require.NoError(t, err)
	ids := map[message.ID]string{}
	for _, s := range sessions {
		ids[s.ID] = s.Name
	}
	assert.Equal(t, "Ada", ids[a.session.ID])
	assert.Equal(t, "Ben", ids[b.session.ID])
	r.waitFor("Cyd's session has ended", func() bool {
		sessions, err := r.client.Sessions(t.Context())
		return err == nil && len(sessions) == 2
	})
	assert.Equal(t, heard, len(a.bytes())+len(b.bytes()), "nothing is typed by itself")

	receipt := r.send(a, "are you there?", api.WaitAnswered, tmuxtest.Patience)
	assert.Equal(t, message.Answered, receipt.State)
	assert.Contains(t, receipt.Words, "Ada-")
}

// Two sidecars in two environments have two locks: the one that comes second finds the
// first one published by the tmux server, and ends.
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
}

// A session that nobody named is called after the title of its pane, if that was given to
// it, else after its program.
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
