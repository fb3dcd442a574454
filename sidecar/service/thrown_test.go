package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A message that a policy dropped because no person decided in time is as little lost as one that it dropped at
// once; one that expired on its way to a pane is not a policy's doing.
func TestThrownAway(t *testing.T) {
	waits := func(otherwise message.Verb) message.Verdict {
		return message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: otherwise}}
	}
	late := message.Receipt{State: message.Expired, Reason: message.AwaitingApproval}
	for name, c := range map[string]struct {
		receipt message.Receipt
		verdict message.Verdict
		want    bool
	}{
		"dropped at once":      {message.Receipt{State: message.Failed, Reason: message.Dropped}, message.Verdict{}, true},
		"sent back at once":    {message.Receipt{State: message.Failed, Reason: message.Bounced}, message.Verdict{}, true},
		"dropped in the end":   {late, waits(message.VerbDrop), true},
		"sent back":            {late, waits(message.VerbBounce), true},
		"acknowledged":         {late, waits(message.VerbAck), false},
		"on its way to a pane": {message.Receipt{State: message.Expired, Reason: message.AgentWorking}, message.Verdict{}, false},
		"it waits still":       {message.Receipt{State: message.Held, Reason: message.AwaitingApproval}, waits(message.VerbDrop), false},
	} {
		assert.Equal(t, c.want, thrownAway(c.receipt, c.verdict), name)
	}
}
