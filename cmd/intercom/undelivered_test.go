package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// However many are not delivered, the line that says so names a few.
func TestNotDelivered(t *testing.T) {
	var ids []string
	for i := range mostNamed + 1 {
		ids = append(ids, strconv.Itoa(i))
	}
	assert.Equal(t, "not delivered: 1 message that waited: 0", notDelivered(ids[:1]))
	assert.Equal(t, "not delivered: 20 messages that waited: "+strings.Join(ids[:20], ", "), notDelivered(ids[:20]))
	assert.Equal(t, "not delivered: more than 20 messages that waited: "+strings.Join(ids[:20], ", "), notDelivered(ids))
}
