package service

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/scripting/policy"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

func TestHealth_after(t *testing.T) {
	for value, want := range map[string]time.Duration{"10m0s": 10 * time.Minute, "1.5s": 1500 * time.Millisecond, "off": 0} {
		of := map[string]string{"after": value}
		assert.NoError(t, checkHealth(of), value)
		assert.Equal(t, want, healthOf(policy.Settings{Health: of}), value)
	}
	assert.EqualError(t, checkHealth(map[string]string{"after": "900ms"}), `health.after is "900ms"; it must be at least 1s, or false`)
	assert.ErrorContains(t, checkHealth(map[string]string{"afer": "10m0s"}), `no setting "afer"; there is after`)
	assert.Equal(t, relay.DefaultHealth, healthOf(policy.Settings{}))
}
