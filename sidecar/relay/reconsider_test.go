package relay

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// unfiltered is the verdict if the policies could not be asked in time: it does not say to whom the
// message goes.
var unfiltered = message.Verdict{Decision: message.Decision{Verb: message.VerbHold}, Unfiltered: true}

// sentTo returns a verdict that sends a message to one session.
func sentTo(s message.Peer) message.Verdict {
	return message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}, To: []message.Address{{Peer: s.ID}}}
}

// anew has the last received message decided once more.
func (r *rig) anew(m message.Envelope, v message.Verdict) {
	_, _ = r.step(Reconsider{Messages: []message.Envelope{m}})
	r.decide(v)
}

// received returns the message that was written down last.
func (r *rig) received() message.Envelope {
	return r.book.Received[len(r.book.Received)-1]
}

// A message whose filter failed goes to the recipients that the policies now name, whoever was to
// have it first: nothing of it stays held, and nobody gets it twice.
func TestReconsider_sentElsewhere(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b", "c")
	_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: "single"}})
	r.decide(unfiltered)
	r.anew(r.received(), sentTo(s[2]))
	assert.Equal(t, []message.ID{s[2].ID}, targetsOf(r.out))
	assert.Equal(t, []string{"queued", "held: its filter failed", "failed: decided anew"}, r.states(r.to(s[1], "single").ID))
	asked := len(r.pending)
	_, _ = r.step(Reconsider{Messages: []message.Envelope{r.received()}})
	assert.Len(t, r.pending, asked, "nothing is held any more")
}

// If the policies change while they are asked about a message, and a filter fails, they are asked
// about it again, in its order: nobody else would ask, since at the time of the change it is held
// neither here nor in the journal.
func TestReconsider_whatIsBeingDecided(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("a", "b")
	for _, words := range []string{"one", "two", "three"} {
		_, _ = r.ask(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "b", Message: message.Envelope{Body: words}})
	}
	asked := slices.Clone(r.pending)
	require.Len(t, asked, 3)
	give := func(id message.ID, d message.Decision, unfiltered bool) {
		_, _ = r.step(Decided{message.Verdict{Message: id, Decision: d, Unfiltered: unfiltered}})
	}
	held, goes := message.Decision{Verb: message.VerbHold}, message.Decision{Verb: message.VerbDeliver}
	give(asked[1], held, true) // it waits for the verdict on the first
	_, _ = r.step(Reconsider{})
	give(asked[0], held, true)
	require.Equal(t, asked[:1], r.pending[3:], "asked again")
	give(asked[0], goes, false)
	require.Equal(t, asked[:2], r.pending[3:])
	give(asked[2], goes, false)
	assert.Len(t, r.out, 1, "in order")
	give(asked[1], held, true)
	assert.Len(t, r.pending, 5, "once")
	assert.Equal(t, []string{"one", "three"}, []string{r.out[0].Message.Body, r.out[1].Message.Body})
	assert.Equal(t, []string{"queued", "held: its filter failed"}, r.states(r.to(s[1], "two").ID))
}

// What was said in a chat ends for those to whom policies do not send it, so that the chat can end.
func TestReconsider_toTheHub(t *testing.T) {
	r := newRig(t)
	r.async = true
	s := r.adopt("hub", "a", "b")
	c := r.must(StartChat{Peers: []string{"hub", "a", "b"}, Turns: 1}).Chats[0]
	r.say(s[1], "words")
	r.decide(unfiltered)
	r.anew(r.received(), sentTo(s[0]))
	require.Equal(t, []message.ID{s[0].ID}, targetsOf(r.out))
	assert.Equal(t, []string{"queued", "held: its filter failed", "failed: decided anew"}, r.states(r.to(s[2], "words").ID))
	r.submit(r.out...)
	assert.Equal(t, whyTurns, r.shows(c.ID).Why)
}

// A session that comes back after the others have had a message gets what is decided for it, and
// the others get nothing twice; if nothing is decided for it, what was held for it still ends.
func TestReconsider_whoComesBackLate(t *testing.T) {
	for _, to := range []int{1, 2} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b", "c")
		c := r.chat(message.Limits{}, "a", "b", "c")
		r.say(s[0], "words")
		r.decide(unfiltered)
		kept := r.to(s[2], "words")
		r.ends(s[2], message.PaneMissing)
		m := r.book.Received[0]
		r.anew(m, message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}})
		require.Equal(t, []message.ID{s[1].ID}, targetsOf(r.out))
		r.submit(r.out...)
		_, err := r.step(Adopted{Token: 1, Peer: s[2]})
		require.NoError(t, err)
		r.must(AddMember{Chat: string(c.ID), Peer: "c"})
		r.restart(0)
		require.Empty(t, r.out)
		r.anew(m, sentTo(s[to]))
		assert.Equal(t, to == 2, len(r.out) == 1, "to %s", s[to].Name)
		assert.Equal(t, message.DecidedAnew, r.book.Last[kept.ID].Reason)
	}
}

// A message that was to begin a chat of two begins it when it finally goes, at once or at a
// person's yes; it begins none if it goes to somebody else.
func TestReconsider_keepsItsLink(t *testing.T) {
	deliver := message.Verdict{Decision: message.Decision{Verb: message.VerbDeliver}}
	for name, c := range map[string]struct {
		anew  func(s []message.Peer) message.Verdict
		yes   bool
		links int
	}{
		"at once": {func([]message.Peer) message.Verdict { return deliver }, false, 1},
		"after a yes": {func([]message.Peer) message.Verdict {
			return message.Verdict{Decision: message.Decision{Verb: message.VerbAsk}}
		}, true, 1},
		"to a third":   {func(s []message.Peer) message.Verdict { return sentTo(s[2]) }, false, 0},
		"failed again": {func([]message.Peer) message.Verdict { return unfiltered }, false, 0},
	} {
		r := newRig(t)
		r.async = true
		s := r.adopt("a", "b", "c")
		_, _ = r.ask(direct(s[0], s[1]))
		r.decide(unfiltered)
		m := r.received()
		r.restart(0)
		r.anew(m, c.anew(s))
		if c.yes {
			r.must(DecideHeld{Message: m.ID, Verb: message.VerbDeliver, Who: message.Person{Name: "ada"}})
		}
		assert.Len(t, r.s.open(), c.links, name)
		r.anew(m, deliver)
		assert.Len(t, r.s.open(), max(c.links, map[string]int{"failed again": 1}[name]), name)
	}
}

func targetsOf(list []message.Delivery) (out []message.ID) {
	for _, d := range list {
		out = append(out, d.Target)
	}
	return out
}
