package link_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// N3: a computer ends before it is told what became of its message, and sends it once more after its restart.
// The session that took it has ended meanwhile: the computer learns what became of the message, and not that
// there is no such session.
func TestN3_SentOnceMoreToWhoHasGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		with func(*testing.T, *computer, message.Delivery)
		want []message.ReceiptState
	}{
		"answered": {func(t *testing.T, b *computer, d message.Delivery) {
			require.NoError(t, b.relay.Spoke(t.Context(), message.Turn{ID: message.NewID(), Peer: d.Target, Words: "done", Answers: []message.ID{d.ID}, Ended: time.Now()}))
		}, []message.ReceiptState{message.Submitted, message.Answered}},
		"taken": {func(*testing.T, *computer, message.Delivery) {}, []message.ReceiptState{message.Submitted, message.Failed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			box := forgetful(t, newMallory(t, s))
			a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), nil)
			inA, inB := a.session("inA"), b.session("inB")
			a.knows("b", inB)
			b.end()
			answer, err := a.send(inA.ID, inB.ID, "for you")
			require.NoError(t, err)
			box.holds(1)
			a.end()
			box.forgets()
			b.start()
			waitFor(t, "it is taken", func() bool { return b.has("for you") })
			b.mu.Lock()
			took := b.took[0]
			b.mu.Unlock()
			waitFor(t, "b says so", func() bool { return b.last(took.Message.ID).State == message.Submitted })
			end.with(t, b, took)
			require.NoError(t, b.relay.Gone(t.Context(), inB.ID, message.AgentGone))
			a.start()
			waitFor(t, "its end", func() bool { return a.last(answer.Message).State.Final() })
			all, err := a.journal.Receipts(t.Context(), answer.Message)
			require.NoError(t, err)
			var states []message.ReceiptState
			for _, r := range all {
				states = append(states, r.State)
			}
			assert.Equal(t, end.want, states[len(states)-2:])
			assert.Equal(t, []string{"for you"}, b.bodies())
		})
	}
}

// N3: a chat ends after its word was handed over, and the computer that handed it over restarts. The word is
// not sent once more, and what became of it is learned all the same; if the other computer never had it, it is
// uncertain.
func TestN3_ItsChatEndsAndItStartsAnew(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]message.ReceiptState{"it has come": message.Submitted, "the server has lost it": message.Uncertain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, nil)
			m := newMallory(t, s)
			cable := newLine(t, hostOf(t, s))
			soon := link.All(link.AskEvery(100*time.Millisecond), link.LostAfter(300*time.Millisecond))
			a, b := newComputer(t, "a", cable.url(), soon), newComputer(t, "b", s.ClientURL(), nil)
			inA, inB := a.session("inA"), b.session("inB")
			a.knows("b", inB)
			b.end()
			chat := a.begins(inA, inB)
			said := a.speaks(inA, "for you", inB)
			box := mailbox{t, m.js, "b"}
			box.holds(2) // who is in the chat, and what is said in it
			cable.set(true)
			waitFor(t, "the line is cut", func() bool { return !a.link.State().Connected })
			if want == message.Uncertain {
				require.NoError(t, m.js.DeleteStream(t.Context(), link.StreamOf("b")))
			}
			b.start()
			if want == message.Submitted {
				waitFor(t, "it is taken", func() bool { return b.has("for you") })
			}
			a.stops(chat)
			a.end()
			a.start()
			require.NotEqual(t, message.Submitted, a.last(said).State)
			cable.set(false)
			waitFor(t, "what became of it", func() bool { return a.last(said).State == want })
		})
	}
}

// Helpers of the tests.

// begins makes a person begin a chat of sessions.
func (c *computer) begins(peers ...message.Peer) message.ID {
	c.t.Helper()
	start := relay.StartChat{By: relay.By{Kind: relay.Person, Name: "tester"}}
	for _, p := range peers {
		start.Peers = append(start.Peers, string(p.ID))
	}
	begun, err := c.relay.Do(context.Background(), start)
	require.NoError(c.t, err)
	return begun.Chats[0].ID
}

// speaks makes a session say something in its chat, and returns the message that another one is to get.
func (c *computer) speaks(p message.Peer, words string, to message.Peer) (said message.ID) {
	c.t.Helper()
	require.NoError(c.t, c.relay.Spoke(context.Background(), message.Turn{ID: message.NewID(), Peer: p.ID, Words: words, Ended: time.Now()}))
	waitFor(c.t, words+" is on its way", func() bool {
		was, err := c.journal.Restore(context.Background())
		require.NoError(c.t, err)
		for _, one := range was.Pending {
			if one.Delivery.Target == to.ID && one.Delivery.Message.Body == words {
				said = one.Delivery.Message.ID
			}
		}
		return said != ""
	})
	return said
}

func (c *computer) stops(chat message.ID) {
	c.t.Helper()
	_, err := c.relay.Do(context.Background(), relay.StopChat{By: relay.By{Kind: relay.Person, Name: "tester"}, Chat: string(chat)})
	require.NoError(c.t, err)
}

// mailbox is a computer's mailbox, seen from outside.
type mailbox struct {
	t  testing.TB
	js jetstream.JetStream
	of string
}

// holds waits until so many messages are in it.
func (m mailbox) holds(n uint64) {
	m.t.Helper()
	waitFor(m.t, "the server has it", func() bool {
		box, err := m.js.Stream(m.t.Context(), link.StreamOf(m.of))
		return err == nil && box.CachedInfo().State.Msgs >= n
	})
}

// forgetting is the mailbox of b on a server that soon forgets the ids that it was told.
type forgetting struct{ mailbox }

func forgetful(t testing.TB, m *mallory) forgetting {
	t.Helper()
	_, err := link.EnsureMailbox(t.Context(), m.js, "b")
	require.NoError(t, err)
	box, err := m.js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	config := box.CachedInfo().Config
	config.Duplicates = 100 * time.Millisecond
	_, err = m.js.UpdateStream(t.Context(), config)
	require.NoError(t, err)
	return forgetting{mailbox{t, m.js, "b"}}
}

// forgets waits until the server no longer knows any earlier id.
func (f forgetting) forgets() {
	f.t.Helper()
	id := string(message.NewID())
	waitFor(f.t, "the server forgets an id", func() bool {
		first, err := f.js.Publish(f.t.Context(), link.ToSubject(f.of, "nobody"), nil, jetstream.WithMsgID(id))
		return err == nil && !first.Duplicate
	})
	waitFor(f.t, "the server forgets an id", func() bool {
		again, err := f.js.Publish(f.t.Context(), link.ToSubject(f.of, "nobody"), nil, jetstream.WithMsgID(id))
		return err == nil && !again.Duplicate
	})
}
