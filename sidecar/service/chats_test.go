package service

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// Words that nobody gets have failed, and words that wait for a decision are told from those that a paused chat
// holds.
func TestSay_whatBecameOfIt(t *testing.T) {
	queued := message.Receipt{Delivery: "q", State: message.Queued}
	dropped := message.Receipt{Delivery: "d", State: message.Failed, Reason: message.Dropped}
	full := message.Receipt{Delivery: "f", State: message.Failed, Reason: message.QueueFull}
	paused := message.Receipt{Delivery: "p", State: message.Held, Reason: message.Paused, Hold: message.HoldPause}
	asked := message.Receipt{Delivery: "a", State: message.Held, Reason: "held by policy", Hold: message.HoldPolicy}
	for name, c := range map[string]struct {
		receipts []message.Receipt
		want     api.Said
	}{
		"nobody is there": {nil, api.Said{}},
		"queued":          {[]message.Receipt{queued}, api.Said{Deliveries: []message.ID{"q"}}},
		"to one":          {[]message.Receipt{dropped, queued, full}, api.Said{Deliveries: []message.ID{"d", "q", "f"}}},
		"to nobody":       {[]message.Receipt{dropped, full}, api.Said{Deliveries: []message.ID{"d", "f"}, Failed: message.QueueFull}},
		"paused":          {[]message.Receipt{paused, dropped}, api.Said{Deliveries: []message.ID{"p", "d"}, Held: message.Paused}},
		"to be decided":   {[]message.Receipt{asked}, api.Said{Deliveries: []message.ID{"a"}, Held: "held by policy", Awaits: true}},
	} {
		c.want.Message = "m"
		assert.Equal(t, c.want, saidOf(relay.Answer{Message: "m", Receipts: c.receipts}), name)
	}
}
