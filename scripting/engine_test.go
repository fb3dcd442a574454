package scripting

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestEngine_decides(t *testing.T) {
	r := newRig(t, `
local keys = intercom.re [[sk-[\w-]{16,}|ghp_\w{20,}]]
intercom.on("filter", function(msg) return { body = (keys:replace(msg.body, "[redacted]")) } end)
intercom.rule("handoffs wait", { type = "handoff", from = "Ada" }, intercom.ask { reason = "a handoff", notify = "popup" })
intercom.on("decide", function(msg, ctx)
  print(msg.from, msg.to, msg.depth, ctx.agent(msg.to).role, ctx.chat.name)
  return intercom.deliver { reason = "to " .. msg.to }
end)
intercom.on("format", function(msg) return "<" .. msg.from .. "> " .. msg.body end)
`)
	v := r.decided(said("my key is ghp_0123456789012345678901234567890"))
	require.Len(t, v.Outcomes, 1)
	assert.Equal(t, message.VerbDeliver, v.Outcomes[0].Verb)
	assert.Equal(t, "to Ben", v.Outcomes[0].Reason)
	assert.Equal(t, "policies/10.lua:7", v.Outcomes[0].By)
	assert.Equal(t, "Ben", v.Outcomes[0].To.Name)
	require.NotNil(t, v.Body)
	assert.Equal(t, "my key is [redacted]", *v.Body)
	require.NotNil(t, v.Outcomes[0].Formatted)
	assert.Equal(t, "<Ada> my key is [redacted]", *v.Outcomes[0].Formatted)
	require.Len(t, v.Log, 1)
	assert.Equal(t, "Ada Ben 3 reviewer plans", v.Log[0].Text)
	assert.Equal(t, 6, v.Log[0].Line)
	assert.False(t, v.Unfiltered)
	assert.Positive(t, v.Instructions)
	t.Log(v.Instructions, v.Took)

	in := said("yours")
	in.Message.Type = "handoff"
	v = r.decided(in)
	assert.Equal(t, message.VerbAsk, v.Outcomes[0].Verb)
	assert.Equal(t, "popup", v.Outcomes[0].Notify)
	assert.Equal(t, `policies/10.lua:4 handoffs wait`, v.Outcomes[0].By)
}
