package relay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// wide is a policy that may be asked about several messages at a time.
type wide struct {
	asking
	width int
}

func (w wide) Width() int { return w.width }

// asked records what a policy was asked about, in order, and how many messages at once.
type asked struct {
	mu        sync.Mutex
	bodies    []string
	now, most int
}

func (a *asked) about(body string, during func()) {
	a.mu.Lock()
	a.bodies = append(a.bodies, body)
	a.now++
	a.most = max(a.most, a.now)
	a.mu.Unlock()
	during()
	a.mu.Lock()
	a.now--
	a.mu.Unlock()
}

// heard returns what it was asked about so far.
func (a *asked) heard() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.bodies)
}

// width returns how many messages it was asked about at once, at most.
func (a *asked) width() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

// senders are agents that send to z, each in its own goroutine, in their order.
func senders(t *testing.T, r *Relay, o *outside, names ...string) (send func(name, body string), got func() map[string]message.Receipt) {
	ids, back := map[string]message.Peer{}, map[string]message.Receipt{}
	o.adopt(t, r, "z")
	for _, name := range names {
		ids[name] = o.adopt(t, r, name)
	}
	var mu sync.Mutex
	return func(name, body string) {
			go func() {
				a, err := r.Do(t.Context(), Send{By: By{Kind: Agent, Peer: ids[name].ID}, To: "z", Message: message.Envelope{Body: body}})
				if err == nil {
					mu.Lock()
					back[body] = a.Receipts[0]
					mu.Unlock()
				}
			}()
			synctest.Wait()
		}, func() map[string]message.Receipt {
			mu.Lock()
			defer mu.Unlock()
			return back
		}
}

// A policy that takes long over one sender's messages keeps nobody else waiting; the messages of
// one sender stay in their order, and no more are asked about at a time than the policy allows.
func TestPolicy_eachSenderHasALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asked
		r, o, stop := running(t, wide{width: 3, asking: func(_ context.Context, q Question) (message.Verdict, error) {
			a.about(q.Message.Body, func() {
				if strings.HasPrefix(q.Message.Body, "slow") {
					time.Sleep(4 * time.Second)
				}
			})
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}})
		send, got := senders(t, r, o, "a", "b", "c", "d", "e")
		send("a", "slow 1")
		send("a", "a 2")
		send("b", "b 1")
		send("b", "b 2")
		assert.Equal(t, []string{"slow 1", "b 1", "b 2"}, a.heard())
		assert.Len(t, got(), 2, "decided, while the first one is not")
		for _, name := range []string{"b", "c", "d", "e"} {
			send(name, "slow "+name)
		}
		assert.Equal(t, []string{"slow b", "slow c"}, a.heard()[3:], "no more at a time")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, 3, a.width())
		assert.Len(t, got(), 8)
		for body, receipt := range got() {
			assert.Equal(t, message.Queued, receipt.State, "%s: its patience begins when it is asked about", body)
		}
		require.NoError(t, stop())
	})
}

// A policy for one message at a time is asked by turns: a busy sender keeps the others waiting for
// one message, and the verdict does not depend on how long a sender waited.
func TestPolicy_sendersTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asked
		r, o, stop := running(t, asking(func(_ context.Context, q Question) (message.Verdict, error) {
			a.about(q.Message.Body, func() { time.Sleep(3 * time.Second) })
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}))
		send, got := senders(t, r, o, "a", "b")
		for i := range 5 {
			send("a", fmt.Sprint("a ", i))
		}
		send("b", "b 0")
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"a 0", "b 0", "a 1", "a 2", "a 3", "a 4"}, a.heard())
		assert.Equal(t, 1, a.width())
		for body, receipt := range got() {
			assert.Equal(t, message.Queued, receipt.State, body)
		}
		require.NoError(t, stop())
	})
}

// A question that never returns holds what its sender says after it, and nobody else's messages;
// once only such questions are being asked, it holds everything.
func TestPolicy_stuckInOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := make(chan struct{})
		r, o, stop := running(t, wide{width: 2, asking: func(_ context.Context, q Question) (message.Verdict, error) {
			if strings.HasPrefix(q.Message.Body, "never") {
				<-never
			}
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}})
		send, got := senders(t, r, o, "a", "b")
		send("a", "never 1")
		time.Sleep(time.Minute)
		send("a", "behind it")
		send("b", "beside it")
		assert.Equal(t, message.Unfiltered, got()["never 1"].Reason)
		assert.Equal(t, "policy: still busy with an earlier message", o.why(got()["behind it"].Message))
		assert.Equal(t, message.Queued, got()["beside it"].State)
		send("b", "never 2")
		time.Sleep(time.Minute)
		send("b", "behind both")
		assert.Equal(t, "policy: still busy with an earlier message", o.why(got()["behind both"].Message))
		close(never)
		synctest.Wait()
		send("a", "again")
		send("b", "again too")
		assert.Equal(t, message.Queued, got()["again"].State)
		assert.Equal(t, message.Queued, got()["again too"].State)
		require.NoError(t, stop())
	})
}

// In a chat the policy is asked about all messages in their order, each after the verdict on the
// one before, which may have handed on the floor.
func TestPolicy_aChatIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asked
		r, o, stop := running(t, wide{width: 4, asking: func(_ context.Context, q Question) (message.Verdict, error) {
			a.about(q.Message.Body, func() { time.Sleep(time.Second) })
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}})
		one, two := o.adopt(t, r, "a"), o.adopt(t, r, "b")
		o.adopt(t, r, "c")
		_, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b"}})
		require.NoError(t, err)
		for i := range 4 {
			from := []message.Peer{one, two}[i%2]
			require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: from.ID, Words: fmt.Sprint(i), Ended: time.Now().Add(time.Second)}))
		}
		go func() {
			_, _ = r.Do(t.Context(), Send{By: By{Kind: Agent, Peer: two.ID}, To: "c", Message: message.Envelope{Body: "beside"}})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"0", "1", "2", "3", "beside"}, a.heard())
		assert.Equal(t, 1, a.width())
		require.NoError(t, stop())
	})
}

// The policy is asked about the quick messages of one sender while earlier verdicts, which go to
// disk together, are being written; in their order, and only as long as nobody else waits.
func TestQ7_verdictsAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asked
		gate := make(chan struct{})
		r, o, stop := running(t, asking(func(_ context.Context, q Question) (message.Verdict, error) {
			a.about(q.Message.Body, func() {
				if q.Message.Body == "a 0" {
					<-gate
				}
			})
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}))
		send, got := senders(t, r, o, "a", "b")
		var want []string
		for i := range 20 {
			send("a", fmt.Sprint("a ", i))
			want = append(want, fmt.Sprint("a ", i))
		}
		assert.Equal(t, want[:1], a.heard())
		o.mu.Lock()
		before := o.commits
		o.mu.Unlock()
		close(gate)
		synctest.Wait()
		time.Sleep(time.Second)
		assert.Equal(t, want, a.heard())
		assert.Len(t, got(), 20)
		o.mu.Lock()
		assert.LessOrEqual(t, o.commits-before, 5, "one by one they are 20")
		o.mu.Unlock()
		require.NoError(t, stop())
	})
}

// several is a policy that is asked about several messages at once.
type several struct {
	asking
	ahead func(qs []Question) []message.Verdict
}

func (s several) DecideAhead(_ context.Context, qs []Question, _ time.Duration) []message.Verdict {
	return s.ahead(qs)
}

// More verdicts than questions say nothing about any of them.
func TestPolicy_moreVerdictsThanQuestions(t *testing.T) {
	deliver := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}
	policy := several{ahead: func(qs []Question) []message.Verdict {
		return slices.Repeat([]message.Verdict{deliver}, len(qs)+1)
	}}
	l := (&Relay{Policy: policy}).newLoop()
	qs := []Question{{Message: message.Envelope{ID: "a"}}, {Message: message.Envelope{ID: "b"}}}
	all, _ := l.decide(t.Context(), qs, time.Minute, false)
	require.Len(t, all, 1)
	assert.Equal(t, message.ID("a"), all[0].Message)
	assert.Equal(t, message.VerbHold, all[0].Verb)
	assert.Contains(t, all[0].Reason, "3 verdicts on 2 messages")
}

// A policy that takes several messages of one sender at once gets them in their order, as many as
// there are. If it decides about fewer, it is asked about the rest anew; if about none, one by one;
// an invalid verdict holds its own message and no other.
func TestPolicy_severalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asked
		gate, batches := make(chan struct{}), []int(nil)
		deliver := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}
		r, o, stop := running(t, several{asking: func(_ context.Context, q Question) (message.Verdict, error) {
			a.about(q.Message.Body, func() {
				if q.Message.Body == "a 0" {
					<-gate
				}
			})
			if q.Message.Body == "a 8" {
				return message.Verdict{Decision: message.Decision{Verb: "shout"}}, nil
			}
			return deliver, nil
		}, ahead: func(qs []Question) (all []message.Verdict) {
			batches = append(batches, len(qs))
			for _, q := range qs {
				switch {
				case q.Message.Body == "a 4" && len(all) == 0:
					return nil // alone, please
				case q.Message.Body == "a 4" || q.Message.Body == "a 7" && len(all) > 0:
					return all
				}
				a.about(q.Message.Body, func() {})
				v := deliver
				if q.Message.Body == "a 8" {
					v.Verb = "shout"
				}
				all = append(all, v)
			}
			return all
		}})
		send, got := senders(t, r, o, "a")
		var want []string
		for i := range 10 {
			send("a", fmt.Sprint("a ", i))
		}
		close(gate)
		synctest.Wait()
		time.Sleep(time.Second)
		for body, receipt := range got() {
			if body == "a 8" {
				assert.Equal(t, message.Held, receipt.State)
				assert.Contains(t, o.why(receipt.Message), "shout")
				continue
			}
			assert.Equal(t, message.Queued, receipt.State, body)
		}
		assert.Len(t, got(), 10)
		for i := range 10 {
			want = append(want, fmt.Sprint("a ", i))
		}
		heard := a.heard()
		assert.Equal(t, want, heard[:10])
		for _, again := range heard[10:] { // the batch had no verdict on its first message
			assert.Contains(t, []string{"a 8", "a 9"}, again)
		}
		assert.Equal(t, 9, batches[0])
		require.NoError(t, stop())
	})
}

// A call that never returns from several messages holds the first of them, after its patience; the
// messages behind it are held as stuck.
func TestPolicy_severalNeverComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, never := make(chan struct{}), make(chan struct{})
		r, o, stop := running(t, several{asking: func(context.Context, Question) (message.Verdict, error) {
			<-gate
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}, ahead: func([]Question) []message.Verdict {
			<-never
			return nil
		}})
		send, got := senders(t, r, o, "a")
		for i := range 4 {
			send("a", fmt.Sprint(i))
		}
		close(gate)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, message.Queued, got()["0"].State)
		assert.Equal(t, "policy: no answer in time", o.why(got()["1"].Message))
		for _, body := range []string{"2", "3"} {
			assert.Equal(t, "policy: still busy with an earlier message", o.why(got()[body].Message), body)
		}
		close(never)
		synctest.Wait()
		require.NoError(t, stop())
	})
}
