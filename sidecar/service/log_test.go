package service

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A stream begins with what was written after its start, in pages, and goes on as the bell rings.
func TestLog_EventsGoOn(t *testing.T) {
	t.Parallel()
	j := &written{page: 2}
	j.write(5)
	s := &Log{Journal: j, Bell: NewBell()}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen []int64
	for e, err := range s.Events(ctx, api.Caller{}, api.EventsQuery{Since: 1}) {
		require.NoError(t, err)
		seen = append(seen, e.Seq)
		switch e.Seq {
		case 5:
			j.write(1)
			s.Bell.Ring()
		case 6:
			cancel()
		}
	}
	assert.Equal(t, []int64{2, 3, 4, 5, 6}, seen)
}

// The inbox shows the id of a delivery: the log for that id is the log of its message.
func TestLog_ofADelivery(t *testing.T) {
	t.Parallel()
	j := &oneDelivery{delivery: message.Delivery{ID: "d"}}
	j.delivery.Message.ID = "m"
	all, err := (&Log{Journal: j}).List(t.Context(), api.Caller{}, api.LogQuery{ID: "d"})
	require.NoError(t, err)
	assert.Equal(t, message.ID("m"), j.asked.Message)
	require.NotEmpty(t, all)
	assert.Equal(t, "policies/50-x.lua:2 plans", all[len(all)-1].Verdict.By, "who decided, beside what happened")
}

func TestBell_untilItIsEnough(t *testing.T) {
	t.Parallel()
	b, looked := NewBell(), 0
	look := func() (bool, error) {
		if looked++; looked == 2 {
			b.Ring() // while it looks: the third look comes at once
		}
		return looked == 3, nil
	}
	enough, err := b.until(t.Context(), 0, look)
	require.NoError(t, err)
	assert.True(t, enough, "whoever has no time asks for no more")
	assert.Equal(t, 1, looked)

	enough, err = b.until(t.Context(), time.Hour, look)
	require.NoError(t, err)
	assert.True(t, enough)
	assert.Equal(t, 3, looked)

	enough, err = b.until(t.Context(), time.Millisecond, look)
	require.NoError(t, err)
	assert.False(t, enough)

	looked = 0
	enough, err = b.until(t.Context(), time.Millisecond, func() (bool, error) {
		looked++
		return looked == 2, nil
	})
	require.NoError(t, err)
	assert.True(t, enough, "it looks once more when time has run out: nobody rang")
}

// Helpers.

// oneDelivery is a journal with one delivery.
type oneDelivery struct {
	written
	delivery message.Delivery
	asked    journal.Query
}

func (o *oneDelivery) Message(context.Context, string) (message.Envelope, error) {
	return message.Envelope{}, journal.ErrNotFound
}

func (o *oneDelivery) Find(_ context.Context, id string) (journal.Query, error) {
	return journal.Query{Delivery: message.ID(id)}, nil
}

func (o *oneDelivery) Verdicts(context.Context, message.ID) ([]message.Verdict, error) {
	return []message.Verdict{{Message: "m", Decision: message.Decision{Verb: message.VerbAsk, By: "policies/50-x.lua:2 plans"}}}, nil
}

func (o *oneDelivery) Delivery(context.Context, message.ID) (message.Delivery, error) {
	return o.delivery, nil
}

func (o *oneDelivery) Events(_ context.Context, q journal.Query) ([]message.Event, error) {
	o.asked = q
	return nil, nil
}

// written is a journal whose events are read a page at a time.
type written struct {
	messages
	ids
	events []message.Event
	page   int
}

func (w *written) write(n int) {
	for range n {
		w.events = append(w.events, message.Event{Seq: int64(len(w.events) + 1)})
	}
}

func (w *written) Events(_ context.Context, q journal.Query) (found []message.Event, _ error) {
	for _, e := range w.events {
		if e.Seq > q.Since && len(found) < w.page {
			found = append(found, e)
		}
	}
	return found, nil
}
