package link_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// mallory is a computer with access and its own key that keeps to no rule.
type mallory struct {
	t    testing.TB
	dir  string
	conn *nats.Conn
	js   jetstream.JetStream
}

func newMallory(t testing.TB, s *server.Server) *mallory {
	t.Helper()
	m := &mallory{t: t, dir: t.TempDir()}
	var err error
	m.conn, err = nats.Connect(s.ClientURL())
	require.NoError(t, err)
	t.Cleanup(m.conn.Close)
	m.js, err = jetstream.New(m.conn)
	require.NoError(t, err)
	return m
}

type doc = map[string]any

func (m *mallory) say(subject string, what any) {
	m.t.Helper()
	data, err := json.Marshal(what)
	require.NoError(m.t, err)
	signed, err := link.Sign(m.dir, subject, data)
	require.NoError(m.t, err)
	require.NoError(m.t, m.conn.PublishMsg(signed))
}

func (m *mallory) mail(to string, parcel doc) {
	m.t.Helper()
	if parcel["id"] == nil {
		parcel["id"] = message.NewID()
	}
	m.say(link.ToSubject(to, "mallory"), parcel)
}

func (m *mallory) ask(to, op string, from, body any) {
	m.t.Helper()
	m.say(link.AskSubject(to, "mallory"), doc{"id": message.NewID(), "op": op, "from": from, "sent": time.Now(), "body": body})
}

func (m *mallory) here(what doc) {
	m.t.Helper()
	all := doc{"name": "mallory", "boot": "1", "revision": "1", "sent": time.Now()}
	for k, v := range what {
		all[k] = v
	}
	m.say("intercom.v1.here.mallory", all)
}

// answersWith sets the answer to questions for its sessions.
func (m *mallory) answersWith(sessions any) {
	m.t.Helper()
	_, err := m.conn.Subscribe(link.AskSubject("mallory", "*"), func(q *nats.Msg) {
		var question struct{ ID, Op string }
		if json.Unmarshal(q.Data, &question) == nil && question.Op == "sessions" {
			asker := q.Subject[strings.LastIndexByte(q.Subject, '.')+1:]
			m.say("intercom.v1.answer."+asker+"."+question.ID+".mallory", doc{"body": sessions})
		}
	})
	require.NoError(m.t, err)
	require.NoError(m.t, m.conn.Flush())
}

// isRead waits until the mailbox of a computer is empty.
func (m *mallory) isRead(t testing.TB, to string) {
	t.Helper()
	last, err := link.SignJSON(m.dir, link.ToSubject(to, "mallory"), doc{"kind": "fate", "id": message.NewID()}) // without a fate
	require.NoError(t, err)
	_, err = m.js.PublishMsg(t.Context(), last) // then the server has it, and everything sent before
	require.NoError(t, err)
	waitFor(t, "what was sent to "+to+" is read", func() bool {
		stream, err := m.js.Stream(t.Context(), link.StreamOf(to))
		return err == nil && stream.CachedInfo().State.Msgs == 0
	})
}

func text(body string) doc { return doc{"type": "message", "body": body} }

// A computer that a person let in speaks as itself and costs little, whatever it sends.
func TestN6_Malice(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	may := func(l *link.Link) {
		l.May = func(_, what string) bool { return what != "start" && what != "read" }
		link.Paced(1000, 1000)(l) // it is not to be refused for how much it sends
		link.RetryEvery(50 * time.Millisecond)(l)
		link.Rooms(100)(l)
		link.ListEvery(500 * time.Millisecond)(l) // finds mail for which no bell rings
	}
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), may)
	inA, inB, alsoB := a.session("inA"), b.session("inB"), b.session("alsoB")
	a.knows("b", inB)
	a.knows("b", alsoB)
	b.knows("a", inA)
	m := newMallory(t, s)
	_, err := link.EnsureMailbox(t.Context(), m.js, "mallory")
	require.NoError(t, err)
	own := doc{"id": message.NewID(), "name": "Own"}
	m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text("good day")})
	waitFor(t, "who mallory is", func() bool { return slices.Contains(b.bodies(), "good day") })
	// settled waits until all that was sent to b is read, and b's panes have taken what came of it: an honest
	// message is behind it.
	n := 0
	settled := func(t *testing.T) []string {
		t.Helper()
		before := len(b.bodies())
		m.isRead(t, "b")
		for _, to := range []message.ID{inB.ID, alsoB.ID} {
			n++
			honest := fmt.Sprint("honest ", n)
			_, err := a.send(inA.ID, to, honest)
			require.NoError(t, err)
			waitFor(t, honest, func() bool { return slices.Contains(b.bodies(), honest) })
		}
		return slices.DeleteFunc(b.bodies()[before:], func(s string) bool { return strings.HasPrefix(s, "honest ") })
	}
	peersOf := func(computer string) (ids []message.ID) {
		for _, p := range b.relay.Snapshot().Peers() {
			if p.Computer == computer && p.Kind == message.PeerRemote && p.Ended == nil {
				ids = append(ids, p.ID)
			}
		}
		return ids
	}

	t.Run("as the session of another computer", func(t *testing.T) {
		m.mail("b", doc{"kind": "message", "from": doc{"id": inA.ID, "name": "inA"}, "to": inB.ID, "message": text("I am A")})
		m.mail("b", doc{"kind": "message", "from": doc{"id": inB.ID, "name": "inB"}, "to": alsoB.ID, "message": text("I am B")})
		assert.Empty(t, settled(t))
	})
	t.Run("a session of which another computer has told is its own, seen or not", func(t *testing.T) {
		unseen := a.session("unseen")
		waitFor(t, "b has heard of it", func() bool {
			return slices.ContainsFunc(b.link.Computers(), func(c link.Computer) bool {
				return c.Token == "a" && slices.ContainsFunc(c.Sessions, func(s link.Session) bool { return s.ID == unseen.ID })
			})
		})
		m.mail("b", doc{"kind": "message", "from": doc{"id": unseen.ID, "name": "unseen"}, "to": inB.ID, "message": text("squatted")})
		assert.Empty(t, settled(t))
		_, err := a.send(unseen.ID, inB.ID, "it is me")
		require.NoError(t, err)
		waitFor(t, "the true one", func() bool { return slices.Contains(b.bodies(), "it is me") })
	})
	t.Run("seats of third computers, of nobody, and of this one", func(t *testing.T) {
		for _, computer := range []string{"a", "B", "", "local", "c", "x\x1b[2J"} {
			m.mail("b", doc{"kind": "chat", "room": doc{"home": "mallory", "id": message.NewID(), "seats": []doc{
				{"id": message.NewID(), "name": "Boss", "computer": computer, "number": 1, "may_speak": true}, {"id": alsoB.ID, "computer": "b", "number": 2},
			}}})
		}
		settled(t)
		assert.ElementsMatch(t, []string{"inA", "unseen"}, namesOn(b, "a"))
		for _, computer := range []string{"B", "", "local", "c", "x\x1b[2J"} {
			assert.Empty(t, peersOf(computer))
		}
		assert.Empty(t, b.relay.Snapshot().Chats())
	})
	t.Run("a chat in which it is not", func(t *testing.T) {
		chat, err := b.relay.Do(t.Context(), relay.StartChat{By: relay.By{Kind: relay.Person, Name: "tester"}, Peers: []string{string(inB.ID), string(inA.ID)}})
		require.NoError(t, err)
		id := chat.Chats[0].ID
		for _, home := range []string{"b", "a", "mallory"} {
			m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text("I join you"), "room": doc{"home": home, "id": id}})
			m.mail("b", doc{"kind": "chat", "room": doc{"home": home, "id": id, "seats": []doc{{"id": inB.ID, "computer": "b", "number": 1}}}})
			m.mail("b", doc{"kind": "left", "why": "over", "room": doc{"home": home, "id": id, "seats": []doc{{"id": inA.ID, "computer": "a"}, {"id": inA.ID, "computer": "mallory"}, {"id": inB.ID, "computer": "mallory"}}}})
		}
		m.ask("b", "chats", nil, []message.ID{id})
		assert.Empty(t, settled(t))
		for _, c := range b.relay.Snapshot().Chats() {
			if c.ID == id {
				assert.NotEqual(t, message.ChatOver, c.State)
				assert.Len(t, c.Participants, 2)
				assert.False(t, slices.ContainsFunc(c.Participants, func(p message.Participant) bool { return p.Left }))
			}
		}
		_, err = b.relay.Do(t.Context(), relay.StopChat{By: relay.By{Kind: relay.Person, Name: "tester"}, Chat: string(id)})
		require.NoError(t, err)
	})
	t.Run("the fate of what another computer was sent", func(t *testing.T) {
		a.end()
		answer, err := b.send(inB.ID, inA.ID, "for a alone")
		require.NoError(t, err)
		var d message.ID
		waitFor(t, "it is on its way", func() bool { d = b.last(answer.Message).Delivery; return b.last(answer.Message).State == message.Held })
		for _, state := range []message.ReceiptState{message.Submitted, message.Answered, message.Failed} {
			f := doc{"delivery": d, "state": state, "words": "forged"}
			m.mail("b", doc{"kind": "fate", "fate": f})
			m.ask("b", "fate", nil, f)
		}
		a.start()
		waitFor(t, "a has it", func() bool { return slices.Contains(a.bodies(), "for a alone") })
		waitFor(t, "and says so", func() bool { return b.last(answer.Message).State == message.Submitted })
		all, err := b.journal.Receipts(t.Context(), answer.Message)
		require.NoError(t, err)
		for _, r := range all {
			assert.NotEqual(t, message.Answered, r.State)
			assert.NotEqual(t, "forged", r.Words)
		}
	})
	t.Run("notices are told beside chats, and not without end", func(t *testing.T) {
		const all = 30
		for i := range all {
			m.mail("b", doc{"kind": "message", "from": own, "to": alsoB.ID, "message": doc{"type": "notice", "body": fmt.Sprint("notice ", i), "origin": "system"}})
		}
		waitFor(t, "all of them", func() bool {
			return len(slices.DeleteFunc(b.bodies(), func(s string) bool { return !strings.HasPrefix(s, "notice ") })) == all
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		system := 0
		for _, d := range b.took {
			if strings.HasPrefix(d.Message.Body, "notice ") {
				assert.Equal(t, message.TrustRemote, d.Message.Trust)
				if d.Message.Origin == message.OriginSystem {
					system++
				}
			}
		}
		assert.Positive(t, system)
	})
	t.Run("what was said to another computer, put in here", func(t *testing.T) {
		// A reply subject makes the server deliver there. What is delivered keeps its subject, and so its
		// signature fits.
		stream, err := m.js.Stream(t.Context(), link.StreamOf("mallory"))
		require.NoError(t, err)
		require.NoError(t, stream.Purge(t.Context()))
		data, err := json.Marshal(doc{"id": message.NewID(), "kind": "message", "from": doc{"id": inA.ID, "name": "inA"}, "to": inB.ID, "message": text("said to mallory")})
		require.NoError(t, err)
		signed, err := link.Sign(filepath.Join(a.dir, "link"), link.ToSubject("mallory", "a"), data)
		require.NoError(t, err)
		require.NoError(t, m.conn.PublishMsg(signed))
		_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "x", AckPolicy: jetstream.AckExplicitPolicy})
		require.NoError(t, err)
		box := func() jetstream.StreamState {
			stream, err := m.js.Stream(t.Context(), link.StreamOf("b"))
			require.NoError(t, err)
			return stream.CachedInfo().State
		}
		before := box().LastSeq
		require.NoError(t, m.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT.INTERCOM_mallory.x", link.ToSubject("b", "any"), []byte(`{"batch":1}`)))
		waitFor(t, "it is in the mailbox of b", func() bool { return box().LastSeq > before })
		assert.Empty(t, settled(t))
		require.NoError(t, stream.DeleteConsumer(t.Context(), "x"))
	})
	t.Run("parcels that wait hold up nobody", func(t *testing.T) {
		began := time.Now()
		for range 200 {
			m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text("later?"), "room": doc{"home": "a", "id": message.NewID()}})
		}
		assert.Empty(t, settled(t))
		assert.Less(t, time.Since(began), patience/2)
	})
	t.Run("a mailbox of its own that takes nothing holds up nobody", func(t *testing.T) {
		stream, err := m.js.Stream(t.Context(), link.StreamOf("mallory"))
		require.NoError(t, err)
		full := stream.CachedInfo().Config
		full.MaxMsgs = 1
		_, err = m.js.UpdateStream(t.Context(), full)
		require.NoError(t, err)
		m.mail("mallory", doc{"kind": "message"})
		began := time.Now()
		for range 200 {
			m.mail("b", doc{"kind": "message", "from": own, "to": message.NewID(), "message": text("to nobody")})
		}
		assert.Empty(t, settled(t))
		assert.Less(t, time.Since(began), patience/2)
	})
	t.Run("what cannot be answered is not read again for ever", func(t *testing.T) {
		// An answer that repeated all of this would be longer than the server takes.
		seats := slices.Repeat([]doc{{}}, 150_000)
		m.mail("b", doc{"kind": "chat", "room": doc{"home": "mallory", "id": message.NewID(), "seats": seats}})
		m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text("in it"), "room": doc{"home": "mallory", "id": message.NewID(), "seats": seats}})
		assert.Empty(t, settled(t))
	})
	t.Run("under a name to which nothing can be said", func(t *testing.T) {
		for _, name := range []string{"*", ">", "local", "MALLORY", "x\x1b[2J", "\u202ex", strings.Repeat("x", 100)} {
			m.say(link.ToSubject("b", name), doc{"kind": "message", "id": message.NewID(), "from": doc{"id": message.NewID(), "name": "X"}, "to": inB.ID, "message": text("from nowhere")})
			m.say("intercom.v1.here."+name, doc{"name": name, "boot": "1", "revision": "1", "sent": time.Now()})
		}
		assert.Empty(t, settled(t))
		for _, c := range b.link.Computers() {
			assert.Contains(t, []string{"a", "mallory"}, c.Token)
		}
	})
	t.Run("words without end", func(t *testing.T) {
		long := strings.Repeat("long ", 100_000)
		known, err := b.relay.Join(t.Context(), message.Peer{Kind: message.PeerRemote, Key: "mallory/" + string(own["id"].(message.ID)), Name: "Own.mallory", Computer: "mallory", ID: own["id"].(message.ID)})
		require.NoError(t, err)
		purge(t, m, "mallory") // the mailbox may be full by now, and nobody can know about a message that never went into it
		sent, err := b.send(inB.ID, known.ID, "for mallory")
		require.NoError(t, err)
		waitFor(t, "it is on its way", func() bool { return b.last(sent.Message).State != message.Queued })
		m.mail("b", doc{"kind": "fate", "fate": doc{"delivery": b.last(sent.Message).Delivery, "state": message.Failed, "reason": long}})
		waitFor(t, "what became of it", func() bool { return b.last(sent.Message).State == message.Failed })
		assert.Less(t, len(b.last(sent.Message).Reason), 300)
		m.mail("b", doc{"kind": "delete " + long})
		chat := doc{"home": "mallory", "id": message.NewID(), "seats": []doc{{"id": own["id"], "computer": "mallory", "number": 1}, {"id": alsoB.ID, "computer": "b", "number": 2}}}
		m.mail("b", doc{"kind": "chat", "room": chat})
		m.mail("b", doc{"kind": "left", "why": long, "room": chat})
		assert.Empty(t, settled(t))
		over := slices.DeleteFunc(b.relay.Snapshot().Chats(), func(c message.Chat) bool { return c.Home == nil })
		require.Len(t, over, 1)
		assert.Equal(t, message.ChatOver, over[0].State)
		assert.Less(t, len(over[0].Why), 300)
	})
	t.Run("what it tells of sessions", func(t *testing.T) {
		good := doc{"id": message.NewID(), "name": "Good", "title": strings.Repeat("ä", 1000), "agent": "../../x"}
		all := []doc{
			good,
			{"id": inB.ID, "name": "yours"},
			{"id": inA.ID, "name": "of-a"},
			{"id": "x", "name": "no-id"},
			{"id": message.NewID(), "name": "a\x1b[2Jb"},
			{"id": message.NewID(), "name": "line\nbreak"},
			{"id": message.NewID(), "name": ""},
			{"id": message.NewID(), "name": strings.Repeat("n", 500)},
			{"id": message.NewID(), "name": "all"},
		}
		for i := range 3000 {
			all = append(all, doc{"id": message.NewID(), "name": fmt.Sprint("many-", i)})
		}
		m.answersWith(all)
		m.here(doc{"revision": "2", "name": "\x1b]0;x\a"})
		var told []link.Session
		waitFor(t, "b has asked", func() bool {
			for _, c := range b.link.Computers() {
				if c.Token == "mallory" {
					assert.Equal(t, "mallory", c.Name)
					told = c.Sessions
				}
			}
			return len(told) > 0
		})
		assert.LessOrEqual(t, len(told), 1000)
		assert.Equal(t, "Good", told[0].Name)
		assert.Empty(t, told[0].Agent)
		assert.LessOrEqual(t, len(told[0].Title), 203)
		for _, one := range told[1:] {
			assert.True(t, strings.HasPrefix(one.Name, "many-"), "%q", one.Name)
		}
	})
	t.Run("sessions without end", func(t *testing.T) {
		for i := range 150 {
			m.mail("b", doc{"kind": "message", "from": doc{"id": message.NewID(), "name": fmt.Sprint("x", i)}, "to": alsoB.ID, "message": text("one of many")})
		}
		settled(t)
		assert.Len(t, peersOf("mallory"), 100)
	})
	t.Run("a flood of questions and greetings", func(t *testing.T) {
		listening, err := m.conn.SubscribeSync("intercom.v1.here.b")
		require.NoError(t, err)
		require.NoError(t, m.conn.Flush())
		for i := range 3000 {
			m.ask("b", "sessions", nil, nil)
			if i%10 == 0 {
				m.here(doc{"hello": true, "boot": fmt.Sprint(i)})
			}
		}
		var err2 error
		waitFor(t, "b answers a", func() bool { _, err2 = a.link.RoundTrip(t.Context(), "b"); return err2 == nil })
		// The words of the sessions without end are accepted, and may still be on their way from the journal to
		// their reader.
		assert.Empty(t, slices.DeleteFunc(settled(t), func(s string) bool { return s == "one of many" }))
		heard, _, err := listening.Pending()
		require.NoError(t, err)
		assert.Less(t, heard, 100, "one greeting is not answered a hundred times")
	})
}

// N7: once there was much beyond the limits here, the rest costs the journal nothing, and its sender is told
// about each message.
func TestN6_N7_WhatComesToNothingIsNotWrittenDown(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	var received atomic.Int64
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), link.All(link.Paced(1000, 2000), func(l *link.Link) {
		l.Relay = receiving{l.Relay, func(m message.Envelope) {
			if strings.HasPrefix(m.Body, "flood ") {
				received.Add(1)
			}
		}}
	}))
	require.NoError(t, b.relay.Limit(t.Context(), relay.LimitsChanged{}))
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	m := newMallory(t, s)
	_, err := link.EnsureMailbox(t.Context(), m.js, "mallory")
	require.NoError(t, err)
	own := doc{"id": message.NewID(), "name": "Own"}
	const flood = 600
	began := time.Now()
	for i := range flood {
		m.mail("b", doc{"kind": "message", "from": own, "to": inB.ID, "message": text(fmt.Sprint("flood ", i))})
	}
	require.NoError(t, m.conn.Flush())
	_, err = a.send(inA.ID, inB.ID, "honest")
	require.NoError(t, err)
	waitFor(t, "what another one sent", func() bool { return slices.Contains(b.bodies(), "honest") })
	m.isRead(t, "b")
	took := time.Since(began)
	assert.LessOrEqual(t, float64(len(b.bodies())), 1+10*(2+took.Minutes()), "ten a minute")
	assert.Less(t, float64(received.Load()), flood/2+took.Seconds(), "messages that the journal has for nothing: a hundred, then one a second")
	box, err := m.js.Stream(t.Context(), link.StreamOf("mallory"))
	require.NoError(t, err)
	assert.Equal(t, flood-int(received.Load()), int(box.CachedInfo().State.Msgs), "of the rest it is told by mail")
}

// namesOn returns the names of the sessions of another computer that are peers here.
func namesOn(c *computer, token string) (names []string) {
	for _, p := range c.relay.Snapshot().Peers() {
		if p.Computer == token && p.Kind == message.PeerRemote && p.Ended == nil {
			names = append(names, strings.TrimSuffix(p.Name, "."+token))
		}
	}
	return names
}

// M7: a computer that may answer, but not send, reaches whoever has asked it, and nobody else.
func TestM7_N6_AnswersGoToWhoAsked(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	b := newComputer(t, "b", s.ClientURL(), func(l *link.Link) { l.May = func(_, what string) bool { return what == "answer" } })
	asker, other := b.session("asker"), b.session("other")
	m := newMallory(t, s)
	own := link.Session{ID: message.NewID(), Name: "Own"}
	_, err := m.js.CreateStream(t.Context(), jetstream.StreamConfig{Name: link.StreamOf("mallory"), Subjects: []string{link.ToSubject("mallory", "*")}, Retention: jetstream.WorkQueuePolicy})
	require.NoError(t, err)
	m.answersWith([]link.Session{own})
	waitFor(t, "b knows it", func() bool {
		m.here(nil)
		return len(b.link.Computers()) == 1 && len(b.link.Computers()[0].Sessions) == 1
	})
	_, err = b.link.Enter(t.Context(), "mallory", own)
	require.NoError(t, err)
	sent, err := b.send(asker.ID, own.ID, "a question")
	require.NoError(t, err)
	delivery := b.last(sent.Message).Delivery
	for _, to := range []message.ID{other.ID, asker.ID} {
		m.mail("b", doc{"kind": "message", "from": own, "to": to, "message": doc{"body": "an answer for " + string(to), "in_reply_to": delivery}})
	}
	m.mail("b", doc{"kind": "message", "from": own, "to": asker.ID, "message": doc{"body": "and something else"}})
	waitFor(t, "the answer", func() bool { return len(b.bodies()) > 0 })
	assert.Equal(t, []string{"an answer for " + string(asker.ID)}, b.bodies())
}

// N3: a message that a server confirmed and then lost is sent once more, and arrives in order.
func TestN3_LostByTheServer(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), link.All(link.LostAfter(500*time.Millisecond), link.AskEvery(100*time.Millisecond))), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.end()
	const messages = 20
	var last message.ID
	for i := range messages {
		answer, err := a.send(inA.ID, inB.ID, fmt.Sprint("a ", i))
		require.NoError(t, err)
		last = answer.Message
	}
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	mailbox, err := js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	waitFor(t, "the server has them", func() bool {
		has, err := mailbox.Info(t.Context())
		r := a.last(last) // that b is away is reported before, too
		return err == nil && has.State.Msgs >= messages && (r.State == message.Held && r.Reason == message.ComputerAway || r.State == message.Typed)
	})
	require.NoError(t, js.DeleteStream(t.Context(), link.StreamOf("b")))
	b.start()
	waitFor(t, "all of it", func() bool { return len(b.bodies()) >= messages })
	waitFor(t, "a is told", func() bool { return a.last(last).State == message.Submitted })
	for i, body := range b.bodies() {
		require.Equal(t, fmt.Sprint("a ", i), body)
	}
}

// A computer's messages go to sessions of this one. They go neither through it to those of a third computer,
// nor to its other peers.
func TestC8_N6_NobodyIsAWayToAnother(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.knows("a", inA)
	port, err := a.relay.Join(t.Context(), message.Peer{Kind: message.PeerPort, Key: "4711", Name: "port-4711"})
	require.NoError(t, err)
	m := newMallory(t, s)
	_, err = link.EnsureMailbox(t.Context(), m.js, "mallory")
	require.NoError(t, err)
	own := doc{"id": message.NewID(), "name": "Own"}
	for _, to := range []message.ID{inB.ID, port.ID, "port-4711", "4711", "inB", "b/inB", "person"} {
		m.mail("a", doc{"kind": "message", "from": own, "to": to, "message": text("through a")})
	}
	m.mail("a", doc{"kind": "message", "from": own, "to": inA.ID, "message": text("to a")})
	waitFor(t, "what is for a", func() bool { return slices.Contains(a.bodies(), "to a") })
	_, err = a.send(inA.ID, inB.ID, "of a itself")
	require.NoError(t, err)
	waitFor(t, "what comes after it", func() bool { return slices.Contains(b.bodies(), "of a itself") })
	assert.Equal(t, []string{"to a"}, a.bodies())
	assert.Equal(t, []string{"of a itself"}, b.bodies())
}
