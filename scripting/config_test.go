package scripting

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/scripting/wire"
)

// A worker is sent a message's configuration if it differs from the last one, and each message is decided by its own.
func TestConfig_aWorkerKnowsTheLast(t *testing.T) {
	r := newRig(t, `intercom.on("decide", function(msg, ctx)
  local aea = ctx.config.aea
  return intercom.deliver { reason = aea and aea.rule or "none" }
end)`)
	check := func(rule string) {
		t.Helper()
		in := said("so")
		want := "none"
		if rule != "" {
			in.Config, want = map[string]any{"aea": map[string]any{"rule": rule}}, rule
		}
		v, err := r.engine.Evaluate(t.Context(), in)
		require.NoError(t, err)
		assert.Equal(t, want, v.Outcomes[0].Reason)
	}
	for range 2 {
		for _, rule := range []string{"one", "one", "", "one", "two", "two", "one", ""} {
			check(rule)
		}
		check("two")
		r.set.worker.kill() // the next question finds it dead, and another one is asked
		check("two")
		r.own(func(s *Set) { s.worker.kill(); s.worker = nil }) // and between questions
		r.started()
		check("two")
		r.own(func(s *Set) { s.deaths = nil })
	}

	var sent bytes.Buffer
	in := said("so")
	in.Config = map[string]any{"aea": map[string]any{"rule": "two"}}
	q := r.set.request(in, nil, false)
	require.NoError(t, wire.Write(&sent, &q, nil))
	assert.NotContains(t, sent.String(), "rule", "the worker has it")
}
