package service

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// reconsidering is a journal in which one more message becomes held, for a filter that failed, when the relay
// hears of other policies. It is also that relay.
type reconsidering struct {
	present
	archive
	messages
	verdicts
	held  []message.ID
	asked [][]message.ID
}

func (r *reconsidering) Reconsider(_ context.Context, all []message.Envelope) error {
	var ids []message.ID
	for _, m := range all {
		ids = append(ids, m.ID)
	}
	r.asked = append(r.asked, ids)
	r.held = append(r.held, "late")
	return nil
}

func (r *reconsidering) Waiting(context.Context, message.ID) (all []journal.Pending, _ error) {
	for _, id := range r.held {
		all = append(all, journal.Pending{Delivery: message.Delivery{Message: message.Envelope{ID: id}}, Last: message.Receipt{Hold: message.HoldFilter}})
	}
	return all, nil
}

func (r *reconsidering) Message(_ context.Context, id string) (message.Envelope, error) {
	return message.Envelope{ID: message.ID(id)}, nil
}

func (r *reconsidering) NotifyOf(context.Context, message.ID, string) error     { return nil }
func (r *reconsidering) Limit(context.Context, relay.LimitsChanged) error       { return nil }
func (r *reconsidering) CheckAfter(context.Context, time.Duration) error        { return nil }
func (r *reconsidering) Recent(context.Context, int) ([]journal.Decided, error) { return nil, nil }

// A message that becomes held while the journal is read, by policies that are no longer in use, is decided
// again too, and once.
func TestPolicies_reconsider(t *testing.T) {
	r := &reconsidering{held: []message.ID{"first", "first"}}
	require.NoError(t, (&Policies{Relay: r, Journal: r}).reconsider(t.Context()))
	assert.Equal(t, [][]message.ID{{"first"}, {"late"}}, r.asked)
}

// busy is a relay and a tmux that are slow, and record what they have done.
type busy struct {
	reconsidering
	said []string
}

// after waits that long, by the clock of the bubble, and records what was done unless the caller gave up first.
func (b *busy) after(ctx context.Context, wait time.Duration, what string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
		b.said = append(b.said, what)
		return nil
	}
}

func (b *busy) NotifyOf(ctx context.Context, _ message.ID, text string) error {
	return b.after(ctx, 20*time.Second, text)
}

func (b *busy) SetServerOption(ctx context.Context, name, _ string) error {
	return b.after(ctx, 20*time.Second, name)
}

func (b *busy) TakeBack(context.Context, string) {}

// What is told only once is told even on a computer on which everything is slow.
func TestPolicies_areHeardOnABusyComputer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := new(busy)
		s := &Policies{Relay: b, Tmux: b, Bell: NewBell(), Log: slog.New(slog.DiscardHandler)}
		s.shown("a notice")
		s.failed("a problem")
		assert.Equal(t, []string{"a notice", PolicyErrorOption}, b.said)
	})
}
