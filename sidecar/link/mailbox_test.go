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

// What is there stays as it is, and what was sent while nobody was there waits.
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
	consumer, err := EnsureMailbox(t.Context(), js, "raspi")
	require.NoError(t, err)
	got, err := consumer.Next(jetstream.FetchMaxWait(5 * time.Second))
	require.NoError(t, err)
	assert.Equal(t, "hi", string(got.Data()))
	require.NoError(t, got.DoubleAck(t.Context()))
}

// Helpers of the tests.

// startServer is a NATS server of the test's own, on loopback.
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
	require.True(t, s.ReadyForConnections(10*time.Second))
	return s
}
