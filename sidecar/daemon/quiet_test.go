package daemon_test

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/daemon"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// Either participant or a person can stop a chat; from then on nothing of the chat is typed. If a participant stops
// the chat while the other's words wait for it, the other is told that they were not delivered. If the author of
// the words or a person stops the chat, nobody is told.
func TestR13_R14_ChatStop(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for name, stop := range map[string]func(chat message.Chat, a, b *agent){
		"a person": func(chat message.Chat, _, _ *agent) {
			ended, err := r.client.StopChat(t.Context(), api.ChatRef{Chat: chat.ID.Short()})
			require.NoError(t, err)
			require.Len(t, ended, 1)
		},
		"the first":  func(chat message.Chat, a, _ *agent) { a.stops(chat) },
		"the second": func(chat message.Chat, _, b *agent) { b.stops(chat) },
	} {
		a, b := r.adopted("Ada-"+name[len(name)-2:], silent...), r.adopted("Ben-"+name[len(name)-2:], silent...)
		chat := r.chat([]*agent{a, b}, unlimited...)
		a.do(":say hello")
		r.waitFor("it works", func() bool { return len(b.received()) == 1 && r.open() == 0 && r.state(b) == message.Idle })
		b.drafts("in the way")
		a.do(":say too late")
		r.waitFor("it waits", func() bool { return r.open() == 1 })
		stop(chat, a, b)
		r.waitFor(name+" stopped it", func() bool { return r.current(chat).State == message.ChatOver })
		r.waitFor("what waited has failed", func() bool { return r.open() == 0 })
		if name == "the second" {
			r.waitFor("the first is told", func() bool { return len(a.received()) == 1 && r.open() == 0 })
		}
		before := len(a.bytes()) + len(b.bytes())
		r.Run("send-keys", "-t", b.pane, "C-u")
		a.do(":say nobody listens")
		r.stays(func() bool { return len(b.received()) == 1 })
		assert.Len(t, a.received(), map[string]int{"the second": 1}[name])
		assert.LessOrEqual(t, len(a.bytes())+len(b.bytes()), before+1, "C-u, and nothing of ours")
		chats, err := r.client.Chats(t.Context(), false)
		require.NoError(t, err)
		assert.Empty(t, chats)
	}
}

// A sidecar can run without tmux: it answers requests, and ends when nobody needs it any more.
func TestHeadless(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "ic")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	paths, err := api.Places(func(name string) string {
		return map[string]string{"HOME": dir, "XDG_RUNTIME_DIR": dir}[name]
	}, "")
	require.NoError(t, err)
	require.Equal(t, "headless.sock", filepath.Base(paths.Socket))
	ready := make(chan struct{})
	ended := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() {
		ended <- daemon.Run(ctx, daemon.Config{
			Paths: paths, Version: "test", Linger: 500 * time.Millisecond, Ready: func() { close(ready) },
			Log: slog.New(slog.NewTextHandler(testWriter{t}, nil)),
		})
	}()
	<-ready
	client := clientAt(paths.Socket)
	status, err := client.Status(t.Context())
	require.NoError(t, err)
	assert.Empty(t, status.Server)
	_, err = client.Adopt(t.Context(), api.AdoptRequest{Pane: "%0", As: "line"})
	assert.ErrorContains(t, err, "no tmux server")
	_, err = client.Send(t.Context(), api.SendRequest{To: "Ada", Text: "hello"})
	assert.ErrorContains(t, err, "no session")
	chats, err := client.PauseChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	assert.Empty(t, chats)
	select {
	case err := <-ended:
		require.NoError(t, err)
		require.NoError(t, ctx.Err(), "by itself")
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

// Helpers.

// stops stops a chat from inside the agent's pane.
func (a *agent) stops(chat message.Chat) {
	a.t.Helper()
	self, err := os.Executable()
	require.NoError(a.t, err)
	before := a.count(persona.EventChildEnd)
	a.do(":exec INTERCOM_TEST_SEND=1 %s %s stop %s", self, a.cfg.Paths.Socket, chat.ID)
	a.waitFor(a.name+" has asked", func() bool { return a.count(persona.EventChildEnd) > before })
}
