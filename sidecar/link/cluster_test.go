package link

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// One of three plain servers may be lost: sending goes on, and everything arrives once and in order.
func TestN4_threeNodesLoseOne(t *testing.T) {
	t.Parallel()
	nodes := startCluster(t)
	var urls []string
	for _, n := range nodes {
		urls = append(urls, n.ClientURL())
	}
	conn, err := nats.Connect(strings.Join(urls, ","), nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	var mailbox *Mailbox
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		mailbox, err = EnsureMailbox(ctx, js, "raspi")
		assert.NoError(c, err)
	}, 60*time.Second, 100*time.Millisecond)
	stream, err := js.Stream(t.Context(), StreamOf("raspi"))
	require.NoError(t, err)
	require.Equal(t, 3, stream.CachedInfo().Config.Replicas)

	const all = 60
	for i := range all {
		if i == all/3 { // the leader is lost
			for _, n := range nodes {
				if n.Name() == stream.CachedInfo().Cluster.Leader {
					n.Shutdown()
					n.WaitForShutdown()
				}
			}
		}
		require.Eventually(t, func() bool { // as an outbox does
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := js.Publish(ctx, toSubject("raspi", "laptop"), fmt.Append(nil, i), jetstream.WithMsgID(fmt.Sprint(i)))
			return err == nil
		}, 60*time.Second, 20*time.Millisecond, "%d", i)
	}
	var got []string
	require.Eventually(t, func() bool {
		m, err := mailbox.First(t.Context(), ">")
		if m == nil || err != nil {
			return false
		}
		if s := string(m.Data); mailbox.Delete(t.Context(), m) == nil && (len(got) == 0 || got[len(got)-1] != s) {
			got = append(got, s)
		}
		return len(got) == all
	}, 60*time.Second, time.Millisecond)
	for i, s := range got {
		assert.Equal(t, fmt.Sprint(i), s)
	}
}

// startCluster starts three servers of the test's own, on loopback. Their ports are known only once they
// listen, so each is told of the first, and of unused addresses to make three; they tell each other the rest.
func startCluster(t *testing.T) (nodes []*server.Server) {
	t.Helper()
	nobody := &url.URL{Scheme: "nats", Host: "127.0.0.1:1"}
	routes := []*url.URL{nobody, nobody, nobody}
	for i := range 3 {
		n := startServer(t, func(o *server.Options) {
			o.ServerName = fmt.Sprintf("%s-%d", t.Name(), i)
			o.Cluster = server.ClusterOpts{Name: t.Name(), Host: "127.0.0.1", Port: server.RANDOM_PORT}
			o.Routes = routes
		})
		routes = []*url.URL{{Scheme: "nats", Host: append(nodes, n)[0].ClusterAddr().String()}, nobody, nobody}
		nodes = append(nodes, n)
	}
	return nodes
}
