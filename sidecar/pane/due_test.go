package pane

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// brittle is a relay that makes a pane's goroutine panic once.
type brittle struct {
	Relay
	broke bool
	told  []message.ID
}

func (b *brittle) Report(_ context.Context, r message.Receipt) error {
	if !b.broke {
		b.broke = true
		panic("a fault")
	}
	b.told = append(b.told, r.Delivery)
	return nil
}

// What a core has decided is told even if its goroutine panics before that, and nothing is typed because of it.
// Otherwise the relay would not know what an agent has taken, and the answer to that would lie less deep.
func TestPane_aPanicKeepsNothingBack(t *testing.T) {
	relay := &brittle{}
	p := &Pane{relay: relay}
	done := func(id string) act { return receipt{part{d: deliveryOf(id)}, message.Submitted, "", ""} }
	assert.Panics(t, func() { p.do(t.Context(), []act{done("a"), press{}, done("b"), paste{}}) })
	p.tellDue(t.Context())
	assert.Equal(t, []message.ID{"b"}, relay.told)
	assert.Empty(t, p.due)
}
