package link

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An existing mailbox stays as it is, and what was sent while nobody was there waits.
func TestEnsureMailbox(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(startServer(t, nil).ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("too early"))
	require.ErrorIs(t, err, jetstream.ErrNoStreamResponse, "nobody keeps what is sent to a computer that was never there")
	_, err = EnsureMailbox(t.Context(), js, "raspi")
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("hi"))
	require.NoError(t, err)
	mailbox, err := EnsureMailbox(t.Context(), js, "raspi")
	require.NoError(t, err)
	assert.Equal(t, []string{"hi"}, takeAll(t, mailbox))
}

// A mailbox that an older version made rings once the hub has renewed it, and what waits in it is read.
func TestN4_RenewMailbox(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(startServer(t, nil).ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: StreamOf("raspi"), Subjects: []string{toSubject("raspi", "*")}, Retention: jetstream.WorkQueuePolicy, Discard: jetstream.DiscardNew, MaxMsgs: keepMost,
	})
	require.NoError(t, err)
	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{Durable: "mail", AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: 1})
	require.NoError(t, err)
	_, err = js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("hi"))
	require.NoError(t, err)
	bell, err := conn.SubscribeSync(bellSubject("raspi", "*"))
	require.NoError(t, err)
	require.NoError(t, RenewMailbox(t.Context(), js, "raspi"))
	_, err = js.Publish(t.Context(), toSubject("raspi", "laptop"), []byte("ho"))
	require.NoError(t, err)
	rung, err := bell.NextMsg(time.Minute)
	require.NoError(t, err)
	assert.Equal(t, "laptop", from(rung.Subject))
	assert.Empty(t, rung.Data)
	mailbox, err := EnsureMailbox(t.Context(), js, "raspi")
	require.NoError(t, err)
	assert.Equal(t, []string{"hi", "ho"}, takeAll(t, mailbox))
}

// A sender that fills its share of a mailbox leaves room for others.
func TestN3_ShareOfAMailbox(t *testing.T) {
	t.Parallel()
	conn, err := nats.Connect(startServer(t, nil).ClientURL())
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	config := streamConfig("raspi")
	config.MaxMsgsPerSubject = 3 // in place of 20,000
	_, err = js.CreateStream(t.Context(), config)
	require.NoError(t, err)
	for range 3 {
		_, err = js.Publish(t.Context(), toSubject("raspi", "loud"), []byte("x"))
		require.NoError(t, err)
	}
	_, err = js.Publish(t.Context(), toSubject("raspi", "loud"), []byte("x"))
	assert.True(t, isCode(err, streamFull), "%v", err)
	_, err = js.Publish(t.Context(), toSubject("raspi", "quiet"), []byte("x"))
	require.NoError(t, err)
}

// Helpers of the tests.

// takeAll returns all that waits in a mailbox, in the order in which it came.
func takeAll(t *testing.T, box *Mailbox) (all []string) {
	t.Helper()
	for {
		m, err := box.First(t.Context(), ">")
		require.NoError(t, err)
		if m == nil {
			return all
		}
		require.NoError(t, box.Delete(t.Context(), m))
		all = append(all, string(m.Data))
	}
}

// startServer starts a NATS server of the test's own, on loopback.
func startServer(t *testing.T, change func(*server.Options)) *server.Server {
	t.Helper()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	if change != nil {
		change(opts)
	}
	s, err := server.NewServer(opts)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(time.Minute))
	return s
}
