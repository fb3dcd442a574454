package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/tmux/tmuxtest"
)

// An agent sees in list_computers what its person sees in `intercom computers`: which computer is its own, which are here, what
// they may do, and how many messages wait for one that is away. It does not see the password of the NATS server.
func TestM1_N1_N2_listComputersOverMCP(t *testing.T) {
	t.Parallel()
	hub, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true, Username: "me", Password: "hunter2",
	})
	require.NoError(t, err)
	hub.Start()
	require.True(t, hub.ReadyForConnections(tmuxtest.Patience))
	t.Cleanup(func() { hub.Shutdown(); hub.WaitForShutdown() })
	url := "nats://me:hunter2@" + hub.Addr().String()
	desk, raspi := newLinkedStage(t, url, "Desk"), newLinkedStage(t, url, "raspi")
	far := raspi.agent("codex", "")
	out, code := raspi.intercom("adopt", far.Pane, "--name", "Far")
	require.Zero(t, code, out)
	claude := desk.coder("claude")
	own := desk.mcpIn(claude)
	lists := func() (all []api.Computer, text string) {
		t.Helper()
		result := calls(t, own, "list_computers", nil)
		text = textOfResult(result)
		require.False(t, result.IsError, text)
		require.NoError(t, json.Unmarshal([]byte(text), &all))
		require.NotContains(t, text, "hunter2")
		return all, text
	}
	var all []api.Computer
	var text string
	tmuxtest.WaitFor(t, "the other computer and its session", func() bool {
		all, text = lists()
		return len(all) == 2 && all[1].Present && all[1].Sessions == 1
	})
	assert.Equal(t, []string{"Desk", "raspi"}, []string{all[0].Name, all[1].Name})
	assert.True(t, all[0].Local)
	assert.True(t, all[0].Present)
	assert.Equal(t, 1, all[0].Sessions, "the session of who asks")
	assert.Equal(t, "nats://xxxxx@"+hub.Addr().String(), all[0].Server)
	assert.Empty(t, all[0].Why)
	assert.False(t, all[1].Local)
	assert.Positive(t, all[1].RoundTrip)
	assert.NotNil(t, all[1].Since)
	assert.Equal(t, []string{"send", "answer"}, all[1].May)
	var fields []map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &fields))
	for _, name := range []string{"name", "local", "present", "round_trip_ms", "since", "sessions"} {
		assert.Contains(t, fields[1], name)
	}
	printed, code := desk.intercom("computers", "--json")
	require.Zero(t, code, printed)
	var persons []api.Computer
	require.NoError(t, json.Unmarshal([]byte(printed), &persons))
	for _, one := range [][]api.Computer{all, persons} { // the round trip differs each time
		for i := range one {
			one[i].RoundTrip = 0
		}
	}
	assert.Equal(t, persons, all, "its person sees the same")

	_, code = raspi.intercom("down")
	require.Zero(t, code)
	tmuxtest.WaitFor(t, "the other computer is away", func() bool { all, _ = lists(); return !all[1].Present })
	assert.Zero(t, all[1].RoundTrip)
	sent := calls(t, own, "send_message", map[string]any{"computer": "raspi", "session_id": "Far", "message": "are you there?"})
	require.False(t, sent.IsError, textOfResult(sent))
	tmuxtest.WaitFor(t, "what waits for it", func() bool { all, _ = lists(); return all[1].Waiting == 1 })
	assert.Equal(t, 1, all[1].Sessions, "those that it had")

	hub.Shutdown()
	tmuxtest.WaitFor(t, "the link is down", func() bool { all, _ = lists(); return all[0].Why != "" })
	assert.Len(t, all, 2)
	assert.False(t, strings.Contains(all[0].Why, "hunter2"))
}
