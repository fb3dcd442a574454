package relay

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

func TestExpire(t *testing.T) {
	r := newRig(t)
	s := r.adopt("Ada", "Ben", "Cyd")
	r.chat(message.Limits{Expire: time.Minute}, "Ada", "Ben", "Cyd")
	first := r.say(s[0], "first")
	waits, typed := first[0], first[1]
	require.NoError(t, r.report(waits.ID, message.Held, message.InComposer))
	require.NoError(t, r.report(typed.ID, message.Typed, ""))
	r.must(Send{To: "Ben", Message: message.Envelope{Body: "single"}})
	single := r.out[len(r.out)-1]
	r.pass(time.Minute)
	assert.Equal(t, []string{"queued", "held: draft in the composer"}, r.states(waits.ID), "not before its time")
	assert.Equal(t, map[message.ID]string{s[0].ID: fmt.Sprintf("AI[local:%s] | [notice] %q did not get your message: draft in the composer", s[1].ID, "Ben")},
		r.noticed(func() { r.pass(time.Second) }), "who said it is told, and nobody else")
	told := r.out[len(r.out)-1]
	assert.Equal(t, waits.Chat, told.Chat)
	assert.Equal(t, waits.Message.Depth, told.Message.Depth)
	r.submit(told)
	assert.Equal(t, []string{"queued", "held: draft in the composer", "expired: draft in the composer"}, r.states(waits.ID))
	assert.Equal(t, []Cancel{{IDs: []message.ID{waits.ID}, Reason: "expired"}}, r.cancel)
	assert.Equal(t, []string{"message " + waits.Message.ID.Short() + " from Ada to Ben expired after 1m: draft in the composer"}, r.notices)
	assert.ErrorIs(t, r.report(waits.ID, message.Typed, ""), ErrNotOurs, "nothing is typed of it any more")
	assert.Equal(t, 1, r.s.present(s[1].ID).waiting)

	r.pass(58 * time.Minute)
	assert.Equal(t, []string{"queued", "typed"}, r.states(typed.ID), "what may be in the pane does not expire")
	assert.Equal(t, []string{"queued"}, r.states(single.ID))
	r.pass(time.Minute)
	assert.Equal(t, []string{"queued", "expired"}, r.states(single.ID), "an hour, where no chat says otherwise")
	assert.Equal(t, "message "+single.Message.ID.Short()+" from person to Ben expired after 1h", r.notices[1])

	// What tmux refused was never typed.
	require.NoError(t, r.report(typed.ID, message.Held, message.TmuxRefused))
	r.pass(time.Second)
	assert.Equal(t, message.Expired, r.book.Last[typed.ID].State)
	for _, d := range []message.Delivery{waits, typed, single} {
		assert.NotContains(t, r.s.under, d.ID)
	}
}

// A delivery that waits for a person does so as long as it takes; on the person's word its wait for
// a safe moment begins anew.
func TestExpire_notWhatWaitsForAPerson(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	r.must(StartChat{Peers: []string{"a", "b"}, Name: "pair", Limits: message.Limits{Expire: time.Minute}})
	paused := r.say(s[0], "paused")[0]
	r.pass(50 * time.Second)
	r.must(PauseChat{Chat: "pair"})
	for range usual.Minute + 1 {
		r.must(Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "d", Message: message.Envelope{Body: "x"}})
	}
	r.async = true
	_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[3].ID}, To: "c", Message: message.Envelope{Body: "x"}})
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbAsk}}})
	r.async = false
	braked, asked := r.book.Deliveries[usual.Minute+1], r.book.Deliveries[usual.Minute+2]
	r.pass(2 * time.Hour)
	assert.Equal(t, []string{"queued", "held: chat paused"}, r.states(paused.ID))
	assert.Equal(t, []string{"queued", "held: own_minute limit reached"}, r.states(braked.ID))
	assert.Equal(t, []string{"queued", "held: waiting for approval"}, r.states(asked.ID))
	r.must(ResumeChat{Chat: "pair", Sure: true})
	r.pass(time.Minute)
	assert.Equal(t, message.Queued, r.book.Last[paused.ID].State)
	r.pass(time.Second)
	assert.Equal(t, message.Expired, r.book.Last[paused.ID].State)
}

// The wait begins anew in the next run, and time that the computer sleeps does not count.
func TestExpire_awakeTimeOfThisRun(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	r.chat(message.Limits{Expire: time.Minute}, "a", "b")
	d := r.say(s[0], "x")[0]
	r.pass(50 * time.Second)
	r.now = r.now.Add(24 * time.Hour)
	_, _ = r.step(Tick{Awake: time.Second})
	_, _ = r.step(Tick{})
	_, _ = r.step(Tick{Awake: -time.Hour})
	assert.Equal(t, message.Queued, r.book.Last[d.ID].State)
	r.restart(0)
	_, _ = r.step(Tick{Awake: time.Hour}) // this hour passed before the wait began
	r.pass(59 * time.Second)
	assert.Equal(t, message.Queued, r.book.Last[d.ID].State)
	r.pass(time.Second)
	assert.Equal(t, message.Expired, r.book.Last[d.ID].State)
	for range 3 {
		_, _ = r.step(Tick{Awake: math.MaxInt64})
	}
	assert.Positive(t, r.s.awake)
}

// A chat that waits for its last words does not wait for one that expired.
func TestExpire_endsAChatOfAllTurns(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.must(StartChat{Peers: []string{"a", "b"}, Turns: 1, Limits: message.Limits{Expire: time.Minute}}).Chats[0]
	r.say(s[0], "x")
	r.pass(61 * time.Second)
	assert.Equal(t, whyTurns, r.shows(c.ID).Why)
}

func TestAway(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c", "d")
	c := r.chat(message.Limits{Away: 30 * time.Minute}, "a", "b")
	other := r.chat(message.Limits{}, "c", "d")
	waits := r.say(s[0], "x")[0]
	r.pass(20 * time.Minute)
	_, _ = r.step(UserActive{})
	assert.Empty(t, r.last)
	r.pass(30 * time.Minute)
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	r.now = r.now.Add(8 * time.Hour) // asleep
	_, _ = r.step(Tick{Awake: time.Second})
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State, "half an hour, and no more")
	r.pass(time.Second)
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	assert.Equal(t, "nobody has been at a terminal for 30m0s", r.shows(c.ID).Why)
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], " paused: nobody has been at a terminal for 30m0s")
	assert.Equal(t, []string{"queued", "held: chat paused"}, r.states(waits.ID))
	assert.Equal(t, message.ChatOn, r.shows(other.ID).State, "off, where it is not set")

	// A person who comes back does not resume it just by coming.
	_, _ = r.step(UserActive{})
	r.pass(time.Minute)
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
	r.pass(time.Hour)
	_, err := r.ask(ResumeChat{Chat: string(c.ID), By: By{Kind: Agent, Peer: s[0].ID}})
	assert.ErrorIs(t, err, ErrPersonOnly)
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	assert.Equal(t, waits.ID, r.out[len(r.out)-1].ID)
	r.pass(30 * time.Minute)
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State, "a person's request shows that somebody is there")
	r.must(Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "d", Message: message.Envelope{Body: "x"}})
	r.pass(2 * time.Second)
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State, "an agent's does not")

	// So does the start of a sidecar.
	r.must(ResumeChat{Chat: string(c.ID), Sure: true})
	r.pass(29 * time.Minute)
	r.restart(0)
	r.pass(30 * time.Minute)
	assert.Equal(t, message.ChatOn, r.shows(c.ID).State)
	r.pass(2 * time.Second)
	assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
}

// A second in which nothing happens costs next to nothing.
func TestTick_isCheap(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	assert.False(t, r.s.waits())
	r.must(StartChat{Peers: []string{"a", "b"}, Limits: message.Limits{Rate: 1000, Away: 1000 * time.Hour}})
	assert.True(t, r.s.waits())
	for range 500 {
		r.say(s[0], "x")
	}
	var tick Event = Tick{Awake: time.Millisecond}
	assert.Less(t, testing.AllocsPerRun(100, func() { r.s.Step(r.now, tick) }), 5.0)
	r.must(StopChat{Chat: string(r.s.chats[0].ID)})
	assert.False(t, r.s.waits())
}
