package relay

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// fullDisk is a journal that is full now and then for a while, and a sink that types what it is
// handed.
type fullDisk struct {
	mu    sync.Mutex
	book  *journaltest.Book
	full  bool
	dice  *rand.Rand
	relay *Relay
	work  sync.WaitGroup
	known map[message.ID]bool // what the sink has
	typed []string            // bodies
	ctx   context.Context
}

var errFull = &message.UnwritableError{Path: "/journal", Why: "disk full", Err: errors.New("13")}

func (d *fullDisk) Commit(_ context.Context, steps ...message.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.full:
		d.full = d.dice.IntN(3) > 0
	default:
		d.full = d.dice.IntN(5) == 0
	}
	if d.full {
		return fmt.Errorf("journal: %w", errFull)
	}
	for _, s := range steps {
		d.book.Commit(s)
	}
	return nil
}

func (d *fullDisk) Seen(_ context.Context, id message.ID) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range d.book.Received {
		if m.ID == id {
			return true, nil
		}
	}
	return false, nil
}

func (d *fullDisk) again(context.Context) (*Restored, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r := restored(d.book, message.Process{})
	return &r, nil
}

func (d *fullDisk) Deliver(ds ...message.Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, one := range ds {
		if !d.known[one.ID] {
			d.known[one.ID] = true
			d.work.Go(func() { d.pane(one) })
		}
	}
}

// pane types one delivery as a pane does: it asks until it has permission, and reports that nothing
// was typed if it is not known whether it had.
func (d *fullDisk) pane(one message.Delivery) {
	report := func(state message.ReceiptState, why message.Reason) bool {
		err := d.relay.Report(d.ctx, message.Receipt{Delivery: one.ID, State: state, Reason: why})
		return err == nil
	}
	for !report(message.Typed, "") {
		for !report(message.Held, message.Unwritable) {
			time.Sleep(50 * time.Millisecond)
		}
	}
	d.mu.Lock()
	d.typed = append(d.typed, one.Message.Body)
	d.mu.Unlock()
	for !report(message.Typed, "") {
		time.Sleep(50 * time.Millisecond)
	}
	report(message.Submitted, "")
	_ = d.relay.Spoke(d.ctx, message.Turn{
		ID: message.NewID(), Peer: one.Target, Words: "answer to " + one.Message.Body, Answers: []message.ID{one.ID}, Ended: time.Now(),
	})
}

func (d *fullDisk) Cancel([]message.ID, message.Reason) {}
func (d *fullDisk) Forget(message.ID)                   {}

// A journal that is full at any moment: what was accepted is typed once and answered once, what was
// refused never happens, and the State is what the journal says.
func TestD2_FullAtAnyMoment(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			d := &fullDisk{book: journaltest.NewBook(), dice: rand.New(rand.NewPCG(seed, 1)), known: map[message.ID]bool{}}
			ctx, cancel := context.WithCancel(t.Context())
			d.ctx = ctx
			r := &Relay{Journal: d, Sink: d, Again: d.again}
			d.relay = r
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			ask := func(request Request) (err error) {
				_, err = r.Do(ctx, request)
				return err
			}
			for _, name := range []string{"a", "b"} {
				for {
					if _, err := r.Adopt(ctx, message.Peer{Name: name, PaneOf: message.PaneOf{Pane: "%" + name}}); err == nil {
						break
					}
					_, err := r.Snapshot().Find(name)
					require.Error(t, err, "refused, and here all the same")
					time.Sleep(time.Second)
				}
			}
			pauses := rand.New(rand.NewPCG(seed, 2)) // d's own random source is for the journal
			var accepted []string
			for i := range 12 {
				body := fmt.Sprintf("word %d", i)
				if err := ask(Send{By: By{Kind: Person}, To: []string{"a", "b"}[i%2], Message: message.Envelope{Body: body}}); err != nil {
					require.ErrorContains(t, err, "disk full: /journal")
				} else {
					accepted = append(accepted, body)
				}
				if pauses.IntN(3) == 0 {
					time.Sleep(time.Duration(pauses.IntN(2000)) * time.Millisecond)
				}
			}
			time.Sleep(time.Minute)
			d.work.Wait()
			time.Sleep(time.Minute)
			synctest.Wait()
			d.mu.Lock()
			assert.ElementsMatch(t, accepted, d.typed, "seed %d", seed)
			last := d.book.Last
			d.mu.Unlock()
			assert.Len(t, last, len(accepted), "of what was refused nothing is written")
			for _, one := range last {
				assert.Equal(t, message.Answered, one.State, "seed %d", seed)
			}
			for range 100 { // at the end the disk may just be full
				if r.Trouble() == nil {
					break
				}
				time.Sleep(time.Second)
			}
			assert.NoError(t, r.Trouble())
			cancel()
			require.NoError(t, <-done)
		})
	}
}

// While the journal cannot be written, any other error ends the run as usual: what could not be
// written may be in the journal, which would refuse it for ever, and the next run reads it there.
func TestStuck_anotherErrorEndsTheRun(t *testing.T) {
	unread := errors.New("unread")
	for name, c := range map[string]struct {
		commit, again, want error
	}{
		"it is there already":  {journal.ErrDuplicate, nil, journal.ErrDuplicate},
		"it cannot begin anew": {nil, unread, unread},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, w, _ := beside(t)
			r.Again = func(context.Context) (*Restored, error) { return &Restored{}, c.again }
			w.broken = errFull
			var refused error
			go func() { _, refused = r.Do(t.Context(), Rename{By: By{Kind: Person}, Peer: "b", Name: "z"}) }()
			stop := goes(t, r)
			synctest.Wait()
			require.ErrorIs(t, refused, errFull, name)
			w.broken = c.commit
			require.NoError(t, r.Attended(t.Context())) // behind it, the loop sees that
			elapses(func() bool { return errors.Is(r.Attended(t.Context()), ErrDown) })
			assert.ErrorIs(t, r.Attended(t.Context()), ErrDown, name)
			assert.ErrorIs(t, stop(), c.want, name)
		})
	}
}

// A notice that a protocol acknowledges is told when Tell returns, also about a peer that has
// ended; a notice that is refused because it cannot be written is never told.
func TestTell_isWrittenOrRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		restored := *r.Restored
		r.Again = func(context.Context) (*Restored, error) { return &restored, nil }
		told := make(chan string, 9)
		r.Publish = func(events []message.Event) {
			for _, e := range events {
				if strings.HasPrefix(e.Notice, "replies: ") {
					told <- e.Notice
				}
			}
		}
		stop := goes(t, r)
		tell := func(text string) error { return r.Tell(t.Context(), a, "replies: "+text) }
		require.NoError(t, tell("one"))
		require.NoError(t, r.Gone(t.Context(), a, message.AgentGone))
		require.NoError(t, tell("two"))
		assert.Equal(t, "replies: one", <-told)
		assert.Equal(t, "replies: two", <-told)
		synctest.Wait()
		assert.Empty(t, told)
		w.broken = errFull
		for range 2 { // at the step that cannot be written, and after it
			require.ErrorIs(t, tell("three"), errFull)
		}
		require.NoError(t, r.Notify(t.Context(), a, "replies: four")) // this one waits
		synctest.Wait()
		w.broken = nil
		require.NoError(t, r.Attended(t.Context())) // behind it, the loop sees that
		assert.Equal(t, "replies: four", <-told)
		synctest.Wait()
		assert.Empty(t, told)
		require.NoError(t, stop())
	})
}

// No journal has what the programs in the panes do: a State that is made again still knows it.
func TestStuck_knowsWhatThePanesShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, w, a := beside(t)
		restored := *r.Restored
		r.Again = func(context.Context) (*Restored, error) { return &restored, nil }
		stop := goes(t, r)
		asks := &message.Asking{Kind: message.WaitDialog, Text: "Do you want to proceed?"}
		require.NoError(t, r.StateChanged(t.Context(), a, message.Blocked, "a dialog", asks))
		synctest.Wait()
		w.broken = errFull
		_, err := r.Do(t.Context(), Rename{By: By{Kind: Person}, Peer: "b", Name: "z"})
		require.ErrorIs(t, err, errFull)
		w.broken = nil
		require.NoError(t, r.Attended(t.Context())) // behind it, the loop sees that
		elapses(func() bool { return r.Trouble() == nil })
		require.NoError(t, r.Trouble())
		one, _ := r.Snapshot().Peer(a)
		assert.Equal(t, message.Blocked, one.State)
		assert.Equal(t, "a dialog", one.StateWhy)
		assert.Equal(t, asks, one.Asks)
		assert.Empty(t, restored.Peers[0].Peer.State, "what was read is left as it is")
		require.NoError(t, stop())
	})
}

// elapses lets the bubble's time pass until a condition is true, a minute at most.
func elapses(until func() bool) {
	for end := time.Now().Add(time.Minute); !until() && time.Now().Before(end); synctest.Wait() {
		time.Sleep(tickStuck)
	}
}

// deciding is a journal whose disk is full when the test says so, and a policy that takes its time.
type deciding struct {
	fullDisk
	broken  error
	verdict chan message.Verdict
	asked   chan message.ID
}

func (d *deciding) Commit(_ context.Context, steps ...message.Step) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken != nil {
		return d.broken
	}
	for _, s := range steps {
		d.book.Commit(s)
	}
	return nil
}

func (d *deciding) breaks(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.broken = err
}

func (d *deciding) Deliver(...message.Delivery) {}

func (d *deciding) Decide(_ context.Context, q Question) (message.Verdict, error) {
	d.asked <- q.Message.ID
	v := <-d.verdict
	v.Message = q.Message.ID
	return v, nil
}

// undone runs a relay to which a sends a message. That is on disk and being decided when nothing
// can be written any more and another request is refused.
func undone(t *testing.T, try func(t *testing.T, r *Relay, d *deciding, sent <-chan error)) {
	synctest.Test(t, func(t *testing.T) {
		d := &deciding{fullDisk: fullDisk{book: journaltest.NewBook(), known: map[message.ID]bool{}}, verdict: make(chan message.Verdict), asked: make(chan message.ID, 9)}
		r := &Relay{Journal: d, Sink: d, Again: d.again, Policy: d}
		stop := goes(t, r)
		var a message.Peer
		for _, name := range []string{"b", "a"} {
			var err error
			a, err = r.Adopt(t.Context(), message.Peer{Name: name, PaneOf: message.PaneOf{Pane: "%" + name}})
			require.NoError(t, err)
		}
		sent := make(chan error, 1)
		go func() {
			_, err := r.Do(t.Context(), Send{By: By{Kind: Agent, Peer: a.ID}, To: "b", Message: message.Envelope{Body: "word"}})
			sent <- err
		}()
		<-d.asked
		d.breaks(errFull)
		_, err := r.Do(t.Context(), Rename{By: By{Kind: Person}, Peer: "b", Name: "z"})
		require.ErrorIs(t, err, errFull)
		try(t, r, d, sent)
		require.NoError(t, stop())
	})
}

// A caller that waits for the outcome of a message is answered, even if a later request had to be
// undone meanwhile.
func TestD2_WhoWaitsIsAnsweredAfterAFullDisk(t *testing.T) {
	for name, late := range map[string]bool{"decided once there is space": true, "decided before": false} {
		t.Run(name, func(t *testing.T) {
			undone(t, func(t *testing.T, r *Relay, d *deciding, sent <-chan error) {
				goes := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}
				if !late {
					d.verdict <- goes
					synctest.Wait()
				}
				d.breaks(nil)
				elapses(func() bool { return r.Trouble() == nil })
				if late {
					d.verdict <- goes
				}
				var err error
				answered := false
				elapses(func() bool {
					select {
					case <-d.asked: // the new State asks once more
						d.verdict <- goes
					case err = <-sent:
						answered = true
					default:
					}
					return answered
				})
				assert.True(t, answered)
				assert.NoError(t, err)
			})
		})
	}
}

// A change of policies is known once it can be written, not before: the policies are asked again
// about messages that were being decided then.
func TestD2_PoliciesThatChangeWhileTheDiskIsFull(t *testing.T) {
	undone(t, func(t *testing.T, r *Relay, d *deciding, sent <-chan error) {
		held := message.Verdict{Decision: message.Decision{Verb: message.VerbHold}, Unfiltered: true}
		known := make(chan error, 1)
		go func() { known <- r.Reconsider(t.Context(), nil) }()
		synctest.Wait()
		assert.Empty(t, known, "the relay does not know yet")
		d.breaks(nil)
		elapses(func() bool { return len(known) > 0 })
		require.NoError(t, <-known)
		d.verdict <- held
		goes := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}
		for range 3 {
			synctest.Wait()
			select {
			case <-d.asked:
				d.verdict <- goes
			default:
			}
		}
		synctest.Wait()
		assert.NoError(t, <-sent)
		for _, one := range d.book.Last {
			assert.Equal(t, message.Queued, one.State)
		}
	})
}
