package relay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Any events, over any number of runs: written in groups of any size, they leave the same in the
// journal, ask for the same effects in the same order, and give the same answers as one by one.
func TestRun_togetherIsAsOneByOne(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history := modelRun(t).history
		builtIn := rapid.Bool().Draw(t, "without a policy")
		one := replayed(t, history, builtIn, func(left int) int { return 1 })
		many := replayed(t, history, builtIn, func(left int) int { return rapid.IntRange(1, min(left, maxGroup)).Draw(t, "together") })
		require.Equal(t, one.steps, many.steps)
		require.Equal(t, one.done, many.done)
		require.Equal(t, one.answers, many.answers)
		require.LessOrEqual(t, many.commits, one.commits)
	})
}

// Events that wait in the queue go to disk together, and none of them is carried out before; a
// single event is written as usual.
func TestRun_waitingIsWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		const waiting = maxGroup + 6
		for i := range waiting {
			require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a, Words: fmt.Sprint("word ", i), Ended: time.Now()}))
		}
		stop := goes(t, r)
		synctest.Wait()
		require.NoError(t, stop())
		assert.Equal(t, 2, w.commits, "a group, and the rest")
		first := strings.Join(w.log, " ")
		assert.True(t, strings.HasPrefix(first, strings.Repeat("commit ", 2*maxGroup)+"publish deliver publish publish deliver"), "%.2000s", first)
		assert.Equal(t, waiting, strings.Count(first, "deliver"))
		for i, d := range w.delivered {
			assert.Equal(t, fmt.Sprint("word ", i), d.Message.Body)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		long := strings.Repeat("x", maxGroupBytes/2)
		for range 5 {
			require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a, Words: long, Ended: time.Now()}))
		}
		stop := goes(t, r)
		synctest.Wait()
		require.NoError(t, stop())
		assert.Equal(t, 2+1+1, w.commits, "two, two, and the last alone: received, decided")
	})
}

// A pause that comes while much waits is behind at most one group.
func TestRun_pauseIsInTheNextGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		for i := range 200 {
			require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a, Words: fmt.Sprint("word ", i), Ended: time.Now()}))
		}
		var err error
		go func() { _, err = r.Do(t.Context(), PauseChat{By: By{Kind: Person}, Chat: All}) }()
		synctest.Wait()
		stop := goes(t, r)
		synctest.Wait()
		require.NoError(t, err)
		assert.Empty(t, w.delivered)
		require.NoError(t, stop())
	})
}

// A disk that is full for a group: each of its events is treated as it would be alone. With Again,
// requested changes never happen, and the rest happens once it can be written; without Again, all
// of it happens then.
func TestD2_FullForAGroup(t *testing.T) {
	for _, anew := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			r, w, a := beside(t)
			b := r.Restored.Peers[1].Peer.ID
			if anew {
				restored := *r.Restored
				r.Again = func(context.Context) (*Restored, error) { return &restored, nil }
			}
			w.broken = errFull
			require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: a, Words: "before", Ended: time.Now()}))
			errs := make([]error, 3)
			for i, ask := range []func() error{
				func() error {
					_, err := r.Adopt(t.Context(), message.Peer{Name: "c", PaneOf: message.PaneOf{Pane: "%3"}})
					return err
				},
				func() error {
					_, err := r.Do(t.Context(), Rename{By: By{Kind: Person}, Peer: "b", Name: "z"})
					return err
				},
				func() error {
					return r.Report(t.Context(), message.Receipt{Delivery: w.submitted, State: message.Answered, Words: "yes"})
				},
			} {
				go func() { errs[i] = ask() }()
				synctest.Wait()
			}
			require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: b, Words: "after", Ended: time.Now()}))
			stop := goes(t, r)
			synctest.Wait()
			assert.ErrorContains(t, errs[0], "disk full")
			assert.ErrorContains(t, errs[1], "disk full")
			assert.NoError(t, errs[2], "it tells what has happened")
			assert.Empty(t, w.delivered)
			assert.Error(t, r.Trouble())
			_, err := r.Snapshot().Find("c")
			assert.Error(t, err)

			w.broken = nil
			require.NoError(t, r.Attended(t.Context())) // an event behind it makes the loop see that
			time.Sleep(time.Second)
			synctest.Wait()
			assert.NoError(t, r.Trouble())
			require.Len(t, w.delivered, 2)
			assert.Equal(t, "before", w.delivered[0].Message.Body)
			assert.Equal(t, "after", w.delivered[1].Message.Body)
			_, err = r.Snapshot().Find("c")
			assert.Equal(t, anew, err != nil, "refused, and so it never was")
			_, err = r.Snapshot().Find("b")
			assert.Equal(t, anew, err == nil)
			assert.Equal(t, message.Answered, w.state[w.submitted])
			require.NoError(t, stop())
		})
	}
}

// Any other error of the journal ends the relay; nothing of the group is done.
func TestRun_groupFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		w.broken = errors.New("fsync")
		for range 3 {
			require.NoError(t, r.Spoke(t.Context(), message.Turn{Peer: a, Words: "x", Ended: time.Now()}))
		}
		stop := goes(t, r)
		synctest.Wait()
		assert.ErrorIs(t, stop(), w.broken)
		assert.Equal(t, 1, w.commits)
		assert.Empty(t, w.delivered)
	})
}

// Helpers of the tests.

// counted is an outside that counts its transactions.
type counted struct {
	outside
	commits   int
	submitted message.ID // a delivery that waits for its answer
}

func (c *counted) Commit(ctx context.Context, steps ...message.Step) error {
	c.commits++
	before := len(c.log)
	err := c.outside.Commit(ctx, steps...)
	for i := range c.log[before:] {
		c.log[before+i] = "commit"
	}
	return err
}

// Seen answers on a full disk too.
func (c *counted) Seen(context.Context, message.ID) (bool, error) { return false, nil }

// beside returns a Relay that does not run yet, with a chat of two, and the first of the two.
func beside(t *testing.T) (*Relay, *counted, message.ID) {
	a, b := message.Peer{ID: message.NewID(), Name: "a", PaneOf: message.PaneOf{Pane: "%1"}}, message.Peer{ID: message.NewID(), Name: "b", PaneOf: message.PaneOf{Pane: "%2"}}
	chat := message.Chat{ID: message.NewID(), State: message.ChatOn, Limits: message.Limits{Rate: 1 << 30, Bytes: 1 << 40}, Participants: []message.Participant{
		{Peer: a.ID, Name: "a", Number: 1, MaySpeak: true}, {Peer: b.ID, Name: "b", Number: 2, MaySpeak: true},
	}}
	asked := message.Envelope{ID: message.NewID(), Chat: chat.ID, From: message.Address{Peer: b.ID, Name: "b"}, Type: message.KindTurn, Body: "?", Origin: message.OriginAgent}
	d := message.Delivery{ID: message.NewID(), Message: asked, Target: a.ID, Chat: chat.ID, Typed: true, Attempt: 1}
	w := &counted{submitted: d.ID}
	r := &Relay{Journal: w, Sink: w, Publish: func([]message.Event) { w.note("publish") }, Restored: &Restored{
		Peers: []SavedPeer{{Peer: a}, {Peer: b}}, Chats: []SavedChat{{Chat: chat}}, Submitted: []message.Delivery{d},
	}}
	return r, w, a.ID
}

// goes runs a Relay; stop ends it and returns what Run did.
func goes(t *testing.T, r *Relay) (stop func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	return func() error {
		cancel()
		return <-done
	}
}

// witness is everything outside of a loop; it records what reaches it, at that moment.
type witness struct {
	t       *rapid.T
	book    *journaltest.Book
	commits int
	steps   []string
	done    []string
	answers []string
}

func (w *witness) put(list *[]string, what string, v any) {
	doc, err := json.Marshal(v)
	require.NoError(w.t, err)
	*list = append(*list, what+" "+string(doc))
}

func (w *witness) Commit(_ context.Context, steps ...message.Step) error {
	w.commits++
	for _, s := range steps {
		w.book.Commit(s)
		w.put(&w.steps, "commit", s)
	}
	return nil
}

func (w *witness) Seen(_ context.Context, id message.ID) (bool, error) {
	for _, m := range w.book.Received {
		if m.ID == id {
			return true, nil
		}
	}
	return false, nil
}

func (w *witness) Deliver(ds ...message.Delivery) { w.put(&w.done, "deliver", ds) }
func (w *witness) Cancel(ids []message.ID, reason message.Reason) {
	w.put(&w.done, "cancel "+string(reason), ids)
}
func (w *witness) Forget(session message.ID) { w.put(&w.done, "forget", session) }

func (w *witness) Decide(context.Context, Question) (message.Verdict, error) {
	panic("the verdicts are in the history")
}

// replayed makes a history happen to loops, in groups of the sizes that next gives.
func replayed(t *rapid.T, history []past, builtIn bool, next func(left int) int) *witness {
	w := &witness{t: t, book: journaltest.NewBook()}
	r := &Relay{Journal: w, Sink: w, Publish: func(events []message.Event) { w.put(&w.done, "publish", events) }}
	if !builtIn {
		r.Policy = w
	}
	r.init()
	var backs []chan outcome
	now, life := start, byte(0)
	l := loop{Relay: r, log: slog.New(slog.DiscardHandler), waiting: make(map[Token]chan<- outcome), state: modelState(0)}
	l.asker.reset()
	l.now = func() time.Time {
		now = now.Add(time.Millisecond)
		return now
	}
	for len(history) > 0 {
		if _, restart := history[0].event.(Restored); restart {
			life++
			l.state, l.waiting = modelState(life), make(map[Token]chan<- outcome)
		}
		var ps []posted
		for n := next(len(history)); len(ps) < n && len(history) > 0; history = history[1:] {
			if _, restart := history[0].event.(Restored); restart && len(ps) > 0 {
				break
			}
			back := make(chan outcome, 1)
			ps, backs = append(ps, posted{event: history[0].event, back: back}), append(backs, back)
		}
		require.NoError(t, l.take(context.Background(), ps))
	}
	for _, back := range backs {
		select {
		case o := <-back:
			w.put(&w.answers, fmt.Sprint(o.err), o.answer)
		default:
			w.answers = append(w.answers, "none")
		}
	}
	return w
}
