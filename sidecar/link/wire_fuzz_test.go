package link

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/journal"
	"github.com/tmux-intercom/tmux-intercom/sidecar/journaltest"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
	"github.com/tmux-intercom/tmux-intercom/sidecar/registry"
	"github.com/tmux-intercom/tmux-intercom/sidecar/relay"
)

// The words of a computer with access that keeps to no rule: each line is one message, of the kind that its
// first letter says (target.says). None causes a panic, and what comes of it is never more than another
// computer may do (target.holds).
func FuzzWire(f *testing.F) {
	srv := startHere(f)
	conn := dialHere(f, srv)
	mine, its := identityOf(f), identityOf(f)
	for _, seed := range wireSeeds(f) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		s := newTarget(t, conn, mine, its)
		defer s.end()
		said = s.filled(said)
		before := allocated()
		for i, line := range strings.Split(said, "\n") {
			if i < 12 && line != "" {
				s.says(line[0], line[1:])
			}
		}
		s.settle()
		assert.Less(t, allocated()-before, uint64(16<<20+64*len(said)), "bytes")
		s.holds()
	})
}

// wireSeeds are values as links make them, and what was tried by hand. $own is a session of mallory's that is a peer here,
// $here and $also are sessions of this computer, $far is one of a third; $sent is a delivery to $own, $other one to $far; $chat is a
// chat here of $here, $own and $far.
func wireSeeds(t testing.TB) (all []string) {
	line := func(way string, v any) string {
		text, err := json.Marshal(v)
		require.NoError(t, err)
		return way + string(text)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	own := Session{ID: "$own", Name: "Own", Title: "Its title", Agent: "claude"}
	said := &letter{
		Thread: "$new2", Type: message.KindMessage, Priority: "high", Subject: "s", Body: "good day", InReplyTo: "$sent", RequiresResponse: true,
		Tags: []string{"a"}, Depth: 3, Created: at,
	}
	forged := &message.Envelope{
		ID: "$new1", Body: "forged", Type: message.KindNotice, Origin: message.OriginHuman, Trust: message.TrustPerson, Depth: -5,
		From: message.Address{Computer: "local", Peer: "$here"}, To: []message.Address{{Peer: "$far"}}, Chat: "$chat", Meta: map[string]string{"port": "1"},
	}
	claims := func(from Session, to message.ID) string {
		return line("m", map[string]any{"kind": parcelMessage, "id": "$new3", "from": from, "to": to, "message": forged})
	}
	of := func(home string, id message.ID) *room {
		return &room{Home: home, ID: id, Name: "plan", Seats: []seat{
			{Session: Session{ID: "$new4", Name: "Other"}, Computer: "mallory", Number: 1, Role: "lead", MaySpeak: true},
			{Session: Session{ID: "$also", Name: "also"}, Computer: "a", Number: 2, MaySpeak: true},
			{Session: Session{ID: "$far", Name: "far"}, Computer: "b", Number: 3, Left: true},
		}}
	}
	mail := func(p parcel) string { p.ID = cmp.Or(p.ID, "$new3"); return line("m", p) }
	sent := at.Add(time.Second)
	all = []string{
		mail(parcel{Kind: parcelMessage, From: own, To: "$here", Message: said}),
		claims(own, "$here"),
		mail(parcel{Kind: parcelMessage, From: Session{ID: "$here", Name: "here"}, To: "$also", Message: said}),
		mail(parcel{Kind: parcelMessage, From: own, To: "$far", Message: said}),
		claims(Session{ID: "$new4", Name: "here"}, "$also"),
		mail(parcel{Kind: parcelMessage, From: own, To: "$here", Message: said, Room: of("a", "$chat")}),
		mail(parcel{Kind: parcelMessage, From: own, To: "$also", Message: said, Room: of("mallory", "$new5")}),
		mail(parcel{Kind: parcelMessage, From: own, To: "$also", Message: said, Room: of("b", "$new5")}),
		mail(parcel{Kind: parcelChat, Room: of("mallory", "$new5")}) + "\n" + mail(parcel{Kind: parcelLeft, ID: "$new6", Room: of("mallory", "$new5"), Why: "over"}),
		mail(parcel{Kind: parcelChat, Room: of("a", "$chat")}),
		mail(parcel{Kind: parcelLeft, Room: of("a", "$chat"), Why: "bye"}),
		line("h", presence{Name: "Mallory", Boot: "1", Revision: "2", Hello: true, Sent: sent}) + "\n" + line("s", reply{Body: json.RawMessage(`[{"id":"$own","name":"Own"},{"id":"$new4","name":"x","title":"t"},{"id":"$far","name":"y"}]`)}),
		line("h", presence{Name: "mallory", Boot: "1", Bye: true, Sent: at.Add(-time.Hour)}) + "\n" + line("s", reply{Body: json.RawMessage(`[]`)}),
		line("r", reply{Error: &RemoteError{Code: "refused", Text: "no", Hint: "never"}}),
		line("c", reply{Body: json.RawMessage(`["$chat"]`)}),
		line("d", reply{Body: json.RawMessage(`{"status":"s","entries":[{"at":"2026-01-02T03:04:05Z","text":"x"}],"session":{"subscribers":["$own"]}}`)}),
		line("k", "UABC") + " c2ln",
		"tb " + claims(Session{ID: "$new4", Name: "x"}, "$here")[1:], "t> " + claims(Session{ID: "$new4", Name: "x"}, "$here")[1:], "tlocal " + claims(Session{ID: "$new4", Name: "x"}, "$here")[1:],
	}
	for _, state := range []message.ReceiptState{message.Queued, message.Held, message.Submitted, message.Answered, message.Failed, message.Expired, message.Uncertain} {
		for _, d := range []message.ID{"$sent", "$other"} {
			f := fate{Delivery: d, State: state, Reason: message.AgentGone, Words: "done", At: at}
			all = append(all, mail(parcel{Kind: parcelFate, Fate: &f}))
			text, err := json.Marshal([]fate{f})
			require.NoError(t, err)
			all = append(all, line("f", reply{Body: text}))
		}
	}
	for op, body := range map[string]any{
		opPing: nil, opSessions: nil, opFate: fate{Delivery: "$other", State: message.Answered, Words: "x"}, opFates: []string{"$sent", "$message"}, opChats: []string{"$chat"},
		"start": map[string]string{"agent": "claude"},
	} {
		text, err := json.Marshal(body)
		require.NoError(t, err)
		all = append(all, line("q", question{ID: "$new7", Op: op, From: own, Sent: sent, Body: text}))
	}
	return all
}

// The longest mail that a server passes on costs no more memory than a few times its size.
func TestN6_WhatComesCostsItsSize(t *testing.T) {
	conn := dialHere(t, startHere(t))
	mine, its := identityOf(t), identityOf(t)
	const most = 8 << 20
	many := func(before, one, after string) string {
		return before + strings.Repeat(one+",", (most-len(before)-len(after)-len(one))/(len(one)+1)) + one + after
	}
	for name, said := range map[string]string{
		"seats":             "m" + many(`{"kind":"chat","id":"$new1","room":{"home":"mallory","id":"$new2","seats":[`, `{}`, `]}}`),
		"addressees":        "m" + many(`{"kind":"message","id":"$new1","to":"$here","from":{"id":"$own"},"message":{"body":"x","to":[`, `{}`, `]}}`),
		"tags":              "m" + many(`{"kind":"message","id":"$new1","to":"$here","from":{"id":"$own"},"message":{"body":"x","tags":[`, `""`, `]}}`),
		"ids":               "q" + many(`{"id":"$new1","op":"fates","sent":"$now","body":[`, `""`, `]}`),
		"chats asked for":   "q" + many(`{"id":"$new1","op":"chats","sent":"$now","body":[`, `""`, `]}`),
		"sessions":          "h" + `{"name":"mallory","boot":"1","revision":"2","sent":"$now"}` + "\ns" + many(`{"body":[`, `{}`, `]}`),
		"fates":             "f" + many(`{"body":[`, `{}`, `]}`),
		"entries":           "d" + many(`{"body":{"entries":[`, `{}`, `]}}`),
		"subscribers":       "d" + many(`{"body":{"session":{"subscribers":[`, `""`, `]}}}`),
		"what is nested":    "d" + many(`{"body":{"x":`+strings.Repeat("[", 5000), `[]`, strings.Repeat("]", 5000)+`}}`),
		"a status":          "d" + `{"body":{"status":"` + strings.Repeat("b", most-100) + `"}}`,
		"a question's body": "q" + many(`{"id":"$new1","op":"session/data","from":{"id":"$own"},"sent":"$now","body":[`, `""`, `]}`),
		"chats that go on":  "c" + many(`{"body":[`, `""`, `]}`),
		"a name":            "h" + `{"name":"mallory","boot":"` + strings.Repeat("b", most-100) + `","sent":"$now"}`,
		"a revision":        "h" + `{"name":"mallory","revision":"` + strings.Repeat("b", most-100) + `","sent":"$now"}`,
		"an operation":      "q" + `{"id":"$new1","sent":"$now","op":"` + strings.Repeat("b", most-100) + `"}`,
		"a parcel's kind":   "m" + `{"id":"$new1","kind":"` + strings.Repeat("b", most-100) + `"}`,
		"a session's title": "m" + `{"kind":"message","id":"$new1","to":"$here","from":{"id":"$own","title":"` + strings.Repeat("b", most-200) + `"},"message":{"body":"x"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTarget(t, conn, mine, its)
			defer s.end()
			said = s.filled(said)
			runtime.GC()
			before, kept := allocated(), inUse()
			for line := range strings.Lines(said) {
				s.says(line[0], strings.TrimSuffix(line[1:], "\n"))
			}
			s.settle()
			took := allocated() - before
			runtime.GC()
			left := int64(inUse()) - int64(kept)
			t.Logf("%d MiB made, %.1f MiB kept", took>>20, float64(left)/(1<<20))
			assert.Less(t, took, uint64(10*most))
			assert.Less(t, left, int64(most/2))
			s.holds()
			runtime.KeepAlive(s)
			runtime.KeepAlive(said)
		})
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

func inUse() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// target is a link with its relay, in memory, to which mallory speaks. No time passes, and things are done one
// after the other.
type target struct {
	t                    testing.TB
	ctx                  context.Context
	link                 *Link
	lf                   *life
	relay                *relay.Relay
	book                 *book
	its                  identity
	posted               *posts
	told                 *nats.Subscription // everything that this computer says other than by mail
	end                  func()
	here, also, own, far message.Peer
	sent, other, message message.ID
	chat                 message.ID
	now                  time.Time
	names                *strings.Replacer
	was                  map[message.ID]message.Receipt
	depth                int // depth of the message that $own was sent
	mu                   sync.Mutex
	panes                []message.Delivery
	received             int // messages in the book before mallory said anything
}

func newTarget(t testing.TB, conn *nats.Conn, mine, its identity) *target {
	ctx, cancel := context.WithCancel(context.Background())
	s := &target{t: t, ctx: ctx, its: its, book: &book{Book: journaltest.NewBook()}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	clock := func() time.Time { return s.now }
	log := slog.New(slog.DiscardHandler)
	s.relay = &relay.Relay{Journal: s.book, Sink: s, Log: log, Now: clock}
	s.link = &Link{
		Relay: s.relay, Journal: s.book, Config: func() Config { return Config{Name: "a", NATS: "nats://localhost"} }, Log: log, Now: clock,
		May: func(_, what string) bool { return what == "send" || what == "answer" }, Pinned: func(string) string { return "" },
		Sessions: func() (all []Session) {
			for _, p := range s.relay.Snapshot().Peers() {
				if p.Kind == message.PeerPane {
					all = append(all, Session{ID: p.ID, Name: p.Name})
				}
			}
			return all
		},
		Peers: func() []message.Peer { return s.relay.Snapshot().Peers() }, Chats: func() []message.Chat { return s.relay.Snapshot().Chats() },
	}
	s.relay.Sinks = map[message.PeerKind]relay.Sink{message.PeerRemote: s.link}
	s.link.init()
	s.posted = &posts{}
	s.lf = &life{
		config: s.link.Config(), token: "a", id: mine, conn: conn, js: s.posted, boot: "1", began: s.now.Add(-time.Hour), beat: make(chan struct{}, 1),
		flooded: make(chan struct{}, 1), turns: make(chan struct{}, turnsAtOnce), fates: make(chan told, untoldMost),
		costs: costs{pace: s.link.pace, timing: s.link.timing},
	}
	s.link.life = s.lf
	s.link.told = map[message.ID]string{}
	over := make(chan struct{})
	go func() { defer close(over); assert.NoError(t, s.relay.Run(ctx)) }()
	s.end = sync.OnceFunc(func() { cancel(); <-over })
	t.Cleanup(s.end)
	s.relay.Publish = s.link.Hear
	adopt := func(name string) message.Peer {
		p, err := s.relay.Adopt(ctx, message.Peer{ID: message.NewID(), Name: name, PaneOf: message.PaneOf{Pane: "%" + name, Profile: "line"}})
		require.NoError(t, err)
		return p
	}
	s.here, s.also = adopt("here"), adopt("also")
	enter := func(token, name, key string) message.Peer {
		there := Session{ID: message.NewID(), Name: name}
		s.link.known[token] = &known{Name: token, Key: key, Sessions: []Session{there}}
		s.link.told[there.ID] = token
		p, err := s.link.Enter(ctx, token, there)
		require.NoError(t, err)
		return p
	}
	s.own, s.far = enter("mallory", "Own", its.public), enter("b", "far", mine.public)
	person := relay.By{Kind: relay.Person, Name: "tester"}
	send := func(to message.Peer) (message.ID, message.ID) {
		answer, err := s.relay.Do(ctx, relay.Send{By: relay.By{Kind: relay.Agent, Peer: s.here.ID}, To: string(to.ID), Message: message.Envelope{Body: "sent"}})
		require.NoError(t, err)
		s.settle()
		queued := s.link.queued()
		require.Len(t, queued, 1)
		require.False(t, s.link.give(ctx, s.lf, to.Computer, queued[0]))
		s.link.unqueue(queued[0])
		s.depth = queued[0].Message.Depth
		return answer.Message, queued[0].ID
	}
	begun, err := s.relay.Do(ctx, relay.StartChat{By: person, Peers: []string{string(s.here.ID), string(s.own.ID), string(s.far.ID)}})
	require.NoError(t, err)
	s.chat = begun.Chats[0].ID
	_, s.other = send(s.far)
	s.message, s.sent = send(s.own)
	s.told, err = conn.SubscribeSync("intercom.v1.>")
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.told.Unsubscribe() })
	fill := []string{
		"$here", string(s.here.ID), "$also", string(s.also.ID), "$own", string(s.own.ID), "$far", string(s.far.ID), "$sent", string(s.sent), "$other", string(s.other),
		"$message", string(s.message), "$chat", string(s.chat), "$now", s.now.Format(time.RFC3339),
	}
	for i := range 8 {
		fill = append(fill, fmt.Sprint("$new", i), string(message.NewID()))
	}
	s.names = strings.NewReplacer(fill...)
	s.settle()
	s.posted.subjects = nil
	s.book.locked(func(b *book) { s.received, s.was, b.freed = len(b.Received), maps.Clone(b.Last), nil })
	return s
}

func (s *target) filled(text string) string { return s.names.Replace(text) }

// says has mallory say one thing: m mail, q a question, h that it is here; answers to s sessions, f fates, c chats, r anything, d what an operation of the api asks; k headers;
// t mail under another name than its own, which is the first word.
func (s *target) says(way byte, text string) {
	signed := func(subject string) *nats.Msg {
		m, err := s.its.sign(subject, []byte(text))
		require.NoError(s.t, err)
		return m
	}
	// answering answers a question of this computer in this way; it may ask more than one.
	answering := func(ask func()) {
		sub, err := s.lf.conn.Subscribe(askSubject("mallory", "a"), func(m *nats.Msg) {
			var q question
			if assert.NoError(s.t, json.Unmarshal(m.Data, &q)) {
				s.link.answered(s.lf, signed(answerSubject("a", string(q.ID), "mallory")))
			}
		})
		require.NoError(s.t, err)
		defer func() { _ = sub.Unsubscribe() }()
		ask()
	}
	switch way {
	case 'm':
		_ = s.link.take(s.ctx, s.lf, arrived(signed(toSubject("a", "mallory"))), patience)
	case 'q':
		s.link.answer(s.ctx, s.lf, signed(askSubject("a", "mallory")))
	case 'h':
		// The questions that presence causes are asked here, one after the other and without the pauses.
		s.link.known["mallory"].asking = true
		s.lf.turns = make(chan struct{}) // nobody has a turn
		ctx, cancel := context.WithCancel(s.ctx)
		s.link.heard(ctx, s.lf, signed(hereSubject("mallory")))
		cancel()
		s.lf.asking.Wait()
		s.lf.turns = make(chan struct{}, turnsAtOnce)
	case 's':
		answering(func() {
			if all, err := s.link.sessionsOf(s.ctx, s.lf, "mallory"); err == nil {
				s.link.takeSessions(s.ctx, "mallory", s.link.known["mallory"].told, all)
			}
		})
	case 'f':
		answering(func() { _ = s.link.askFates(s.ctx, "mallory", true) })
	case 'c':
		s.mirrored()
		answering(func() { s.link.tellChats(s.lf, "mallory"); s.link.askChats(s.ctx, "mallory") })
	case 'r':
		answering(func() { _, _ = s.link.RoundTrip(s.ctx, "mallory") })
	case 'd':
		answering(func() {
			var out struct {
				Status  string
				Entries []struct {
					At   time.Time
					Text string
				}
				Session struct{ Subscribers []message.ID }
			}
			_ = s.link.Ask(s.ctx, "mallory", "session/data", Session{}, nil, &out)
		})
	case 'k':
		key, signature, _ := strings.Cut(text, " ")
		m := nats.NewMsg(toSubject("a", "mallory"))
		m.Data = []byte(s.filled(`{"kind":"message","id":"$new0","to":"$here","from":{"id":"$own"},"message":{"body":"unsigned"}}`))
		m.Header = nats.Header{keyHeader: {key}, signHeader: {signature}}
		_ = s.link.take(s.ctx, s.lf, arrived(m), patience)
	case 't':
		name, rest, _ := strings.Cut(text, " ")
		text = rest
		if its, err := Token(name); err != nil || its != name || name == "b" { // any other name is another computer, with the first key that comes
			_ = s.link.take(s.ctx, s.lf, arrived(signed(toSubject("a", name))), patience)
		}
	}
}

// mirrored makes a chat of mallory's a chat here.
func (s *target) mirrored() {
	s.says('m', s.filled(`{"kind":"chat","id":"$new0","room":{"home":"mallory","id":"$new1","seats":[{"id":"$new2","name":"New","computer":"mallory","number":1},{"id":"$also","computer":"a","number":2}]}}`))
}

// settle waits until the relay has done what follows from what it was told.
func (s *target) settle() {
	for range 2 {
		_, err := s.relay.Adopt(s.ctx, message.Peer{ID: s.here.ID, Name: "here", PaneOf: message.PaneOf{Pane: "%here", Profile: "line"}})
		require.NoError(s.t, err)
	}
}

// holds checks that nothing was believed that mallory may not say.
func (s *target) holds() {
	t := s.t
	ours := []message.ID{s.here.ID, s.also.ID}
	s.book.locked(func(b *book) {
		mine := func(id message.ID) bool { // mallory's
			i := slices.IndexFunc(b.Sessions, func(p message.Peer) bool { return p.ID == id })
			return i >= 0 && b.Sessions[i].Computer == "mallory" && b.Sessions[i].Kind == message.PeerRemote
		}
		deepest := map[message.ID]int{s.own.ID: s.depth + 1}
		for _, m := range b.Received[s.received:] {
			assert.Equal(t, message.TrustRemote, m.Trust)
			if m.Origin != message.OriginRemote {
				assert.Equal(t, []any{message.OriginSystem, message.KindNotice, message.ID("")}, []any{m.Origin, m.Type, m.Chat}, "only a notice is its sidecar's")
			}
			assert.Equal(t, "mallory", m.From.Computer)
			assert.True(t, mine(m.From.Peer), "%s", m.From.Peer)
			assert.NotEqual(t, message.OriginHuman, m.Origin)
			assert.GreaterOrEqual(t, m.Depth, max(1, deepest[m.From.Peer]))
			deepest[m.From.Peer] = m.Depth
			assert.Empty(t, m.Meta)
			assert.Len(t, m.To, 1)
			assert.Contains(t, ours, m.To[0].Peer)
			assert.NotEqual(t, "unsigned", m.Body)
			assert.NoError(t, m.Validate())
		}
		for _, p := range b.Sessions {
			assert.NoError(t, registry.CheckName(p.Name))
			switch {
			case slices.Contains(ours, p.ID):
				assert.Equal(t, message.PeerPane, p.Kind)
				assert.Nil(t, p.Ended)
			case p.ID == s.far.ID:
				assert.Equal(t, "b", p.Computer)
				assert.Nil(t, p.Ended)
			default:
				assert.Equal(t, []any{message.PeerRemote, "mallory"}, []any{p.Kind, p.Computer})
				assert.True(t, utf8.ValidString(p.Title) && len(p.Title) <= maxTitle)
				_, err := message.ParseID(string(p.ID))
				assert.NoError(t, err)
			}
		}
		for _, c := range b.Chats {
			if c.Home != nil {
				assert.Equal(t, "mallory", c.Home.Computer)
				assert.NotEqual(t, message.ChatOn, c.State, "nobody has said yes")
				continue
			}
			assert.Equal(t, s.chat, c.ID)
			assert.NotEqual(t, message.ChatOver, c.State)
			assert.Len(t, c.Participants, 3)
			for _, p := range c.Participants {
				assert.False(t, p.Left && p.Peer != s.own.ID)
			}
		}
		for id, r := range b.Last {
			if was, before := s.was[id]; before && id != s.sent {
				assert.Equal(t, was, r)
			}
		}
		for _, v := range b.Decided {
			assert.Empty(t, v.Person.Name)
		}
		assert.False(t, b.Stopped)
		for _, r := range b.Records {
			switch r.Kind {
			case "subscription": // it is told of whom it asks something
			case "spent": // what the rates have counted for a peer: one each, rewritten in place
				assert.True(t, r.ID == string(message.Unverified) || slices.ContainsFunc(b.Sessions, func(p message.Peer) bool { return string(p.ID) == r.ID }), "%s", r.ID)
				assert.Less(t, len(r.Doc), 16<<10)
			default:
				t.Errorf("a record of kind %q", r.Kind)
			}
		}
		assert.Empty(t, b.freed)
	})
	s.mu.Lock()
	for _, d := range s.panes {
		assert.Contains(t, ours, d.Target)
	}
	s.mu.Unlock()
	for _, subject := range s.posted.subjects {
		assert.Equal(t, toSubject("mallory", "a"), subject)
	}
	require.NoError(t, s.lf.conn.Flush())
	for {
		m, err := s.told.NextMsg(0)
		if err != nil {
			break
		}
		if m.Subject != askSubject("mallory", "a") {
			parts := strings.Split(m.Subject, ".")
			require.Len(t, parts, 6)
			_, err = message.ParseID(parts[4])
			assert.NoError(t, err)
			assert.Equal(t, answerSubject("mallory", parts[4], "a"), m.Subject)
		}
	}
	assert.LessOrEqual(t, len(s.link.known["mallory"].Sessions), mostSessions)
	assert.Len(t, s.link.known, 2)
	assert.Equal(t, s.its.public, s.link.known["mallory"].Key)
	assert.True(t, strings.EqualFold("mallory", s.link.known["mallory"].Name))
	assert.Equal(t, "b", s.link.told[s.far.ID])
}

func (s *target) Deliver(ds ...message.Delivery) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.panes = append(s.panes, ds...)
}
func (s *target) Cancel([]message.ID, message.Reason) {}
func (s *target) Forget(message.ID)                   {}

// book is a journal in memory.
type book struct {
	mu sync.Mutex
	*journaltest.Book
	receipts []message.Receipt
	freed    []message.ID
}

func (b *book) locked(f func(*book)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(b)
}

func (b *book) Commit(_ context.Context, steps ...message.Step) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, one := range steps {
		b.Book.Commit(one)
		b.receipts, b.freed = append(b.receipts, one.Receipts...), append(b.freed, one.Freed...)
	}
	return nil
}

func (b *book) Seen(_ context.Context, id message.ID) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.ContainsFunc(b.Received, func(m message.Envelope) bool { return m.ID == id }), nil
}

func (b *book) Receipts(_ context.Context, id message.ID) (all []message.Receipt, _ error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.receipts {
		if r.Message == id {
			all = append(all, r)
		}
	}
	return all, nil
}

func (b *book) Delivery(_ context.Context, id message.ID) (message.Delivery, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.Deliveries {
		if d.ID == id {
			return d, nil
		}
	}
	return message.Delivery{}, journal.ErrNotFound
}

func (b *book) Session(_ context.Context, id message.ID) (message.Peer, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.Sessions {
		if p.ID == id {
			return p, nil
		}
	}
	return message.Peer{}, journal.ErrNotFound
}

// posts is a JetStream that keeps only where mail went.
type posts struct {
	jetstream.JetStream
	subjects []string
}

func (p *posts) PublishMsg(_ context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	p.subjects = append(p.subjects, m.Subject)
	return &jetstream.PubAck{}, nil
}

// arrived returns a message as it is in the mailbox. It has come so often that it is no longer waited for.
func arrived(m *nats.Msg) *Mail { return &Mail{Subject: m.Subject, Header: m.Header, Data: m.Data} }

func startHere(t testing.TB) *server.Server {
	srv, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true, MaxPayload: 16 << 20})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(time.Minute))
	return srv
}

func dialHere(t testing.TB, srv *server.Server) *nats.Conn {
	conn, err := nats.Connect("", nats.InProcessServer(srv))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

func identityOf(t testing.TB) identity {
	id, err := loadIdentity(filepath.Join(t.TempDir(), "link"))
	require.NoError(t, err)
	return id
}
