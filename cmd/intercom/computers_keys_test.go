package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// newLinkedStage is a computer of that name, on the newest tmux, that a NATS server joins with others.
func newLinkedStage(t *testing.T, url, name string) *stage {
	t.Helper()
	all := tmuxtest.Versions(t)
	st := newStage(t, all[len(all)-1])
	dir := filepath.Join(st.env["XDG_CONFIG_HOME"], "intercom")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	lua := fmt.Sprintf("intercom.configure { computer = { name = %q, nats = %q } }\n", name, url)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "init.lua"), []byte(lua), 0o600))
	st.load()
	return st
}

// A person of one computer sees the other in the screen, finds its agent among those to pick, and starts a chat with it.
// Once the other is away, the screen says so, and its agent is listed with those that would be refused.
func TestN10_computersByKeys(t *testing.T) {
	t.Parallel()
	hub, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	require.NoError(t, err)
	hub.Start()
	require.True(t, hub.ReadyForConnections(10*time.Second))
	t.Cleanup(func() { hub.Shutdown(); hub.WaitForShutdown() })
	desk, raspi := newLinkedStage(t, hub.ClientURL(), "desk"), newLinkedStage(t, hub.ClientURL(), "raspi")
	claude := desk.agent("claude", "")
	far := raspi.agent("codex", "")
	out, code := raspi.intercom("adopt", far.Pane, "--name", "Far")
	require.Zero(t, code, out)
	tmuxtest.WaitFor(t, "the session of the other computer", func() bool {
		for _, s := range askOf(desk, api.ListSessions) {
			if s.Computer == "raspi" {
				return true
			}
		}
		return false
	})

	desk.Run("select-window", "-t", claude.Pane)
	me := desk.sit("base")
	me.resize(80, 24)
	me.menu("c")
	me.sees("raspi/Far")
	assert.Contains(t, me.screen(), "on raspi")
	me.press("1")
	me.sees("claude (1) ↔ Far.raspi (2): on")
	require.Len(t, desk.status().Chats, 1)

	me.menu("l")
	me.sees("computers 1")
	me.sees("claude ↔ Far.raspi")
	me.press("5")
	me.sees("answers in")
	assert.Contains(t, me.screen(), "this one")
	me.press("Down")
	me.sees("it may here:")
	assert.Contains(t, me.screen(), "Far.raspi  codex")
	_, code = raspi.intercom("down")
	require.Zero(t, code)
	tmuxtest.WaitFor(t, "raspi is away", func() bool {
		for row := range strings.Lines(me.screen()) {
			if strings.Contains(row, "raspi") && strings.Contains(row, "away") {
				return true
			}
		}
		return false
	})
	me.press("q")
	me.seesNot("computers 1")
	me.menu("x")
	me.sees("ended")
	me.menu("c")
	me.sees("raspi cannot be reached now")
	me.press("q")
	me.seesNot("cannot be reached")
}
