package daemon_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An inbox that says nothing leaves a message uncertain, and it is not typed; if the agent writes it down after all,
// it is submitted, and answered.
func TestG8_anInboxThatRecordsLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	claude, ben := r.coder("claude", "Ada"), r.adopted("Ben", silent...)
	claude.do(":inbox open")
	claude.adopt("")
	r.chat([]*agent{claude, ben}, "door=auto", "stall=off")
	ben.do(":say the first word")
	r.waitFor("it is said", func() bool { return len(r.messages()) > 0 })
	first := r.idOf("the first word")
	r.waitFor("uncertain", func() bool { return r.last(first) == "uncertain: "+string(message.NotRecorded) })
	trail := r.receiptsOf(first)
	assert.Equal(t, "inbox", trail[len(trail)-1].Door)
	claude.do(":inbox record")
	r.waitFor("answered", func() bool { return r.last(first) == "submitted (answered)" })
	proven := r.receiptsOf(first)[len(trail)]
	assert.Equal(t, message.Submitted, proven.State)
	require.NotEmpty(t, proven.Evidence)
	assert.Equal(t, "transcript", proven.Evidence[0].Source)
	r.waitFor("its answer is heard", func() bool { return strings.Contains(strings.Join(ben.received(), "\n"), "I have it") })
	assert.Empty(t, claude.received(), "nothing was typed")
}
