package journal

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The memory of a policy is on disk together with the verdict that changed it, or not at all.
func TestMemories(t *testing.T) {
	dir := private(t)
	j, err := Open(t.Context(), dir)
	require.NoError(t, err)
	word := func(id message.ID) message.Envelope {
		return message.Envelope{ID: id, From: message.Address{Peer: "ada"}, Type: message.KindTurn, Body: "b", Created: testTime}
	}
	mustCommit(t, j, message.Step{
		Received: []message.Envelope{word("one")},
		Verdicts: []message.Verdict{{Message: "one", Decision: message.Decision{Verb: message.VerbDrop}, Memory: map[string][]byte{"a.lua": []byte("1"), "b.lua": []byte("1")}}},
	})
	assert.Error(t, j.Commit(t.Context(), message.Step{
		Verdicts: []message.Verdict{{Message: "one", Decision: message.Decision{Verb: message.VerbDrop}, Memory: map[string][]byte{"a.lua": []byte("lost")}}, {Message: "unknown"}},
	}))
	mustCommit(t, j, message.Step{Verdicts: []message.Verdict{{Message: "one", Decision: message.Decision{Verb: message.VerbDrop}, Memory: map[string][]byte{"b.lua": []byte("2")}}}})
	require.NoError(t, j.Close())
	j = mustOpen(t, dir)
	memories, err := j.Memories(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string][]byte{"a.lua": []byte("1"), "b.lua": []byte("2")}, memories)
}

// The newest decided messages, as they were received, each with its targets.
func TestRecent(t *testing.T) {
	j := mustOpen(t, private(t))
	masked := "masked"
	add := func(id message.ID, v *message.Verdict, targets ...message.ID) {
		step := message.Step{Received: []message.Envelope{{ID: id, Chat: "chat", From: message.Address{Peer: "ada"}, Type: message.KindTurn, Body: "key " + string(id), Created: testTime}}}
		if v != nil {
			v.Message = id
			step.Verdicts = []message.Verdict{*v}
		}
		for i, target := range targets {
			d := message.Delivery{ID: id + message.ID("-"+string(rune('0'+i))), Message: step.Received[0], Target: target, Chat: "chat", Attempt: 1}
			d.Message.Body = masked
			step.Deliveries = append(step.Deliveries, d)
			step.Receipts = append(step.Receipts, message.Receipt{Delivery: d.ID, Message: id, Target: target, State: message.Queued, At: testTime})
		}
		mustCommit(t, j, step)
	}
	add("old", &message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}, "ben")
	add("one", &message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Body: &masked}, "ben", "cyd", "ben")
	add("nobody", &message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}})
	add("two", &message.Verdict{Decision: message.Decision{Verb: message.VerbAsk}}, "cyd")
	add("undecided", nil)
	recent, err := j.Recent(t.Context(), 3)
	require.NoError(t, err)
	require.Len(t, recent, 2)
	assert.Equal(t, []message.ID{"one", "two"}, []message.ID{recent[0].Message.ID, recent[1].Message.ID})
	assert.Equal(t, "key one", recent[0].Message.Body)
	assert.Equal(t, message.ID("chat"), recent[0].Chat)
	assert.Equal(t, []message.ID{"ben", "cyd"}, recent[0].Targets)
}
