package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/route"
)

// A ring of three parrots, by a chat, a forward and a single message, meets the limit of one
// conversation: depth follows the cause, whatever way it takes.
func TestB2_H44_RingMeetsTheDepthLimit(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	r.chat(message.Limits{Rate: 1000}, "a", "b")
	decide := func(to ...message.Address) {
		for _, id := range r.pending {
			_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}, To: to}})
		}
		r.pending = nil
	}
	// a says it in the chat; what b says there is forwarded to c, which sends it to a.
	r.say(s[0], "parrot")
	decide()
	said := func() (out []message.Delivery) { // the notices to c about a's stops are nobody's words
		for _, d := range r.out {
			if d.Message.Type != message.KindNotice {
				out = append(out, d)
			}
		}
		return out
	}
	for before := 0; len(said()) > before; {
		before = len(said())
		d := said()[before-1]
		require.Equal(t, before, d.Message.Depth)
		r.submit(d)
		r.now = r.now.Add(10 * time.Minute) // rates are not what is tried
		switch d.Target {
		case s[0].ID:
			r.say(s[0], "parrot", d.ID)
			decide()
		case s[1].ID:
			r.say(s[1], "parrot", d.ID)
			decide(message.Address{Peer: s[2].ID})
		case s[2].ID:
			r.tokens++
			_, _ = r.step(Requested{Token: r.tokens, Request: Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "a", Message: message.Envelope{Body: "parrot"}}})
			decide()
			r.say(s[2], "sent", d.ID)
		}
	}
	assert.Len(t, said(), 20, "twenty messages went round")
	held := 0
	for id := range r.made {
		if states := r.states(id); states[len(states)-1] == "held: depth limit reached" {
			held++
		}
	}
	assert.Equal(t, 1, held, "the next one is held, not bounced and not lost")
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], "depth limit reached")
}

// An agent's own message to more than five sessions is held: only a person may send one.
func TestH46_FanOut(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c", "d", "e", "f", "g")
	send := func(by By, n int) (Answer, int) {
		before := len(r.out)
		r.tokens++
		_, _ = r.step(Requested{Token: r.tokens, Request: Send{By: by, To: "b", Message: message.Envelope{Body: "x"}}})
		var to []message.Address
		for _, one := range s[1 : 1+n] {
			to = append(to, message.Address{Peer: one.ID})
		}
		a, err := r.step(Decided{message.Verdict{Message: r.pending[len(r.pending)-1], Decision: message.Decision{Verb: message.VerbDeliver}, To: to}})
		require.NoError(t, err)
		return a, len(r.out) - before
	}
	_, out := send(By{Kind: Agent, Peer: s[0].ID}, 5)
	assert.Equal(t, 5, out)
	a, out := send(By{Kind: Agent, Peer: s[0].ID}, 6)
	assert.Zero(t, out)
	require.Len(t, a.Receipts, 6)
	for _, one := range a.Receipts {
		assert.Equal(t, message.Held, one.State)
		assert.Equal(t, message.AtFanOut, one.Reason)
	}
	assert.Len(t, r.notices, 1)
	_, _ = r.step(LimitsChanged{Own: route.Sends{FanOut: 1}})
	_, out = send(By{Kind: Agent, Peer: s[1].ID}, 2)
	assert.Zero(t, out, "as init.lua has it")
	_, out = send(By{Kind: Person}, 6)
	assert.Equal(t, 6, out, "a person's own")
	before := len(r.out)
	r.must(ResumeChat{Chat: All, Sure: true})
	assert.Len(t, r.out, before+6, "released by a person")
}

// A thousand messages in a second from one agent: some go, some wait for a person, who is told
// once, the rest is refused; others are served as usual, also by the same pane.
func TestH47_H48_FloodOfOneAgent(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b", "c")
	count := map[message.ReceiptState]int{}
	for range 1000 {
		r.now = r.now.Add(time.Millisecond)
		one := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}}).Receipts[0]
		count[one.State]++
		if one.State != message.Queued {
			assert.Equal(t, message.AtOwnMinute, one.Reason)
		}
	}
	assert.Equal(t, map[message.ReceiptState]int{message.Queued: usual.Minute, message.Held: maxHeld, message.Failed: 1000 - usual.Minute - maxHeld}, count)
	assert.Len(t, r.notices, 1, "the person is told once")
	assert.Equal(t, message.Queued, r.must(Send{By: By{Kind: Agent, Peer: s[2].ID}, To: "b", Message: message.Envelope{Body: "y"}}).Receipts[0].State)
	assert.Equal(t, message.Queued, r.must(Send{To: "b", Message: message.Envelope{Body: "z"}}).Receipts[0].State)
	r.now = r.now.Add(2 * time.Minute)
	before := len(r.out)
	last := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "x"}}).Receipts[0]
	assert.Equal(t, message.AtOwnMinute, last.Reason, "it waits behind the others")
	assert.Len(t, r.out, before+usual.Minute, "the minute has passed: so many of what waited go first")
	_, _ = r.step(Spoke{Turn: message.Turn{ID: r.id(), Peer: s[0].ID, Person: true}})
	r.must(ResumeChat{Chat: All, Sure: true})
	assert.Len(t, r.out, before+maxHeld+1, "the rest goes, in its order")
}

// A session that sends to itself is refused.
func TestH45_ToItself(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	_, err := r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "a", Message: message.Envelope{Body: "x"}})
	assert.ErrorIs(t, err, ErrRequest)
	assert.Empty(t, r.out)
}

// A ring through a port and a repository meets the same limit: what these say next is caused by
// what they got, whatever depth they claim.
func TestB2_RingThroughAPortAndARepository(t *testing.T) {
	r := newRig(t)
	r.async = true
	a := r.adopt("a")[0]
	port, repository := r.joins(message.PeerPort, "9002"), r.joins(message.PeerRepository, "/src/other")
	decide := func() {
		for _, id := range r.pending {
			_, _ = r.step(Decided{message.Verdict{Message: id, Decision: message.Decision{Verb: message.VerbDeliver}}})
		}
		r.pending = nil
	}
	says := func(from message.Peer, to message.ID) {
		_, err := r.hears(from, message.Envelope{ID: message.NewID(), To: []message.Address{{Peer: to}}, Body: "parrot"})
		require.NoError(t, err)
		decide()
	}
	says(port, a.ID)
	for before := 0; len(r.out) > before; {
		before = len(r.out)
		d := r.out[before-1]
		require.Equal(t, before, d.Message.Depth)
		r.submit(d)
		r.now = r.now.Add(10 * time.Minute) // rates are not what is tried
		switch d.Target {
		case a.ID:
			r.tokens++
			_, err := r.step(Requested{Token: r.tokens, Request: Send{By: By{Kind: Agent, Peer: a.ID}, To: repository.Name, Message: message.Envelope{Body: "parrot"}}})
			require.NoError(t, err)
			decide()
			r.say(a, "sent", d.ID)
		case repository.ID:
			says(repository, port.ID)
		case port.ID:
			says(port, a.ID)
		}
	}
	assert.Len(t, r.out, 20, "twenty messages went round")
	require.Len(t, r.notices, 1)
	assert.Contains(t, r.notices[0], "depth limit reached")
}

// An acknowledgement in a repository is no agent's turn, and no cause of what is sent from there
// next; an answer is.
func TestPeer_acknowledgementsInFilesCauseNothing(t *testing.T) {
	for kind, want := range map[message.PeerKind]int{message.PeerRepository: 0, message.PeerPort: 0, message.PeerPane: 5} {
		p := &peer{Peer: message.Peer{Kind: kind}}
		p.caused(message.Envelope{Origin: message.OriginSystem, Depth: 5})
		assert.Equal(t, want, p.cause, kind)
		p.caused(message.Envelope{Origin: message.OriginAgent, Depth: 6})
		assert.Equal(t, 6, p.cause, kind)
	}
}

// Files by unknown authors, however many, make nothing deeper: neither each other, nor what is said
// from where they came in, nor what known authors send there.
func TestRepository_unverifiedFilesRaiseNoDepth(t *testing.T) {
	r := newRig(t)
	a := r.adopt("a")[0]
	unknown, known, here := r.joins(message.PeerRepository, "unknown"), r.joins(message.PeerRepository, "/src/known"), r.joins(message.PeerRepository, "/src/here")
	says := func(from message.Peer, to message.ID, trust message.Trust, depth int) message.Delivery {
		_, err := r.hears(from, message.Envelope{ID: message.NewID(), To: []message.Address{{Peer: to}}, Body: "file", Trust: trust, Depth: depth})
		require.NoError(t, err)
		return r.out[len(r.out)-1]
	}
	for range 40 {
		d := says(unknown, here.ID, message.TrustUnverified, 0)
		require.Equal(t, 1, d.Message.Depth)
		r.submit(d)
	}
	d := says(known, here.ID, message.TrustRegister, 0)
	assert.Equal(t, 1, d.Message.Depth)
	r.submit(d)
	assert.Equal(t, 2, says(here, a.ID, message.TrustRegister, 1).Message.Depth)
	assert.Empty(t, r.notices)
}
