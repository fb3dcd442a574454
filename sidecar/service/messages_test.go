package service

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// lender is a relay with one session and one delivery that waits for it.
type lender struct {
	session message.Peer
	takes   func() // called while the delivery is taken
	empty   int    // how often nothing waits yet
	full    bool   // nothing can be written
	told    []relay.Told
}

func (l *lender) Snapshot() registry.Snapshot {
	return registry.New([]message.Peer{l.session}, nil)
}

func (l *lender) Do(_ context.Context, r relay.Request) (relay.Answer, error) {
	switch r := r.(type) {
	case relay.Take:
		l.takes()
		if l.empty--; l.empty >= 0 {
			return relay.Answer{}, nil
		}
		return relay.Answer{Taken: []message.Delivery{{ID: "d", Target: l.session.ID}}}, nil
	case relay.Told:
		if l.full {
			return relay.Answer{}, &message.UnwritableError{Err: errors.New("no space left on device")}
		}
		if len(r.Deliveries) > 0 {
			l.told = append(l.told, r)
		}
	}
	return relay.Answer{}, nil
}

// If the report of an abandoned call overtakes the hand-over of its messages, they wait for their session
// again.
func TestMessages_wordOfThemComesFirst(t *testing.T) {
	for name, c := range map[string]struct {
		named bool // the report is about an earlier life: it names deliveries
		other bool // the report is about another batch
		full  bool
		want  []message.ReceiptState
		open  bool
	}{
		"overtaken": {want: []message.ReceiptState{message.Held}},
		"another":   {other: true, open: true},
		"full":      {full: true, open: true},
		"named":     {named: true, want: []message.ReceiptState{message.Held}, open: true},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lender{session: message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Name: "ben"}}
			s := &Messages{Callers: &Callers{Relay: l, Log: slog.New(slog.DiscardHandler)}, Relay: l, Bell: NewBell()}
			from, id := api.Caller{Remote: l.session.ID, PID: os.Getpid()}, message.NewID()
			word := api.ReadRequest{Batch: id, Became: api.WereNotRead}
			if c.other {
				word.Batch = message.NewID()
			}
			if c.named {
				word.Deliveries = []message.ID{"e"}
			}
			l.takes = func() {
				_, err := s.Read(t.Context(), from, word)
				require.NoError(t, err)
				l.full = c.full
			}
			got, err := s.Check(t.Context(), from, api.CheckRequest{Batch: id})
			var states []message.ReceiptState
			for _, one := range l.told {
				states = append(states, one.State)
			}
			assert.Equal(t, c.want, states)
			if !c.open {
				assert.Error(t, err)
				assert.Empty(t, got.Messages)
				assert.Equal(t, []message.ID{"d"}, l.told[0].Deliveries)
				assert.Empty(t, s.open)
				assert.Empty(t, s.told)
				return
			}
			require.NoError(t, err)
			assert.Len(t, got.Messages, 1)
			assert.NotEmpty(t, s.handed(batch{l.session.ID, id}), "it is told of later")
			s.forget(batch{l.session.ID, id}) // for who watches it
		})
	}
}

// Such a report that cannot be written is not lost: it is written once that is possible, even if the process
// that made it lives on.
func TestMessages_wordOfThemIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lender{session: message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Name: "ben"}}
		s := &Messages{Callers: &Callers{Relay: l, Log: slog.New(slog.DiscardHandler)}, Relay: l, Bell: NewBell()}
		from, id := api.Caller{Remote: l.session.ID, PID: os.Getpid()}, message.NewID()
		l.takes = func() {
			_, err := s.Read(t.Context(), from, api.ReadRequest{Batch: id, Became: api.WereNotRead})
			require.NoError(t, err)
			l.full = true
		}
		_, err := s.Check(t.Context(), from, api.CheckRequest{Batch: id})
		require.NoError(t, err)
		time.Sleep(readerLooks)
		synctest.Wait()
		require.Empty(t, l.told)
		l.full = false
		time.Sleep(readerLooks)
		synctest.Wait()
		require.Len(t, l.told, 1)
		assert.Equal(t, message.Held, l.told[0].State)
		assert.Equal(t, []message.ID{"d"}, l.told[0].Deliveries)
		assert.Empty(t, s.open)
		assert.Empty(t, s.told)
	})
}

// A wait for messages looks again when something has come, and ends with the first message; in this test its
// time never runs out.
func TestM6_AWaitEndsWithTheFirst(t *testing.T) {
	t.Parallel()
	l := &lender{session: message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Name: "ben"}, empty: 1}
	s := &Messages{Callers: &Callers{Relay: l, Log: slog.New(slog.DiscardHandler)}, Relay: l, Bell: NewBell()}
	looks := 0
	l.takes = func() {
		if looks++; looks == 1 { // the first look found nothing
			s.Bell.Ring()
		}
	}
	id := message.NewID()
	got, err := s.Check(t.Context(), api.Caller{Remote: l.session.ID, PID: os.Getpid()}, api.CheckRequest{Batch: id, Wait: 24 * time.Hour})
	require.NoError(t, err)
	assert.Len(t, got.Messages, 1)
	assert.Equal(t, 2, looks)
	s.forget(batch{l.session.ID, id}) // for who watches it
}

// The memory for reports on unknown batches is bounded.
func TestMessages_wordOfNothing(t *testing.T) {
	l := &lender{session: message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Name: "ben"}}
	s := &Messages{Callers: &Callers{Relay: l, Log: slog.New(slog.DiscardHandler)}, Relay: l, Bell: NewBell()}
	for range 2*maxTold + 1 {
		_, err := s.Read(t.Context(), api.Caller{Remote: l.session.ID}, api.ReadRequest{Batch: message.NewID(), Became: api.WereNotRead})
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, len(s.told), maxTold)
}
