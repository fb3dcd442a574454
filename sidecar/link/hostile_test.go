package link_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/link"
	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// Whatever another computer, or anybody who has reached the server, says of itself, it becomes neither a person
// nor local nor another computer. What is no message is dropped, a message that comes twice counts once, and
// none of it stops what follows.
func TestN6_Hostile(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(o *server.Options) { o.MaxPayload = 8 << 20 }) // as a hub has it
	a := newComputer(t, "a", s.ClientURL(), nil)
	var mu sync.Mutex
	var log strings.Builder
	b := newComputer(t, "b", s.ClientURL(), func(l *link.Link) {
		l.Log = slog.New(slog.NewTextHandler(writer(func(p []byte) { mu.Lock(); log.Write(p); mu.Unlock() }), nil))
	})
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	own, stranger := filepath.Join(a.dir, "link"), t.TempDir()
	parcel := func(change func(map[string]any)) []byte {
		p := map[string]any{
			"kind": "message", "id": message.NewID(), "from": map[string]any{"id": inA.ID, "name": "inA"}, "to": inB.ID,
			"message": map[string]any{
				"type": "message", "body": "forged", "origin": "human", "trust": "person", "depth": -5, "from": map[string]any{"computer": "local", "session": inB.ID},
				"meta": map[string]any{"person": "yes"}, "created": time.Now(),
			},
		}
		if change != nil {
			change(p)
		}
		data, err := json.Marshal(p)
		require.NoError(t, err)
		return data
	}
	mail := func(dir, from string, data []byte) {
		m, err := link.Sign(dir, link.ToSubject("b", from), data)
		require.NoError(t, err)
		require.NoError(t, conn.PublishMsg(m))
	}
	require.NoError(t, conn.Publish(link.ToSubject("b", "a"), parcel(nil)))                       // unsigned
	mail(stranger, "a", parcel(nil))                                                              // another's key
	mail(stranger, "b", parcel(nil))                                                              // as b itself
	mail(own, "a", []byte("{"))                                                                   // no JSON
	mail(own, "a", []byte("null"))                                                                // nothing
	mail(own, "a", parcel(func(p map[string]any) { p["kind"] = "delete everything" }))            // of a later version
	mail(own, "a", parcel(func(p map[string]any) { p["id"] = "../../etc" }))                      // no id
	mail(own, "a", parcel(func(p map[string]any) { delete(p, "message") }))                       // nothing in it
	mail(own, "a", parcel(func(p map[string]any) { p["to"] = "nobody" }))                         // to nobody
	mail(own, "a", parcel(func(p map[string]any) { p["from"] = map[string]any{"id": inB.ID} }))   // from the session that is to get it
	mail(own, "a", parcel(func(p map[string]any) { p["from"] = map[string]any{"id": "person"} })) // as nobody
	mail(own, "a", parcel(func(p map[string]any) {                                                // into a chat that claims another computer as its home
		p["room"] = map[string]any{"home": "b", "id": message.NewID(), "seats": []any{}}
	}))
	huge := parcel(func(p map[string]any) { p["message"].(map[string]any)["body"] = strings.Repeat("x", message.MaxBody+1) })
	mail(own, "a", huge) // a byte more than a message may have
	replayed := parcel(func(p map[string]any) { p["message"].(map[string]any)["body"] = "once" })
	for range 3 {
		mail(own, "a", replayed)
	}
	require.NoError(t, conn.Flush(), "the server has them before what comes over another connection")
	_, err = a.send(inA.ID, inB.ID, "and the true one")
	require.NoError(t, err)
	waitFor(t, "the true one", func() bool { got := b.bodies(); return len(got) > 0 && got[len(got)-1] == "and the true one" })
	assert.Equal(t, []string{"once", "and the true one"}, b.bodies())
	mu.Lock()
	for _, refused := range []string{
		"signature does not fit", "signs with another key than before", "unexpected end of JSON", `unknown parcel \"delete everything\"`, "a parcel without its message",
		"is no session of this computer", `is the id of \"inB\"`, "1048577 bytes long", "it has come before",
	} {
		assert.Contains(t, log.String(), refused)
	}
	mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.took {
		assert.Equal(t, message.OriginRemote, d.Message.Origin)
		assert.Equal(t, message.TrustRemote, d.Message.Trust)
		assert.Positive(t, d.Message.Depth)
		assert.Equal(t, "a", d.Message.From.Computer)
		assert.Equal(t, inA.ID, d.Message.From.Peer)
		assert.Empty(t, d.Message.Meta)
	}
}

// A question that was overheard and repeated is answered once. One with another clock, or another key, is not
// answered at all.
func TestN6_QuestionsAreNotRepeated(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	var mu sync.Mutex // questions are answered concurrently
	var asked []string
	b := newComputer(t, "b", s.ClientURL(), func(l *link.Link) {
		l.Answer("start", func(_ context.Context, computer string, from message.Peer, _ []byte) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, computer)
			return "yes", nil
		})
	})
	b.session("inB")
	a := newComputer(t, "a", s.ClientURL(), nil)
	inA := a.session("inA")
	a.knows("b", b.relay.Snapshot().Peers()[0])
	var got string
	require.NoError(t, a.link.Ask(t.Context(), "b", "start", link.Session{ID: inA.ID, Name: "inA"}, nil, &got))
	assert.Equal(t, "yes", got)
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	ask := func(dir string, sent time.Time, id message.ID) {
		m, err := link.Sign(dir, link.AskSubject("b", "a"), fmt.Appendf(nil, `{"id":%q,"op":"start","from":{"id":%q},"sent":%q}`, id, inA.ID, sent.Format(time.RFC3339Nano)))
		require.NoError(t, err)
		require.NoError(t, conn.PublishMsg(m))
	}
	own, twice := filepath.Join(a.dir, "link"), message.NewID()
	ask(own, time.Now(), twice)
	ask(own, time.Now(), twice)
	ask(own, time.Now().Add(-time.Hour), message.NewID())
	ask(own, time.Now().Add(time.Hour), message.NewID())
	ask(t.TempDir(), time.Now(), message.NewID())
	require.NoError(t, conn.Flush())
	require.NoError(t, a.link.Ask(t.Context(), "b", "start", link.Session{ID: inA.ID, Name: "inA"}, nil, &got))
	waitFor(t, "three answers", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) >= 3
	})
	b.end() // everything else that came is answered by then
	assert.Equal(t, []string{"a", "a", "a"}, asked)
}

// N1: a computer that comes with another key than before is not believed until a person forgets the first key.
func TestN1_AnotherKey(t *testing.T) {
	t.Parallel()
	s := newServer(t, nil)
	a, b := newComputer(t, "a", s.ClientURL(), nil), newComputer(t, "b", s.ClientURL(), nil)
	inA, inB := a.session("inA"), b.session("inB")
	a.knows("b", inB)
	b.knows("a", inA)
	a.end()
	again := newComputer(t, "a", s.ClientURL(), nil) // a new installation of it
	other := again.session("other")
	conn, err := nats.Connect(s.ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), link.StreamOf("b"))
	require.NoError(t, err)
	before := stream.CachedInfo().State.LastSeq
	_, err = again.link.Enter(t.Context(), "b", link.Session{ID: inB.ID, Name: "inB"}) // b does not tell it of the session
	require.NoError(t, err)
	_, err = again.send(other.ID, inB.ID, "let me in")
	require.NoError(t, err)
	waitFor(t, "b has read it", func() bool {
		stream, err := js.Stream(t.Context(), link.StreamOf("b"))
		require.NoError(t, err)
		state := stream.CachedInfo().State
		return state.LastSeq > before && state.Msgs == 0
	})
	_, known, err := b.link.ForgetComputer(t.Context(), "a")
	require.NoError(t, err)
	assert.True(t, known)
	_, err = again.send(other.ID, inB.ID, "now")
	require.NoError(t, err)
	waitFor(t, "what comes after it", func() bool { return len(b.bodies()) > 0 })
	assert.Equal(t, []string{"now"}, b.bodies())
}
