package link

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// A turn goes to another computer in one parcel for each hearer there, and all of them say which turn it is.
func TestParcel_copiesOfATurnSayWhichItIs(t *testing.T) {
	conn := dialHere(t, startHere(t))
	s := newTarget(t, conn, identityOf(t), identityOf(t))
	defer s.end()
	out := message.Delivery{ID: message.NewID(), Chat: s.chat, Target: s.own.ID, Message: message.Envelope{ID: message.NewID(), Type: message.KindTurn, Body: "x"}}
	assert.Equal(t, out.Message.ID, s.link.parcelOf(s.lf, out).Message.Said)
	out.Chat = ""
	assert.Empty(t, s.link.parcelOf(s.lf, out).Message.Said, "beside chats there is one")

	_, err := s.relay.Do(s.ctx, relay.AddMember{By: relay.By{Kind: relay.Person, Name: "tester"}, Chat: string(s.chat), Peer: string(s.also.ID)})
	require.NoError(t, err)
	said := message.NewID()
	for _, to := range []message.ID{s.here.ID, s.also.ID} {
		text, err := json.Marshal(parcel{
			Kind: parcelMessage, ID: message.NewID(), From: Session{ID: s.own.ID, Name: "Own"}, To: to,
			Message: &letter{Type: message.KindTurn, Body: "all of you", Said: said}, Room: &room{Home: "a", ID: s.chat},
		})
		require.NoError(t, err)
		s.says('m', string(text))
	}
	s.settle()
	s.book.locked(func(b *book) {
		got := b.Received[s.received:]
		require.Len(t, got, 2)
		assert.True(t, got[0].TakesTurn())
		assert.Equal(t, said, got[1].CopyOf, "one more copy")
		assert.False(t, got[1].TakesTurn())
	})
}
