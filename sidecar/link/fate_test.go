package link

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Fates are told side by side: what was true before does not count once what came of it is known.
func TestLink_learn_whatIsOldIsNoNews(t *testing.T) {
	t.Parallel()
	id, slow, goOn := message.NewID(), make(chan struct{}), make(chan struct{})
	l := &Link{Now: time.Now, Relay: reporting{report: func(r message.Receipt) {
		if r.State == message.Held {
			close(slow)
			<-goOn
		}
	}}}
	l.init()
	l.open[id] = &sent{token: "b", target: message.NewID(), state: message.Typed}
	held := make(chan error, 1)
	go func() { held <- l.learn(t.Context(), "b", fate{Delivery: id, State: message.Held}) }()
	<-slow
	require.NoError(t, l.learn(t.Context(), "b", fate{Delivery: id, State: message.Submitted}))
	close(goOn)
	require.NoError(t, <-held)
	assert.Equal(t, message.Submitted, l.open[id].state)
}

// Helpers of the tests.

// reporting is a relay that only takes receipts.
type reporting struct {
	Relay
	report func(message.Receipt)
}

func (r reporting) Report(_ context.Context, receipt message.Receipt) error {
	r.report(receipt)
	return nil
}
