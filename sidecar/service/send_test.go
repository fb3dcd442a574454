package service

import (
	"context"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// behindFirst is a relay whose queue has another request before the next one.
type behindFirst struct {
	*relay.Relay
	first func()
}

func (r *behindFirst) Do(ctx context.Context, q relay.Request) (relay.Answer, error) {
	if first := r.first; first != nil {
		r.first = nil
		first()
	}
	return r.Relay.Do(ctx, q)
}

// A request that is repeated while the first is in the relay's queue, when the journal does not know it yet,
// and one that is repeated while the first is being decided, both get the outcome of the first.
func TestSend_madeAgainInTheMeantime(t *testing.T) {
	decides := make(chan struct{}, 1)
	s, r, j, ben := toBen(t, func() { <-decides })
	ctx := t.Context()
	queue := &behindFirst{Relay: r}
	s.Relay = queue
	for name, gap := range map[string]struct{ decidedFirst, other bool }{
		"undecided": {}, "decided meanwhile": {decidedFirst: true}, "with other words": {decidedFirst: true, other: true},
	} {
		t.Run(name, func(t *testing.T) {
			req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: name}
			first := make(chan api.Sent, 1)
			queue.first = func() {
				go func() {
					sent, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
					assert.NoError(t, err)
					first <- sent
				}()
				if gap.decidedFirst {
					decides <- struct{}{}
					require.Eventually(t, func() bool { return len(first) == 1 }, patience, time.Millisecond)
					return
				}
				require.Eventually(t, func() bool { _, err := j.Message(ctx, string(req.ID)); return err == nil }, patience, time.Millisecond)
				decides <- struct{}{}
			}
			again := req
			if gap.other {
				again.Text = "something else"
			}
			second, err := s.Send(ctx, api.Caller{PID: api.Gone}, again)
			require.NoError(t, err)
			deliveries, err := j.Deliveries(ctx, req.ID)
			require.NoError(t, err)
			was := <-first
			if gap.other {
				assert.Equal(t, message.Duplicate, second.Receipt.Reason)
				assert.Len(t, deliveries, 2)
				return
			}
			assert.Equal(t, message.Queued, second.Receipt.State, "%s", second.Receipt.Reason)
			assert.Equal(t, was.Delivery, second.Delivery)
			assert.Len(t, deliveries, 1)
			assert.Equal(t, ben.ID, deliveries[0].Target)
		})
	}
}

// A policy may route a message to another target than its addressee: a repeated request is still the same one.
func TestSend_madeAgainOfOneThatWasRoutedElsewhere(t *testing.T) {
	var elsewhere []message.Address
	s, r, j, ben := decidedToBen(t, func() message.Verdict {
		return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: elsewhere}
	})
	ctx := t.Context()
	cyd, err := r.Adopt(ctx, message.Peer{ID: message.NewID(), Name: "Cyd", Kind: message.PeerPane, PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	elsewhere = []message.Address{{Peer: cyd.ID, Name: cyd.Name}}
	req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: "how far are you?"}
	first, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	require.Equal(t, cyd.ID, first.Receipt.Target)
	again, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	assert.Equal(t, message.Queued, again.Receipt.State, "%s", again.Receipt.Reason)
	assert.Equal(t, first.Delivery, again.Delivery)
	deliveries, err := j.Deliveries(ctx, req.ID)
	require.NoError(t, err)
	assert.Len(t, deliveries, 1)

	req.To = "Cyd"
	other, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	assert.Equal(t, message.Duplicate, other.Receipt.Reason, "to %s it was not addressed, to %s it was", cyd.Name, ben.Name)
}

// A message that somebody else has sent under that id is no answer to the caller, whatever its text: it would
// be shown as the caller's.
func TestSend_anIDOfSomebodyElse(t *testing.T) {
	s, r, j, _ := toBen(t, func() {})
	ctx := t.Context()
	cyd, err := r.Adopt(ctx, message.Peer{ID: message.NewID(), Name: "Cyd", Kind: message.PeerPane, PaneOf: message.PaneOf{Pane: "%2"}})
	require.NoError(t, err)
	for name, by := range map[string]relay.By{
		"an agent's": {Kind: relay.Agent, Peer: cyd.ID}, "a person's": {Kind: relay.Person, Name: "ada"}, "its own": {Kind: relay.Unverified},
	} {
		req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: "how far are you?"}
		_, err := r.Do(ctx, relay.Send{By: by, To: "Ben", Message: messageOf(req), Repeatable: true})
		require.NoError(t, err)
		sent, err := s.Send(ctx, api.Caller{PID: api.Gone}, req) // an unverified caller
		require.NoError(t, err)
		if by.Kind == relay.Unverified {
			assert.Equal(t, message.Queued, sent.Receipt.State, name)
		} else {
			assert.Equal(t, message.Duplicate, sent.Receipt.Reason, name)
		}
		deliveries, err := j.Deliveries(ctx, req.ID)
		require.NoError(t, err)
		assert.Equal(t, by.Kind == relay.Unverified, len(deliveries) == 1, name)
	}
}

// readThen calls a function once, as soon as receipts were read of which the last has that state.
type readThen struct {
	*journal.Journal
	on   message.ReceiptState
	then func()
}

func (j *readThen) Receipts(ctx context.Context, id message.ID) ([]message.Receipt, error) {
	all, err := j.Journal.Receipts(ctx, id)
	if n := len(all); n > 0 && all[n-1].State == j.on && j.then != nil {
		then := j.then
		j.then = nil
		then()
	}
	return all, err
}

// A peer that answers and ends at once has answered, even if the receipts were read before that and the peers
// after it.
func TestSend_answeredAndGoneAtOnce(t *testing.T) {
	s, r, j, ben := toBen(t, func() {})
	ctx := t.Context()
	read := &readThen{Journal: j, on: message.Submitted}
	s.Journal = read
	req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: "how far are you?"}
	sent, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	for _, state := range []message.ReceiptState{message.Typed, message.Submitted} {
		require.NoError(t, r.Report(ctx, message.Receipt{Delivery: sent.Delivery, Message: sent.Message, Target: ben.ID, State: state, At: time.Now()}))
	}
	read.then = func() {
		require.NoError(t, r.Spoke(ctx, message.Turn{ID: message.NewID(), Peer: ben.ID, Words: "done", Answers: []message.ID{sent.Delivery}, Source: "screen", Ended: time.Now()}))
		require.NoError(t, r.Gone(ctx, ben.ID, message.AgentGone))
		require.Eventually(t, func() bool { now, _ := r.Snapshot().Peer(ben.ID); return now.Ended != nil }, patience, time.Millisecond)
	}
	req.Wait, req.Timeout = api.WaitAnswered, patience
	again, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	assert.Equal(t, message.Answered, again.Receipt.State)
	assert.Empty(t, again.Gone)
}

// A message that a program took before it ended was submitted, for a caller that waits for that alone. A caller
// that waits for the answer hears that none will come, and why.
func TestSend_takenAndGone(t *testing.T) {
	s, r, _, ben := toBen(t, func() {})
	ctx := t.Context()
	req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: "how far are you?"}
	sent, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
	require.NoError(t, err)
	for _, state := range []message.ReceiptState{message.Typed, message.Submitted} {
		require.NoError(t, r.Report(ctx, message.Receipt{Delivery: sent.Delivery, Message: sent.Message, Target: ben.ID, State: state, At: time.Now()}))
	}
	require.NoError(t, r.Gone(ctx, ben.ID, message.AgentGone))
	require.Eventually(t, func() bool { now, _ := r.Snapshot().Peer(ben.ID); return now.Ended != nil }, patience, time.Millisecond)
	for wait, want := range map[api.Wait]message.ReceiptState{"": message.Submitted, api.WaitSubmitted: message.Submitted, api.WaitAnswered: message.Failed} {
		req.Wait, req.Timeout = wait, patience
		again, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
		require.NoError(t, err)
		assert.Equal(t, want, again.Receipt.State, wait)
		if wait == api.WaitAnswered {
			assert.Equal(t, message.AgentGone, again.Receipt.Reason)
			assert.Equal(t, string(message.AgentGone), again.Gone)
		}
	}
}

// toBen returns a Sending to a session "Ben", with a running relay that delivers every message once decides has
// returned.
func toBen(t *testing.T, decides func()) (*Sending, *relay.Relay, *journal.Journal, message.Peer) {
	t.Helper()
	return decidedToBen(t, func() message.Verdict {
		decides()
		return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}
	})
}

// decidedToBen is toBen with the decision that decides makes.
func decidedToBen(t *testing.T, decides func() message.Verdict) (*Sending, *relay.Relay, *journal.Journal, message.Peer) {
	t.Helper()
	j, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "journal"))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, j.Close()) })
	bell := NewBell()
	r := &relay.Relay{Journal: j, Sink: nowhere{}, Publish: func([]message.Event) { bell.Ring() }, Policy: deciding(func(relay.Question) message.Verdict {
		return decides()
	})}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
	ben, err := r.Adopt(ctx, message.Peer{ID: message.NewID(), Name: "Ben", Kind: message.PeerPane, PaneOf: message.PaneOf{Pane: "%1"}})
	require.NoError(t, err)
	log := slog.New(slog.DiscardHandler)
	callers, names := &Callers{Person: "ada", Relay: r, Log: log}, &Names{Relay: r, Journal: j}
	return &Sending{Callers: callers, Names: names, Sessions: &Sessions{Callers: callers, Names: names, Relay: r, Log: log}, Relay: r, Journal: j, Bell: bell}, r, j, ben
}

// A caller that waits for a message that a filter failed at is told its outcome when it is decided again.
func TestSend_decidedAnew(t *testing.T) {
	for name, c := range map[string]struct {
		verb message.Verb
		want message.ReceiptState
		why  message.Reason
	}{
		"it goes": {message.VerbDeliver, message.Submitted, ""}, "it is dropped": {message.VerbDrop, message.Failed, message.Dropped},
	} {
		t.Run(name, func(t *testing.T) {
			v := message.Verdict{Decision: message.Decision{Verb: message.VerbHold}, Unfiltered: true}
			s, r, j, ben := decidedToBen(t, func() message.Verdict { return v })
			ctx := t.Context()
			req := api.SendRequest{ID: message.NewID(), To: "Ben", Text: "how far are you?"}
			first, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
			require.NoError(t, err)
			require.Equal(t, message.Unfiltered, first.Receipt.Reason)

			v = message.Verdict{Decision: message.Decision{Verb: c.verb}, Outcomes: []message.Outcome{{Target: ben.ID, Decision: message.Decision{Verb: c.verb}, Head: "[new head]"}}}
			m, err := j.Message(ctx, string(req.ID))
			require.NoError(t, err)
			waits := make(chan api.Sent, 1)
			s.Journal = &readThen{Journal: j, on: message.Held, then: func() { // the caller waits by now
				assert.NoError(t, r.Reconsider(ctx, []message.Envelope{m}))
				assert.Eventually(t, func() bool { all, err := j.Deliveries(ctx, m.ID); return err == nil && len(all) == 2 }, patience, time.Millisecond)
			}}
			req.Wait, req.Timeout = api.WaitSubmitted, patience
			go func() {
				sent, err := s.Send(ctx, api.Caller{PID: api.Gone}, req)
				assert.NoError(t, err)
				waits <- sent
			}()
			require.Eventually(t, func() bool { all, err := j.Deliveries(ctx, m.ID); return err == nil && len(all) == 2 }, patience, time.Millisecond)
			all, err := j.Deliveries(ctx, m.ID)
			require.NoError(t, err)
			instead := all[1]
			for _, state := range []message.ReceiptState{message.Typed, message.Submitted} {
				if c.verb == message.VerbDeliver {
					require.NoError(t, r.Report(ctx, message.Receipt{Delivery: instead.ID, Message: m.ID, Target: ben.ID, State: state, At: time.Now()}))
				}
			}
			sent := <-waits
			assert.Equal(t, c.want, sent.Receipt.State, "%s", sent.Receipt.Reason)
			assert.Equal(t, c.why, sent.Receipt.Reason)
			assert.Equal(t, instead.ID, sent.Delivery)
			assert.Equal(t, instead.Head, sent.Head)
		})
	}
}

// A question is judged by the delivery that replaced the one of its first decision.
func TestFollower_decidedAnew(t *testing.T) {
	f := follower{asked: api.Asked{Chat: message.Chat{Turns: 1, Participants: []message.Participant{{Peer: "a"}, {Peer: "b"}}}}}
	for _, r := range []message.Receipt{
		{Delivery: "1", Target: "b", State: message.Held, Reason: message.Unfiltered}, {Delivery: "1", Target: "b", State: message.Failed, Reason: message.DecidedAnew},
	} {
		f.take(message.Event{Receipt: &r})
	}
	assert.Equal(t, message.Failed, f.asked.Receipt.State)
	for _, r := range []message.Receipt{{Delivery: "2", Target: "b", State: message.Queued}, {Delivery: "2", Target: "b", State: message.Submitted}} {
		f.take(message.Event{Receipt: &r})
	}
	assert.Equal(t, message.Submitted, f.asked.Receipt.State)
	assert.True(t, f.reached(api.WaitSubmitted))
	assert.False(t, f.reached(api.WaitAnswered))
}
