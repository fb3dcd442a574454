package message_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The text that a person made of a message is shown by the receipts of its deliveries, once,
// whoever else gets it.
func TestEdits(t *testing.T) {
	receipt := func(delivery message.ID, state message.ReceiptState, says, typed string) message.Event {
		e := message.Event{Receipt: &message.Receipt{Delivery: delivery, Message: "m", State: state}, Delivery: &message.Delivery{ID: delivery}}
		if says != "" {
			e.Receipt.Evidence = []message.Evidence{{Source: "person", Says: says}}
		}
		e.Delivery.Message.Body = typed
		return e
	}
	var x message.Edits
	assert.False(t, x.Take(message.Event{Message: &message.Envelope{ID: "m", Body: "rm -rf"}}))
	assert.False(t, x.Take(receipt("0", message.Typed, "", "of a policy")), "no person's")
	_, edited := x.Of("m")
	assert.False(t, edited)
	for _, d := range []message.ID{"1", "2"} {
		assert.False(t, x.Take(receipt(d, message.Queued, message.Edited+"ada", "")))
	}
	d, edited := x.Of("m")
	assert.True(t, edited)
	assert.Empty(t, d.ID, "it is not typed yet")
	assert.False(t, x.Take(receipt("0", message.Typed, "", "of a policy")))
	assert.True(t, x.Take(receipt("1", message.Typed, "", "ls -l")))
	assert.False(t, x.Take(receipt("1", message.Typed, "", "ls -l")), "permission is given twice")
	assert.False(t, x.Take(receipt("2", message.Typed, "", "ls -l")))
	d, _ = x.Of("m")
	assert.Equal(t, "ls -l", d.Message.Body)
}
