package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// testSet loads texts without a worker process: only texts that do no harm to this one.
func testSet(t *testing.T, texts ...string) (*set, wire.Loaded) {
	t.Helper()
	return load(loadOf(texts...), policy.Memories{}, func(string) {})
}

// loadOf returns a request to load texts as a.lua, b.lua, …
func loadOf(texts ...string) wire.Load {
	var f policy.Files
	for i, text := range texts {
		f.Sources = append(f.Sources, policy.Source{Name: string(rune('a'+i)) + ".lua", Text: text})
	}
	return wire.Load{Files: f}
}

func testState(t *testing.T, text string) *state {
	t.Helper()
	of, loaded := testSet(t, text)
	require.Empty(t, loaded.Problems)
	return of.scripts[0].spare
}

func testInput() policy.Input {
	return policy.Input{Message: message.Envelope{ID: "m1", Type: message.KindTurn, Body: "hello"}, To: []message.Address{{Name: "Ben"}}}
}
