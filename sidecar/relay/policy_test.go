package relay

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// asking is a policy that is a function.
type asking func(context.Context, Question) (message.Verdict, error)

func (f asking) Decide(ctx context.Context, q Question) (message.Verdict, error) { return f(ctx, q) }

// A policy that is slow, never answers, or breaks holds the message it was asked about. While it
// thinks everything else goes on, and an answer after it was given up does not count.
func TestPolicy_keepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, never := []string{}, make(chan struct{})
		r, o, stop := running(t, asking(func(ctx context.Context, q Question) (message.Verdict, error) {
			asked = append(asked, q.Message.Body)
			switch q.Message.Body {
			case "slow":
				time.Sleep(time.Second)
			case "obedient":
				<-ctx.Done()
				return message.Verdict{}, ctx.Err()
			case "never":
				<-never
			case "panic":
				panic("script")
			case "nonsense":
				return message.Verdict{Decision: message.Decision{Verb: "perhaps"}}, nil
			case "outcome":
				return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, Outcomes: []message.Outcome{{Target: "x", Decision: message.Decision{Verb: "shout"}}}}, nil
			case "otherwise":
				return message.Verdict{Decision: message.Decision{Verb: message.VerbAsk, Expires: time.Minute, Otherwise: "perhaps"}}, nil
			}
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver, By: "test"}}, nil
		}))
		o.adopt(t, r, "a")
		send := func(body string) (back chan Answer) {
			back = make(chan Answer, 1)
			go func() {
				a, _ := r.Do(t.Context(), Send{By: By{Kind: Person}, To: "a", Message: message.Envelope{Body: body}})
				back <- a
			}()
			return back
		}
		began := time.Now()
		slow := send("slow")
		synctest.Wait()
		_, err := r.Do(t.Context(), PauseChat{By: By{Kind: Person}, Chat: All})
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "a pause waits for no policy")
		assert.Equal(t, message.Stopped, (<-slow).Receipts[0].Reason, "and holds for what is decided after it")
		_, err = r.Do(t.Context(), ResumeChat{By: By{Kind: Person}, Chat: All, Sure: true})
		require.NoError(t, err)

		for body, why := range map[string]string{
			"panic": "policy: panic: script", "nonsense": `policy: it said "perhaps"`, "obedient": "policy: no answer in time",
			"outcome": `policy: it said "shout"`, "otherwise": `policy: it said "ask", otherwise "perhaps"`,
		} {
			a := <-send(body)
			assert.Equal(t, message.Unfiltered, a.Receipts[0].Reason, body)
			assert.Equal(t, why, o.why(a.Message), body)
		}
		began = time.Now()
		first := send("never")
		synctest.Wait()
		second := send("behind it")
		assert.Equal(t, "policy: no answer in time", o.why((<-first).Message))
		assert.Equal(t, "policy: still busy with an earlier message", o.why((<-second).Message))
		assert.Equal(t, defaultPatience+grace, time.Since(began))
		close(never)
		synctest.Wait()
		assert.Equal(t, message.Queued, (<-send("again")).Receipts[0].State)
		assert.NotContains(t, asked, "behind it")
		require.NoError(t, stop())
	})
}

// If a policy gave no answer about a message, no filter has seen the message: no yes lets it go as
// it is.
func TestL6_NoAnswerIsUnfiltered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, o, stop := running(t, asking(func(ctx context.Context, _ Question) (message.Verdict, error) {
			<-ctx.Done()
			return message.Verdict{}, ctx.Err()
		}))
		o.adopt(t, r, "a")
		b := o.adopt(t, r, "b")
		a, err := r.Do(t.Context(), Send{By: By{Kind: Agent, Peer: b.ID}, To: "a", Message: message.Envelope{Body: "AKIAIOSFODNN7EXAMPLE"}})
		require.NoError(t, err)
		require.Equal(t, message.Held, a.Receipts[0].State)
		_, err = r.Do(t.Context(), DecideHeld{By: By{Kind: Person}, Message: a.Message, Verb: message.VerbDeliver})
		assert.ErrorIs(t, err, ErrUnfiltered)
		require.NoError(t, stop())
	})
}

// A question says who would get the message; a message that was undecided when the run ended has no
// verdict.
func TestPolicy_question(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got Question
		r, o, stop := running(t, asking(func(ctx context.Context, q Question) (message.Verdict, error) {
			got = q
			<-ctx.Done()
			return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}, nil
		}))
		a := o.adopt(t, r, "a")
		o.adopt(t, r, "b")
		o.adopt(t, r, "c")
		answer, err := r.Do(t.Context(), StartChat{By: By{Kind: Person}, Peers: []string{"a", "b", "c"}})
		require.NoError(t, err)
		require.NoError(t, r.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: a.ID, Words: "x", Ended: time.Now().Add(time.Second)}))
		synctest.Wait()
		assert.Equal(t, "x", got.Message.Body)
		require.NotNil(t, got.Chat)
		assert.Equal(t, answer.Chats[0].ID, got.Chat.ID)
		require.Len(t, got.Targets, 2)
		assert.Equal(t, "b", got.Targets[0].Name)
		assert.Equal(t, "c", got.Targets[1].Name)
		require.NoError(t, stop())
		assert.NotContains(t, o.log, "commit verdict delivery receipt", "nothing was decided")
		assert.Equal(t, []string{"x"}, o.bodies, "and it is on disk")
	})
}
