package api

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An error about a limit names the setting that changes it: of a chat, or of brakes in init.lua.
func TestB9_limitsAreCalledAsTheirSettings(t *testing.T) {
	t.Parallel()
	names := []string{"own_minute", "own_hour", "own_fan_out"}
	for _, s := range Settings {
		names = append(names, s.Key)
	}
	for _, reason := range []message.Reason{
		message.AtDepthLimit, message.AtRateLimit, message.AtByteLimit, message.AtTokenLimit, message.AtOwnMinute, message.AtOwnHour, message.AtFanOut,
	} {
		name, ok := strings.CutSuffix(string(reason), " limit reached")
		assert.True(t, ok && slices.Contains(names, name), reason)
	}
}
