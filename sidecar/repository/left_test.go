package repository

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A repository that was disabled while no sidecar ran is no longer a peer from the next start on: messages for
// it do not wait, and its name is free. When the last one goes, so does the peer of all authors whose
// repositories are not enabled.
func TestPeers_DisabledWhileNobodyRan(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	present := func() map[string]message.ID {
		keys := map[string]message.ID{}
		for _, p := range h.relay.Snapshot().Peers() {
			if p.Kind == message.PeerRepository {
				keys[p.Key] = p.ID
			}
		}
		return keys
	}
	same := func(want ...string) func() bool {
		return func() bool {
			have := present()
			for _, key := range want {
				if have[key] == "" {
					return false
				}
			}
			return len(have) == len(want)
		}
	}
	h.run()
	h.until(same(h.asker.Path, h.target.Path, unknown))
	before := present()[h.asker.Path]
	h.end()
	require.NoError(t, h.peers.Enabled.Remove(h.target.Path))
	h.run()
	h.until(same(h.asker.Path, unknown))
	assert.Equal(t, before, present()[h.asker.Path], "who stays enabled stays who it is")
	h.end()
	require.NoError(t, h.peers.Enabled.Remove(h.asker.Path))
	h.run()
	h.until(same())
	h.end()
}
