package pane

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// Panes at rest are looked at together, none of them later than it would be alone, and by the monotonic clock.
func TestRestUntil(t *testing.T) {
	now := time.Now().Truncate(0).Add(restStep).Truncate(restStep)
	first := restUntil(now)
	assert.Equal(t, restPoll, first.Sub(now))
	for _, later := range []time.Duration{1, time.Second, restStep - 1} {
		assert.Equal(t, first, restUntil(now.Add(later)))
	}
	assert.Equal(t, first.Add(restStep), restUntil(now.Add(restStep)))

	assert.Contains(t, restUntil(time.Now()).String(), " m=+", "it has the reading of that clock")
}
