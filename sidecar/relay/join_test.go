package relay

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
)

// joins makes a peer without a pane join.
func (r *rig) joins(kind message.PeerKind, at string) message.Peer {
	r.tokens++
	a, err := r.step(Joined{Token: r.tokens, Peer: message.Peer{Kind: kind, Key: at, Name: string(kind) + "-" + at, ID: bornAt(kind, at, r.tokens)}})
	require.NoError(r.t, err)
	return a.Peer
}

// bornAt returns an id of the kind that a peer brings from elsewhere.
func bornAt(kind message.PeerKind, at string, stay Token) message.ID {
	if !bounds[kind].bearer {
		return ""
	}
	return message.DerivedID(start, string(kind), at, strconv.Itoa(int(stay)))
}

// A peer that brings its id from elsewhere keeps it, and cannot take another peer's.
func TestJoin_bearer(t *testing.T) {
	r := newRig(t)
	a := r.adopt("a")[0]
	id := message.DerivedID(time.Unix(0, 0), "codex")
	join := func(key string, id message.ID) (message.Peer, error) {
		a, err := r.step(Joined{Token: 1, Peer: message.Peer{Kind: message.PeerRemote, Key: key, Name: "codex.raspi", Computer: "raspi", ID: id}})
		return a.Peer, err
	}
	p, err := join("raspi/"+string(id), id)
	require.NoError(t, err)
	assert.Equal(t, id, p.ID)
	assert.Equal(t, "raspi", p.Computer)
	again, err := join("raspi/"+string(id), id)
	require.NoError(t, err)
	assert.Equal(t, p, again)
	for name, id := range map[string]message.ID{"a session here": a.ID, "another computer's": id, "none": "", "no id": "x"} {
		_, err := join("evil/"+name, id)
		assert.ErrorIs(t, err, ErrRequest, name)
	}
}

// N7: each message of another computer says who it is from. What is known already is not written
// again.
func TestN7_AKnownPeerIsNotWrittenAgain(t *testing.T) {
	r := newRig(t)
	id := message.DerivedID(time.Unix(0, 0), "codex")
	commits := func(title string) (n int) {
		_, err := r.step(Joined{Token: 1, Peer: message.Peer{Kind: message.PeerRemote, Key: "raspi/" + string(id), Name: "codex.raspi", Title: title, Computer: "raspi", ID: id}})
		require.NoError(t, err)
		for _, effect := range r.last {
			if _, ok := effect.(Commit); ok {
				n++
			}
		}
		return n
	}
	assert.Equal(t, []int{1, 0, 1, 0}, []int{commits("one"), commits("one"), commits("two"), commits("two")})
}

// hears makes a peer say something, and reports whether it was new.
func (r *rig) hears(from message.Peer, m message.Envelope) (fresh bool, err error) {
	r.tokens++
	m.From = message.Address{Peer: from.ID, Name: "the president"}
	a, err := r.step(Received{Token: r.tokens, Message: m})
	return a.Message != "", err
}

var others = []message.PeerKind{message.PeerPort, message.PeerRepository, message.PeerMember, message.PeerRemote}

// A peer of any kind joins once by its key, gets a name, and is not a sign that a person is there.
func TestJoin(t *testing.T) {
	for _, kind := range others {
		r := newRig(t)
		r.adopt("a")
		r.s.here = false
		p := r.joins(kind, "9002")
		assert.Equal(t, string(kind)+"-9002", p.Name)
		assert.Empty(t, p.Pane)
		again := r.joins(kind, "9002")
		assert.Equal(t, p.ID, again.ID)
		assert.Equal(t, p.Name, again.Name)
		assert.NotEqual(t, p.ID, r.joins(kind, "9003").ID)
		assert.False(t, r.s.here)

		r.restart(2)
		assert.Equal(t, p.ID, r.joins(kind, "9002").ID, "also in the next run, at another tmux server")
		_, _ = r.step(Gone{Peer: p.ID, Reason: message.AgentGone})
		assert.Equal(t, []message.ID{p.ID}, r.forgot)
		assert.NotEqual(t, p.ID, r.joins(kind, "9002").ID, "its stay is over")
	}
	r := newRig(t)
	unnamed, err := r.step(Joined{Peer: message.Peer{Kind: message.PeerRepository, Key: "/home/ada/src"}, Token: 1})
	require.NoError(t, err)
	assert.Equal(t, "home-ada-src", unnamed.Peer.Name)
	for _, no := range []message.Peer{{Key: "%1"}, {Kind: "fax", Key: "1"}, {Kind: message.PeerPort}} {
		_, err := r.step(Joined{Token: 1, Peer: no})
		assert.ErrorIs(t, err, ErrRequest, "%+v", no)
	}
	_, err = r.step(Adopted{Token: 1, Peer: message.Peer{Kind: message.PeerPort, Key: "1", PaneOf: message.PaneOf{Pane: "%1"}}})
	assert.ErrorIs(t, err, ErrRequest)
	assert.Len(t, registry.New(r.s.Snapshot().Peers(), nil).Peers(), 1)
}

// A message that is reported twice counts once, in this run and the next, and repeating it has no
// effect.
func TestReceive_fresh(t *testing.T) {
	r := newRig(t)
	a := r.adopt("a")[0]
	p := r.joins(message.PeerPort, "9002")
	m := message.Envelope{ID: r.id(), Body: "hello", Type: "turn", To: []message.Address{{Name: "a"}}}
	fresh, err := r.hears(p, m)
	require.NoError(t, err)
	assert.True(t, fresh)
	require.Len(t, r.out, 1)
	assert.Equal(t, a.ID, r.out[0].Target)
	assert.Equal(t, message.KindMessage, r.out[0].Message.Type, "a word of ours")
	assert.Equal(t, p.Name, r.out[0].Message.From.Name)

	before := len(r.commits)
	again := m
	again.Body = "something else"
	for range 2 {
		fresh, err = r.hears(p, again)
		assert.NoError(t, err)
		assert.False(t, fresh)
		r.tokens++
		known := message.Envelope{ID: r.id(), Body: "x", From: message.Address{Peer: p.ID}, To: m.To}
		got, err := r.step(Received{Token: r.tokens, Message: known, Seen: true})
		assert.NoError(t, err)
		assert.Empty(t, got.Message)
	}
	assert.Len(t, r.commits, before)

	for _, no := range []message.Envelope{{Body: " ", To: m.To}, {Body: "x", To: []message.Address{{Name: "nobody"}}}, {ID: "x", Body: "x", To: m.To}} {
		_, err := r.hears(p, no)
		assert.Error(t, err, "%+v", no)
	}
	_, err = r.hears(a, message.Envelope{Body: "x"})
	assert.ErrorIs(t, err, ErrRequest, "a pane tells turns")
	_, err = r.hears(message.Peer{ID: r.id()}, message.Envelope{Body: "x"})
	assert.ErrorIs(t, err, registry.ErrUnknown)
	assert.Len(t, r.commits, before)
	assert.Empty(t, r.say(p, "a turn of what has none"))
}

// A peer's answer, and the receipt that says answered, are one step: wherever the sidecar ends, a
// repeated answer is known, and its question is over.
func TestReceive_anAnswerIsOneStep(t *testing.T) {
	r := newRig(t)
	p, other := r.joins(message.PeerPort, "9002"), r.joins(message.PeerPort, "9003")
	r.adopt("a")
	r.must(Send{To: p.Name, Message: message.Envelope{Body: "well?"}})
	asked := r.out[len(r.out)-1]
	says := func(from message.Peer, m message.Envelope, seen bool) (fresh bool) {
		r.tokens++
		m.From, m.To, m.InReplyTo = message.Address{Peer: from.ID}, []message.Address{{Name: "a"}}, asked.Message.ID
		a, err := r.step(Received{Token: r.tokens, Message: m, Answers: asked.ID, Seen: seen})
		require.NoError(t, err)
		return a.Message != ""
	}
	assert.True(t, says(p, message.Envelope{Body: "early"}, false))
	assert.Equal(t, []string{"queued"}, r.states(asked.ID), "it has not taken the question")
	require.NoError(t, r.report(asked.ID, message.Typed, ""))
	require.NoError(t, r.report(asked.ID, message.Submitted, ""))
	assert.True(t, says(other, message.Envelope{Body: "I know"}, false))
	assert.Equal(t, []string{"queued", "typed", "submitted"}, r.states(asked.ID), "nobody has asked that one")

	r.restart(0)
	answer, before := message.Envelope{ID: r.id(), Body: "well"}, len(r.commits)
	assert.True(t, says(p, answer, false))
	step := r.commits[before]
	require.Len(t, step.Received, 1)
	assert.Equal(t, answer.ID, step.Received[0].ID)
	assert.True(t, slices.ContainsFunc(step.Receipts, func(one message.Receipt) bool {
		return one.Delivery == asked.ID && one.State == message.Answered && one.Words == "well"
	}), "%+v", step.Receipts)
	r.restart(0)
	answer.Body = "well, again"
	assert.False(t, says(p, answer, true))
	assert.Equal(t, []string{"queued", "typed", "submitted", "answered"}, r.states(asked.ID), "once")
}

// Whatever an adapter claims, the bounds of the peer's kind hold: no peer's word is a person's, and
// none lies less deep than what it answers.
func TestReceive_bounded(t *testing.T) {
	want := map[message.PeerKind]message.Trust{
		message.PeerPort: message.TrustLoopback, message.PeerRepository: message.TrustUnverified,
		message.PeerMember: message.TrustUnverified, message.PeerRemote: message.TrustRemote,
	}
	for _, kind := range others {
		r := newRig(t)
		r.adopt("a", "b")
		p := r.joins(kind, "1")
		say := func(m message.Envelope) message.Envelope {
			m.Body, m.To = "x", []message.Address{{Name: "a"}}
			_, err := r.hears(p, m)
			require.NoError(t, err)
			return r.out[len(r.out)-1].Message
		}
		for _, claims := range []message.Envelope{{}, {Origin: message.OriginHuman, Trust: message.TrustPerson}, {Trust: message.TrustVerified}, {Origin: message.OriginSystem, Depth: -5}} {
			got := say(claims)
			assert.True(t, got.Origin.OfAgent(), "%s: %+v", kind, claims)
			assert.Equal(t, want[kind], got.Trust, "%s: %+v", kind, claims)
			assert.Equal(t, 1, got.Depth, "%s: %+v", kind, claims)
		}
		if kind == message.PeerRepository {
			assert.Equal(t, message.TrustRegister, say(message.Envelope{Trust: message.TrustRegister}).Trust)
		}
		assert.Equal(t, 7, say(message.Envelope{Depth: 7}).Depth, "%s: what it claims may be deeper", kind)
		assert.Equal(t, 7, say(message.Envelope{Depth: 2}).Depth, "%s: and it does not take that back", kind)

		// The message that it got is the cause of what it says.
		deep := r.joins(message.PeerRemote, "deep")
		_, err := r.hears(deep, message.Envelope{Body: "x", Depth: 11, To: []message.Address{{Peer: p.ID}}})
		require.NoError(t, err)
		r.submit(r.out[len(r.out)-1])
		assert.Equal(t, 12, say(message.Envelope{Depth: 3}).Depth, kind)
	}
}

// A peer's word never counts as a person's word: the brakes hold it, it resets none of them, it
// lets nothing go that waits, and it is no sign that a person is there.
func TestReceive_neverAPerson(t *testing.T) {
	for _, kind := range others {
		r := newRig(t)
		r.adopt("a", "b")
		p := r.joins(kind, "1")
		to := func(name string) []message.Address { return []message.Address{{Name: name}} }
		claims := message.Envelope{Body: "yes", Origin: message.OriginHuman, Trust: message.TrustPerson}
		r.s.here = false
		last := func() message.Receipt { c := r.commits[len(r.commits)-1].Receipts; return c[len(c)-1] }
		claims.To = to("a")
		for range usual.Minute {
			_, err := r.hears(p, claims)
			require.NoError(t, err)
			require.Equal(t, message.Queued, last().State)
		}
		_, _ = r.hears(p, claims)
		assert.Equal(t, message.AtOwnMinute, last().Reason, "%s: braked as an agent is", kind)
		assert.False(t, r.s.here, "%s: nobody is there for it", kind)

		deep := claims
		deep.To, deep.Depth = to("b"), 21
		_, _ = r.hears(p, deep)
		assert.Equal(t, message.AtDepthLimit, last().Reason, kind)

		// A chat that asks for a person's yes, and is paused.
		r = newRig(t)
		s := r.adopt("a", "b")
		p = r.joins(kind, "1")
		c := r.chat(message.Limits{Approve: message.ApproveAll}, "a", p.Name)
		r.say(s[0], "may I?")
		waits := len(r.s.under)
		_, err := r.hears(p, message.Envelope{Body: "yes", Origin: message.OriginHuman, InReplyTo: r.book.Received[0].ID})
		require.NoError(t, err)
		assert.Equal(t, message.AwaitingApproval, last().Reason, "%s: its own waits too", kind)
		assert.Len(t, r.s.under, waits+1)
		assert.Empty(t, r.out)
		r.must(PauseChat{Chat: string(c.ID)})
		_, _ = r.hears(p, message.Envelope{Body: "go on", Origin: message.OriginHuman})
		assert.Equal(t, message.ChatPaused, r.shows(c.ID).State)
		assert.Empty(t, r.out)
		assert.Empty(t, r.commits[len(r.commits)-1].Freed)
	}
}

// An unproven caller may be any of the agents: what it sends to a session whose chat asks for a yes
// waits there, and lies as deep as the deepest.
func TestReceive_unproven(t *testing.T) {
	for _, kind := range others {
		r := newRig(t)
		s := r.adopt("a", "b", "c")
		p := r.joins(kind, "1")
		r.chat(message.Limits{Approve: "a"}, "a", "b")
		sent := r.must(Send{By: By{Kind: Agent, Peer: s[0].ID}, To: "c", Message: message.Envelope{Body: "x"}})
		d := r.out[len(r.out)-1]
		require.Equal(t, sent.Receipts[0].Delivery, d.ID)
		r.submit(d)
		_, err := r.hears(p, message.Envelope{Body: "past it", To: []message.Address{{Name: "b"}}})
		require.NoError(t, err)
		got := r.book.Received[len(r.book.Received)-1]
		receipts := r.commits[len(r.commits)-1].Receipts
		reason := receipts[len(receipts)-1].Reason
		if got.Trust.Unproven() {
			assert.Equal(t, message.AwaitingApproval, reason, kind)
			assert.Equal(t, 2, got.Depth, kind)
		} else {
			assert.Empty(t, reason, kind)
			assert.Equal(t, 1, got.Depth, kind)
		}
	}
}

// A computer that claims the greatest depth holds up only its own words: not those of a port or of
// an unproven process, until a session here has taken something as deep.
func TestReceive_N6_howDeepAnotherComputerLies(t *testing.T) {
	r := newRig(t)
	r.adopt("a")
	far, port := r.joins(message.PeerRemote, "mallory"), r.joins(message.PeerPort, "9001")
	to := []message.Address{{Name: "a"}}
	_, err := r.hears(far, message.Envelope{Body: "from the abyss", Depth: 1 << 40, To: to})
	require.NoError(t, err)
	require.Empty(t, r.out)
	_, err = r.hears(port, message.Envelope{Body: "from the port", To: to})
	require.NoError(t, err)
	require.Equal(t, message.Queued, r.must(Send{By: By{Kind: Unverified}, To: "a", Message: message.Envelope{Body: "from a script"}}).Receipts[0].State)
	require.Len(t, r.out, 2)
	assert.Equal(t, []int{1, 1}, []int{r.out[0].Message.Depth, r.out[1].Message.Depth})
}

// A computer may claim any number of sessions. Together they do not fill a pane's queue, so that a
// session here can still be heard by it.
func TestReceive_N6_aComputerFillsNoQueue(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	for i := range 60 {
		far, err := r.step(Joined{Token: 1, Peer: message.Peer{
			Kind: message.PeerRemote, Key: fmt.Sprint("mallory/", i), Name: fmt.Sprint("far-", i), Computer: "mallory", ID: message.DerivedID(start, "far", fmt.Sprint(i)),
		}})
		require.NoError(t, err)
		for range maxHeld {
			_, err := r.hears(far.Peer, message.Envelope{Body: "wait", Depth: 1000, To: []message.Address{{Name: "a"}}})
			require.NoError(t, err)
		}
	}
	assert.Equal(t, maxHeldOfComputer, r.s.present(s[0].ID).waiting)
	got := r.must(Send{By: By{Kind: Agent, Peer: s[1].ID}, To: "a", Message: message.Envelope{Body: "x"}}).Receipts[0]
	assert.Equal(t, message.Queued, got.State, got.Reason)
}

// A peer takes part in a chat: what it says goes to the others, what they say reaches it, and a
// muted one is not heard. The next run knows where it was said.
func TestReceive_inAChat(t *testing.T) {
	r := newRig(t)
	s := r.adopt("a", "b")
	p := r.joins(message.PeerRemote, "workstation")
	c := r.chat(message.Limits{}, "a", "b", p.Name)
	assert.Len(t, r.say(s[0], "all of you"), 2)
	r.submit(r.out...)
	before := len(r.out)
	_, err := r.hears(p, message.Envelope{Type: "task_result", Body: "done", Thread: r.id()})
	require.NoError(t, err)
	require.Len(t, r.out[before:], 2)
	for _, d := range r.out[before:] {
		assert.Equal(t, "[remote-workstation] (3):\n\ndone", text(d))
		assert.Equal(t, c.ID, d.Chat)
		assert.Equal(t, 2, d.Message.Depth)
	}
	r.must(MuteMember{Chat: string(c.ID), Peer: p.Name})
	_, err = r.hears(p, message.Envelope{Body: "and more"})
	assert.ErrorIs(t, err, ErrRequest)
	r.must(MuteMember{Chat: string(c.ID), Peer: p.Name, Off: true})

	r.async = true
	_, err = r.hears(p, message.Envelope{Body: "undecided"})
	require.NoError(t, err)
	r.restart(0)
	require.Len(t, r.pending, 1)
	_, _ = r.step(Decided{message.Verdict{Message: r.pending[0], Decision: message.Decision{Verb: message.VerbDeliver}}})
	assert.Equal(t, c.ID, r.out[len(r.out)-1].Chat)
}

// Each kind of peer has its own sink, for all that is told of its deliveries.
func TestRun_manySinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, port := &outside{}, &outside{}
		r := &Relay{Journal: o, Sink: o, Sinks: map[message.PeerKind]Sink{message.PeerPort: port}}
		done := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { done <- r.Run(ctx) }()
		a := o.adopt(t, r, "a")
		p, err := r.Join(t.Context(), message.Peer{Kind: message.PeerPort, Key: "9002", Name: "p"})
		require.NoError(t, err)
		_, err = r.Join(t.Context(), message.Peer{Kind: message.PeerMember, Key: "bob", Name: "bob"})
		require.NoError(t, err)
		fresh, err := r.Receive(t.Context(), message.Envelope{ID: message.NewID(), Body: "hello", From: message.Address{Peer: p.ID}, To: []message.Address{{Peer: a.ID}}})
		require.NoError(t, err)
		assert.True(t, fresh)
		assert.Equal(t, []string{"hello"}, o.bodies, "on disk when it returns")
		for _, to := range []string{"p", "bob"} {
			_, err = r.Do(t.Context(), Send{By: By{Kind: Person}, To: to, Message: message.Envelope{Body: "to " + to}})
			require.NoError(t, err)
		}
		_, err = r.Do(t.Context(), PauseChat{By: By{Kind: Person}, Chat: All})
		require.NoError(t, err)
		require.NoError(t, r.Gone(t.Context(), p.ID, message.AgentGone))
		synctest.Wait()
		require.Len(t, port.delivered, 1)
		assert.Equal(t, "to p", port.delivered[0].Message.Body)
		assert.Equal(t, []string{"deliver", "cancel", "forget"}, port.log)
		require.Len(t, o.delivered, 1)
		assert.Equal(t, a.ID, o.delivered[0].Target)
		assert.NotContains(t, o.log, "forget")
		time.Sleep(time.Second)
		cancel()
		require.NoError(t, <-done)
	})
}

// What an unproven peer says lies as deep as the deepest agent while that agent is there, and not any longer: the depth
// of a chat that ran into its limit does not stay with whoever spoke meanwhile, nor with others like it.
func TestReceive_anAgentsDepthGoesWithIt(t *testing.T) {
	for _, kind := range others {
		r := newRig(t)
		s := r.adopt("a", "b")
		p, other := r.joins(kind, "1"), r.joins(kind, "2")
		deep := r.joins(message.PeerRemote, "deep")
		_, err := r.hears(deep, message.Envelope{Body: "x", Depth: 11, To: []message.Address{{Name: "a"}}})
		require.NoError(t, err)
		r.submit(r.out[len(r.out)-1])
		says := func(p message.Peer) message.Envelope {
			_, err := r.hears(p, message.Envelope{Body: "y", To: []message.Address{{Name: "b"}}})
			require.NoError(t, err)
			return r.book.Received[len(r.book.Received)-1]
		}
		if got := says(p); got.Trust.Unproven() {
			assert.Equal(t, 12, got.Depth, kind)
			at := slices.IndexFunc(r.commits, func(step message.Step) bool {
				return slices.ContainsFunc(step.Received, func(m message.Envelope) bool { return m.ID == got.ID })
			})
			assert.Contains(t, r.commits[at].Spoke, message.Spoken{Peer: p.ID, Depth: 1, Cause: -1}, "for the next sidecar")
		}
		_, err = r.step(Gone{Peer: s[0].ID, Reason: message.AgentGone})
		require.NoError(t, err)
		assert.Equal(t, 1, says(p).Depth, kind)
		assert.Equal(t, 1, says(other).Depth, kind)
	}
}
