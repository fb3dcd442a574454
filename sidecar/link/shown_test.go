package link

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What any agent may list contains no password and no token of a server.
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

// An error about an invalid server URL contains none either.
func TestConfig_N5_errorsShowNoPassword(t *testing.T) {
	t.Parallel()
	for _, one := range []string{
		"nats://me:secret@hub:port", "tls://me:secret@hub:4222/%zz", "://me:secret@hub", "me:secret@hub:4222", "http://me:secret@hub:4222", "unix://me:secret@hub/x",
		"nats://127.0.0.1,unix:///x?secret", "tls://secret@\x7f", "secret", "http:secret@hub", "nats:me:secret@hub:4222", "HTTP://hub/secret", "nats://hub:4222#secret",
	} {
		err := Config{Name: "a", NATS: one}.Check()
		if assert.Error(t, err, "%q", one) {
			assert.NotContains(t, err.Error(), "secret", "%q", one)
		}
	}
	assert.ErrorContains(t, Config{Name: "a", NATS: "http://hub:4222"}.Check(), "http://hub:4222", "what is no secret is named")
	assert.ErrorContains(t, Config{Name: "a", NATS: "hub:4222"}.Check(), "nats://HOST:PORT")
}
