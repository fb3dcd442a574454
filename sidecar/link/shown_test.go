package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What any agent may list has no password and no token of a server.
func TestState_N5_showsNoPassword(t *testing.T) {
	t.Parallel()
	l := &Link{Config: func() Config {
		return Config{Name: "a", NATS: "tls://me:secret@hub:4222, tls://secrettoken@two:4222,nats://127.0.0.1:4222"}
	}}
	assert.Equal(t, "tls://xxxxx@hub:4222,tls://xxxxx@two:4222,nats://127.0.0.1:4222", l.State().Server)
	err := Config{Name: "a", NATS: "nats://me:secret@hub:4222"}.Check()
	assert.Error(t, err)
	assert.NotContains(t, err.Error(), "secret")
}
