package link

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A delivery to a session of another computer that has just become a peer here is sent, even if the code that
// made it a peer does not know so yet, or did not wait for it. A delivery to a session that has ended is not.
func TestLink_outbox_whatIsForAPeerThatIsNew(t *testing.T) {
	t.Parallel()
	ended := time.Now()
	fresh := message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Computer: "b"}
	gone := message.Peer{ID: message.NewID(), Kind: message.PeerRemote, Computer: "b", Ended: &ended}
	told := make(chan message.Receipt, 8)
	l := &Link{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Config: func() Config { return Config{Name: "a"} }, Sessions: func() []Session { return nil },
		Peers: func() []message.Peer { return []message.Peer{gone, fresh} },
		Relay: reporting{report: func(r message.Receipt) { told <- r }},
	}
	l.init()
	post := &refusing{}
	lf := &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), js: post}
	late, first := message.NewID(), message.NewID()
	l.Deliver(message.Delivery{ID: late, Target: gone.ID}, message.Delivery{ID: first, Target: fresh.ID})
	ctx, end := context.WithCancel(t.Context())
	var run sync.WaitGroup
	defer run.Wait()
	defer end()
	run.Go(func() { l.outbox(ctx, lf) })
	for _, want := range []message.Receipt{{State: message.Typed}, {State: message.Held, Reason: message.ComputerAway}} {
		select {
		case r := <-told:
			assert.Equal(t, []any{first, want.State, want.Reason}, []any{r.Delivery, r.State, r.Reason})
		case <-time.After(time.Minute):
			require.FailNow(t, "it was dropped")
		}
	}
	end()
	run.Wait()
	assert.Empty(t, told)
	assert.Empty(t, l.queued())
	token, ok := l.computerOf(fresh.ID)
	assert.Equal(t, []any{"b", true}, []any{token, ok})
}

// Nothing that looks like a credential leaves a computer: not in a message, nor in its subject, nor in the
// words of an answer.
func TestH49_NoCredentialLeaves(t *testing.T) {
	t.Parallel()
	key := "AKIA" + "Z7Q3M5N8P2R4T6W9"
	l := &Link{Now: time.Now, Log: slog.New(slog.DiscardHandler), Config: func() Config { return Config{Name: "a"} }, Sessions: func() []Session { return nil }, Chats: func() []message.Chat { return nil }}
	l.init()
	for _, chat := range []message.ID{"", message.NewID()} {
		d := message.Delivery{ID: message.NewID(), Chat: chat, Target: message.NewID(), Message: message.Envelope{
			ID: message.NewID(), From: message.Address{Name: "Ada"}, Type: message.KindMessage, Subject: "about " + key, Body: "it is " + key + ", use it",
		}}
		text, err := json.Marshal(l.parcelOf(&life{token: "a"}, d))
		require.NoError(t, err)
		assert.NotContains(t, string(text), key)
		assert.Contains(t, string(text), ", use it", "the rest does")
	}
	told, err := json.Marshal(fateOf(message.Receipt{Message: message.NewID(), State: message.Answered, Words: "I took " + key}))
	require.NoError(t, err)
	assert.NotContains(t, string(told), key)
	assert.Contains(t, string(told), "I took ")
}

// A computer is told of a chat that one of its sessions has just begun here, even if Enter has not recorded
// that peer yet; also when the computer comes, and when it asks.
func TestLink_chatOfAPeerThatIsNew(t *testing.T) {
	t.Parallel()
	here, fresh := message.NewID(), message.Peer{ID: message.NewID(), Name: "codex.b", Kind: message.PeerRemote, Computer: "b"}
	chat := message.Chat{ID: message.NewID(), State: message.ChatOn, Participants: []message.Participant{{Peer: here, Number: 1}, {Peer: fresh.ID, Name: fresh.Name, Number: 2}}}
	for name, tell := range map[string]func(*Link, *life){
		"it begins":         func(l *Link, lf *life) { l.chatChanged(lf, chat) },
		"its computer came": func(l *Link, lf *life) { l.tellChats(lf, "b") },
	} {
		l := &Link{
			Sessions: func() []Session { return []Session{{ID: here, Name: "claude"}} }, Chats: func() []message.Chat { return []message.Chat{chat} },
			Peers: func() []message.Peer { return []message.Peer{{ID: here}, fresh} },
		}
		l.init()
		tell(l, &life{token: "a"})
		require.Len(t, l.notes, 1, name)
		assert.Equal(t, "b", l.notes[0].token, name)
		var of []string
		for _, s := range l.notes[0].Room.Seats {
			of = append(of, s.Name+" of "+s.Computer)
		}
		assert.Equal(t, []string{"claude of a", "codex of b"}, of, name)
		ids, err := json.Marshal([]message.ID{chat.ID})
		require.NoError(t, err)
		open, err := l.openChats(t.Context(), "b", ids)
		require.NoError(t, err)
		assert.Equal(t, []message.ID{chat.ID}, open, name)
	}
}

// A note about a chat that the server does not confirm in time is sent again with the same id, before what
// comes after it.
func TestLink_sendNotes_withoutTheServersWord(t *testing.T) {
	t.Parallel()
	l := &Link{Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	l.init()
	post := &slowFor{box: toSubject("b", "a")}
	lf := &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), js: post}
	ofB, ofC, last := message.NewID(), message.NewID(), message.NewID()
	l.notes = []note{{"b", parcel{Kind: parcelLeft, ID: ofB}}, {"b", parcel{Kind: parcelChat, ID: last}}, {"c", parcel{Kind: parcelLeft, ID: ofC}}}
	assert.True(t, l.sendNotes(t.Context(), lf), "some is left")
	assert.Equal(t, []message.ID{ofB, ofC}, post.ids, "others do not wait for it")
	post.box = ""
	assert.False(t, l.sendNotes(t.Context(), lf))
	assert.Equal(t, []message.ID{ofB, ofC, ofB, last}, post.ids)
	assert.Empty(t, l.notes)
}

// However long a mailbox takes nothing, few tries are written into the journal. What comes meanwhile is held for the
// same reason. When its computer comes, however short a time it was away, and when there is a new connection, however
// short a time there was none, it is tried at once.
func TestLink_outbox_aMailboxThatTakesNothing(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"full":    &jetstream.APIError{Code: 503, ErrorCode: streamFull},
		"deleted": jetstream.ErrNoStreamResponse,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, tries := time.Now(), 0
			var last message.Receipt
			l := &Link{
				Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
				Config: func() Config { return Config{Name: "a"} }, Sessions: func() []Session { return nil }, Pinned: func(string) string { return "" },
				Relay: reporting{report: func(r message.Receipt) {
					if last = r; r.State == message.Typed {
						tries++
					}
				}},
			}
			l.init()
			its := identityOf(t)
			l.known["b"] = &known{Name: "b", Key: its.public}
			post := &refusing{err: err}
			lf := &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), js: post, costs: costs{pace: l.pace, timing: l.timing}}
			nobodyAsks, cancel := context.WithCancel(t.Context())
			cancel()
			comes := func() {
				text, err := json.Marshal(presence{Name: "b", Boot: string(message.NewID()), Sent: now})
				require.NoError(t, err)
				m, err := its.sign(hereSubject("b"), text)
				require.NoError(t, err)
				l.heard(nobodyAsks, lf, m)
				lf.asking.Wait()
			}
			offer := func(d message.Delivery) (again bool) {
				return l.leavesAlone(t.Context(), lf, "b", d) || l.give(t.Context(), lf, "b", d)
			}
			d := message.Delivery{ID: message.NewID(), Target: message.NewID()}
			for end := now.Add(2 * time.Hour); now.Before(end); now = now.Add(l.timing.retry) {
				require.True(t, offer(d), "it is tried again")
			}
			assert.Less(t, tries, 20)
			if name == "full" {
				behind := message.Delivery{ID: message.NewID(), Target: message.NewID()}
				require.True(t, offer(behind))
				assert.Equal(t, []any{behind.ID, message.Held, message.ComputerFull}, []any{last.Delivery, last.State, last.Reason})
			}

			for _, ends := range []func(){comes, comes, l.connected} {
				before := tries
				ends()
				require.True(t, offer(d))
				assert.Equal(t, before+1, tries)
				require.True(t, offer(d))
				assert.Equal(t, before+1, tries)
			}
			post.err = nil
			now = now.Add(l.timing.retry)
			require.False(t, offer(d))
			assert.Empty(t, l.rests)

			post.err = err
			require.True(t, offer(d))
			lf.conn.Close()
			require.True(t, offer(message.Delivery{ID: message.NewID(), Target: d.Target}))
			assert.Equal(t, []any{message.Held, message.NotLinked}, []any{last.State, last.Reason})
		})
	}
}

// Whatever is sent to a computer that nobody knows fails at once, not only the first time.
func TestLink_outbox_anUnknownComputer(t *testing.T) {
	t.Parallel()
	var last message.Receipt
	l := &Link{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Config: func() Config { return Config{Name: "a"} }, Sessions: func() []Session { return nil },
		Relay: reporting{report: func(r message.Receipt) { last = r }},
	}
	l.init()
	lf := &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), js: &refusing{err: jetstream.ErrNoStreamResponse}}
	for range 2 {
		d := message.Delivery{ID: message.NewID(), Target: message.NewID()}
		require.False(t, l.leavesAlone(t.Context(), lf, "b", d) || l.give(t.Context(), lf, "b", d), "it is not tried again")
		assert.Equal(t, []any{d.ID, message.Failed, message.NoComputer}, []any{last.Delivery, last.State, last.Reason})
	}
}

// Helpers of the tests.

// slowFor is a JetStream that does not confirm in time what goes into one mailbox.
type slowFor struct {
	jetstream.JetStream
	box string
	ids []message.ID
}

func (s *slowFor) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	var p parcel
	if err := json.Unmarshal(m.Data, &p); err != nil {
		return nil, err
	}
	s.ids = append(s.ids, p.ID)
	if m.Subject == s.box {
		return nil, context.DeadlineExceeded
	}
	return &jetstream.PubAck{}, nil
}
