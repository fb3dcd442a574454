package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The line about messages that were not delivered names at most twenty of them.
func TestNotDelivered(t *testing.T) {
	var ids []string
	for i := range mostNamed + 1 {
		ids = append(ids, strconv.Itoa(i))
	}
	assert.Equal(t, "not delivered: 1 message that waited: 0", notDelivered(ids[:1]))
	assert.Equal(t, "not delivered: 20 messages that waited: "+strings.Join(ids[:20], ", "), notDelivered(ids[:20]))
	assert.Equal(t, "not delivered: more than 20 messages that waited: "+strings.Join(ids[:20], ", "), notDelivered(ids))
}

// A message that a program has taken does not count as undelivered, whatever became of the answer.
func TestLost(t *testing.T) {
	receipts := func(states ...message.ReceiptState) (log []message.Event) {
		for _, state := range states {
			log = append(log, message.Event{Receipt: &message.Receipt{Delivery: "one", State: state}})
		}
		return append(log, message.Event{Kind: "notice"})
	}
	assert.True(t, lost(receipts(message.Queued, message.Held, message.Failed), "one"))
	assert.False(t, lost(receipts(message.Queued, message.Typed, message.Typed, message.Submitted, message.Failed), "one"))
	assert.False(t, lost(receipts(message.Queued, message.Typed, message.Uncertain), "one"))
	assert.False(t, lost([]message.Event{{Receipt: &message.Receipt{Delivery: "one", State: message.Failed, Reason: message.DecidedAnew}}}, "one"))
	assert.False(t, lost(nil, "one"))
	another := message.Event{Receipt: &message.Receipt{Delivery: "two", State: message.Submitted}}
	assert.True(t, lost(append(receipts(message.Held, message.Failed), another), "one"), "the others of its message got it")
}
