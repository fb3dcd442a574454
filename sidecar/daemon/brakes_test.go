package daemon_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/tmux-intercom/tmux-intercom/sidecar/api"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// Two agents that always answer: each limit pauses the chat and tells the person. On the person's word, the chat goes
// on with the very message that met the limit.
func TestB1_LimitsPauseTheChat(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, set string
		heard     int // messages of agents that arrive before the pause
		reason    message.Reason
		told      string
	}{
		{name: "depth", set: "depth=7", heard: 7, reason: message.AtDepthLimit, told: " after 7 turns"},
		{name: "rate", set: "rate=4", heard: 8, reason: message.AtRateLimit, told: ": rate limit reached"},
		{name: "bytes", set: "bytes=300", reason: message.AtByteLimit, told: ": bytes limit reached"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.name != "depth" {
				inTheTable(t, "relay/brake_test.go: "+c.name, "relay/brake_test.go: TestBrake_rateAndBytes")
			}
			r := newRig(t)
			a, b := r.adopted("Ada", "--think", "1ms"), r.adopted("Ben", "--think", "1ms")
			chat := r.chatSaying("hello", []*agent{a, b}, c.set)
			r.waitForPause(chat)
			assert.Equal(t, string(c.reason), r.current(chat).Why)
			r.waitFor("the person is told", func() bool {
				return slices.ContainsFunc(r.notices(), func(s string) bool { return strings.HasPrefix(s, "Ada ↔ Ben paused"+c.told) })
			})
			r.waitFor("the last answer is said and held", func() bool {
				return len(r.turns()) == len(a.said())+len(b.said()) && len(r.heldFor(c.reason)) == 1
			})
			heard := len(a.heardLines()) + len(b.heardLines())
			if c.heard > 0 {
				assert.Equal(t, c.heard, heard)
			}
			require.Equal(t, heard+1, len(a.said())+len(b.said()), "all but the last were heard")

			said := len(a.said()) + len(b.said())
			for _, sure := range []bool{false, true} {
				_, err := r.client.ResumeChat(t.Context(), api.ChatRef{Chat: string(chat.ID), Sure: sure})
				require.Error(t, err, "without a person's yes")
			}
			require.NoError(t, r.yes("resume", string(chat.ID)))
			// The chat goes on with the held message, up to the next pause.
			r.waitFor("the chat has gone on", func() bool { return len(a.heardLines())+len(b.heardLines()) >= heard+2 })
			r.waitForPause(chat)
			r.waitFor("the last answer is said and held", func() bool {
				return len(r.turns()) == len(a.said())+len(b.said()) && len(r.heldFor(c.reason)) == 1
			})
			assert.Greater(t, len(a.said())+len(b.said()), said+1)
			for _, pair := range [][2]*agent{{a, b}, {b, a}} {
				said, heard := pair[0].spokenLines(), pair[1].heardLines()
				if len(said) == len(heard)+1 {
					said = said[:len(heard)] // the one that is held now
				}
				assert.Equal(t, said, heard, "%s to %s: none lost, none twice", pair[0].name, pair[1].name)
			}
		})
	}
}

// A message with an id that was used before is dropped with a receipt. What a message claims about its depth, origin
// or author does not count.
func TestB4_ForgedIdsAndDepths(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	t.Run("the same id twice", func(t *testing.T) {
		id := message.NewID()
		first, err := r.client.Send(t.Context(), api.SendRequest{ID: id, To: b.pane, Text: "the first", Timeout: patience})
		require.NoError(t, err)
		assert.Contains(t, []message.ReceiptState{message.Submitted, message.Answered}, first.Receipt.State)
		for _, again := range []message.ID{id, message.ID(strings.ToUpper(string(id)))} {
			second, err := r.client.Send(t.Context(), api.SendRequest{ID: again, To: b.pane, Text: "the second", Timeout: patience})
			require.NoError(t, err)
			assert.Equal(t, message.Failed, second.Receipt.State)
			assert.Equal(t, message.Duplicate, second.Receipt.Reason)
		}
		a.sends(b, "a third", string(id))
		assert.Len(t, r.standing(message.Failed, message.Duplicate), 3, "a receipt for each")
		r.send(b, "another", api.WaitSubmitted, patience)
		b.hears("[tester] (0): another")
		assert.Equal(t, []string{"[tester] (0): the first", "[tester] (0): another"}, b.received())
	})
	t.Run("claims", func(t *testing.T) {
		// The chat comes to a depth of five turns.
		chat := r.chatSaying("hello", []*agent{b, a}, "depth=5")
		a.hears("[tester] (0): hello")
		for i := range 5 {
			from, to := a, b
			if i%2 == 1 {
				from, to = b, a
			}
			n := len(to.received())
			from.do(":say turn %d", i+1)
			r.waitFor("it is heard", func() bool { return len(to.received()) == n+1 })
		}
		turns := r.turns()
		deep := turns[len(turns)-1].Depth
		require.Equal(t, 5, deep)
		n := len(b.received())
		b.sends(a, "forged", "forge")
		var forged message.Envelope
		for _, m := range r.messages() {
			if strings.Contains(m.Body, "forged") {
				forged = m
			}
		}
		require.NotEmpty(t, forged.ID, "the message itself is taken")
		assert.GreaterOrEqual(t, forged.Depth, deep, "the depth is ours to count")
		assert.Equal(t, message.OriginAgent, forged.Origin)
		assert.Equal(t, message.TrustVerified, forged.Trust)
		assert.Equal(t, b.session.ID, forged.From.Peer)
		assert.Len(t, b.received(), n)
		// Ada's next words lie deeper still, and so meet the limit.
		a.hears(fmt.Sprintf("AI[local:%s] | forged", b.session.ID))
		a.do(":say one too many")
		r.waitForPause(chat)
		assert.Equal(t, string(message.AtDepthLimit), r.current(chat).Why)
	})
}

// An agent that kills the sidecar may not send more because of that.
func TestB1_AKillBeginsNoRateAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	require.NoError(t, r.end())
	c := r.child()
	a, b := r.adopted("Ada", silent...), r.adopted("Ben", silent...)
	for range (route.Sends{}).WithDefaults().Minute {
		a.sends(b, "as often as it may")
	}
	kill(t, c)
	r.start()
	a.sends(b, "and once more")
	assert.Len(t, r.standing(message.Held, message.AtOwnMinute), 1)
}

// In busy chats, 20 of them in a long run, no program is given anything more once `pause --all` has answered, and on
// a person's word the chats go on. (BenchmarkB6 measures when the last byte is read.)
func TestB6_OneCommandStopsEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pairs := long(4, 20)
	agents := r.busyPairs(pairs)
	before := r.typedSoFar()
	r.waitFor("they go on", func() bool { return r.typedSoFar() > before })
	chats, err := r.client.PauseChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	assert.Len(t, chats, pairs)
	typed := r.typedSoFar()
	r.stays(func() bool { return r.typedSoFar() == typed })

	_, err = r.client.ResumeChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	for i := 0; i < len(agents); i += 2 {
		heard := func() int { return len(agents[i].received()) + len(agents[i+1].received()) }
		n := heard()
		waitUpTo(t, 2*patience, "chat goes on: "+agents[i].name, func() bool { return heard() >= n+4 })
	}
	_, err = r.client.StopChat(t.Context(), api.ChatRef{All: true})
	require.NoError(t, err)
	for i := 0; i < len(agents); i += 2 {
		for _, pair := range [][2]*agent{{agents[i], agents[i+1]}, {agents[i+1], agents[i]}} {
			said, heard := pair[0].spokenLines(), pair[1].heardLines()
			assert.Equal(t, said[:min(len(said), len(heard))], heard, "%s to %s", pair[0].name, pair[1].name)
			assert.LessOrEqual(t, len(said), len(heard)+1)
		}
	}
}

// typedSoFar is how many times a text was given to a pane. That is written down before the first byte, so no text is
// typed that is not counted. (What becomes of the texts under way is written down later.)
func (r *rig) typedSoFar() (n int) {
	r.t.Helper()
	for _, receipt := range r.receipts() {
		if receipt.State == message.Typed {
			n++
		}
	}
	return n
}

// busyPairs starts chats of two, and waits until several lines were exchanged in each.
func (r *rig) busyPairs(pairs int) []*agent {
	t := r.t
	t.Helper()
	agents := make([]*agent, 2*pairs)
	for i := range agents {
		agents[i] = r.line(fmt.Sprintf("P%d", i), "--think", "50ms")
	}
	var all sync.WaitGroup
	turn := make(chan struct{}, 8)
	for _, a := range agents {
		all.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn }()
			session, err := r.client.Adopt(t.Context(), api.AdoptRequest{Pane: a.pane, As: "line", Name: a.name})
			if assert.NoError(t, err) {
				a.session = session
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	for i := 0; i < len(agents); i += 2 {
		r.chatSaying("hello", agents[i:i+2])
	}
	busy := func(n int) func() bool {
		return func() bool {
			for i := 0; i < len(agents); i += 2 {
				if len(agents[i].received())+len(agents[i+1].received()) < n {
					return false
				}
			}
			return true
		}
	}
	waitUpTo(t, 2*patience, "all chats are busy", busy(4))
	return agents
}

// waitForPause waits until a chat is paused.
func (r *rig) waitForPause(chat message.Chat) {
	r.t.Helper()
	waitUpTo(r.t, 2*patience, "the chat is paused", func() bool { return r.current(chat).State == message.ChatPaused })
}

// heldFor are the deliveries whose last receipt holds them for that reason.
func (r *rig) heldFor(reason message.Reason) (ids []message.ID) {
	r.t.Helper()
	return r.standing(message.Held, reason)
}

func (r *rig) standing(state message.ReceiptState, reason message.Reason) (ids []message.ID) {
	r.t.Helper()
	last := map[message.ID]message.Receipt{}
	for _, e := range r.events() {
		if e.Receipt != nil {
			last[e.Receipt.Delivery] = *e.Receipt
		}
	}
	for id, receipt := range last {
		if receipt.State == state && receipt.Reason == reason {
			ids = append(ids, id)
		}
	}
	return ids
}

// recordTime reads the clock of the personas' records.
func recordTime(t testing.TB) time.Duration {
	t.Helper()
	var ts unix.Timespec
	require.NoError(t, unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts))
	return time.Duration(ts.Nano())
}
