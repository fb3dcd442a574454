package agent

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The usage that each of the four agents wrote down for its turns.
func TestB8_TokensOfRecordedTurns(t *testing.T) {
	for from, want := range map[string]message.Tokens{
		claude + "plain":   {Fresh: 10, Output: 20},
		codex + "plain":    {Fresh: 10, Output: 20},
		opencode + "plain": {Fresh: 12, Output: 9},
	} {
		turns, _ := turnsOf(t, from+"/transcript.jsonl")
		require.NotEmpty(t, turns, from)
		require.NotNil(t, turns[0].Tokens, from)
		assert.Equal(t, want, *turns[0].Tokens, from)
	}
	var spent []message.Tokens
	for _, e := range eventsOf(t, gemini+"permission-denied/transcript.jsonl") {
		if e.Kind == Spent {
			spent = append(spent, e.Tokens)
		}
	}
	require.NotEmpty(t, spent)
	assert.Equal(t, message.Tokens{Fresh: 12, Output: 7}, spent[0])
}

// Codex repeats the last call when a turn begins that compacts the conversation, and again, with no usage, when it
// has done so. Neither is another call.
func TestB8_TokensToldOnceMore(t *testing.T) {
	const from = codex + "resumed/transcript.jsonl"
	var all message.Tokens
	for _, e := range eventsOf(t, from) {
		if e.Kind == Spent {
			all.Add(e.Tokens)
		}
	}
	assert.Equal(t, message.Tokens{Fresh: 40, Output: 80}, all, "what it says of the whole conversation in the end")
	turns, _ := turnsOf(t, from)
	for _, turn := range turns {
		if assert.NotNil(t, turn.Tokens) {
			assert.Equal(t, message.Tokens{Fresh: 10, Output: 20}, *turn.Tokens, story(turn))
		}
	}
}

// The usage of a call of the model stands in each of its records, and counts once. The usages of several calls are
// summed. Tokens from a cache are counted separately. A missing usage is unknown, not zero.
func TestB8_TokensOfCallsAreSummedOnce(t *testing.T) {
	const record = `{"type":"assistant","sessionId":"s","message":{"id":"ID","content":[{"type":"text","text":"words"}],` +
		`"usage":{"input_tokens":3,"cache_creation_input_tokens":40,"cache_read_input_tokens":500,"output_tokens":6}}}` + "\n"
	const asked = `{"type":"user","sessionId":"s","promptSource":"typed","uuid":"u","message":{"content":"hello"}}` + "\n"
	const end = `{"type":"system","subtype":"turn_duration","sessionId":"s"}` + "\n"
	for name, one := range map[string]struct {
		ids  []string
		want *message.Tokens
	}{
		"one in three records": {[]string{"a", "a", "a"}, &message.Tokens{Fresh: 43, Cached: 500, Output: 6}},
		"two":                  {[]string{"a", "b"}, &message.Tokens{Fresh: 86, Cached: 1000, Output: 12}},
		"none":                 {nil, nil},
	} {
		text := asked
		for _, id := range one.ids {
			text += strings.Replace(record, "ID", id, 1)
		}
		var m Machine
		var turns []Turn
		for _, e := range NewReader(Claude, 0).Feed([]byte(text + end)) {
			turns = append(turns, m.Feed(e).Ended...)
		}
		require.Len(t, turns, 1, name)
		assert.Equal(t, one.want, turns[0].Tokens, name)
	}
}
