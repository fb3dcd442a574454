package link

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Fates are handled concurrently: an earlier state does not count once its outcome is known.
func TestLink_learn_whatIsOldIsNoNews(t *testing.T) {
	t.Parallel()
	id, slow, goOn := message.NewID(), make(chan struct{}), make(chan struct{})
	l := &Link{Now: time.Now, Relay: reporting{report: func(r message.Receipt) {
		if r.State == message.Held {
			close(slow)
			<-goOn
		}
	}}}
	l.init()
	l.open[id] = &sent{token: "b", target: message.NewID(), state: message.Typed}
	held := make(chan error, 1)
	go func() { held <- l.learn(t.Context(), "b", fate{Delivery: id, State: message.Held}) }()
	<-slow
	require.NoError(t, l.learn(t.Context(), "b", fate{Delivery: id, State: message.Submitted}))
	close(goOn)
	require.NoError(t, <-held)
	assert.Equal(t, message.Submitted, l.open[id].state)
}

// A full mailbox keeps what was sent before. Only for a message that was never sent can it be said that it was
// not handed over.
func TestLink_give_aFullMailbox(t *testing.T) {
	full := &jetstream.APIError{Code: 503, ErrorCode: streamFull}
	for name, c := range map[string]struct {
		typed bool // an earlier life sent it, or may have
		says  []error
		want  []message.ReceiptState // the receipts, after each
	}{
		"it was never sent":                  {false, []error{full, full}, []message.ReceiptState{message.Typed, message.Held, message.Typed, message.Held}},
		"an earlier life has sent it":        {true, []error{full}, []message.ReceiptState{message.Typed}},
		"what the server said did not come":  {false, []error{context.DeadlineExceeded, full}, []message.ReceiptState{message.Typed, message.Typed}},
		"it is sent once more, and does fit": {true, []error{full, nil}, []message.ReceiptState{message.Typed, message.Typed, message.Held}},
	} {
		t.Run(name, func(t *testing.T) {
			var told []message.Receipt
			l := &Link{
				Now: time.Now, Log: slog.New(slog.DiscardHandler), Config: func() Config { return Config{Name: "a"} }, Sessions: func() []Session { return nil },
				Relay: reporting{report: func(r message.Receipt) { told = append(told, r) }},
			}
			l.init()
			post := &refusing{}
			lf := &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), js: post}
			d := message.Delivery{ID: message.NewID(), Target: message.NewID(), Typed: c.typed}
			for _, post.err = range c.says {
				assert.Equal(t, post.err != nil, l.give(t.Context(), lf, "b", d), "it is tried again")
			}
			var states []message.ReceiptState
			for _, r := range told {
				states = append(states, r.State)
				if post.err != nil && r.State == message.Held {
					assert.Equal(t, message.ComputerFull, r.Reason)
				}
			}
			assert.Equal(t, c.want, states)
		})
	}
}

// Helpers of the tests.

// refusing is a JetStream that answers each publication with its err.
type refusing struct {
	jetstream.JetStream
	err error
}

func (r *refusing) PublishMsg(context.Context, *nats.Msg, ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	return &jetstream.PubAck{}, r.err
}

// reporting is a relay that only takes receipts.
type reporting struct {
	Relay
	report func(message.Receipt)
}

func (r reporting) Report(_ context.Context, receipt message.Receipt) error {
	r.report(receipt)
	return nil
}

// If another delivery took the place of a failed one, the message's computer is not told of the failure: it
// would no longer wait.
func TestLink_Hear_decidedAnew(t *testing.T) {
	from, m := message.NewID(), message.NewID()
	l := &Link{Now: time.Now}
	l.init()
	l.life, l.in[from] = &life{fates: make(chan told, untoldMost)}, "b"
	d := message.Delivery{Message: message.Envelope{ID: m, From: message.Address{Peer: from}, Trust: message.TrustRemote}}
	l.Hear([]message.Event{
		{Delivery: &d, Receipt: &message.Receipt{Message: m, State: message.Failed, Reason: message.DecidedAnew}},
		{Delivery: &d, Receipt: &message.Receipt{Message: m, State: message.Queued}},
	})
	require.Len(t, l.life.fates, 1)
	assert.Equal(t, message.Queued, (<-l.life.fates).fate.State)
}
