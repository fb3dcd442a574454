package link

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tmux-intercom/tmux-intercom/sidecar/message"
)

// A computer that is here but slow is not reported as away since just now.
func TestAsk_aComputerThatIsHereAndIsSlow(t *testing.T) {
	t.Parallel()
	l, _ := asking(t)
	_, err := l.life.conn.SubscribeSync(askSubject("b", "a")) // it hears, and says nothing
	require.NoError(t, err)
	require.NoError(t, l.life.conn.Flush())
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		return l.Ask(ctx, "b", opPing, Session{}, nil, nil)
	}
	require.EqualError(t, ask(), `computer "b" does not answer in time`)
	l.known["b"].Seen = l.Now().Add(-time.Hour)
	assert.ErrorContains(t, ask(), `computer "b" is away since `)
	delete(l.known, "b")
	assert.EqualError(t, ask(), `computer "b" does not answer`)
}

// The fates of many messages become known even if a slow computer takes longer to tell them than a person would
// wait.
func TestAskFates_aSlowComputer(t *testing.T) {
	t.Parallel()
	l, its := asking(t)
	one := message.NewID()
	l.open[one] = &sent{token: "b", target: message.NewID(), state: message.Typed}
	_, err := l.life.conn.Subscribe(askSubject("b", "a"), func(m *nats.Msg) {
		var q question
		assert.NoError(t, json.Unmarshal(m.Data, &q))
		time.Sleep(askWithin + 500*time.Millisecond)
		fates, _ := json.Marshal([]fate{{Delivery: one, State: message.Submitted}})
		data, _ := json.Marshal(reply{Body: fates})
		answer, err := its.sign(answerSubject("a", string(q.ID), "b"), data)
		if assert.NoError(t, err) {
			l.answered(l.life, answer)
		}
	})
	require.NoError(t, err)
	require.NoError(t, l.life.conn.Flush())
	require.NoError(t, l.askFates(t.Context(), "b", true))
	assert.Equal(t, message.Submitted, l.open[one].state)
}

// A question or an answer that the server does not carry is said to be too large, and at once.
func TestAsk_tooLargeForTheServer(t *testing.T) {
	t.Parallel()
	srv, err := server.NewServer(&server.Options{DontListen: true, NoLog: true, NoSigs: true, MaxPayload: 64 << 10})
	require.NoError(t, err)
	srv.Start()
	t.Cleanup(func() { srv.Shutdown(); srv.WaitForShutdown() })
	require.True(t, srv.ReadyForConnections(time.Minute))
	a, its := asking(t)
	b, _ := asking(t)
	a.life.conn, b.life.conn = dialHere(t, srv), dialHere(t, srv)
	b.life.token, b.life.id, b.life.began = "b", its, time.Now().Add(-time.Minute)
	b.known["a"] = &known{Name: "a", Key: a.life.id.public, Seen: time.Now(), present: true}
	b.Answer("much", func(context.Context, string, message.Peer, []byte) (any, error) {
		return strings.Repeat("x", 100<<10), nil
	})
	for _, l := range []*Link{a, b} {
		_, err := l.listen(t.Context(), l.life)
		require.NoError(t, err)
		require.NoError(t, l.life.conn.Flush())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out string
	err = a.Ask(ctx, "b", "much", Session{}, nil, &out)
	var told *RemoteError
	require.ErrorAs(t, err, &told)
	assert.Contains(t, told.Text, "the answer is too large")
	assert.Equal(t, "ask for less", told.Hint)

	err = a.Ask(ctx, "b", "much", Session{}, strings.Repeat("x", 100<<10), &out)
	require.ErrorIs(t, err, nats.ErrMaxPayload)
	assert.ErrorContains(t, err, `the question to computer "b" is too large`)
	var away *AwayError
	assert.NotErrorAs(t, err, &away)
}

// asking returns the link of computer a, and the identity of computer b, which is here.
func asking(t *testing.T) (*Link, identity) {
	its := identityOf(t)
	l := &Link{
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Pinned: func(string) string { return "" },
		Relay: reporting{report: func(message.Receipt) {}}, Peers: func() []message.Peer { return nil },
	}
	l.init()
	l.known["b"] = &known{Name: "b", Key: its.public, Seen: time.Now(), present: true}
	l.life = &life{token: "a", id: identityOf(t), conn: dialHere(t, startHere(t)), costs: costs{pace: l.pace, timing: l.timing}}
	return l, its
}
