package daemon_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/persona"
)

// `explain --json` of an agent in each of its states has all fields of the contract, with true values.
func TestExplainOfEachState(t *testing.T) {
	t.Parallel()
	eachCoder(t, func(t *testing.T, r *rig, a *agent) {
		kind := a.session.Profile
		says := func(what string, state message.PaneState, may bool, why message.Reason, composer message.ComposerNow) message.Explanation {
			t.Helper()
			var e message.Explanation
			r.waitFor(what, func() bool { e = a.explain(); return e.State == state && e.Why == why })
			assert.Equal(t, may, e.MayType, what)
			assert.Equal(t, why == "", e.WouldType, what)
			assert.Equal(t, composer, e.Composer, what)
			assert.Equal(t, a.pane, e.Pane)
			assert.Equal(t, "Ada", e.Session)
			assert.Equal(t, kind, e.Agent)
			contract(t, e)
			return e
		}
		empty, none := message.ComposerNow{Live: true, Empty: true}, message.ComposerNow{}
		a.types("first", "Enter") // Codex makes its transcript at the first prompt
		r.waitFor("a turn", func() bool { return a.count(persona.EventReady) == 2 })
		r.waitFor("a transcript", func() bool { return a.explain().WordsFrom == "transcript" })
		e := says("idle", message.Idle, true, "", empty)
		assert.Equal(t, "transcript", e.Evidence[0].Source)
		assert.Equal(t, "exact", e.Evidence[0].Weight)
		assert.Equal(t, map[string]string{"claude": "2.1.329", "codex": "0.169.0"}[kind], e.Version)
		assert.Equal(t, e.Version, e.Verified)
		assert.Equal(t, map[string]string{"claude": "status file", "codex": "open file"}[kind], e.Found)
		assert.Contains(t, r.transcripts(kind), e.Transcript)
		assert.Empty(t, e.Trouble)

		a.types("half a line")
		says("a draft", message.Draft, false, message.InComposer, message.ComposerNow{Live: true, Text: "half a line"})
		a.types("", "C-u")
		a.do(":turn hold")
		a.types("work", "Enter")
		r.waitFor("an open turn", func() bool { return strings.Contains(a.explain().Evidence[0].Says, "a turn is open") })
		says("at work", message.Working, false, message.AgentWorking, empty)
		a.do(":dialog true")
		says("a dialog", message.Blocked, false, "a dialog or a panel is open", none)
		a.types("", "Escape")
		says("at work again", message.Working, false, message.AgentWorking, empty)
		a.types("", "Escape")
		says("interrupted", message.Idle, true, "", empty)
		a.do(":lie odd")
		says("unknown", message.Unknown, false, message.UnknownScreen, none)
		a.do(":lie off")
		r.Run("copy-mode", "-t", a.pane)
		says("copy mode", message.History, false, message.CopyMode, none)
		r.Run("send-keys", "-X", "-t", a.pane, "cancel")
		says("idle again", message.Idle, true, "", empty)

		// The same pane, judged as if the other agent ran there.
		other := map[string]string{"claude": "codex", "codex": "claude"}[kind]
		e, err := r.client.Explain(t.Context(), api.ExplainRequest{Pane: a.pane, Agent: other})
		require.NoError(t, err)
		assert.Equal(t, other, e.Agent)
		assert.False(t, e.MayType)
		assert.Equal(t, message.Unknown, e.State)
		contract(t, e)
	}, silent...)
}

// `explain` also tells a person about a pane that nobody adopted; the sidecar would not type there.
func TestExplainOfAPaneThatIsNotAdopted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, kind := range inTurn(t) {
		a := r.coder(kind, kind, silent...)
		a.types("first", "Enter")
		var e message.Explanation
		r.waitFor("its turn is over", func() bool {
			e = a.explain()
			return a.count(persona.EventReady) == 2 && e.State == message.Idle && e.WordsFrom == "transcript"
		})
		contract(t, e)
		assert.Equal(t, kind, e.Agent)
		assert.Equal(t, message.Idle, e.State)
		assert.True(t, e.MayType)
		assert.False(t, e.WouldType)
		assert.Equal(t, message.Reason("pane is not adopted"), e.Why)
		assert.Empty(t, e.Session)
		assert.Equal(t, "first", a.received()[0])
	}
	line := r.line("Ben")
	e := line.explain()
	contract(t, e)
	assert.Empty(t, e.Agent)
	assert.False(t, e.MayType || e.WouldType)
	sessions, err := r.client.Sessions(t.Context())
	require.NoError(t, err)
	assert.Empty(t, sessions)
}

// contract checks the JSON form of an explanation.
func contract(t *testing.T, e message.Explanation) {
	t.Helper()
	text, err := json.Marshal(e)
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, json.Unmarshal(text, &fields))
	for name, like := range map[string]any{
		"pane": "", "agent": "", "state": "", "may_type": true, "would_type": true, "words_from": "", "evidence": []any{}, "composer": map[string]any{},
	} {
		assert.IsType(t, like, fields[name], "%s in %s", name, text)
	}
	if !e.WouldType {
		assert.NotEmpty(t, fields["why"], "%s", text)
	}
	composer, ok := fields["composer"].(map[string]any)
	require.True(t, ok)
	for name, like := range map[string]any{"live": true, "empty": true, "text": ""} {
		assert.IsType(t, like, composer[name], name)
	}
	assert.NotEmpty(t, e.Evidence)
	for _, g := range fields["evidence"].([]any) {
		ground := g.(map[string]any)
		for name, like := range map[string]any{"source": "", "says": "", "weight": "", "age_ms": 0.0} {
			assert.IsType(t, like, ground[name], "%s in %s", name, text)
		}
		assert.Contains(t, []any{"exact", "approximate"}, ground["weight"])
		assert.GreaterOrEqual(t, ground["age_ms"], 0.0)
	}
}
