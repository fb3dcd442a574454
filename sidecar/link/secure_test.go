package link_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
)

// N5: beyond this computer, no server is reached in plain text or without credentials, unless a person has
// explicitly allowed it. The refusal says how.
func TestN5_BeyondThisComputer(t *testing.T) {
	t.Parallel()
	plain, anonymous := "plain text beyond this computer: use tls://, or set insecure = true", "no credentials beyond this computer: name their file in creds, or set insecure = true"
	for _, one := range []struct{ url, creds, refused string }{
		{"nats://192.0.2.1:4222", "", plain},
		{"nats://192.0.2.1:4222", "/x", plain},
		{"nats://me:word@192.0.2.1:4222", "", plain},
		{"nats://hub.example.org:4222", "/x", plain},
		{"nats://localhost.example.org:4222", "/x", plain},
		{"nats://[2001:db8::1]:4222", "/x", plain},
		{"nats://0.0.0.0:4222", "/x", plain},
		{"nats://127.0.0.1:4222,nats://192.0.2.1:4222", "/x", plain},
		{"tls://192.0.2.1:4222", "", anonymous},
		{"tls://127.0.0.1:4222,tls://192.0.2.1:4222", "", anonymous},
		{"tls://192.0.2.1:4222", "/x", ""},
		{"tls://me:word@192.0.2.1:4222", "", ""},
		{"nats://127.0.0.1:4222", "", ""},
		{"nats://[::1]:4222", "", ""},
		{"nats://LocalHost:4222", "", ""},
		{"unix:///run/x", "", ""},
	} {
		config := link.Config{Name: "a", NATS: one.url, Creds: one.creds}
		err := config.Check()
		if one.refused == "" {
			assert.NoError(t, err, "%+v", one)
			continue
		}
		assert.ErrorContains(t, err, one.refused, "%+v", one)
		config.Insecure = true
		assert.NoError(t, config.Check(), "%+v", one)
	}
}

// A unix socket is the only server: whatever else is named would be dialled through it.
func TestConfig_aUnixSocketIsTheOnlyServer(t *testing.T) {
	t.Parallel()
	for _, one := range []string{"unix:///a.sock,tls://hub:4222", "tls://hub:4222,unix:///a.sock", "unix:///a.sock,unix:///b.sock"} {
		for _, insecure := range []bool{false, true} {
			config := link.Config{Name: "a", NATS: one, Creds: "/x", Insecure: insecure}
			assert.ErrorContains(t, config.Check(), "and no other server", one)
		}
	}
}

// Nor does a sidecar dial one, whoever has written its init.lua.
func TestN5_NothingIsDialled(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a := newComputer(t, "a", "nats://192.0.2.1:4222,"+s.ClientURL(), nil)
	waitFor(t, "the refusal", func() bool { return a.link.State().Why != "" })
	assert.Contains(t, a.link.State().Why, "plain text beyond this computer")
	require.Zero(t, s.NumClients())
}
