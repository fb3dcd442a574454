package relay

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestRun_committedBeforeAnythingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		a, b := o.adopt(t, r, "a"), o.adopt(t, r, "b")
		answer, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b"}})
		require.NoError(t, err)
		_, in := r.Snapshot().ChatOf(a.ID)
		assert.True(t, in, "the snapshot is as new as the answer")
		require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a.ID, Words: "hello", Ended: time.Now()}))
		synctest.Wait()
		require.Len(t, o.delivered, 1)
		d := o.delivered[0]
		assert.Equal(t, b.ID, d.Target)
		assert.Equal(t, []string{
			"commit chat", "publish", "commit received", "publish", "commit verdict delivery receipt", "deliver", "publish",
		}, o.since("commit chat"))

		// A receipt is on disk before its reporter goes on.
		require.NoError(t, r.Report(t.Context(), message.Receipt{Delivery: d.ID, State: message.Typed}))
		assert.Equal(t, message.Typed, o.last(d.ID))
		_, err = r.Do(t.Context(), PauseChat{By: By{Kind: Person}, Chat: string(answer.Chats[0].ID)})
		require.NoError(t, err)
		require.ErrorIs(t, r.Report(t.Context(), message.Receipt{Delivery: d.ID, State: message.Typed}), ErrPaused)
		require.NoError(t, r.Gone(t.Context(), b.ID, message.PaneMissing))
		synctest.Wait()
		assert.Equal(t, message.Uncertain, o.last(d.ID))
		require.NoError(t, r.StateChanged(t.Context(), a.ID, message.Working, "why", nil))
		require.NoError(t, r.Released(t.Context(), a.ID))
		synctest.Wait()
		assert.Empty(t, r.Snapshot().Peers())
		require.NoError(t, stop())
		_, err = r.Do(t.Context(), PauseChat{})
		assert.ErrorIs(t, err, ErrDown)
	})
}

// What cannot be written is not done, and nothing is done after it.
func TestRun_journalFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		a := o.adopt(t, r, "a")
		o.adopt(t, r, "b")
		_, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b"}})
		require.NoError(t, err)
		o.broken = errors.New("disk full")
		require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a.ID, Words: "hello", Ended: time.Now()}))
		synctest.Wait()
		assert.ErrorIs(t, stop(), o.broken)
		assert.Empty(t, o.delivered)
		_, err = r.Adopt(t.Context(), message.Peer{PaneOf: message.PaneOf{Pane: "%9"}})
		assert.ErrorIs(t, err, ErrDown)
		assert.ErrorIs(t, r.Spoke(t.Context(), message.Turn{}), ErrDown)
		assert.ErrorIs(t, r.Report(t.Context(), message.Receipt{}), ErrDown)
	})
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		o.adopt(t, r, "a")
		o.broken = errors.New("disk full")
		_, err := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{ID: message.NewID(), Body: "x"}})
		assert.ErrorIs(t, err, ErrDown, "whoever waits is told")
		assert.ErrorIs(t, stop(), o.broken)
	})
}

// Both start a chat with each other at once: there is one.
func TestRun_bothStartAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		o.adopt(t, r, "a")
		o.adopt(t, r, "b")
		errs := make([]error, 10)
		var all sync.WaitGroup
		for i := range errs {
			all.Go(func() {
				pair := [][]string{{"a", "b"}, {"b", "a"}}[i%2]
				_, errs[i] = r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: pair})
			})
		}
		all.Wait()
		started := 0
		for _, err := range errs {
			if err == nil {
				started++
			} else {
				assert.ErrorIs(t, err, ErrActive)
			}
		}
		assert.Equal(t, 1, started)
		assert.Len(t, r.Snapshot().Chats(), 1)
		require.NoError(t, stop())
	})
}

func TestRun_policy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy := rule(func(e message.Envelope) (message.Verdict, error) {
			switch e.Body {
			case "drop":
				return message.Verdict{Decision: message.Decision{Verb: message.VerbDrop, By: "rule"}}, nil
			case "change":
				body := "changed"
				return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "rule"}, Body: &body}, nil
			}
			return message.Verdict{}, errors.New("script failed")
		})
		r, o, stop := running(t, policy)
		o.adopt(t, r, "a")
		a, err := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "drop"}})
		require.NoError(t, err)
		assert.Equal(t, message.Failed, a.Receipts[0].State)
		assert.Equal(t, message.Dropped, a.Receipts[0].Reason)
		a, err = r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "change"}})
		require.NoError(t, err)
		assert.Equal(t, message.Queued, a.Receipts[0].State)
		a, err = r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "doubt"}})
		require.NoError(t, err)
		assert.Equal(t, message.Held, a.Receipts[0].State, "doubt holds, and loses nothing")
		assert.Equal(t, message.Unfiltered, a.Receipts[0].Reason)
		assert.Equal(t, "policy: script failed", o.why(a.Message))
		require.Len(t, o.delivered, 1)
		assert.Equal(t, "changed", o.delivered[0].Message.Body)
		assert.Equal(t, []string{"drop", "change", "doubt"}, o.bodies, "the journal keeps the original")
		require.NoError(t, stop())
	})
}

func TestRun_duplicateKnownToTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		o.adopt(t, r, "a")
		id := message.NewID()
		o.seen = map[message.ID]bool{id: true}
		a, err := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{ID: id, Body: "x"}})
		require.NoError(t, err)
		assert.Equal(t, message.Duplicate, a.Receipts[0].Reason)
		assert.Empty(t, o.delivered)
		require.NoError(t, stop())
	})
}

// The stop button does not wait behind a full queue.
func TestRun_stopOvertakes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		a := o.adopt(t, r, "a")
		o.adopt(t, r, "b")
		_, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b"}, Limits: message.Limits{Rate: 1 << 30}})
		require.NoError(t, err)
		o.slow = 10 * time.Millisecond // each commit
		var all sync.WaitGroup
		for i := range 200 {
			all.Go(func() {
				_ = r.Spoke(t.Context(), message.Turn{Peer: a.ID, Words: fmt.Sprint(i), Ended: time.Now()})
			})
		}
		synctest.Wait()
		asked := time.Now()
		_, err = r.Do(t.Context(), PauseChat{By: By{Kind: Person}, Chat: All})
		require.NoError(t, err)
		assert.Less(t, time.Since(asked), 50*time.Millisecond)
		before := len(o.delivered)
		all.Wait()
		time.Sleep(10 * time.Second)
		assert.Len(t, o.delivered, before)
		require.NoError(t, stop())
	})
}

// What an earlier run left undecided is decided by the limits that a person has set, not by the
// built-in ones.
func TestRun_limitsHoldFromTheBeginning(t *testing.T) {
	for limit, goes := range map[int]bool{1: false, 2: true, 1000: true} {
		synctest.Test(t, func(t *testing.T) {
			a, b := message.Peer{ID: message.NewID(), Name: "a"}, message.Peer{ID: message.NewID(), Name: "b"}
			depth := 2
			if limit == 1000 {
				depth = 900
			}
			o := &outside{}
			r := &Relay{Journal: o, Sink: o, Limits: LimitsChanged{Limits: message.Limits{Depth: limit}}, Restored: &Restored{
				Peers: []SavedPeer{{Peer: a}, {Peer: b}},
				Undecided: []message.Envelope{{
					ID: message.NewID(), From: message.Address{Peer: a.ID, Name: "a"}, To: []message.Address{{Peer: b.ID, Name: "b"}}, Type: message.KindMessage,
					Body: "x", Origin: message.OriginAgent, Trust: message.TrustVerified, Depth: depth,
				}},
			}}
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			synctest.Wait()
			assert.Equal(t, goes, len(o.delivered) == 1, "depth %d at a limit of %d", depth, limit)
			cancel()
			require.NoError(t, <-done)
		})
	}
}

func TestRun_callerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Relay{Queue: 1} // nobody runs it
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := r.Do(ctx, ResumeChat{})
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorIs(t, r.Spoke(ctx, message.Turn{}), context.DeadlineExceeded, "a full queue makes its callers wait")
		assert.Empty(t, r.Snapshot().Peers())
	})
}

// A latch, a chat and what waits in it outlive the relay.
func TestRun_restored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{}
		a, b := message.Peer{ID: message.NewID(), Name: "a", PaneOf: message.PaneOf{Pane: "%1"}}, message.Peer{ID: message.NewID(), Name: "b", PaneOf: message.PaneOf{Pane: "%2"}}
		chat := message.Chat{ID: message.NewID(), State: message.ChatPaused, Why: "by hand", Participants: []message.Participant{{Peer: a.ID}, {Peer: b.ID}}}
		turn := message.Envelope{
			ID: message.NewID(), Chat: chat.ID, From: message.Address{Peer: a.ID}, Type: message.KindTurn, Body: "x", Origin: message.OriginAgent,
		}
		chat.Participants[0].MaySpeak = true
		typed := message.Delivery{ID: message.NewID(), Message: turn, Target: b.ID, Chat: chat.ID, Form: message.Form{Head: "[a] (1):"}, Typed: true}
		r := &Relay{Journal: o, Sink: o, Restored: &Restored{
			Stopped: true, Peers: []SavedPeer{{Peer: a}, {Peer: b}}, Chats: []SavedChat{{Chat: chat}},
			Undecided: []message.Envelope{turn}, Deliveries: []SavedDelivery{{Delivery: typed, Last: message.Receipt{State: message.Typed}}},
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		synctest.Wait()
		got, ok := r.Snapshot().Chat(chat.ID)
		require.True(t, ok)
		assert.Equal(t, "by hand", got.Why)
		assert.True(t, r.Stopped())
		require.Len(t, o.delivered, 1)
		assert.Equal(t, typed.ID, o.delivered[0].ID)
		assert.Equal(t, []string{"deliver", "commit verdict delivery receipt"}, o.log, "decided now, and held")
		_, err := r.Do(t.Context(), ResumeChat{By: By{Kind: Person}, Chat: All, Sure: true})
		require.NoError(t, err)
		assert.False(t, r.Stopped())
		assert.Len(t, o.delivered, 3)
		cancel()
		require.NoError(t, <-done)
	})
}

// Deliveries that wait expire by awake time, which is checked every second while anything waits,
// and otherwise once a minute.
func TestRun_awake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{}
		var asked atomic.Int64
		begun := time.Now()
		r := &Relay{Journal: o, Sink: o, Limits: LimitsChanged{Limits: message.Limits{Expire: time.Hour}}, Awake: func() time.Duration {
			asked.Add(1)
			return time.Since(begun) / 2 // half of the time, the computer sleeps
		}}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		a := o.adopt(t, r, "a")
		time.Sleep(time.Hour)
		synctest.Wait()
		idle := asked.Load()
		assert.LessOrEqual(t, idle, int64(62))
		sent, err := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "x"}})
		require.NoError(t, err)
		d := sent.Receipts[0].Delivery
		require.NoError(t, r.Closed(t.Context(), a.ID, message.NotEmpty, "", nil))
		require.NoError(t, r.Attended(t.Context()))
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		assert.Equal(t, message.Queued, o.last(d))
		assert.GreaterOrEqual(t, asked.Load()-idle, int64(7100))
		got, _ := r.Snapshot().Find("a")
		assert.Equal(t, message.NotEmpty, got.Closed)
		time.Sleep(4 * time.Second)
		synctest.Wait()
		assert.Equal(t, message.Expired, o.last(d))
		cancel()
		require.NoError(t, <-done)
		assert.ErrorIs(t, r.Closed(t.Context(), a.ID, "", "", nil), ErrDown)
		assert.ErrorIs(t, r.Attended(t.Context()), ErrDown)
	})
}

// A prompt that the journal has is not passed on again, whatever became of its turn; it goes under
// the name of the person that the relay knows.
func TestRun_promptOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &outside{}
		r := &Relay{Journal: o, Sink: o, Person: "ada"}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- r.Run(ctx) }()
		a := o.adopt(t, r, "a")
		o.adopt(t, r, "b")
		_, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b"}, Limits: message.Limits{Person: true}})
		require.NoError(t, err)
		known := message.Turn{ID: message.NewID(), Peer: a.ID, Prompt: "p", Words: "x", Ended: time.Now()}
		o.seen = map[message.ID]bool{promptID(known.ID): true}
		require.NoError(t, r.Spoke(t.Context(), known))
		synctest.Wait()
		assert.Empty(t, o.delivered)
		fresh := known
		fresh.ID = message.NewID()
		require.NoError(t, r.Spoke(t.Context(), fresh))
		synctest.Wait()
		require.Len(t, o.delivered, 2)
		assert.Equal(t, "[ada] (0):\n\np", text(o.delivered[0]))
		assert.Equal(t, "[a] (1):\n\nx", text(o.delivered[1]))
		cancel()
		require.NoError(t, <-done)
	})
}

// Without a clock from the caller, time passes all the same.
func TestRun_ownClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		o.adopt(t, r, "a")
		sent, err := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "x"}})
		require.NoError(t, err)
		time.Sleep(time.Hour + 2*time.Second)
		synctest.Wait()
		assert.Equal(t, message.Expired, o.last(sent.Receipts[0].Delivery))
		require.NoError(t, stop())
	})
}

// test helpers

// outside is everything that a Relay talks to. Inside a bubble of synctest, it is read while the
// loop waits.
type outside struct {
	mu        sync.Mutex
	log       []string
	delivered []message.Delivery
	bodies    []string
	whys      map[message.ID]string // of verdicts
	state     map[message.ID]message.ReceiptState
	seen      map[message.ID]bool
	broken    error
	slow      time.Duration
	commits   int
}

// why returns the reason of the verdict about a message.
func (o *outside) why(id message.ID) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.whys[id]
}

func (o *outside) note(what string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, what)
}

func (o *outside) Commit(_ context.Context, steps ...message.Step) error {
	time.Sleep(o.slow)
	if o.broken != nil {
		return o.broken
	}
	for _, s := range steps {
		o.commit(s)
	}
	o.mu.Lock()
	o.commits++
	o.mu.Unlock()
	return nil
}

func (o *outside) commit(s message.Step) {
	what := "commit"
	for _, part := range []struct {
		name string
		n    int
	}{
		{" session", len(s.Peers)},
		{" chat", len(s.Chats)},
		{" received", len(s.Received)},
		{" verdict", len(s.Verdicts)},
		{" delivery", len(s.Deliveries)},
		{" receipt", len(s.Receipts)},
		{" notice", len(s.Notices)},
	} {
		if part.n > 0 {
			what += part.name
		}
	}
	o.note(what)
	for _, m := range s.Received {
		o.bodies = append(o.bodies, m.Body)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, v := range s.Verdicts {
		if o.whys == nil {
			o.whys = make(map[message.ID]string)
		}
		o.whys[v.Message] = v.Reason
	}
	for _, r := range s.Receipts {
		if o.state == nil {
			o.state = make(map[message.ID]message.ReceiptState)
		}
		o.state[r.Delivery] = r.State
	}
}

func (o *outside) Seen(_ context.Context, id message.ID) (bool, error) { return o.seen[id], o.broken }

func (o *outside) Deliver(ds ...message.Delivery) {
	for _, d := range ds {
		o.note("deliver")
		o.delivered = append(o.delivered, d)
	}
}
func (o *outside) Cancel([]message.ID, message.Reason) { o.note("cancel") }
func (o *outside) Forget(message.ID)                   { o.note("forget") }

func (o *outside) last(d message.ID) message.ReceiptState {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.state[d]
}

// since returns what was done from the first such entry on.
func (o *outside) since(first string) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, what := range o.log {
		if what == first {
			return append([]string(nil), o.log[i:]...)
		}
	}
	return nil
}

func (o *outside) adopt(t *testing.T, r *Relay, name string) message.Peer {
	t.Helper()
	s, err := r.Adopt(t.Context(), message.Peer{Name: name, PaneOf: message.PaneOf{Pane: "%" + name}})
	require.NoError(t, err)
	require.Equal(t, name, s.Name)
	return s
}

type rule func(message.Envelope) (message.Verdict, error)

func (f rule) Decide(_ context.Context, q Question) (message.Verdict, error) { return f(q.Message) }

// running starts a Relay; stop ends it and returns what Run did.
func running(t *testing.T, policy Policy) (*Relay, *outside, func() error) {
	o := &outside{}
	r := &Relay{Journal: o, Sink: o, Policy: policy, Publish: func([]message.Event) { o.note("publish") }}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return r, o, func() error {
		cancel()
		return <-done
	}
}

// A caller that is cut off after its request was handed over is not told that it failed: the
// request is carried out all the same.
func TestRun_whoIsCutOffIsNotRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, nil)
		a := o.adopt(t, r, "a")
		ended := errors.New("the tmux server has ended")
		ctx, cut := context.WithCancelCause(t.Context())
		synctest.Wait()
		o.slow = time.Minute
		asked := make(chan error, 1)
		go func() {
			_, err := r.Do(ctx, Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: "hello"}})
			asked <- err
		}()
		time.Sleep(time.Second)
		cut(ended)
		err := <-asked
		of, ok := errors.AsType[message.OfKind](err)
		require.True(t, ok, "%v", err)
		assert.Equal(t, message.KindUnanswered, of.ErrorKind())
		require.ErrorIs(t, err, ended)
		require.ErrorIs(t, err, context.Canceled, "whoever tries again when it is cut off does so here")
		time.Sleep(time.Hour)
		require.Len(t, o.delivered, 1)
		assert.Equal(t, a.ID, o.delivered[0].Target)
		require.NoError(t, stop())
	})
}
