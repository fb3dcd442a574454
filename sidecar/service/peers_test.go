package service

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

type listeners []talk.Listening

func (l listeners) Discover() []talk.Listening { return l }

func TestPeers_sayWhichPortsAreEncrypted(t *testing.T) {
	t.Parallel()
	s := &Panes{Ports: listeners{{Wish: talk.Wish{Port: 9001}}, {Wish: talk.Wish{Port: 9002, TLS: true}}, {Wish: talk.Wish{Port: 9003, TLS: true}}}}
	var sessions []message.Peer
	for _, port := range []int{9002, 9001} {
		sessions = append(sessions, message.Peer{Kind: message.PeerPort, Key: strconv.Itoa(port)})
	}
	sessions = append(sessions, message.Peer{Key: "9003"}) // of a pane
	peers := make([]api.Peer, len(sessions))
	s.encrypted(sessions, peers)
	assert.Equal(t, []bool{true, false, false}, []bool{peers[0].TLS, peers[1].TLS, peers[2].TLS})
}
