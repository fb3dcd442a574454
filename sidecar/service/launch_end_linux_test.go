package service

import (
	"context"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/process"
)

// typing is a journal in which a delivery first has one state, and later another.
type typing struct {
	*journal.Journal
	now, then message.ReceiptState
	at        time.Time
}

func (j typing) Receipts(context.Context, message.ID) ([]message.Receipt, error) {
	if time.Now().Before(j.at) {
		return []message.Receipt{{State: j.now}}, nil
	}
	return []message.Receipt{{State: j.now}, {State: j.then}}, nil
}

// The time that an agent has to quit begins when it is told to, however long the typing takes. If it certainly
// was not told, nobody waits for it.
func TestEnd_AnAgentIsToldToQuit(t *testing.T) {
	start, err := process.Start(os.Getpid())
	require.NoError(t, err)
	here := message.Process{PID: os.Getpid(), Start: start}
	for _, c := range []struct {
		name      string
		now, then message.ReceiptState
		after     time.Duration // time between the two
		program   message.Process
		told      bool
		took      time.Duration
	}{
		{"typed slowly", message.Typed, message.Submitted, 3 * time.Second, here, true, 3 * time.Second},
		{"held, and then typed", message.Held, message.Uncertain, 2 * time.Second, here, true, 2 * time.Second},
		{"never typed", message.Held, message.Expired, time.Second, here, false, time.Second},
		{"for too long", message.Held, message.Submitted, time.Hour, here, false, enteredWithin},
		{"typed, and nobody knows more", message.Typed, message.Submitted, time.Hour, here, true, enteredWithin},
		{"it has quit already", message.Typed, message.Submitted, time.Hour, message.Process{PID: here.PID, Start: start + 1}, true, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			s := &Launches{Bell: NewBell(), Journal: typing{now: c.now, then: c.then, at: began.Add(c.after)}}
			assert.Equal(t, c.told, s.entered(t.Context(), message.NewID(), c.program), c.name)
			assert.InDelta(t, c.took, time.Since(began), float64(2*enteredPoll), c.name)
		})
	}
}
