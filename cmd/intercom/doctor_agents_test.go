package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The doctor names agents that are here without hooks; this is a note, not a problem.
func TestU9_hooksNotInstalled(t *testing.T) {
	w := newWorld(t)
	w.executable = thisProgram()
	w.serve(t, &fakeBackend{peers: []api.Peer{
		{Kind: api.KindSession, Name: "Ada", Pane: "%1", Agent: "claude", Adopted: true},
		{Kind: api.KindPane, Pane: "%2", Agent: "codex"},
		{Kind: api.KindSession, Name: "Ben", Pane: "%3", Agent: "line", Adopted: true},
		{Kind: message.PeerRemote, Name: "Cyd.raspi", Agent: "gemini"},
	}})
	require.Zero(t, w.run("hooks", "install", "codex").code)
	f, told := w.examined(t, "agent_hooks")
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "claude: hooks not installed")
	assert.Equal(t, "intercom hooks install claude", f.Hint)
	before := told.code
	require.Zero(t, w.run("hooks", "install", "claude").code)
	assert.Empty(t, w.allOf(t, "agent_hooks"))
	assert.Equal(t, before, w.run("doctor", "--json").code, "it is no problem")
	require.Zero(t, w.run("hooks", "uninstall", "codex").code)
	f, _ = w.examined(t, "agent_hooks")
	assert.Equal(t, "intercom hooks install codex", f.Hint)
}

// The doctor names the door of an agent, and says if it has shut.
func TestU9_theDoorOfAnAgent(t *testing.T) {
	t.Parallel()
	e := message.Explanation{Agent: "claude", Door: "inbox for other sessions", DoorWhy: "it does not say that it rests"}
	f := doorFinding("claude in %3 (Ada)", e)
	assert.Equal(t, fine, f.Level)
	assert.Contains(t, f.Text, "claude in %3 (Ada): messages are typed (door=type), or go through its inbox for other sessions while it rests")
	e.DoorShut, e.DoorWhy = true, "version 2.1.329 did not write down what it was handed"
	f = doorFinding("claude in %3 (Ada)", e)
	assert.Equal(t, note, f.Level)
	assert.Contains(t, f.Text, "is shut, since version 2.1.329 did not write down what it was handed")
	assert.NotEmpty(t, f.Hint)
}
