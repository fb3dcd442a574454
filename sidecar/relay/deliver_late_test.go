package relay

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A late record proves the outcome of a delivery that its sink could not tell: once, in this run,
// and only that it was taken.
func TestG8_aLateRecordProvesIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	s := r.adopt("a", "b")
	late := func(d message.Delivery, state message.ReceiptState) error {
		r.tokens++
		_, err := r.step(Reported{Token: r.tokens, Receipt: message.Receipt{Delivery: d.ID, Message: d.Message.ID, Target: d.Target, State: state}})
		return err
	}
	doubted := func(n int) message.Delivery {
		d := r.sends(s[0], s[1], fmt.Sprint("hello ", n))
		require.NoError(t, r.report(d.ID, message.Typed, ""))
		require.NoError(t, r.report(d.ID, message.Uncertain, message.NotRecorded))
		return d
	}
	d := doubted(0)
	require.ErrorIs(t, late(d, message.Failed), ErrNotOurs)
	require.ErrorIs(t, late(d, message.Typed), ErrNotOurs, "no permission anew")
	require.NoError(t, late(d, message.Submitted))
	require.Error(t, late(d, message.Submitted), "once")
	r.say(s[1], "I have it", d.ID)
	assert.Equal(t, []string{"queued", "typed", "uncertain: " + string(message.NotRecorded), "submitted", "answered"}, r.states(d.ID))
	assert.Zero(t, r.s.byID[s[1].ID].waiting)

	var all []message.Delivery
	for n := range maxDoubted + 1 {
		all = append(all, doubted(n+1))
	}
	require.ErrorIs(t, late(all[0], message.Submitted), ErrNotOurs, "so many are remembered")
	require.NoError(t, late(all[1], message.Submitted))
	r.restart(0)
	require.ErrorIs(t, late(all[2], message.Submitted), ErrNotOurs, "an earlier run's")
	r.say(s[1], "that too", all[1].ID)
	assert.Equal(t, "answered", r.states(all[1].ID)[4], "after a restart it is still what a turn answers")
}
