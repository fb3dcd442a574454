package service

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/talk"
)

// snapshot is a relay that is stopped.
type snapshot registry.Snapshot

func (s snapshot) Snapshot() registry.Snapshot { return registry.Snapshot(s) }
func (snapshot) Stopped() bool                 { return false }

// Each peer that can be addressed is listed as what it is, with the same keys for each kind, and each alias
// leads back to it.
func TestC33_EachKindIsListedWithEveryAlias(t *testing.T) {
	t.Parallel()
	present := []message.Peer{
		{ID: message.NewID(), Name: "Ada", Title: "Review", Computer: "local", State: message.Idle, PaneOf: message.PaneOf{Pane: "%1", Profile: "claude"}},
		{ID: message.NewID(), Name: "nina", Computer: "local", Kind: message.PeerPort, Key: "9001"},
		{ID: message.NewID(), Name: "claude-src", Computer: "local", Kind: message.PeerRepository, Key: "/home/ada/src"},
		{ID: message.NewID(), Name: "bob", Title: "bob", Computer: "local", Kind: message.PeerMember, Key: memberKey("/home/ada/src", "bob")},
		{ID: message.NewID(), Name: "Cyd.raspi", Computer: "raspi", Kind: message.PeerRemote, Key: "raspi/" + string(message.NewID())},
	}
	snap := registry.New(present, []message.Chat{{ID: message.NewID(), Name: "review", Participants: []message.Participant{{Peer: present[0].ID, Number: 1}, {Peer: present[1].ID, Number: 2}}}})
	listed, err := (&Panes{Relay: snapshot(snap)}).Peers(t.Context(), api.Caller{}, api.None{})
	require.NoError(t, err)
	require.Len(t, listed, len(present))
	for i, kind := range []message.PeerKind{api.KindSession, message.PeerPort, message.PeerRepository, message.PeerMember, message.PeerRemote} {
		p, of := listed[i], present[i]
		assert.Equal(t, kind, p.Kind)
		assert.Equal(t, of.ID, p.ID)
		want := []string{of.Name, of.ID.Short(), string(of.ID), of.Pane + of.Key}
		if i < 2 {
			want = append(want, fmt.Sprintf("[%s] (%d)", of.Name, i+1))
		}
		assert.ElementsMatch(t, want, p.Aliases, kind)
		for _, alias := range p.Aliases {
			found, err := snap.Find(alias)
			require.NoError(t, err, alias)
			assert.Equal(t, of.ID, found.ID, alias)
		}
	}

	elsewhere := link.Session{ID: message.NewID(), Name: "Dan", Agent: "codex"}
	all := append(listed, distant(snap, []link.Computer{{Token: "raspi", Sessions: []link.Session{elsewhere}}})...)
	far := all[len(all)-1]
	assert.Equal(t, message.PeerRemote, far.Kind)
	assert.Equal(t, []string{"Dan.raspi", "raspi/Dan", "raspi/" + string(elsewhere.ID), elsewhere.ID.Short(), string(elsewhere.ID)}, far.Aliases)
	text, err := json.Marshal(api.Peers.Whole(append(all, api.Peer{Kind: api.KindPane, Pane: "%2"})))
	require.NoError(t, err)
	var written []map[string]any
	require.NoError(t, json.Unmarshal(text, &written))
	for _, one := range written {
		for _, key := range []string{"id", "kind", "name", "title", "computer", "state", "why", "aliases"} {
			assert.Contains(t, one, key, one["kind"])
		}
	}
}

type listeners []talk.Listening

func (l listeners) Discover() []talk.Listening { return l }

// A port says whether its connections are encrypted; a stopped one, that nobody listens there.
func TestPeers_sayHowPortsListen(t *testing.T) {
	t.Parallel()
	s := &Panes{Ports: listeners{{Wish: talk.Wish{Port: 9001}}, {Wish: talk.Wish{Port: 9002, TLS: true}}, {Wish: talk.Wish{Port: 9003, TLS: true}}}}
	var sessions []message.Peer
	for _, port := range []int{9002, 9001, 9004} {
		sessions = append(sessions, message.Peer{Kind: message.PeerPort, Key: strconv.Itoa(port)})
	}
	sessions = append(sessions, message.Peer{Key: "9003"}) // that of a pane
	peers := make([]api.Peer, len(sessions))
	s.listening(sessions, peers)
	assert.Equal(t, []bool{true, false, false}, []bool{peers[0].TLS, peers[1].TLS, peers[2].TLS})
	for i, p := range peers {
		if i == 2 {
			assert.Equal(t, message.Dead, p.State)
			assert.Contains(t, p.Why, "nobody listens on the port: it was stopped")
			continue
		}
		assert.Empty(t, p.Why, i)
		assert.Empty(t, p.State, i)
	}
}
