package link

import (
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// N5: a server on this computer that speaks plain text may be a node of a cluster and name the others. They are not
// dialled in plain text, unless a person has allowed it.
func TestN5_NoOtherServersOfAPlainOne(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		url      string
		insecure bool
		ignores  bool
	}{
		{"nats://127.0.0.1:4222", false, true},
		{"nats://127.0.0.1:4222", true, false},
		{"tls://hub.example.org:4222,nats://[::1]:4222", false, true},
		{"tls://hub.example.org:4222", false, false},
		{"tls://127.0.0.1:4222", false, false},
	} {
		_, options, err := dial(Config{Name: "a", NATS: one.url, Creds: "/x", Insecure: one.insecure})
		require.NoError(t, err)
		o := nats.GetDefaultOptions()
		for _, set := range options {
			require.NoError(t, set(&o))
		}
		assert.Equal(t, one.ignores, o.IgnoreDiscoveredServers, "%+v", one)
	}
}
