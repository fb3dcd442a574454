package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// An agent that ends the sidecar can send no more than one that does not, and once the time has
// passed it can send as much again.
func TestB1_RatesGoOnInTheNextRun(t *testing.T) {
	for name, by := range map[string]func(s []message.Peer) By{
		"an agent":      func(s []message.Peer) By { return By{Kind: Agent, Peer: s[0].ID} },
		"nobody proven": func([]message.Peer) By { return By{Kind: Unverified} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c", "d", "e")
			who := by(s)
			send := func(to string) message.Receipt {
				return r.must(Send{By: who, To: to, Message: message.Envelope{Body: "x"}}).Receipts[0]
			}
			for range usual.Minute {
				require.Equal(t, message.Queued, send("b").State)
				r.submit(r.out...)
				r.restart(0)
			}
			require.Equal(t, message.AtOwnMinute, send("b").Reason)
			r.now = r.now.Add(59 * time.Second)
			r.restart(0)
			require.Equal(t, message.AtOwnMinute, send("b").Reason, "not a minute later")
			for _, to := range []string{"c", "d"} {
				for range usual.Minute {
					require.Equal(t, message.Queued, send(to).State)
				}
			}
			r.restart(0)
			require.Equal(t, message.AtOwnHour, send("e").Reason)
			r.now = r.now.Add(62 * time.Minute)
			r.restart(0)
			assert.Equal(t, message.Queued, send("e").State, "an hour later")
		})
	}
}

// The same for what goes to one pane.
func TestB1_APanesRateGoesOnInTheNextRun(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	c := r.chat(message.Limits{Rate: 3, Depth: 100}, "a", "b")
	for range 3 {
		out := r.say(s[0], "one")
		require.Len(t, out, 1)
		r.submit(out...)
		r.restart(0)
	}
	require.Empty(t, r.say(s[0], "four"))
	assert.Equal(t, string(message.AtRateLimit), r.shows(c.ID).Why)
}

// A person's word counts in the next run too: a word to an agent, and a resume of everything.
func TestB1_APersonsWordOnTheRatesOutlivesTheRun(t *testing.T) {
	for name, word := range map[string]struct {
		say    func(r *rig, s message.Peer)
		minute bool // also lifts the rate to one peer
	}{
		"prompt": {func(r *rig, s message.Peer) {
			_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s.ID, Person: true}})
		}, false},
		"message": {func(r *rig, s message.Peer) {
			r.must(Send{To: s.Name, Message: message.Envelope{Body: "go on"}})
			r.submit(r.out[len(r.out)-1])
		}, false},
		"resume all": {func(r *rig, _ message.Peer) { r.must(ResumeChat{Chat: All, Sure: true}) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b", "c", "d", "e")
			send := func(to string) message.Receipt {
				return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: to, Message: message.Envelope{Body: "x"}}).Receipts[0]
			}
			for _, to := range []string{"b", "c", "d"} {
				for range usual.Minute {
					require.Equal(t, message.Queued, send(to).State)
				}
			}
			r.submit(r.out...)
			word.say(r, s[0])
			r.restart(0)
			assert.Equal(t, message.Queued, send("e").State)
			if reason := send("b").Reason; word.minute {
				assert.Empty(t, reason)
			} else {
				assert.Equal(t, message.AtOwnMinute, reason)
			}
		})
	}
}

// A change of the clock neither lifts a rate nor makes it hold for longer.
func TestB1_RatesAndTheClock(t *testing.T) {
	for name, set := range map[string]time.Duration{"back": -24 * time.Hour, "not": 0} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			s := r.adopt("a", "b")
			send := func() message.Receipt {
				return r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}}).Receipts[0]
			}
			for range usual.Minute {
				require.Equal(t, message.Queued, send().State)
			}
			r.submit(r.out...)
			r.now = r.now.Add(set)
			r.restart(0)
			r.now = r.now.Add(58 * time.Second)
			require.Equal(t, message.AtOwnMinute, send().Reason)
			r.now = r.now.Add(4 * time.Second)
			assert.Equal(t, message.Queued, send().State)
		})
	}
}

// Nothing stays on disk for a peer that has ended, or for counts that a person's word has reset.
func TestSpent_records(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	open := func() (all []string) {
		for _, one := range r.book.Restored().Records {
			if one.Kind == string(spending) {
				all = append(all, one.ID)
			}
		}
		return all
	}
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
	assert.ElementsMatch(t, []string{string(s[0].ID), string(s[1].ID)}, open())
	r.must(ResumeChat{Chat: All, Sure: true})
	assert.Empty(t, open())
	r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}})
	_, _ = r.step(Gone{Peer: s[1].ID, Reason: message.AgentGone})
	assert.Equal(t, []string{string(s[0].ID)}, open())
	r.restart(1)
	assert.Empty(t, open(), "another tmux server's panes")
}
