package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// room is a relay over a journal, with a keeper and the ports as its peers.
type room struct {
	*person
	relay   *relay.Relay
	journal *journal.Journal
	peers   *Peers
	slow    *slowRelay // between the two
	end     func()     // ends peers, as the end of the sidecar does
}

func newRoom(t *testing.T) *room { return newRoomThatLooks(t, 10*time.Millisecond) }

func newRoomThatLooks(t *testing.T, every time.Duration) *room {
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, private(state))
	j, err := journal.Open(t.Context(), state)
	require.NoError(t, err)
	r := &room{person: newPerson(t), journal: j}
	r.peers = &Peers{Home: r.Home, Log: discard, every: every}
	r.relay = &relay.Relay{Journal: j, Sinks: map[message.PeerKind]relay.Sink{message.PeerPort: r.peers}}
	r.slow = &slowRelay{Relay: r.relay, began: make(chan struct{}), end: make(chan struct{})}
	r.peers.Relay = r.slow
	ctx, stop := context.WithCancel(context.Background())
	relayCtx, endRelay := context.WithCancel(context.Background())
	var parts, last sync.WaitGroup
	last.Go(func() { assert.NoError(t, r.relay.Run(relayCtx)) })
	parts.Go(func() { assert.NoError(t, r.peers.Run(ctx)) })
	r.end = func() {
		stop()
		parts.Wait()
	}
	t.Cleanup(func() {
		r.end()
		endRelay()
		last.Wait()
		require.NoError(t, j.Close())
	})
	r.keep()
	r.Keeper.Heard = r.peers.Heard
	return r
}

// nextLife lets other peers go on where these end. The relay stays, and hands its deliveries to the ones that
// ended.
func (r *room) nextLife() (end func()) {
	r.t.Helper()
	r.end()
	left, err := r.journal.Restore(r.t.Context())
	require.NoError(r.t, err)
	next := &Peers{Home: r.Home, Relay: r.relay, Log: discard, every: 10 * time.Millisecond, Left: func() []message.Peer { return r.relay.Snapshot().Peers() }}
	for _, one := range left.Submitted {
		next.Submitted = append(next.Submitted, one.Delivery)
	}
	ctx, stop := context.WithCancel(context.Background())
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(r.t, next.Run(ctx)) })
	return func() {
		stop()
		run.Wait()
	}
}

// joined starts a listener and waits until it is a peer.
func (r *room) joined(w Wish) (Port, message.Peer) {
	r.t.Helper()
	p := r.start(w)
	var peer message.Peer
	until(r.t, func() (ok bool) {
		var err error
		peer, err = r.relay.Snapshot().Find(fmt.Sprint(p.Number))
		if w.Name != "" {
			peer, err = r.relay.Snapshot().Find(w.Name)
		}
		return err == nil
	}, "the port is a peer")
	return p, peer
}

func (r *room) state(id message.ID) message.Receipt {
	all, err := r.journal.Receipts(r.t.Context(), id)
	require.NoError(r.t, err)
	if len(all) == 0 {
		return message.Receipt{}
	}
	return all[len(all)-1]
}

// saidBy returns what a peer has said.
func (r *room) saidBy(peer message.Peer) (all []message.Envelope) {
	events, err := r.journal.Events(r.t.Context(), journal.Query{})
	require.NoError(r.t, err)
	for _, e := range events {
		if e.Message != nil && e.Message.From.Peer == peer.ID {
			all = append(all, *e.Message)
		}
	}
	return all
}

var ada = relay.By{Kind: relay.Person, Name: "ada"}

// A port is sent to like any peer, by its number or name, and answers as the document has it.
func TestPeers_sendAndAnswer(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p, peer := r.joined(Wish{Name: "beta"})
	assert.Equal(t, message.PeerPort, peer.Kind)
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "How far are you?"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "submitted")
	receipt := r.state(sent.Message)
	require.Len(t, receipt.Evidence, 1)
	assert.Equal(t, "port", receipt.Evidence[0].Source)
	all := p.unread(t, CheckOptions{Clear: true})
	require.Len(t, all, 1)
	assert.Equal(t, "[ada] (0):\n\nHow far are you?", all[0].Text)

	answer := Sending{To: all[0].Sender, From: p.Number, Body: []byte("Nearly there.")}
	_, err = r.Send(t.Context(), answer)
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Answered }, "answered")
	assert.Equal(t, "Nearly there.", r.state(sent.Message).Words)
	gate := r.Port(all[0].Sender)
	assert.Empty(t, gate.unread(t, CheckOptions{}), "it is in the journal, not in an inbox")
	_, listed := gate.Listening()
	assert.False(t, listed)

	// A port that is no peer cannot say anything there.
	answer.From = freePort(t)
	_, err = r.Send(t.Context(), answer)
	assert.Equal(t, NotStored, codeOf(err))
	assert.Error(t, gate.raw(t, framed("bare")))
}

// After Look, a port that has just begun to listen is found.
func TestPeers_lookAtOnce(t *testing.T) {
	t.Parallel()
	r := newRoomThatLooks(t, time.Hour)
	require.NoError(t, r.peers.Look(t.Context()))
	r.start(Wish{Name: "fresh"})
	require.NoError(t, r.peers.Look(t.Context()))
	_, err := r.relay.Snapshot().Find("fresh")
	require.NoError(t, err)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "fresh", Message: message.Envelope{Body: "Hello"}})
	require.NoError(t, err)
}

// A port that is stopped and started again during a chat gets what was said meanwhile and speaks on, however
// often others have called Look.
func TestPeers_startedAgainUnderAChat(t *testing.T) {
	t.Parallel()
	r := newRoomThatLooks(t, time.Hour)
	a, b := r.start(Wish{Name: "alpha"}), r.start(Wish{Name: "beta"})
	require.NoError(t, r.peers.Look(t.Context()))
	_, err := r.relay.Do(t.Context(), relay.StartChat{By: ada, Peers: []string{"alpha", "beta"}})
	require.NoError(t, err)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "Begin."}})
	require.NoError(t, err)
	until(t, func() bool { return a.Unread() }, "it gets the first word")
	gate := a.unread(t, CheckOptions{Clear: true})[0].Sender
	_, err = b.Unwant()
	require.NoError(t, err)
	_, err = r.Keeper.Look(t.Context())
	require.NoError(t, err)
	for range 2 * maxMissed {
		require.NoError(t, r.peers.Look(t.Context()))
	}
	_, err = r.Send(t.Context(), Sending{To: gate, From: a.Number, Body: []byte("Are you there?")})
	require.NoError(t, err)
	until(t, func() bool {
		events, err := r.journal.Events(t.Context(), journal.Query{})
		require.NoError(t, err)
		for _, e := range events {
			if e.Receipt != nil && e.Receipt.Reason == message.PortClosed {
				return true
			}
		}
		return false
	}, "held")
	r.start(Wish{Port: b.Number, Name: "beta"})
	until(t, func() bool { return b.Unread() }, "it gets what was held")
	got := b.unread(t, CheckOptions{Clear: true})[0]
	assert.Equal(t, "[alpha] (1):\n\nAre you there?", got.Text)
	_, err = r.Send(t.Context(), Sending{To: got.Sender, From: b.Number, Body: []byte("Again.")})
	require.NoError(t, err)
	until(t, func() bool { return a.Unread() }, "and answers")
	assert.Equal(t, "[beta] (2):\n\nAgain.", a.unread(t, CheckOptions{})[0].Text)
}

// A port takes part in a chat. Its words never count as anybody's proven words, whatever it claims.
func TestPeers_chat(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	a, _ := r.joined(Wish{Name: "alpha"})
	b, _ := r.joined(Wish{Name: "beta"})
	_, err := r.relay.Do(t.Context(), relay.StartChat{By: ada, Peers: []string{"alpha", "beta"}})
	require.NoError(t, err)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "Begin."}})
	require.NoError(t, err)
	until(t, func() bool { return a.Unread() }, "it gets the first word")
	gate := a.unread(t, CheckOptions{Clear: true})[0].Sender
	_, err = r.Send(t.Context(), Sending{To: gate, From: a.Number, Body: []byte("Hello, beta."), Thread: "t"})
	require.NoError(t, err)
	until(t, func() bool { return b.Unread() }, "the other hears it")
	got := b.unread(t, CheckOptions{Clear: true})[0]
	assert.Equal(t, "[alpha] (1):\n\nHello, beta.", got.Text)
	assert.NotEqual(t, gate, got.Sender, "each has a gate of its own")
	_, err = r.Send(t.Context(), Sending{To: got.Sender, From: b.Number, Body: []byte("Hello, alpha.")})
	require.NoError(t, err)
	until(t, func() bool { return a.Unread() }, "and answers")
	assert.Equal(t, "[beta] (2):\n\nHello, alpha.", a.unread(t, CheckOptions{Clear: true})[0].Text)
	assert.False(t, b.Unread(), "it does not hear itself")
	events, err := r.journal.Events(t.Context(), journal.Query{})
	require.NoError(t, err)
	seen := 0
	for _, e := range events {
		if e.Message != nil && e.Message.From.Name == "alpha" {
			seen++
			assert.Equal(t, message.TrustLoopback, e.Message.Trust)
			assert.Equal(t, message.OriginAgent, e.Message.Origin)
		}
	}
	assert.NotZero(t, seen)
}

// A peer that was written to can answer as itself, not as another member of the chat. Another user cannot
// answer at all, even where anybody may leave messages.
func TestPeers_H71_nobodySpeaksAsAnother(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.configure(Config{Auth: AuthNone})
	a, _ := r.joined(Wish{Name: "alpha"})
	b, _ := r.joined(Wish{Name: "beta"})
	gates := map[int]Port{}
	var asked relay.Answer
	for name, p := range map[string]Port{"alpha": a, "beta": b} {
		sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: name, Message: message.Envelope{Body: "Who are you?"}})
		require.NoError(t, err)
		until(t, func() bool { return p.Unread() }, "it is asked")
		gates[p.Number] = r.Port(p.unread(t, CheckOptions{Clear: true})[0].Sender)
		if name == "alpha" {
			asked = sent
		}
	}
	_, err := r.Send(t.Context(), Sending{To: gates[b.Number].Number, From: a.Number, Body: []byte("I am alpha.")})
	assert.Equal(t, NotStored, codeOf(err))
	assert.ErrorContains(t, err, fmt.Sprintf("takes answers from port %d alone, not from %d", b.Number, a.Number))
	assert.NotEqual(t, message.Answered, r.state(asked.Message).State)
	if os.Geteuid() == 0 { // only root can be another user
		gate := gates[a.Number]
		said, ours := gate.advertised()
		require.True(t, ours)
		e := envelope{ID: "1", From: a.Number, Text: "I am alpha too."}
		assert.Error(t, rawAs(t, gate, 65534, framed(string(hello(said.Key)), string(marshal(e)))))
		require.NoError(t, rawAs(t, a, 65534, "5:hello"), "anybody may leave a message")
		assert.NotEqual(t, message.Answered, r.state(asked.Message).State)
	}
	_, err = r.Send(t.Context(), Sending{To: gates[a.Number].Number, From: a.Number, Body: []byte("Alpha.")})
	require.NoError(t, err)
	until(t, func() bool { return r.state(asked.Message).State == message.Answered }, "answered")
	assert.Equal(t, "Alpha.", r.state(asked.Message).Words)
}

// A program that numbers its envelopes anew in each run is heard each time. A repeated envelope has the same id
// and the same words, and counts once. An envelope that was not taken in answers nothing, and is not
// acknowledged as an answer.
func TestPeers_idsThatComeAgain(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p, peer := r.joined(Wish{Name: "beta"})
	ask := func(body string) (question message.ID, gate Port) {
		sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: body}})
		require.NoError(t, err)
		until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "submitted")
		return sent.Message, r.Port(p.unread(t, CheckOptions{Clear: true})[0].Sender)
	}
	say := func(gate Port, id, text string) ack {
		said, ours := gate.advertised()
		require.True(t, ours)
		c := newAcked(gate.dial(t), said)
		_, err := c.c.Write(AppendFrame(nil, marshal(envelope{ID: id, From: p.Number, Text: text})))
		require.NoError(t, err)
		answer, err := c.f.next(maxSmallFile)
		require.NoError(t, err)
		var a ack
		require.NoError(t, json.Unmarshal(answer, &a))
		return a
	}
	heard := func() (all []string) {
		for _, m := range r.saidBy(peer) {
			all = append(all, m.Body)
		}
		return all
	}
	first, gate := ask("How far are you?")
	for range 2 {
		assert.Equal(t, ack{ID: "1"}, say(gate, "1", "Nearly there."))
	}
	assert.Equal(t, []string{"Nearly there."}, heard(), "once")
	assert.Equal(t, message.Receipt{State: message.Answered, Words: "Nearly there."}, outcome(r.state(first)))

	second, gate := ask("And now?")
	got := say(gate, "1", "Nearly there.")
	assert.Equal(t, NotStored, got.Code)
	assert.Contains(t, got.Text, `a message with id "1" and the same words was received before`)
	assert.Equal(t, message.Submitted, r.state(second).State, "nothing of that was taken in")
	assert.Equal(t, ack{ID: "1"}, say(gate, "1", "Done."))
	assert.Equal(t, []string{"Nearly there.", "Done."}, heard())
	assert.Equal(t, message.Receipt{State: message.Answered, Words: "Done."}, outcome(r.state(second)))
}

// outcome returns what became of a delivery, without when and how that is known.
func outcome(r message.Receipt) message.Receipt {
	return message.Receipt{State: r.State, Words: r.Words}
}

// A port without a listener for the moment, or with a full inbox, gets what waits later, once.
func TestPeers_waits(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.configure(Config{MaxInbox: 1})
	p, _ := r.joined(Wish{Name: "beta"})
	require.NoError(t, p.say(t, 9001, "fills it"))
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "waits"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).Reason == message.PortFull }, "held")
	assert.Equal(t, message.Held, r.state(sent.Message).State)
	p.unread(t, CheckOptions{Clear: true})
	until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "delivered when there is room")
	assert.Equal(t, []string{"[ada] (0):\n\nwaits"}, texts(p.unread(t, CheckOptions{Clear: true})))

	_, err = p.Unwant()
	require.NoError(t, err)
	_, err = r.Keeper.Look(t.Context())
	require.NoError(t, err)
	until(t, func() bool { _, err := r.relay.Snapshot().Find("beta"); return err != nil }, "nobody listens: the peer is gone")
}

// A closed port stays a peer as long as something waits for it, and gets that when it listens again. The same
// holds while all is paused, when nothing is left with the sink.
func TestPeers_closedWhileSomethingWaits(t *testing.T) {
	t.Parallel()
	for _, paused := range []bool{false, true} {
		r := newRoomThatLooks(t, time.Hour) // its ticks come from here, none before the message waits
		p := r.start(Wish{Name: "beta"})
		require.NoError(t, r.peers.Look(t.Context()))
		peer, err := r.relay.Snapshot().Find("beta")
		require.NoError(t, err)
		_, err = p.Unwant()
		require.NoError(t, err)
		_, err = r.Keeper.Look(t.Context())
		require.NoError(t, err)
		sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "later"}})
		require.NoError(t, err)
		until(t, func() bool { return r.state(sent.Message).Reason == message.PortClosed }, "held")
		if paused {
			_, err = r.relay.Do(t.Context(), relay.PauseChat{By: ada, Chat: relay.All})
			require.NoError(t, err)
			until(t, func() bool { return r.state(sent.Message).Reason == message.Stopped }, "held for that")
		}
		var all sync.WaitGroup
		for range 3 * maxMissed { // it is closed for long
			require.NoError(t, r.peers.pass(t.Context(), true, &all))
		}
		still, err := r.relay.Snapshot().Find("beta")
		require.NoError(t, err)
		assert.Equal(t, peer.ID, still.ID)
		if paused {
			_, err = r.relay.Do(t.Context(), relay.ResumeChat{By: ada, Chat: relay.All})
			require.NoError(t, err)
		}
		require.NoError(t, p.Want(Wish{Port: p.Number, Name: "beta"}))
		_, err = r.Keeper.Look(t.Context())
		require.NoError(t, err)
		until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "delivered once it listens")
		assert.Equal(t, []string{"[ada] (0):\n\nlater"}, texts(p.unread(t, CheckOptions{Clear: true})))
	}
}

// A message in a port's inbox was handed over, and stays submitted when the port is closed: a check finds it
// there. It is sent once.
func TestPeers_closedAfterItWasStored(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p, peer := r.joined(Wish{Name: "beta"})
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "here"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "stored")
	_, err = p.Unwant()
	require.NoError(t, err)
	until(t, func() bool {
		for _, one := range r.relay.Snapshot().Peers() {
			if one.ID == peer.ID {
				return one.Ended != nil
			}
		}
		return true
	}, "it is a peer no longer")
	all, err := r.journal.Receipts(t.Context(), sent.Message)
	require.NoError(t, err)
	var states []message.ReceiptState
	for _, one := range all {
		states = append(states, one.State)
	}
	assert.Equal(t, []message.ReceiptState{message.Queued, message.Typed, message.Submitted}, states)
	_, err = r.Keeper.Look(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"[ada] (0):\n\nhere"}, texts(p.unread(t, CheckOptions{Clear: true})))
	r.joined(Wish{Port: p.Number, Name: "beta"})
	assert.Empty(t, p.unread(t, CheckOptions{}))
	assert.Equal(t, message.Submitted, r.state(sent.Message).State)
}

// A port that an earlier life knew, and on which nobody listens any more, is no longer a peer.
func TestPeers_leftByAnEarlierLife(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	r.joined(Wish{Name: "here"})
	gone, err := r.relay.Join(t.Context(), message.Peer{Kind: message.PeerPort, Key: fmt.Sprint(freePort(t)), Name: "gone"})
	require.NoError(t, err)
	next := &Peers{Home: r.Home, Relay: r.relay, Log: discard, every: 10 * time.Millisecond, Left: func() []message.Peer { return r.relay.Snapshot().Peers() }}
	ctx, stop := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { assert.NoError(t, next.Run(ctx)) })
	until(t, func() bool {
		one, known := r.relay.Snapshot().Peer(gone.ID)
		return known && one.Ended != nil
	}, "it is gone")
	stop()
	run.Wait()
	_, err = r.relay.Snapshot().Find("here")
	assert.NoError(t, err)
}

// A port that was asked before the sidecar ended answers at the same gate once the sidecar is back. What the
// port repeats, because nobody acknowledged it, counts once.
func TestPeers_answersInTheNextLife(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	p, peer := r.joined(Wish{Name: "beta"})
	sent, err := r.relay.Do(t.Context(), relay.Send{By: ada, To: "beta", Message: message.Envelope{Body: "How far are you?"}})
	require.NoError(t, err)
	until(t, func() bool { return r.state(sent.Message).State == message.Submitted }, "submitted")
	gate := p.unread(t, CheckOptions{Clear: true})[0].Sender
	answer := func() (got ack) {
		t.Helper()
		at := r.Port(gate)
		until(t, func() bool {
			said, ours := at.advertised()
			if !ours {
				return false
			}
			c := newAcked(at.dial(t), said)
			if _, err := c.c.Write(AppendFrame(nil, marshal(envelope{ID: "1", From: p.Number, Text: "Nearly there."}))); err != nil {
				return false
			}
			back, err := c.f.next(maxSmallFile)
			return err == nil && json.Unmarshal(back, &got) == nil
		}, "somebody listens for the answer")
		return got
	}
	end := r.nextLife()
	assert.Equal(t, ack{ID: "1"}, answer())
	assert.Equal(t, message.Receipt{State: message.Answered, Words: "Nearly there."}, outcome(r.state(sent.Message)))
	assert.Equal(t, ack{ID: "1"}, answer(), "once more")
	end()
	all := r.saidBy(peer)
	require.Len(t, all, 1)
	assert.Equal(t, sent.Message, all[0].InReplyTo)
}

// A port in a chat speaks on where it spoke before, though nobody has said anything to it since the sidecar
// came back.
func TestPeers_inAChatInTheNextLife(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	a, peer := r.joined(Wish{Name: "alpha"})
	r.joined(Wish{Name: "beta"})
	_, err := r.relay.Do(t.Context(), relay.StartChat{By: ada, Peers: []string{"alpha", "beta"}})
	require.NoError(t, err)
	_, err = r.relay.Do(t.Context(), relay.Send{By: ada, To: "alpha", Message: message.Envelope{Body: "Begin."}})
	require.NoError(t, err)
	until(t, func() bool { return a.Unread() }, "it gets the first word")
	gate := a.unread(t, CheckOptions{Clear: true})[0].Sender
	defer r.nextLife()()
	until(t, func() bool {
		_, err := r.Send(t.Context(), Sending{To: gate, From: a.Number, Body: []byte("Hello, beta.")})
		return err == nil
	}, "somebody listens there")
	all := r.saidBy(peer)
	require.NotEmpty(t, all)
	assert.Equal(t, "Hello, beta.", all[0].Body)
	assert.NotEmpty(t, all[0].Chat)
}

// What comes to a port stays in its inbox. If the person wants it, policies get it too.
func TestPeers_route(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	plain, _ := r.joined(Wish{Name: "plain"})
	routed, peer := r.joined(Wish{Name: "routed", Route: true})
	require.NoError(t, plain.say(t, 9001, "for the inbox"))
	require.NoError(t, routed.say(t, 9001, "for policies"))
	var got []message.Envelope
	until(t, func() bool {
		events, err := r.journal.Events(t.Context(), journal.Query{})
		require.NoError(t, err)
		got = nil
		for _, e := range events {
			if e.Message != nil {
				got = append(got, *e.Message)
			}
		}
		return len(got) > 0
	}, "it is handed in")
	require.Len(t, got, 1)
	assert.Equal(t, "for policies", got[0].Body)
	assert.Equal(t, peer.ID, got[0].From.Peer)
	assert.Equal(t, message.TrustLoopback, got[0].Trust)
	assert.Equal(t, map[string]string{"port": fmt.Sprint(routed.Number), "sender_port": "9001"}, got[0].Meta)
	assert.Equal(t, []string{"for policies"}, texts(routed.unread(t, CheckOptions{})))
	assert.Equal(t, []string{"for the inbox"}, texts(plain.unread(t, CheckOptions{})))
}
