package tmux

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Info reports the transport in use, even after the native client was switched off.
func TestInfo_nativeSwitchedOff(t *testing.T) {
	c := &Client{direct: &direct{}, info: Info{PID: 7, Transport: "native", Why: "asked for"}}
	assert.Equal(t, Info{PID: 7, Transport: "native", Why: "asked for"}, c.Info())
	c.direct.off.Store(true)
	assert.Equal(t, "process", c.Info().Transport)
	assert.Contains(t, c.Info().Why, "is off until the sidecar restarts")
	assert.Equal(t, 7, c.Info().PID)
}
