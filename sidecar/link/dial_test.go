package link

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A server on this computer that speaks plain text may be a node of a cluster, and names the others. They are not
// dialled when it goes away, unless a person has allowed plain text.
func TestN5_OtherServersOfAPlainOne(t *testing.T) {
	t.Parallel()
	for _, insecure := range []bool{false, true} {
		t.Run(fmt.Sprint("insecure ", insecure), func(t *testing.T) {
			t.Parallel()
			other := pretend(t, "")
			named := pretend(t, other.Addr().String())
			urls, options, err := dial(Config{Name: "a", NATS: "nats://" + named.Addr().String(), Creds: "/x", Insecure: insecure})
			require.NoError(t, err)
			over := make(chan struct{})
			c, err := nats.Connect(urls, append(options, nats.MaxReconnects(3), nats.ReconnectWait(time.Millisecond), nats.ReconnectJitter(0, 0),
				nats.ClosedHandler(func(*nats.Conn) { close(over) }))...)
			require.NoError(t, err)
			t.Cleanup(c.Close)
			named.stop()
			select {
			case <-over:
				assert.False(t, insecure, "the other server was not dialled")
				assert.Zero(t, other.served())
			case <-other.first:
				assert.True(t, insecure, "the other server was dialled")
			}
		})
	}
}

// What servers name is ignored exactly where a plain one is dialled that nobody has allowed to be elsewhere.
func TestDial_ignoresOtherServers(t *testing.T) {
	t.Parallel()
	for _, one := range []struct {
		url      string
		insecure bool
		ignores  bool
	}{
		{"nats://127.0.0.1:4222", false, true},
		{"nats://127.0.0.1:4222", true, false},
		{"tls://hub.example.org:4222,nats://[::1]:4222", false, true},
		{"tls://hub.example.org:4222", false, false},
		{"tls://127.0.0.1:4222", false, false},
	} {
		_, options, err := dial(Config{Name: "a", NATS: one.url, Creds: "/x", Insecure: one.insecure})
		require.NoError(t, err)
		o := nats.GetDefaultOptions()
		for _, set := range options {
			require.NoError(t, set(&o))
		}
		assert.Equal(t, one.ignores, o.IgnoreDiscoveredServers, "%+v", one)
	}
}

// pretended is a server that greets its clients, and answers their pings.
type pretended struct {
	net.Listener
	first chan struct{} // closed once a client has come
	mu    sync.Mutex    // guards all
	all   []net.Conn
}

// pretend starts a server that names another one, unless that is "".
func pretend(t *testing.T, other string) *pretended {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &pretended{Listener: l, first: make(chan struct{})}
	more := ""
	if other != "" {
		more = fmt.Sprintf(`,"connect_urls":[%q]`, other)
	}
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				assert.ErrorIs(t, err, net.ErrClosed)
				return
			}
			p.mu.Lock()
			if p.all = append(p.all, c); len(p.all) == 1 {
				close(p.first)
			}
			p.mu.Unlock()
			clients.Go(func() {
				fmt.Fprintf(c, "INFO {\"server_id\":\"x\",\"version\":\"2.10.0\",\"proto\":1,\"max_payload\":1048576%s}\r\n", more)
				lines := bufio.NewReader(c)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if strings.HasPrefix(line, "PING") {
						_, _ = c.Write([]byte("PONG\r\n"))
					}
				}
			})
		}
	})
	t.Cleanup(func() { p.stop(); clients.Wait() })
	return p
}

func (p *pretended) served() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.all)
}

// stop ends the server and all its connections.
func (p *pretended) stop() {
	if err := p.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		panic(err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.all {
		c.Close()
	}
}
