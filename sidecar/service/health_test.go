package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A time is written the same way wherever one is set, and what it cannot be is refused in those words.
func TestHealth_after(t *testing.T) {
	for value, want := range map[string]time.Duration{"10m": 10 * time.Minute, "90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "off": 0} {
		of := map[string]string{"after": value}
		assert.NoError(t, checkHealth(of), value)
		assert.Equal(t, want, healthOf(policy.Settings{Health: of}), value)
	}
	for _, value := range []string{"0", "0.9", "-3", "soon", "1e300", "9000h", ""} {
		assert.ErrorContains(t, checkHealth(map[string]string{"after": value}), `it must be a time like "10m" or a number of seconds, at least 1s, or false`, value)
	}
	assert.ErrorContains(t, checkHealth(map[string]string{"afer": "10m"}), `no setting "afer"; there is after`)
	assert.Equal(t, relay.DefaultHealth, healthOf(policy.Settings{}))
}
