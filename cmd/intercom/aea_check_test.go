package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// The hint names aea resume only for what that lets go on.
func TestHalted_hint(t *testing.T) {
	t.Parallel()
	w := halted{held: 3, why: map[string]int{"its answer: " + string(message.AtDepthLimit): 1, string(message.AtRateLimit): 1, string(message.AwaitingApproval): 1}}
	assert.Equal(t, "intercom aea resume lets go on what is held (its answer: depth limit reached; rate limit reached); "+
		"intercom inbox shows what is held (waiting for approval)", w.hint())
	assert.Equal(t, "intercom aea resume", release(string(message.AtRateLimit)), "in aea doctor, too")
	assert.Equal(t, "intercom inbox", release("its answer: "+string(message.AwaitingApproval)))
}

// An age has the same upper limit in every unit.
func TestDays(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"0d": 0, "30d": 30 * day, "1.5d": 36 * time.Hour, "12h": 12 * time.Hour, "90m": 90 * time.Minute,
		"2500d": 2500 * day, "60000h": 2500 * day, "106751d": 106751 * day, "2562024h": 106751 * day,
	} {
		got, err := days(text)
		assert.NoError(t, err, text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "d", "soon", "30", "-1d", "-1h", "106752d", "2562048h", "1dd"} {
		_, err := days(text)
		assert.ErrorContains(t, err, "not a time, like 30d, 12h or 90m", text)
	}
}
