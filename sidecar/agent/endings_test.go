package agent

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unanswered is what Claude Code 2.1.263 writes in place of an answer, as in deepcoldy/botmux#1330;
// anthropics/claude-code#53260 has one whose content is a text instead of a list.
const unanswered = `{"type":"assistant","sessionId":"s","timestamp":"2026-11-21T16:50:12Z","message":{"role":"assistant",` +
	`"model":"<synthetic>","stop_reason":"stop_sequence","stop_sequence":"","usage":{"input_tokens":0,"output_tokens":0},` +
	`"content":%s},"isApiErrorMessage":false}` + "\n"

// Text that the program wrote without asking a model is not an agent's answer: the turn has failed, and without a
// prompt there is no turn.
func TestMachine_anAnswerThatNobodyGave(t *testing.T) {
	plain := recording(t, claude+"plain/transcript.jsonl")
	asked, _, ok := bytes.Cut(plain, []byte(`{"parentUuid":"c1235db2-998f-4979-ad61-b1102a051c10"`)) // the answer
	require.True(t, ok)
	for _, content := range []string{`[{"type":"text","text":"No response requested."}]`, `"No response requested."`} {
		instead := []byte(fmt.Sprintf(unanswered, content))
		var m Machine
		r := NewReader(Claude, 0)
		feed := func(text []byte) (turns []Turn) {
			for _, e := range r.Feed(text) {
				turns = append(turns, m.Feed(e).Ended...)
			}
			return turns
		}
		turns := feed(append(bytes.Clone(asked), instead...))
		require.Len(t, turns, 1)
		assert.True(t, turns[0].Failed)
		assert.Empty(t, turns[0].Words)
		assert.Equal(t, "No response requested.", turns[0].Why)
		require.Len(t, turns[0].Prompts, 1)

		assert.Empty(t, feed(instead))
		_, _, open := m.Open()
		assert.False(t, open, "nobody has asked for anything")
		assert.Zero(t, r.Health().Bad)

		said := bytes.Replace(instead, []byte("No response requested."), []byte("No response requested. It is done."), 1)
		if content[0] == '[' {
			feed(said)
			turn, open := m.Turn()
			assert.True(t, open)
			assert.Equal(t, "No response requested. It is done.", turn.Words)
		}
	}
}

// Codex names the reason for which it stops a turn (TurnAbortReason in protocol.rs of openai/codex); only one of
// the reasons is a person.
func TestMachine_whoStoppedIt(t *testing.T) {
	stopped := recording(t, codex+"esc-in-answer/transcript.jsonl")
	const reason = `"reason":"interrupted"`
	require.Equal(t, 1, bytes.Count(stopped, []byte(reason)))
	for as, abandoned := range map[string]bool{
		reason: false, `"reason":"replaced"`: true, `"reason":"review_ended"`: true, `"reason":"budget_limited"`: true,
		`"reason":"of another day"`: true, `"because":"nobody says"`: false,
	} {
		var m Machine
		var turns []Turn
		for _, e := range NewReader(Codex, 0).Feed(bytes.Replace(stopped, []byte(reason), []byte(as), 1)) {
			turns = append(turns, m.Feed(e).Ended...)
		}
		require.NotEmpty(t, turns, as)
		assert.True(t, turns[0].Interrupted, as)
		assert.Equal(t, abandoned, turns[0].Abandoned, as)
		assert.False(t, turns[0].Whole(), as)
	}
}
