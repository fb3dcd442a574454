package talk

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// soon is how long a test waits for something that must not happen.
const soon = time.Second

// A program that answers before its port has acknowledged the question has answered that question, and what it
// says later answers nothing.
func TestPeers_answersBeforeTheQuestionIsAcknowledged(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	var answers sync.WaitGroup
	defer answers.Wait()
	var once sync.Once
	r.Keeper.Heard = func(w Wish, m Message) { // it is in the inbox, and not acknowledged yet
		once.Do(func() {
			said := make(chan struct{})
			answers.Go(func() {
				defer close(said)
				_, err := r.Send(t.Context(), Sending{To: m.Sender, From: w.Port, Body: []byte("at once")})
				assert.NoError(t, err)
			})
			select {
			case <-said:
			case <-time.After(soon):
			}
		})
	}
	p, peer := r.joined(Wish{Name: "beta"})
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "How far are you?"}})
	require.NoError(t, err)
	until(t, func() bool { return p.Unread() }, "it is asked")
	gate := p.unread(t, CheckOptions{Clear: true})[0].Sender
	answers.Wait()
	_, err = r.Send(t.Context(), Sending{To: gate, From: p.Number, Body: []byte("something else")})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Answered }, "answered")
	assert.Equal(t, "at once", r.state(sent.Message).Words)
	all, err := r.journal.Receipts(t.Context(), sent.Message)
	require.NoError(t, err)
	var states []message.ReceiptState
	for _, one := range all {
		states = append(states, one.State)
	}
	assert.Equal(t, []message.ReceiptState{message.Queued, message.Typed, message.Submitted, message.Answered}, states)
	replies := map[string]message.ID{}
	for _, m := range r.saidBy(peer) {
		replies[m.Body] = m.InReplyTo
	}
	assert.Equal(t, map[string]message.ID{"at once": sent.Message, "something else": ""}, replies)
}

// A question that comes while the answer to the previous one is taken in is answered by what the program says
// after it.
func TestPeers_askedWhileItAnswers(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p, _ := r.joined(Wish{Name: "beta"})
	ask := func(body string) message.ID {
		sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: body}})
		require.NoError(t, err)
		return sent.Message
	}
	first := ask("And this?")
	until(t, func() bool { return r.state(first).State == message.Submitted }, "asked")
	gate := p.unread(t, CheckOptions{Clear: true})[0].Sender
	var said sync.WaitGroup
	defer said.Wait()
	r.slow.now.Store(true)
	said.Go(func() {
		_, err := r.Send(t.Context(), Sending{To: gate, From: p.Number, Body: []byte("this")})
		assert.NoError(t, err)
	})
	<-r.slow.began
	second := ask("And that?")
	for end := time.Now().Add(soon); r.state(second).State != message.Submitted && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	close(r.slow.end)
	said.Wait()
	until(t, func() bool { return r.state(second).State == message.Submitted }, "asked again")
	_, err := r.Send(t.Context(), Sending{To: gate, From: p.Number, Body: []byte("that")})
	require.NoError(t, err)
	until(t, func() bool { return r.state(second).State == message.Answered }, "answered, too")
	assert.Equal(t, message.Receipt{State: message.Answered, Words: "this"}, outcome(r.state(first)))
	assert.Equal(t, message.Receipt{State: message.Answered, Words: "that"}, outcome(r.state(second)))
}

// A delivery that waits for room in a full inbox is written down once as held, however often that is looked at. It
// goes on once there is room.
func TestPeers_aFullInboxIsWrittenDownOnce(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.configure(Config{MaxInbox: 1})
	p, _ := r.joined(Wish{Name: "beta"})
	ask := func(body string) message.ID {
		sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: body}})
		require.NoError(t, err)
		return sent.Message
	}
	first := ask("And this?")
	until(t, func() bool { return r.state(first).State == message.Submitted }, "asked")
	second := ask("And that?")
	until(t, func() bool { return r.slow.held.Load() >= 3 }, "it is looked at again and again")
	all, err := r.journal.Receipts(t.Context(), second)
	require.NoError(t, err)
	var states []message.ReceiptState
	for _, one := range all {
		states = append(states, one.State)
	}
	assert.Equal(t, []message.ReceiptState{message.Queued, message.Typed, message.Held}, states)
	assert.Equal(t, message.PortFull, all[len(all)-1].Reason)
	assert.Len(t, p.unread(t, CheckOptions{Clear: true}), 1)
	until(t, func() bool { return r.state(second).State == message.Submitted }, "there is room")
}

// A larger max_inbox counts once the listener has it, even if the sender has looked before.
func TestPeers_aFullInboxKeepsMore(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.person.end()
	r.Keeper, r.person.end = keepThatLooks(t, r.Home, time.Hour) // so the listener has what this test gives it
	r.configure(Config{MaxInbox: 1})
	p, _ := r.joined(Wish{Name: "beta"})
	require.NoError(t, p.say(t, 9001, "fills it"))
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "waits"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).Reason == message.PortFull }, "held")
	r.configure(Config{MaxInbox: 2})
	r.looks(t)
	_, err = r.Keeper.Look(t.Context())
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "there is room")
	assert.Equal(t, []string{"fills it", "[ada] (0):\n\nwaits"}, texts(p.unread(t, CheckOptions{})))
}

// A listener with another name is another one, however quickly it takes the place of the first. What is sent to
// its name reaches it, and the first one's name is nobody's any more.
func TestPeers_anotherListensInItsPlace(t *testing.T) {
	t.Parallel()
	r := newRoomThatLooks(t, time.Hour)
	p := r.start(Wish{Name: "alpha"})
	require.NoError(t, r.peers.Look(t.Context()))
	alpha, err := r.relay.Snapshot().Find("alpha")
	require.NoError(t, err)
	r.stops(p)
	r.start(Wish{Port: p.Number, Name: "beta"})
	require.NoError(t, r.peers.Look(t.Context()))
	beta, err := r.relay.Snapshot().Find("beta")
	require.NoError(t, err, "it is a peer by its own name at once")
	assert.NotEqual(t, alpha.ID, beta.ID)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "Hello"}})
	require.Error(t, err)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "Hello"}})
	require.NoError(t, err)
	until(t, func() bool { return p.Unread() }, "it gets it")
}

// What waits for a listener goes to no other one in its place, whether that is a peer yet or not. It fails.
func TestPeers_anotherListensWhileSomethingWaits(t *testing.T) {
	t.Parallel()
	r := newRoomThatLooks(t, time.Hour)
	p := r.start(Wish{Name: "alpha"})
	require.NoError(t, r.peers.Look(t.Context()))
	r.stops(p)
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "for alpha"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).Reason == message.PortClosed }, "held")
	r.start(Wish{Port: p.Number, Name: "beta"})
	r.looks(t)
	assert.Empty(t, p.unread(t, CheckOptions{}))
	assert.Equal(t, message.PortClosed, r.state(sent.Message).Reason, "held still")
	require.NoError(t, r.peers.Look(t.Context()))
	_, err = r.relay.Snapshot().Find("beta")
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Failed }, "it fails")
	assert.Equal(t, message.AgentGone, r.state(sent.Message).Reason)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "for beta"}})
	require.NoError(t, err)
	until(t, func() bool { return p.Unread() }, "it gets its own")
	assert.Equal(t, []string{"[ada] (0):\n\nfor beta"}, texts(p.unread(t, CheckOptions{})))
}

// A listener with another name is another one also if it took the place while no sidecar ran. What waited for the
// first one fails, and one of the same name goes on as the peer that it was.
func TestPeers_anotherListensInTheNextLife(t *testing.T) {
	t.Parallel()
	r := newRoomThatLooks(t, time.Hour)
	p, same := r.start(Wish{Name: "alpha"}), r.start(Wish{Name: "same"})
	require.NoError(t, r.peers.Look(t.Context()))
	r.stops(p)
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "for alpha"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).Reason == message.PortClosed }, "held")
	before, err := r.relay.Snapshot().Find("same")
	require.NoError(t, err)
	r.end()
	r.start(Wish{Port: p.Number, Name: "beta"})
	defer r.nextLife()()
	until(t, func() bool { return r.state(sent.Message).State == message.Failed }, "it fails")
	assert.Equal(t, message.AgentGone, r.state(sent.Message).Reason)
	until(t, func() bool {
		_, err := r.relay.Snapshot().Find("beta")
		return err == nil
	}, "the other one is a peer")
	assert.Empty(t, p.unread(t, CheckOptions{}))
	after, err := r.relay.Snapshot().Find("same")
	require.NoError(t, err)
	assert.Equal(t, before.ID, after.ID)
	assert.Equal(t, strconv.Itoa(same.Number), after.Key)
}

// stops makes nobody listen on a port any more.
func (r *room) stops(p Port) {
	r.t.Helper()
	_, err := p.Unwant()
	require.NoError(r.t, err)
	_, err = r.Keeper.Look(r.t.Context())
	require.NoError(r.t, err)
}

// looks waits until a delivery that is held was looked at from now on.
func (r *room) looks(t *testing.T) {
	t.Helper()
	before := r.slow.held.Load()
	until(t, func() bool { return r.slow.held.Load() >= before+2 }, "it is looked at") // one look may have begun before
}

// slowRelay delays the first answer that it receives after a test asks for that.
type slowRelay struct {
	Relay
	now        atomic.Bool
	once       sync.Once
	began, end chan struct{}
	held       atomic.Int64 // how often a delivery was reported as held
}

func (r *slowRelay) Report(ctx context.Context, receipt message.Receipt) error {
	if receipt.State == message.Held {
		defer r.held.Add(1)
	}
	return r.Relay.Report(ctx, receipt)
}

func (r *slowRelay) ReceiveAnswer(ctx context.Context, m message.Envelope, to message.ID) (bool, error) {
	if r.now.Load() {
		r.once.Do(func() {
			close(r.began)
			<-r.end
		})
	}
	return r.Relay.ReceiveAnswer(ctx, m, to)
}
