package relay

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A message from one repository to another is refused, and nothing of it is written down, while the
// maximum waits there, decided or not; it is taken once there is room.
func TestReceive_noRoom(t *testing.T) {
	r := newRig(t)
	r.async = true
	from, to := r.joins(message.PeerRepository, "/src/from"), r.joins(message.PeerRepository, "/src/to")
	says := func() error {
		_, err := r.hears(from, message.Envelope{ID: message.NewID(), To: []message.Address{{Peer: to.ID}}, Body: strings.Repeat("x", message.MaxBody), Trust: message.TrustRegister})
		return err
	}
	const fits = maxWaitingBytes / message.MaxBody
	for range fits - 1 {
		require.NoError(t, says())
	}
	for _, id := range r.pending[:fits/2] {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
	}
	require.Len(t, r.out, fits/2)
	received := len(r.book.Received)
	if says() == nil { // what goes before a text counts as well
		received++
	}
	assert.ErrorIs(t, says(), ErrFull)
	assert.Len(t, r.book.Received, received)
	r.submit(r.out[0])
	assert.NoError(t, says())
}
