package relay

import (
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// join makes a peer without a pane join.
func (w *world) join(kind message.PeerKind, at string) {
	w.token++
	for _, e := range w.step(Joined{Token: w.token, Peer: message.Peer{Kind: kind, Key: at, Name: "p", ID: bornAt(kind, at, w.token)}}) {
		if reply, ok := e.(Reply); ok {
			require.NoError(w.t, reply.Err)
			if id := reply.Answer.Peer.ID; !slices.Contains(w.sessions, id) {
				w.sessions, w.kinds[id] = append(w.sessions, id), kind
			}
		}
	}
}

// receive makes a peer say something: whatever it claims, no person said it, and it counts once.
func (w *world) receive(m message.Envelope) {
	w.token++
	_, twice := w.received[m.ID]
	for _, e := range w.step(Received{Token: w.token, Message: m, Seen: w.known(m.ID)}) {
		switch f := e.(type) {
		case Commit:
			require.False(w.t, twice, "said twice")
			require.Empty(w.t, f.Step.Freed)
			require.Len(w.t, f.Step.Received, 1)
			got, kind := f.Step.Received[0], w.kinds[m.From.Peer]
			require.NotEqual(w.t, message.PeerPane, kind)
			require.False(w.t, w.gone[m.From.Peer])
			if origin := bounds[kind].origin; bounds[kind].bearer && m.Type == message.KindNotice && len(m.To) > 0 {
				require.Equal(w.t, message.OriginSystem, got.Origin, "of the sidecar where it lives")
			} else {
				require.Equal(w.t, origin, got.Origin)
			}
			require.Contains(w.t, bounds[kind].trust, got.Trust)
			require.GreaterOrEqual(w.t, got.Depth, max(1, m.Depth))
		case Reply:
			require.False(w.t, twice && f.Answer.Message != "")
		}
	}
}
